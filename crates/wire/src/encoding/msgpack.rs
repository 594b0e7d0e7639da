//! MessagePack for arguments and replies.
//!
//! Numbers are written in their shortest form and read in any form that fits; a number that the
//! type cannot represent is an error, never another number. Arguments are positional arrays; the
//! macros write one [`Encode`] and one [`Decode`] per message, and no intermediate value is built.
//! Format: <https://github.com/msgpack/msgpack/blob/master/spec.md>.

mod error;
mod numbers;

pub use error::DecodeError;
pub use numbers::{put_i64, put_u64};

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;
use core::str::FromStr;

use crate::encoding::collections::nested;
use crate::encoding::fields::Fields;
use crate::encoding::fixed::FixedWidth;
use crate::encoding::small::{self, Scratch};
use crate::{Buffer, Reader, Short};

/// A value that can be written as MessagePack.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument or a reply",
    label = "has no form on the wire",
    note = "write `#[derive(wigwag::Message)]` on each of your own types in it; a type parameter needs the bound `wigwag::Message`",
    note = "a value that stays in its process may be any type, as `wigwag::Local<…>`, and so may all of an actor with `#[wigwag::actor(local)]`"
)]
pub trait Encode {
    /// Largest size of a value in bytes, if it is small for all values of the type; `usize::MAX` if
    /// it is unknown.
    #[doc(hidden)]
    const SMALL_BYTES: usize = usize::MAX;

    /// False for a type whose values make sense only within their own process, such as a channel. A
    /// composite type travels only if all its parts do. This is a property of the type and not of
    /// the value, so that a `None` of such a type does not travel either, and nothing is checked at
    /// run time if all types travel.
    const TRAVELS: bool = true;

    /// True if encoding a value waits for no lock, sends nothing and does not panic. A composite type
    /// is plain only if all its parts are.
    ///
    /// A plain value may be encoded straight into a buffer of a session, under its locks. A value of
    /// another type is encoded before a lock is taken, and then copied. Set it only for an encoder
    /// that calls nothing but those of plain types.
    const IS_PLAIN: bool = false;

    /// The names of the parts of the type, which are not encoded. A composite type has those of its
    /// parts. The derive of `Message` sets it for structs and enums.
    #[doc(hidden)]
    const FIELDS: &'static Fields = Fields::NONE;

    /// True if nil is the form of some value of the type. An `Option` of such a type writes
    /// `Some(value)` as an array of one, because nil is its `None`. [`Decode::MAY_BE_NIL`] must say
    /// the same.
    const MAY_BE_NIL: bool = false;

    /// Appends the value.
    fn encode(&self, out: &mut Buffer);

    /// Writes the value at `at` and returns its end. Only for types with a known `SMALL_BYTES`.
    #[doc(hidden)]
    #[inline(always)]
    fn encode_small(&self, scratch: &mut Scratch, at: usize) -> usize {
        let _ = scratch;
        at
    }

    /// Appends a list of values. Only `u8` overrides this: a list of bytes is bin.
    #[doc(hidden)]
    #[inline]
    fn encode_list(items: &[Self], out: &mut Buffer)
    where
        Self: Sized,
    {
        put_array(out, items.len());
        for item in items {
            item.encode(out);
        }
    }

    /// Writes a list of values at `at` and returns its end, as [`encode_list`](Self::encode_list)
    /// does. Only for lists of a known small size.
    #[doc(hidden)]
    #[inline(always)]
    fn encode_list_small(items: &[Self], scratch: &mut Scratch, at: usize) -> usize
    where
        Self: Sized,
    {
        let at = small::put_array(scratch, at, items.len());
        items.iter().fold(at, |at, item| item.encode_small(scratch, at))
    }

    /// The width of the fixed-width encoding, if all values of the type have the same.
    #[doc(hidden)]
    const FIXED: FixedWidth = FixedWidth::NONE;

    /// Writes the fixed-width encoding at `at` and returns its end. Only for types with a fixed
    /// width.
    #[doc(hidden)]
    #[inline(always)]
    fn put_fixed(&self, scratch: &mut Scratch, at: usize) -> usize {
        let _ = scratch;
        at
    }
}

