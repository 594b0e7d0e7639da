//! Converts a reply, which is MessagePack, to JSON.
//!
//! MessagePack has bytes, and maps whose keys are of any type. JSON has neither: bytes become an
//! array of numbers, which an actor also reads as bytes, and keys become texts.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The JSON text of a reply.
///
/// ```
/// assert_eq!(wigwag::dynamic::json::text(&[0x92, 1, 0xC3]).unwrap(), "[1,true]");
/// ```
///
/// # Errors
/// Says why if `reply` is not one MessagePack value, or has no form in JSON.
pub fn text(reply: &[u8]) -> Result<String, String> {
    value(reply).map(|value| value.to_string()).map_err(|error| error.to_string())
}

/// The JSON of a reply.
///
/// # Errors
/// Fails if `reply` is not one MessagePack value, or has no form in JSON.
pub(crate) fn value(reply: &[u8]) -> Result<Value, rmp_serde::decode::Error> {
    rmp_serde::from_slice::<Json>(reply).map(|Json(value)| value)
}

struct Json(Value);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(JsonVisitor).map(Json)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can represent")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f32<E: Error>(self, value: f32) -> Result<Value, E> {
        // The shortest digits that tell it from other numbers of 32 bits: those of the same number as an
        // `f64` are twice as many.
        self.visit_f64(value.to_string().parse().unwrap_or(f64::from(value)))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        // JSON has no NaN and no infinity.
        Ok(Number::from_f64(value).map_or_else(|| value.to_string().into(), Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Json(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((Json(key), Json(value))) = pairs.next_entry()? {
            let key = match key {
                Value::String(text) => text,
                other => other.to_string(),
            };
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_printed_as_json() {
        for (reply, expected) in [
            (&[0xC0][..], "null"),
            (&[0x93, 7, 0xFF, 0xC3], "[7,-1,true]"),
            (&[0xC4, 2, 1, 200], "[1,200]"),
            (&[0x92, 0xC4, 0, 0xA1, b'x'], r#"[[],"x"]"#),
            (&[0x82, 1, 2, 0xA1, b'a', 0xC4, 1, 9], r#"{"1":2,"a":[9]}"#),
            (&[0xCA, 0x3F, 0xC0, 0, 0], "1.5"),
            (&[0xCA, 0x3D, 0xCC, 0xCC, 0xCD], "0.1"),
            (&[0xCB, 0x3F, 0xB9, 0x99, 0x99, 0xA0, 0, 0, 0], "0.10000000149011612"),
            (&[0xCA, 0x7F, 0x80, 0, 0], r#""inf""#),
        ] {
            assert_eq!(text(reply).unwrap(), expected, "{reply:x?}");
        }
        assert!(text(&[0x92, 1]).is_err());
    }
}
