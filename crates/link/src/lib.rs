//! The actor session between two nodes, as a pure state machine.
//!
//! Bytes and `now` come in, frames and bytes go out; the crate has no socket, no clock and no
//! thread. `docs/link-protocol.md` specifies the protocol; "section" in these files refers to it.
//! Reading order: [`frame`] and [`batch`] (the wire format), [`opening`], [`admission`] and
//! [`resume`] (how a session begins, whether it may, and how it is resumed), [`outbox`], [`credit`]
//! with its [`budget`], [`heartbeat`], [`rtt`] (one mechanism each), and the two halves that combine
//! them: [`recv_half`] and [`send_half`].
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
pub mod shared_key;
pub mod opening;
pub mod admission;
pub mod outbox;
pub mod budget;
pub mod credit;
pub mod heartbeat;
pub mod rtt;
mod slot_generations;
mod unread_answers;
pub mod recv_half;
pub mod send_half;
pub mod application;
mod assembly;
mod inbound;
pub mod dispatch;

pub use application::Application;
pub use code::Code;
pub use dispatch::Dispatcher;
pub use error::LinkError;
pub use frame::Frame;
pub use limits::Limits;
pub use opening::{Identity, Opened, Opening};
pub use recv_half::RecvHalf;
pub use send_half::SendHalf;