/// A value that can be read from MessagePack. `'a` is the lifetime of the bytes, so a `&'a str`
/// borrows from them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument or a reply",
    label = "has no form on the wire",
    note = "write `#[derive(wigwag::Message)]` on each of your own types in it; a type parameter needs the bound `wigwag::Message`",
    note = "a value that stays in its process may be any type, as `wigwag::Local<…>`, and so may all of an actor with `#[wigwag::actor(local)]`"
)]
pub trait Decode<'a>: Sized {
    /// True if nil is the form of some value of the type, as for [`Encode::MAY_BE_NIL`].
    const MAY_BE_NIL: bool = false;

    /// Reads the value from the front of `reader`.
    ///
    /// # Errors
    ///
    /// Fails if the bytes end too early, hold another type, or hold a value that the type cannot
    /// represent.
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;

    /// Reads a list of values. Only `u8` overrides this: a list of bytes is bin, or an array of
    /// numbers.
    #[doc(hidden)]
    fn decode_list(reader: &mut Reader<'a>) -> Result<Vec<Self>, DecodeError> {
        nested(reader, |reader, count| {
            // An item may be larger in memory than on the wire, so the list grows as items are
            // read.
            let mut items = Vec::with_capacity(count.min(64));
            for _ in 0..count {
                items.push(Self::decode(reader)?);
            }
            Ok(items)
        })
    }

    /// Reads a key of a map. Numbers and `bool` override this: a text of their digits is read too, since
    /// the keys of JSON are texts.
    #[doc(hidden)]
    fn decode_key(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Self::decode(reader)
    }

    /// Reads the fixed-width encoding. Only for types whose [`Encode::FIXED`] is set.
    #[doc(hidden)]
    #[inline(always)]
    fn take_fixed(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let _ = reader;
        Err(DecodeError::OutOfRange { expected: "a type of fixed width" })
    }
}

/// Appends the head of an array of `count` values.
#[inline(always)]
pub fn put_array(out: &mut Buffer, count: usize) {
    put_head(out, count, 0x90, 0xDC);
}

/// Appends the head of a map of `count` pairs.
pub fn put_map(out: &mut Buffer, count: usize) {
    put_head(out, count, 0x80, 0xDE);
}

#[inline(always)]
fn put_head(out: &mut Buffer, count: usize, fix: u8, wide: u8) {
    let b = (count as u32).to_be_bytes();
    match count {
        0..=15 => out.push(fix | count as u8),
        16..=0xFFFF => out.put([wide, b[2], b[3]], 3),
        _ => out.put([wide + 1, b[0], b[1], b[2], b[3]], 5),
    }
}

/// Reads the head of an array and returns its length. Each item takes at least one byte, so a
/// length beyond the remaining bytes is refused before anything is allocated.
#[inline(always)]
pub fn take_array(reader: &mut Reader<'_>) -> Result<usize, DecodeError> {
    const EXPECTED: &str = "an array";
    let count = match marker(reader, EXPECTED)? {
        fix @ 0x90..=0x9F => usize::from(fix & 0x0F),
        0xDC => usize::from(u16::from_be_bytes(reader.array()?)),
        0xDD => u32::from_be_bytes(reader.array()?) as usize,
        found => {
            return Err(DecodeError::WrongType { expected: EXPECTED, found });
        }
    };
    if count > reader.rest().len() {
        return Err(DecodeError::Short { expected: EXPECTED });
    }
    Ok(count)
}

/// Reads the head of a map and returns the number of pairs, which is bounded by the remaining
/// bytes.
pub fn take_map(reader: &mut Reader<'_>) -> Result<usize, DecodeError> {
    const EXPECTED: &str = "a map";
    let count = match marker(reader, EXPECTED)? {
        fix @ 0x80..=0x8F => usize::from(fix & 0x0F),
        0xDE => usize::from(u16::from_be_bytes(reader.array()?)),
        0xDF => u32::from_be_bytes(reader.array()?) as usize,
        found => {
            return Err(DecodeError::WrongType { expected: EXPECTED, found });
        }
    };
    if count > reader.rest().len() / 2 {
        return Err(DecodeError::Short { expected: EXPECTED });
    }
    Ok(count)
}

/// Reads a key of a map that is no text: as any value, or from the text that is written for it in JSON,
/// and from no other form of it, or two keys would be one.
pub(crate) fn take_key<'a, K: Decode<'a> + FromStr + Display>(
    reader: &mut Reader<'a>,
    expected: &'static str,
) -> Result<K, DecodeError> {
    if !matches!(reader.peek(), Some(0xA0..=0xBF | 0xD9..=0xDB)) {
        return K::decode(reader);
    }
    let text = <&str>::decode(reader)?;
    let key = text.parse().ok().filter(|key: &K| key.to_string() == text);
    key.ok_or(DecodeError::OutOfRange { expected })
}

