//! The actor session between two nodes, as a pure state machine.
//!
//! Bytes and `now` come in, frames and bytes go out; there is no socket, no clock and no thread
//! here. The protocol is written down in `docs/link-protocol.md`; "section" in these files means a
//! section of it. Read in this order: [`frame`] and [`batch`] (what stands on the wire),
//! [`opening`] and [`resume`] (how a session begins and goes on), [`outbox`], [`credit`] with its
//! [`budget`], [`heartbeat`], [`rtt`] (one mechanism each), and the two halves that wire them:
//! [`recv_half`] and [`send_half`].
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
pub mod heartbeat;
pub mod rtt;
mod slot_generations;
mod unread_answers;
pub mod recv_half;
pub mod send_half;
mod inbound;
pub mod dispatch;

pub use code::Code;
pub use dispatch::{Application, Dispatcher};
pub use error::LinkError;
pub use frame::Frame;
pub use limits::Limits;
pub use opening::{Identity, Opened, Opening};
pub use recv_half::RecvHalf;
pub use send_half::SendHalf;
