//! The formats in which received messages are printed.

use clap::ValueEnum;
use serde::de::IgnoredAny;
use serde_json::Value;

/// A format for messages. nanocat and nngcat have the same `quoted` and `msgpack`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Unchanged, with a line end
    Line,
    /// Unchanged, with nothing between two messages
    Raw,
    /// In double quotes with escapes as in C, one message per line
    Quoted,
    /// Two hexadecimal digits per byte, one message per line
    Hex,
    /// As a MessagePack byte string, so that a program can separate the messages
    Msgpack,
    /// JSON on one line; a message that is not JSON becomes a JSON string
    Json,
}

impl Format {
    /// Formats a message for printing.
    pub(crate) fn of(self, body: &[u8]) -> Vec<u8> {
        match self {
            Format::Line => [body, b"\n"].concat(),
            Format::Raw => body.to_vec(),
            Format::Quoted => quoted(body).into_bytes(),
            Format::Hex => (hex(body) + "\n").into_bytes(),
            Format::Msgpack => packed(body),
            Format::Json => {
                let text = one_line_of_json(body).unwrap_or_else(|| {
                    Value::String(String::from_utf8_lossy(body).into_owned()).to_string()
                });
                (text + "\n").into_bytes()
            }
        }
    }
}

/// Encodes bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A text of JSON without the white space between its words, and otherwise as it is: numbers of any
/// length, the order of the keys and double ones stay. `None` if it is not JSON.
fn one_line_of_json(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let (mut in_string, mut is_escaped) = (false, false);
    let is_kept = |letter: &char| {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        in_string || !letter.is_ascii_whitespace()
    };
    Some(text.chars().filter(is_kept).collect())
}

fn quoted(body: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in body {
        match byte {
            b'\n' => text += "\\n",
            b'\r' => text += "\\r",
            b'\\' | b'"' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => text += &format!("\\x{byte:02x}"),
        }
    }
    text + "\"\n"
}

/// MessagePack's bin family: a byte for the width of the length, the length, the bytes.
fn packed(body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut bytes = match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short), _) => vec![0xc4, short],
        (_, Ok(middle)) => [&[0xc5], &middle.to_be_bytes()[..]].concat(),
        // No receive limit in use allows a message of 4 GiB.
        _ => [&[0xc6], &u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes()[..]].concat(),
    };
    bytes.extend_from_slice(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_prints_its_own_form() {
        let body = b"a\"\n\xff";
        assert_eq!(Format::Line.of(body), b"a\"\n\xff\n");
        assert_eq!(Format::Raw.of(body), body);
        assert_eq!(Format::Quoted.of(body), b"\"a\\\"\\n\\xff\"\n");
        assert_eq!(Format::Hex.of(body), b"61220aff\n");
        assert_eq!(Format::Msgpack.of(body), b"\xc4\x04a\"\n\xff");
    }

    #[test]
    fn json_is_printed_on_one_line_and_other_text_becomes_a_string() {
        assert_eq!(Format::Json.of(b"{ \"a\":\n 1 }"), b"{\"a\":1}\n");
        assert_eq!(Format::Json.of(b"hello"), b"\"hello\"\n");
        assert_eq!(Format::Json.of(b""), b"\"\"\n");
    }

    #[test]
    fn json_stays_as_it_came() {
        for (body, line) in [
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("{\"b\": 1.50, \"a\" : 1e400,\r\n\t\"b\":-0}", r#"{"b":1.50,"a":1e400,"b":-0}"#),
            (r#" [ " a \" b ", "\\" , "\u00e9 \ud800" ] "#, r#"[" a \" b ","\\","\u00e9 \ud800"]"#),
            ("{\"a\": 1} 2", r#""{\"a\": 1} 2""#),
            ("[1,]", r#""[1,]""#),
            ("01", r#""01""#),
        ] {
            assert_eq!(
                Format::Json.of(body.as_bytes()),
                format!("{line}\n").into_bytes(),
                "{body}"
            );
        }
        let deep = "[".repeat(500) + &"]".repeat(500);
        assert_eq!(Format::Json.of(deep.as_bytes()), format!("{deep}\n").into_bytes());
    }

    #[test]
    fn the_length_of_a_byte_string_takes_as_many_bytes_as_it_needs() {
        assert_eq!(Format::Msgpack.of(&[0; 256])[..3], [0xc5, 1, 0]);
        assert_eq!(Format::Msgpack.of(&[0; 65_536])[..5], [0xc6, 0, 1, 0, 0]);
    }
}
