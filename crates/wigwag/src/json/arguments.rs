//! Converts JSON to the arguments of a method.
//!
//! The values are checked against the types of the parameters, because a tell with wrong arguments
//! gets no reply that could say so. A value for a type that is not known here is encoded as it is, and
//! the actor decides whether it fits.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// An empty array.
const NO_ARGUMENTS: [u8; 1] = [0x90];

/// The name and the type of a parameter.
pub(crate) trait Parameter {
    fn kind(&self) -> &str;
}

impl Parameter for (String, String) {
    fn kind(&self) -> &str {
        &self.1
    }
}

impl Parameter for wigwag_actor::Argument {
    fn kind(&self) -> &str {
        self.kind
    }
}

/// Encodes the words of a command line as a MessagePack array of arguments. Each word is JSON, or a
/// text without quotes. `parameters` has the name and the type of each parameter.
///
/// ```
/// use wigwag::dynamic::json;
///
/// let parameters = [("name".to_owned(), "String".to_owned())];
/// assert_eq!(json::arguments(&parameters, &["Ada".to_owned()]).unwrap(), b"\x91\xa3Ada");
/// ```
///
/// # Errors
/// Says what is wrong when the count or the type of a word does not match `parameters`.
pub fn arguments(parameters: &[(String, String)], words: &[String]) -> Result<Vec<u8>, String> {
    check_count(parameters, words.len())?;
    let values = parameters.iter().zip(words).map(|((_, kind), word)| {
        let json = word_value(kind, word);
        value(kind, json).ok_or_else(|| format!("{word:?} is not of type {kind}"))
    });
    encode(values.collect::<Result<_, _>>()?)
}

/// Encodes JSON values as a MessagePack array of arguments.
///
/// # Errors
/// As for [`arguments`].
pub(crate) fn values<P: Parameter>(
    parameters: &[P],
    values: Vec<Value>,
) -> Result<Vec<u8>, String> {
    check_count(parameters, values.len())?;
    if values.is_empty() {
        return Ok(NO_ARGUMENTS.to_vec());
    }
    let values = parameters.iter().zip(values).enumerate().map(|(at, (parameter, json))| {
        let kind = parameter.kind();
        value(kind, json).ok_or_else(|| format!("argument {} is not of type {kind}", at + 1))
    });
    encode(values.collect::<Result<_, _>>()?)
}

fn encode(arguments: Vec<Argument>) -> Result<Vec<u8>, String> {
    rmp_serde::to_vec(&arguments).map_err(|error| error.to_string())
}

fn check_count<P: Parameter>(parameters: &[P], count: usize) -> Result<(), String> {
    let needed = parameters.iter().rposition(|one| option_inner(one.kind()).is_none());
    let least = needed.map_or(0, |last| last + 1);
    if count < least || count > parameters.len() {
        return Err(format!("wrong number of arguments: {count}"));
    }
    Ok(())
}

/// The JSON of a word, which is a text without quotes if the type wants one.
pub(crate) fn word_value(kind: &str, word: &str) -> Value {
    let json = serde_json::from_str(word).unwrap_or_else(|_| Value::String(word.to_owned()));
    let mut inner = kind;
    while let Some(next) = option_inner(inner) {
        inner = next;
    }
    match json {
        Value::String(_) | Value::Array(_) if is_bytes(inner) => json,
        Value::String(_) if is_text(inner) => json,
        Value::Null | Value::Array(_) if inner != kind => json,
        _ if is_text(inner) || is_bytes(inner) => Value::String(word.to_owned()),
        _ => json,
    }
}

/// One argument. JSON has no bytes, and no keys but texts, so those are separate.
enum Argument {
    Json(Value),
    Bytes(Vec<u8>),
    /// A map whose keys are whole numbers.
    Map(Vec<(Argument, Argument)>),
    /// `Some(value)` of an option whose `None` differs from that of the value.
    Some(Box<Argument>),
}

impl Serialize for Argument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Argument::Json(json) => json.serialize(serializer),
            Argument::Bytes(bytes) => serializer.serialize_bytes(bytes),
            Argument::Map(entries) => {
                serializer.collect_map(entries.iter().map(|(key, content)| (key, content)))
            }
            Argument::Some(value) => [value].serialize(serializer),
        }
    }
}

/// The type `T` of a parameter `Option<T>`.
fn option_inner(kind: &str) -> Option<&str> {
    kind.strip_prefix("Option<")?.strip_suffix('>')
}

/// True for the types that are a text, or an option of one.
pub(crate) fn is_text_or_option(kind: &str) -> bool {
    is_text(option_inner(kind).unwrap_or(kind))
}

/// True for the types that are a text: `char` is one of one letter.
fn is_text(kind: &str) -> bool {
    let std = kind.strip_prefix("std::").and_then(|path| path.rsplit("::").next());
    let name = std.unwrap_or(kind);
    let is_cow = name.starts_with("Cow<") && name.ends_with(" str>");
    is_cow || matches!(name, "String" | "Box<str>" | "Arc<str>" | "char")
}

/// Returns true for the types that consist of bytes.
fn is_bytes(kind: &str) -> bool {
    let array = kind.strip_prefix("[u8;").is_some_and(|rest| rest.ends_with(']'));
    array || matches!(kind, "Bytes" | "wigwag::Bytes" | "bytes::Bytes" | "Vec<u8>")
}

