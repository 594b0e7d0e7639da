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
mod buffers;
pub mod reader;
pub mod varint;
pub mod into_bytes;
mod encoding;
mod call_frames;
pub mod header;
pub mod framing;
pub mod fault;
pub mod hint;
pub mod peer_text;
pub mod state_machine;

pub use buffers::batch::Batch;
pub use buffers::buffer::Buffer;
pub use buffers::buffer_slice::BufferSlice;
pub use buffers::read_buf::ReadBuf;
pub use buffers::{batch, buffer, buffer_slice, gathered, read_buf, slab_copier};
pub use call_frames::{call, run};
pub use encoding::msgpack::{Decode, DecodeError, Encode};
pub use encoding::{collections, extension, fields, fixed, msgpack, payload, skip, small};
pub use fault::Fault;
pub use framing::{Framing, FramingError};
pub use header::{Header, HeaderError, ProtocolNumber};
pub use into_bytes::IntoBytes;
pub use reader::{Reader, Short};
pub use state_machine::ConnectionStateMachine;
pub use time::Time;
