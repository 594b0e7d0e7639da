//! Converts words of the command line to the arguments of a method.
//!
//! The words are checked against the parameter types that the actor reports, because a tell with
//! wrong arguments gets no reply that could say so. A word for a type that the command does not
//! know is sent as JSON or as text, and the actor decides whether it fits.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// Encodes `words` as a MessagePack array of arguments.
///
/// # Errors
///
/// Says what is wrong when the count or the type of a word does not match `parameters`.
pub(crate) fn encode(parameters: &[(String, String)], words: &[String]) -> Result<Vec<u8>, String> {
    let needed = parameters.iter().rposition(|(_, kind)| option_inner(kind).is_none());
    let least = needed.map_or(0, |last| last + 1);
    if words.len() < least || words.len() > parameters.len() {
        return Err(format!("wrong number of arguments: {}", words.len()));
    }
    let values: Result<Vec<Argument>, String> = parameters
        .iter()
        .zip(words)
        .map(|((_, kind), word)| {
            value(kind, word).ok_or_else(|| format!("{word:?} is not of type {kind}"))
        })
        .collect();
    rmp_serde::to_vec(&values?).map_err(|error| error.to_string())
}

/// One argument. JSON has no bytes, so those are separate.
enum Argument {
    Json(Value),
    Bytes(Vec<u8>),
    /// `Some(value)` of an option whose `None` differs from that of the value.
    Some(Box<Argument>),
}

impl Serialize for Argument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Argument::Json(json) => json.serialize(serializer),
            Argument::Bytes(bytes) => serializer.serialize_bytes(bytes),
            Argument::Some(value) => [value].serialize(serializer),
        }
    }
}

/// The type `T` of a parameter `Option<T>`.
fn option_inner(kind: &str) -> Option<&str> {
    kind.strip_prefix("Option<")?.strip_suffix('>')
}

/// Returns true for the types that consist of bytes.
fn is_bytes(kind: &str) -> bool {
    let array = kind.strip_prefix("[u8;").is_some_and(|rest| rest.ends_with(']'));
    array || matches!(kind, "Bytes" | "wigwag::Bytes" | "bytes::Bytes" | "Vec<u8>")
}

/// Converts `word` to a value of type `kind`.
fn value(kind: &str, word: &str) -> Option<Argument> {
    let json: Option<Value> = serde_json::from_str(word).ok();
    if let Some(inner) = option_inner(kind) {
        if json == Some(Value::Null) {
            return json.map(Argument::Json);
        }
        if inner != "()" && option_inner(inner).is_none() {
            return value(inner, word);
        }
        // Nil is the `None` of both, so the inner one is in an array.
        let content = match json {
            Some(Value::Array(items)) if items.len() == 1 => value(inner, &items[0].to_string()),
            _ => value(inner, word),
        };
        return Some(Argument::Some(Box::new(content?)));
    }
    if is_bytes(kind) {
        return bytes(json, word).map(Argument::Bytes);
    }
    let fits = match kind {
        "String" => Some(Value::String(text(json, word))),
        "bool" => json.filter(Value::is_boolean),
        "f32" | "f64" => json.filter(Value::is_number),
        "u8" | "u16" | "u32" | "u64" | "usize" => {
            json.filter(|json| json.as_u64().is_some_and(|number| number <= max_of(kind)))
        }
        "i8" | "i16" | "i32" | "i64" | "isize" => json.filter(|json| {
            let max = (max_of(kind) >> 1) as i64;
            json.as_i64().is_some_and(|number| (-max - 1..=max).contains(&number))
        }),
        _ => Some(json.unwrap_or_else(|| Value::String(word.to_owned()))),
    };
    fits.map(Argument::Json)
}

/// The text of a word, which may be a JSON string.
fn text(json: Option<Value>, word: &str) -> String {
    match json {
        Some(Value::String(text)) => text,
        _ => word.to_owned(),
    }
}