/// Converts JSON to a value of type `kind`.
fn value(kind: &str, json: Value) -> Option<Argument> {
    if let Some(inner) = option_inner(kind) {
        if json == Value::Null {
            return Some(Argument::Json(json));
        }
        if inner != "()" && option_inner(inner).is_none() {
            return value(inner, json);
        }
        // Nil is the `None` of both, so the inner one is in an array.
        let content = match json {
            Value::Array(mut items) if items.len() == 1 => value(inner, items.remove(0)),
            other => value(inner, other),
        };
        return Some(Argument::Some(Box::new(content?)));
    }
    // A number of more than 64 bits is written as its 16 bytes.
    let is_wide =
        matches!(kind, "u128" | "i128") && json.as_array().is_some_and(|it| it.len() == 16);
    if is_wide || is_bytes(kind) {
        return bytes(json).map(Argument::Bytes);
    }
    let json = match (numbered_map(kind), json) {
        (Some((key, content)), Value::Object(fields)) => {
            let entries = fields.into_iter().map(|(text, field)| {
                let key = value(key, serde_json::from_str(&text).ok()?)?;
                Some((key, value(content, field)?))
            });
            return entries.collect::<Option<_>>().map(Argument::Map);
        }
        (_, json) => json,
    };
    let fits = match kind {
        "u128" => json.is_u64(),
        "i128" => json.is_i64() || json.is_u64(),
        text if is_text(text) => json.is_string(),
        "bool" => json.is_boolean(),
        "f32" | "f64" => json.is_number(),
        "u8" | "u16" | "u32" | "u64" | "usize" => {
            json.as_u64().is_some_and(|number| number <= max_of(kind))
        }
        "i8" | "i16" | "i32" | "i64" | "isize" => {
            let max = (max_of(kind) >> 1) as i64;
            json.as_i64().is_some_and(|number| (-max - 1..=max).contains(&number))
        }
        _ => true,
    };
    fits.then_some(Argument::Json(json))
}

/// The types of the keys and the values of a map whose keys are whole numbers of at most 64 bits, which
/// are texts in JSON.
fn numbered_map(kind: &str) -> Option<(&str, &str)> {
    let types = kind.strip_prefix("BTreeMap<").or_else(|| kind.strip_prefix("HashMap<"))?;
    let (key, content) = types.strip_suffix('>')?.split_once(',')?;
    let numbers = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];
    numbers.contains(&key).then(|| (key, content.trim_start()))
}

/// The bytes of a JSON array of numbers, or those of a text.
fn bytes(json: Value) -> Option<Vec<u8>> {
    match json {
        Value::String(text) => Some(text.into_bytes()),
        Value::Array(items) => items.iter().map(|item| item.as_u64()?.try_into().ok()).collect(),
        _ => None,
    }
}

/// The largest unsigned value with the bit width that `kind` names, such as `u16`; 64 bits for
/// `usize`.
fn max_of(kind: &str) -> u64 {
    let bits = kind.get(1..).and_then(|bits| bits.parse().ok());
    u64::MAX >> (64 - bits.unwrap_or(64_u32))
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    fn encode_kinds(parameters: &[&str], words: &[&str]) -> Result<Vec<u8>, String> {
        let parameters: Vec<_> =
            parameters.iter().map(|kind| ("a".into(), (*kind).into())).collect();
        let words: Vec<_> = words.iter().map(|word| (*word).into()).collect();
        arguments(&parameters, &words)
    }

    #[test]
    fn words_are_encoded_as_the_parameter_types() {
        for (kind, word, bytes) in [
            ("i64", "-2", &[0x91, 0xfe][..]),
            ("u8", "255", &[0x91, 0xcc, 0xff]),
            ("String", "42", b"\x91\xa242"),
            ("String", "\"42\"", b"\x91\xa242"),
            ("Option<String>", "null", &[0x91, 0xc0]),
            ("Box<str>", "42", b"\x91\xa242"),
            ("std::sync::Arc<str>", "true", b"\x91\xa4true"),
            ("Option<Cow<'static, str>>", "null", &[0x91, 0xc0]),
            ("Cow<'static, str>", "null", b"\x91\xa4null"),
            ("char", "7", b"\x91\xa17"),
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
            ("BTreeMap<u64, String>", r#"{"1": "a"}"#, &[0x91, 0x81, 1, 0xa1, b'a']),
            ("HashMap<i8, Vec<u8>>", r#"{"-1": [7]}"#, &[0x91, 0x81, 0xff, 0xc4, 1, 7]),
            ("BTreeMap<String, u8>", r#"{"1": 2}"#, &[0x91, 0x81, 0xa1, b'1', 2]),
            ("u128", "7", &[0x91, 7]),
            (
                "Option<i128>",
                "[255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]",
                &[0x91, 0xc4, 16, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            ),
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
            ("BTreeMap<u8, bool>", r#"{"256": true}"#),
            ("BTreeMap<u8, bool>", r#"{"x": true}"#),
            ("BTreeMap<u8, bool>", r#"{"1": 1}"#),
            ("u128", "340282366920938463463374607431768211455"),
            ("u128", "[1, 2]"),
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
