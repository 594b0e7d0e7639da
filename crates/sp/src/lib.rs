//! The Scalability Protocols as pure state machines: pipes are numbers, time is an argument.
//!
//! A socket is a [`Protocol`]: the caller tells it which pipes open and close, hands it bodies from
//! the user and messages from the pipes, and asks it which message to write to which pipe. It knows
//! neither the bytes on the wire (see [`stream`]) nor a clock. Each protocol has a file of its own;
//! shared parts are in the modules before them. [`raw`] has every protocol without its state
//! machine, for programs that forward messages; [`contexts`] has several exchanges on one socket.
//! ```
//! use bytes::Bytes;
//! use wigwag_sp::{PipeId, Protocol, Rep};
//! use wigwag_wire::Time;
//!
//! let (mut rep, pipe, now) = (Rep::new(), PipeId(1), Time::START);
//! rep.open(pipe, now).unwrap();
//! rep.receive(pipe, Bytes::from_static(b"\x80\0\0\x07ping"), now);
//! assert_eq!(rep.recv(now).unwrap().as_ref(), b"ping");
//! rep.send(Bytes::from_static(b"pong"), now).unwrap();
//! assert_eq!(rep.transmit(pipe).unwrap().to_vec(), b"\x80\0\0\x07pong");
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod range;
pub mod limits;
pub mod counters;
pub mod message;
pub mod contexts;
mod queue;
pub mod stream;
pub mod protocol;
pub mod pipe_queues;
mod headers;
pub mod pair;
pub mod request_reply;
pub mod publish_subscribe;
pub mod pipeline;
pub mod survey;
pub mod bus_star;
pub mod raw;

pub use bus_star::bus::Bus;
pub use bus_star::star::Star;
pub use contexts::{ContextError, ContextId};
pub use counters::{Counters, DropReason};
pub use message::{Head, Message, PipeId, RawMessage};
pub use pair::pair0::Pair0;
pub use pair::pair1::Pair1;
pub use pair::pair1_many::Pair1Many;
pub use pipeline::pull::Pull;
pub use pipeline::push::Push;
pub use protocol::{
    CloseReason, Protocol, ProtocolEvent, Received, RecvError, Refusal, Refused, RefusedRaw,
    Setting, SettingError,
};
pub use publish_subscribe::publish::Pub;
pub use publish_subscribe::subscribe::Sub;
pub use range::{OutOfRange, Priority, QueueLength};
pub use raw::Raw;
pub use request_reply::rep::Rep;
pub use request_reply::req::Req;
pub use stream::inbound_run::{InboundRun, RunRoom};
pub use stream::{Event, Stream, StreamError};
pub use survey::respondent::Respondent;
pub use survey::surveyor::Surveyor;

#[cfg(test)]
mod any_bytes;
