//! Words of the command line as the arguments of a method.
//!
//! They are held against what the actor says that it takes, because it has nobody to answer when
//! the arguments of a tell are wrong. Types that the command does not know go as they are; the
//! actor is the judge.

use serde_json::Value;

/// The arguments as a MessagePack array, or what is wrong with them.
pub(crate) fn encode(parameters: &[(String, String)], words: &[String]) -> Result<Vec<u8>, String> {
    let needed = parameters.iter().rposition(|(_, kind)| option_inner(kind).is_none());
    let least = needed.map_or(0, |last| last + 1);
    if words.len() < least || words.len() > parameters.len() {
        return Err(format!("{} were given", words.len()));
    }
    let values: Result<Vec<Value>, String> = parameters
        .iter()
        .zip(words)
        .map(|((_, kind), word)| {
            value(kind, word).ok_or_else(|| format!("{word:?} cannot be the {kind}"))
        })
        .collect();
    rmp_serde::to_vec(&values?).map_err(|error| error.to_string())
}

/// What an argument that may be missing is when it is there.
fn option_inner(kind: &str) -> Option<&str> {
    kind.strip_prefix("Option<")?.strip_suffix('>')
}

/// A word as a value of type `kind`.
fn value(kind: &str, word: &str) -> Option<Value> {
    let json: Option<Value> = serde_json::from_str(word).ok();
    if let Some(inner) = option_inner(kind) {
        return match json {
            Some(Value::Null) => Some(Value::Null),
            _ => value(inner, word),
        };
    }
    match kind {
        "String" => Some(match json {
            Some(Value::String(text)) => Value::String(text),
            _ => Value::String(word.to_owned()),
        }),
        "bool" => json.filter(Value::is_boolean),
        "f32" | "f64" => json.filter(Value::is_number),
        "u8" | "u16" | "u32" | "u64" | "usize" => {
            json.filter(|json| json.as_u64().is_some_and(|number| number <= max_of(kind)))
        }
        "i8" | "i16" | "i32" | "i64" | "isize" => json.filter(|json| {
            let max = (max_of(kind) >> 1) as i64;
            json.as_i64().is_some_and(|number| (-max - 1..=max).contains(&number))
        }),
        // MessagePack tells bytes from text, JSON does not.
        "Bytes" => None,
        _ => Some(json.unwrap_or_else(|| Value::String(word.to_owned()))),
    }
}

/// The largest number of so many bits as stand behind the first letter; 64 for `usize`.
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
    fn words_become_what_the_method_takes() {
        for (kind, word, bytes) in [
            ("i64", "-2", &[0x91, 0xfe][..]),
            ("u8", "255", &[0x91, 0xcc, 0xff]),
            ("String", "42", b"\x91\xa242"),
            ("String", "\"42\"", b"\x91\xa242"),
            ("Option<String>", "null", &[0x91, 0xc0]),
            ("Vec<bool>", "[true]", &[0x91, 0x91, 0xc3]),
            ("Name", "Ada", b"\x91\xa3Ada"),
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
            ("Bytes", "x"),
        ] {
            assert!(encode_kinds(&[kind], &[word]).is_err(), "{kind} {word}");
        }
        assert!(encode_kinds(&["i8", "i64"], &["-128", "-9223372036854775808"]).is_ok());
        assert!(encode_kinds(&["u64"], &["18446744073709551615"]).is_ok());
    }

    #[test]
    fn only_options_at_the_end_may_be_missing() {
        let parameters = ["u8", "Option<u8>", "u8", "Option<u8>"];
        for (count, fits) in [(0, false), (2, false), (3, true), (4, true), (5, false)] {
            let words = ["1"; 5];
            assert_eq!(encode_kinds(&parameters, &words[..count]).is_ok(), fits, "{count}");
        }
    }
}
