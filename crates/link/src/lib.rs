//! The actor session between two nodes, as a pure state machine.
//!
//! Bytes and `now` come in, frames and bytes go out; there is no socket, no clock and no thread
//! here. The protocol is written down in `docs/link-protocol.md`; "section" in these files means a
//! section of it. Read in this order: [`frame`] and [`batch`] (what stands on the wire),
//! [`opening`] and [`resume`] (how a session begins and goes on), [`outbox`], [`credit`] with its
//! [`budget`], [`pulse`], [`distance`] (one mechanism each), and the two halves that wire them:
//! [`receiver`] and [`session`].
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod limits;
pub mod features;
pub mod code;
pub mod error;
pub mod frame;
pub mod write;
pub mod batch;
pub mod resume;
pub mod opening;
pub mod outbox;
pub mod budget;
pub mod credit;
pub mod pulse;
pub mod distance;
mod asked;
mod untaken;
pub mod receiver;
pub mod session;
mod inbound;
pub mod dispatch;

pub use code::Code;
pub use dispatch::{Application, Dispatcher};
pub use error::LinkError;
pub use frame::Frame;
pub use limits::Limits;
pub use opening::{Identity, Opened, Opening};
pub use receiver::Receiver;
pub use session::Sender;
