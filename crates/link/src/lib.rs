//! The actor session between two nodes, as a pure state machine.
//!
//! Bytes and `now` come in, frames and bytes go out; the crate has no socket, no clock and no
//! thread. `docs/link-protocol.md` specifies the protocol; "section" in these files refers to it.
//! Reading order: [`frame`] and [`batch`] (the wire format), [`opening`] with
//! [admission](opening::admission) and [resumption](opening::resume) (how a session begins, whether
//! it may, and how it is resumed), [`outbox`], [`credit`] with its [`budget`], [`heartbeat`], [`rtt`]
//! (one mechanism each), the two halves that combine them, [`recv_half`] and [`send_half`], and
//! [`dispatch`], which reads an open session.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod limits;
pub mod features;
pub mod code;
pub mod error;
mod flow_control;
mod frames;
pub mod opening;
pub mod outbox;
pub mod heartbeat;
pub mod recv_half;
pub mod send_half;
pub mod dispatch;

pub use code::Code;
pub use dispatch::Dispatcher;
pub use dispatch::application::Application;
pub use error::LinkError;
pub use flow_control::{budget, credit, rtt};
pub use frames::frame::Frame;
pub use frames::{batch, frame, write};
pub use limits::Limits;
pub use opening::{Identity, Opened, Opening};
pub use recv_half::RecvHalf;
pub use send_half::SendHalf;