/// The bytes of a JSON array of numbers, or those of a text.
fn bytes(json: Option<Value>, word: &str) -> Option<Vec<u8>> {
    let Some(Value::Array(items)) = json else { return Some(text(json, word).into_bytes()) };
    items.iter().map(|item| item.as_u64()?.try_into().ok()).collect()
}

/// The largest unsigned value with the bit width that `kind` names, such as `u16`; 64 bits for
/// `usize`.
fn max_of(kind: &str) -> u64 {
    let bits = kind.get(1..).and_then(|bits| bits.parse().ok());
    u64::MAX >> (64 - bits.unwrap_or(64_u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode_kinds(parameters: &[&str], words: &[&str]) -> Result<Vec<u8>, String> {
        let parameters: Vec<_> =
            parameters.iter().map(|kind| ("a".into(), (*kind).into())).collect();
        let words: Vec<_> = words.iter().map(|word| (*word).into()).collect();
        encode(&parameters, &words)
    }

    #[test]
    fn words_are_encoded_as_the_parameter_types() {
        for (kind, word, bytes) in [
            ("i64", "-2", &[0x91, 0xfe][..]),
            ("u8", "255", &[0x91, 0xcc, 0xff]),
            ("String", "42", b"\x91\xa242"),
            ("String", "\"42\"", b"\x91\xa242"),
            ("Option<String>", "null", &[0x91, 0xc0]),
            ("Option<Option<u8>>", "null", &[0x91, 0xc0]),
            ("Option<Option<u8>>", "[null]", &[0x91, 0x91, 0xc0]),
            ("Option<Option<u8>>", "7", &[0x91, 0x91, 7]),
            ("Option<()>", "[null]", &[0x91, 0x91, 0xc0]),
            ("Vec<bool>", "[true]", &[0x91, 0x91, 0xc3]),
            ("Name", "Ada", b"\x91\xa3Ada"),
            ("Bytes", "[1, 200]", &[0x91, 0xc4, 2, 1, 200]),
            ("Vec<u8>", "hi", &[0x91, 0xc4, 2, b'h', b'i']),
            ("[u8; 2]", "\"42\"", &[0x91, 0xc4, 2, b'4', b'2']),
            ("Option<Vec<u8>>", "[]", &[0x91, 0xc4, 0]),
            ("Option<Option<Bytes>>", "[[7]]", &[0x91, 0x91, 0xc4, 1, 7]),
            ("Vec<Vec<u8>>", "[[7]]", &[0x91, 0x91, 0x91, 7]),
        ] {
            assert_eq!(encode_kinds(&[kind], &[word]).unwrap(), bytes, "{kind} {word}");
        }
    }

    #[test]
    fn words_that_do_not_fit_are_refused() {
        for (kind, word) in [
            ("i64", "two"),
            ("i64", "2.5"),
            ("i8", "128"),
            ("i8", "-129"),
            ("u8", "256"),
            ("u64", "-1"),
            ("bool", "1"),
            ("f64", "pi"),
            ("Option<u8>", "x"),
            ("Bytes", "[256]"),
            ("Vec<u8>", "[1, \"x\"]"),
        ] {
            assert!(encode_kinds(&[kind], &[word]).is_err(), "{kind} {word}");
        }
        assert!(encode_kinds(&["i8", "i64"], &["-128", "-9223372036854775808"]).is_ok());
        assert!(encode_kinds(&["u64"], &["18446744073709551615"]).is_ok());
    }

    #[test]
    fn only_trailing_options_may_be_missing() {
        let parameters = ["u8", "Option<u8>", "u8", "Option<u8>"];
        for (count, fits) in [(0, false), (2, false), (3, true), (4, true), (5, false)] {
            let words = ["1"; 5];
            assert_eq!(encode_kinds(&parameters, &words[..count]).is_ok(), fits, "{count}");
        }
    }
}
