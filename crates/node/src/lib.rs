//! Message passing that costs what the machine charges, loses nothing, and is as plain as a method
//! call.
#![forbid(unsafe_code)]

pub mod limits;
mod error;
mod random;
mod exports;
mod link;
mod reading;
mod lanes;
mod turns;
mod channel;
mod described;
mod remote;
mod opening;
mod driving;
mod door;
mod node;
mod close;
mod runtime;

pub use close::CloseReport;
pub use described::{Described, DescribedMethod, Dynamic};
pub use error::NodeError;
pub use link::LinkStatistics;
pub use node::{Node, PeerStatistics};
pub use runtime::spawn;
pub use wigwag_actor::{
    Actor, ActorOptions, Answer, Ask, AskError, Call, CallError, CallErrorKind, Interface, Ref,
    Refused, Tell, block_on,
};
pub use wigwag_macros::{Message, actor, main};
pub use wigwag_net::{Address, ListenOptions, NetError, NetErrorKind};
pub use wigwag_wire::{Decode, Encode, Fault};

/// What the macros write refers to; no part of the API.
#[doc(hidden)]
pub mod __private {
    pub use crate::runtime::{MainOptions, run_main};
    pub use bytes::Bytes;
    pub use wigwag_actor::schema::FIRST_METHOD;
    pub use wigwag_actor::{
        Actor, Argument, Call, Handled, Interface, Message, Method, Ref, Reply, Schema,
    };
    pub use wigwag_wire::collections::nested;
    pub use wigwag_wire::msgpack::put_array;
    pub use wigwag_wire::skip::skip;
    pub use wigwag_wire::{Buffer, Decode, DecodeError, Encode, Reader};
}
