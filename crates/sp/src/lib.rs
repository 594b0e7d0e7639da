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
pub mod protocol;
pub mod stream;
pub mod inbound_run;
mod queue;
mod outbox;
mod pipe_set;
mod outbound_queues;
mod inbox;
mod pool;
mod context_inbox;
mod backtrace;
mod hops;
mod topics;
mod requests;
pub mod one_peer;
pub mod answerer;
pub mod pair0;
pub mod pair1;
pub mod pair1_many;
pub mod req;
pub mod rep;
pub mod publish;
pub mod subscribe;
pub mod push;
pub mod pull;
pub mod surveyor;
pub mod respondent;
pub mod bus;
pub mod star;
pub mod raw;

pub use bus::Bus;
pub use contexts::{ContextError, ContextId};
pub use counters::{Counters, DropReason};
pub use inbound_run::{InboundRun, RunRoom};
pub use message::{Head, Message, PipeId, RawMessage};
pub use pair0::Pair0;
pub use pair1::Pair1;
pub use pair1_many::Pair1Many;
pub use protocol::{
    CloseReason, Protocol, ProtocolEvent, Received, RecvError, Refusal, Refused, RefusedRaw,
    Setting, SettingError,
};
pub use publish::Pub;
pub use pull::Pull;
pub use push::Push;
pub use range::{OutOfRange, Priority, QueueLength};
pub use raw::Raw;
pub use rep::Rep;
pub use req::Req;
pub use respondent::Respondent;
pub use star::Star;
pub use stream::{Event, Stream, StreamError};
pub use subscribe::Sub;
pub use surveyor::Surveyor;

#[cfg(test)]
mod any_bytes;
