//! Characters and texts.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::sync::Arc;
use core::str::FromStr;

use crate::{Buffer, Decode, DecodeError, Encode, Reader};

/// A text of one character.
impl Encode for char {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        self.encode_utf8(&mut [0; 4]).encode(out);
    }
}

impl<'a> Decode<'a> for char {
    fn decode(reader: &mut Reader<'a>) -> Result<char, DecodeError> {
        let mut text = <&str>::decode(reader)?.chars();
        match (text.next(), text.next()) {
            (Some(one), None) => Ok(one),
            _ => Err(DecodeError::OutOfRange { expected: "a text of one character" }),
        }
    }
}

impl<'a> Decode<'a> for Box<str> {
    fn decode(reader: &mut Reader<'a>) -> Result<Box<str>, DecodeError> {
        <&str>::decode(reader).map(Box::from)
    }
}

impl<'a> Decode<'a> for Arc<str> {
    fn decode(reader: &mut Reader<'a>) -> Result<Arc<str>, DecodeError> {
        <&str>::decode(reader).map(Arc::from)
    }
}

/// Reads a text that [`FromStr`] understands.
pub(super) fn parsed<T: FromStr>(
    reader: &mut Reader<'_>,
    expected: &'static str,
) -> Result<T, DecodeError> {
    <&str>::decode(reader)?.parse().map_err(|_| DecodeError::OutOfRange { expected })
}

/// Appends the text of a value.
pub(super) fn put_text(out: &mut Buffer, value: &impl ToString) {
    value.to_string().encode(out);
}
