//! Bytes and numbers that every floor of wigwag shares.
//!
//! Nothing in here knows a socket, a thread or a clock: bytes and `now` come in as arguments. Read
//! the modules in the order below; each tells one idea.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod time;
pub mod buffer;
pub mod reader;
pub mod varint;
pub mod small;
pub mod msgpack;
pub mod collections;
pub mod fixed;
pub mod skip;
pub mod call;
pub mod run;
pub mod header;
pub mod framing;
pub mod slab_copier;
pub mod read_buf;
pub mod batch;
pub mod fault;
pub mod state_machine;

pub use batch::Batch;
pub use buffer::Buffer;
pub use fault::Fault;
pub use framing::{Framing, FramingError};
pub use header::{Header, HeaderError, ProtocolNumber};
pub use msgpack::{Decode, DecodeError, Encode};
pub use read_buf::ReadBuf;
pub use reader::{Reader, Short};
pub use state_machine::StateMachine;
pub use time::Time;
