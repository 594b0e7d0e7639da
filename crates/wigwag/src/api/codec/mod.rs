//! How values are encoded: the traits that a type implements to be an argument or a reply.
//!
//! `#[derive(wigwag::Message)]` implements both for structs and enums. Implement them by hand for a
//! type that the derive cannot be put on, or that has a better form on the wire. A value is one
//! MessagePack value; [`Encode`] appends it to a [`Buffer`], [`Decode`] reads it from a [`Reader`].
//! If nil may be the form of one of its values, set `MAY_BE_NIL` in both, so that `Some` of it can be
//! told from `None`. If the encoder waits for no lock, sends nothing and cannot panic, set `IS_PLAIN`,
//! which saves a copy between nodes. `docs/types.md` lists the types that have a form: those of the standard library,
//! and with the features `chrono`, `rust_decimal`, `serde_json`, `time` and `uuid` those of these crates.
//!
//! ```
//! use wigwag::codec::{Buffer, Decode, DecodeError, Encode, Reader};
//!
//! /// A temperature in hundredths of a degree.
//! #[derive(Debug, PartialEq)]
//! struct Celsius(i32);
//!
//! impl Encode for Celsius {
//!     const IS_PLAIN: bool = true;
//!
//!     fn encode(&self, out: &mut Buffer) {
//!         self.0.encode(out);
//!     }
//! }
//!
//! impl<'a> Decode<'a> for Celsius {
//!     fn decode(reader: &mut Reader<'a>) -> Result<Celsius, DecodeError> {
//!         i32::decode(reader).map(Celsius)
//!     }
//! }
//!
//! let mut bytes = Buffer::new();
//! Celsius(2150).encode(&mut bytes);
//! let read = Celsius::decode(&mut Reader::new(bytes.as_slice()));
//! assert_eq!(read, Ok(Celsius(2150)));
//! ```

#[cfg(feature = "serde")]
pub mod serde;

pub use wigwag_actor::{Encoded, Exportable, InProcess, ReplyCodec};
pub use wigwag_wire::buffer::Room;
pub use wigwag_wire::fixed::FixedWidth;
pub use wigwag_wire::payload::Payload;
pub use wigwag_wire::varint::VarintError;
pub use wigwag_wire::{Buffer, Decode, DecodeError, Encode, Reader, Short};
