//! Wire formats and basic types that all crates of wigwag share.
//!
//! The crate uses no socket, no thread and no clock: bytes and `now` are arguments. The modules are
//! listed in reading order; each covers one idea.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod time;
pub mod trace;
pub mod buffer;
pub mod gathered;
pub mod buffer_slice;
pub mod reader;
pub mod varint;
pub mod small;
pub mod msgpack;
mod bytes;
pub mod into_bytes;
pub mod payload;
pub mod collections;
mod types;
pub mod fixed;
pub mod fields;
pub mod skip;
pub mod extension;
pub mod call;
pub mod run;
pub mod header;
pub mod framing;
pub mod slab_copier;
pub mod read_buf;
pub mod batch;
pub mod fault;
pub mod hint;
pub mod state_machine;

pub use batch::Batch;
pub use buffer::Buffer;
pub use buffer_slice::BufferSlice;
pub use fault::Fault;
pub use framing::{Framing, FramingError};
pub use header::{Header, HeaderError, ProtocolNumber};
pub use into_bytes::IntoBytes;
pub use msgpack::{Decode, DecodeError, Encode};
pub use read_buf::ReadBuf;
pub use reader::{Reader, Short};
pub use state_machine::ConnectionStateMachine;
pub use time::Time;