#[inline(always)]
fn marker(reader: &mut Reader<'_>, expected: &'static str) -> Result<u8, DecodeError> {
    reader.u8().map_err(|Short| DecodeError::Short { expected })
}

/// Separate and cold, so that a number that fits costs a branch that is never taken instead of a
/// selection between two results.
#[cold]
#[inline(never)]
fn out_of_range(expected: &'static str) -> DecodeError {
    DecodeError::OutOfRange { expected }
}

impl Encode for bool {
    const IS_PLAIN: bool = true;
    const SMALL_BYTES: usize = 1;
    fn encode(&self, out: &mut Buffer) {
        out.small(|scratch| self.encode_small(scratch, 0));
    }
    #[inline(always)]
    fn encode_small(&self, scratch: &mut Scratch, at: usize) -> usize {
        small::store(scratch, at, [if *self { 0xC3 } else { 0xC2 }]);
        at + 1
    }
    const FIXED: FixedWidth = FixedWidth::plain(b'b', 1);
    #[inline(always)]
    fn put_fixed(&self, scratch: &mut Scratch, at: usize) -> usize {
        small::store(scratch, at, [u8::from(*self)]);
        at + 1
    }
}

impl<'a> Decode<'a> for bool {
    fn decode(reader: &mut Reader<'a>) -> Result<bool, DecodeError> {
        match marker(reader, "bool")? {
            0xC2 => Ok(false),
            0xC3 => Ok(true),
            found => Err(DecodeError::WrongType { expected: "bool", found }),
        }
    }
    fn decode_key(reader: &mut Reader<'a>) -> Result<bool, DecodeError> {
        take_key(reader, "bool")
    }
    #[inline(always)]
    fn take_fixed(reader: &mut Reader<'a>) -> Result<bool, DecodeError> {
        match reader.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(out_of_range("bool")),
        }
    }
}

impl Encode for () {
    const IS_PLAIN: bool = true;
    const MAY_BE_NIL: bool = true;
    const SMALL_BYTES: usize = 1;
    fn encode(&self, out: &mut Buffer) {
        out.push(0xC0);
    }
    #[inline(always)]
    fn encode_small(&self, scratch: &mut Scratch, at: usize) -> usize {
        small::store(scratch, at, [0xC0]);
        at + 1
    }
    const FIXED: FixedWidth = FixedWidth::plain(b'n', 0);
}

impl<'a> Decode<'a> for () {
    const MAY_BE_NIL: bool = true;
    fn decode(reader: &mut Reader<'a>) -> Result<(), DecodeError> {
        match marker(reader, "nil")? {
            0xC0 => Ok(()),
            found => Err(DecodeError::WrongType { expected: "nil", found }),
        }
    }
    #[inline(always)]
    fn take_fixed(_: &mut Reader<'a>) -> Result<(), DecodeError> {
        Ok(())
    }
}

impl Encode for str {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        let length = self.len();
        let b = (length as u32).to_be_bytes();
        match length {
            0..=31 => out.push(0xA0 | length as u8),
            32..=0xFF => out.put([0xD9, b[3]], 2),
            0x100..=0xFFFF => out.put([0xDA, b[2], b[3]], 3),
            _ => out.put([0xDB, b[0], b[1], b[2], b[3]], 5),
        }
        out.extend(self.as_bytes());
    }
}

impl<'a> Decode<'a> for &'a str {
    fn decode(reader: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
        let length = match marker(reader, "text")? {
            fix @ 0xA0..=0xBF => usize::from(fix & 0x1F),
            0xD9 => usize::from(reader.u8()?),
            0xDA => usize::from(u16::from_be_bytes(reader.array()?)),
            0xDB => u32::from_be_bytes(reader.array()?) as usize,
            found => {
                return Err(DecodeError::WrongType { expected: "text", found });
            }
        };
        core::str::from_utf8(reader.take(length)?).map_err(|_| DecodeError::NotUtf8)
    }
}

impl Encode for String {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        self.as_str().encode(out);
    }
}

impl<'a> Decode<'a> for String {
    fn decode(reader: &mut Reader<'a>) -> Result<String, DecodeError> {
        <&str>::decode(reader).map(String::from)
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    const MAY_BE_NIL: bool = T::MAY_BE_NIL;
    const TRAVELS: bool = T::TRAVELS;
    const IS_PLAIN: bool = T::IS_PLAIN;
    const FIELDS: &'static Fields = T::FIELDS;
    fn encode(&self, out: &mut Buffer) {
        (**self).encode(out);
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod number_tests;
