//! JSON values.

use alloc::string::String;
use alloc::vec::Vec;

use ::serde_json::{Map, Number, Value};

use crate::encoding::collections::take_pairs;
use crate::encoding::msgpack::{put_array, put_map};
use crate::encoding::types::text::put_text;
use crate::{Buffer, Decode, DecodeError, Encode, Reader};

const EXPECTED: &str = "a JSON value";

/// The MessagePack value of the same kind. Bytes are read as an array of numbers. Values that JSON lacks
/// are refused: NaN, infinities, keys of a map other than texts, extension types.
impl Encode for Value {
    const IS_PLAIN: bool = true;
    const MAY_BE_NIL: bool = true;

    fn encode(&self, out: &mut Buffer) {
        match self {
            Value::Null => ().encode(out),
            Value::Bool(value) => value.encode(out),
            Value::Number(number) => put_number(out, number),
            Value::String(text) => text.encode(out),
            Value::Array(items) => {
                put_array(out, items.len());
                items.iter().for_each(|item| item.encode(out));
            }
            Value::Object(pairs) => {
                put_map(out, pairs.len());
                for (key, value) in pairs {
                    key.encode(out);
                    value.encode(out);
                }
            }
        }
    }
}

fn put_number(out: &mut Buffer, number: &Number) {
    if let Some(whole) = number.as_u64() {
        return whole.encode(out);
    }
    if let Some(whole) = number.as_i64() {
        return whole.encode(out);
    }
    match number.as_f64() {
        Some(float) => float.encode(out),
        // Only with the feature `arbitrary_precision` of serde_json.
        None => put_text(out, number),
    }
}

impl<'a> Decode<'a> for Value {
    const MAY_BE_NIL: bool = true;

    fn decode(reader: &mut Reader<'a>) -> Result<Value, DecodeError> {
        let marker = reader.peek().ok_or(DecodeError::Short { expected: EXPECTED })?;
        Ok(match marker {
            0xC0 => <()>::decode(reader)?.into(),
            0xC2 | 0xC3 => bool::decode(reader)?.into(),
            0x00..=0x7F | 0xCC..=0xCF => u64::decode(reader)?.into(),
            0xE0..=0xFF | 0xD0..=0xD3 => i64::decode(reader)?.into(),
            0xCA | 0xCB => Number::from_f64(f64::decode(reader)?)
                .map(Value::Number)
                .ok_or(DecodeError::OutOfRange { expected: EXPECTED })?,
            0xA0..=0xBF | 0xD9..=0xDB => String::decode(reader)?.into(),
            0xC4..=0xC6 => <&[u8]>::decode(reader)?.into(),
            0x90..=0x9F | 0xDC | 0xDD => Vec::<Value>::decode(reader)?.into(),
            0x80..=0x8F | 0xDE | 0xDF => {
                let mut pairs = Map::new();
                take_pairs(reader, |key: String, value: Value| drop(pairs.insert(key, value)))?;
                Value::Object(pairs)
            }
            found => return Err(DecodeError::WrongType { expected: EXPECTED, found }),
        })
    }
}
