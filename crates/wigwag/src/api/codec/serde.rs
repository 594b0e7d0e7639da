//! Values of serde as arguments, replies and fields; with the feature `serde`.
//!
//! `#[message(serde)]` on a type with `#[derive(Message)]`, or on one of its fields, encodes it by its
//! impls of `serde::Serialize` and `serde::Deserialize`: the result is the MessagePack of `rmp-serde`,
//! with structs as maps from field names to values. So attributes of serde such as `default`,
//! `skip_serializing_if` and `flatten` mean what they mean in JSON.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//! use wigwag::{Actor, Message};
//!
//! #[derive(Serialize, Deserialize, Message, Clone, Debug, PartialEq)]
//! #[message(serde)]
//! struct Order {
//!     id: u32,
//!     #[serde(default, skip_serializing_if = "Vec::is_empty")]
//!     notes: Vec<String>,
//! }
//!
//! struct Shop;
//!
//! #[wigwag::actor]
//! impl Shop {
//!     pub fn copy(&self, order: Order) -> Order {
//!         order
//!     }
//! }
//!
//! #[wigwag::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//!     let order = Order { id: 7, notes: Vec::new() };
//!     assert_eq!(Shop.spawn().copy(order.clone()).ask().await?, order);
//!     Ok(())
//! }
//! ```
//!
//! # Limits
//!
//! As for all values: at most 64 levels of arrays and maps, and the size of a call.
//!
//! # Errors
//!
//! Bytes that `Deserialize` refuses are a [`DecodeError`] that names the type; the text of serde's own
//! error is in a `tracing` event of level debug. If `Serialize` fails, the reader gets
//! [`DecodeError::NotEncoded`], and serde's text is in an event of level error at the writer.
//!
//! # Performance
//!
//! Slower than `#[derive(Message)]` alone: names are sent, and the bytes are checked once before they
//! are read. Within a process nothing is encoded.

use std::any::type_name;
use std::io;

pub use ::serde::Serialize;
pub use ::serde::de::DeserializeOwned;
use wigwag_wire::skip::skip;
use wigwag_wire::{Buffer, DecodeError, Reader};

/// With this byte no MessagePack value begins. It stands for a value that could not be encoded.
const NOT_ENCODED: u8 = 0xC1;

/// Appends `value` as one MessagePack value.
pub fn encode<T: Serialize + ?Sized>(value: &T, out: &mut Buffer) {
    let start = out.len();
    let mut serializer = rmp_serde::Serializer::new(Writer(out)).with_struct_map();
    if let Err(error) = value.serialize(&mut serializer) {
        let kind = type_name::<T>();
        tracing::error!(kind, %error, "a value could not be encoded: its impl of Serialize failed");
        out.truncate(start);
        out.push(NOT_ENCODED);
    }
}

/// Reads one MessagePack value as a `T`.
///
/// # Errors
///
/// Fails if the value nests too deeply, or `T` refuses it.
pub fn decode<T: DeserializeOwned>(reader: &mut Reader<'_>) -> Result<T, DecodeError> {
    if reader.peek() == Some(NOT_ENCODED) {
        return Err(DecodeError::NotEncoded { expected: type_name::<T>() });
    }
    // This also checks that the depth and all lengths are within bounds.
    let bytes = reader.rest();
    skip(reader)?;
    let value = &bytes[..bytes.len() - reader.rest().len()];
    rmp_serde::from_slice(value).map_err(|error| {
        let expected = type_name::<T>();
        tracing::debug!(expected, %error, "a value was refused by its impl of Deserialize");
        match error {
            rmp_serde::decode::Error::Utf8Error(_) => DecodeError::NotUtf8,
            _ => DecodeError::OutOfRange { expected },
        }
    })
}

/// A buffer as the writer that `rmp-serde` requires.
struct Writer<'b>(&'b mut Buffer);

impl io::Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
