//! Reads the vector files: numbers in three notations, bytes in hexadecimal, frames by name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Code, Identity, Limits};
use wigwag_wire::{Reader, varint};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors/link")
}

pub(crate) fn load(name: &str) -> Value {
    let text = fs::read_to_string(root().join(name)).expect("the file is there");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A list in the file, which must not be empty.
pub(crate) fn list<'v>(file: &'v Value, name: &str) -> &'v [Value] {
    match file[name].as_array() {
        Some(list) if !list.is_empty() => list,
        _ => panic!("there is no list `{name}`"),
    }
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// A number: plain, as a decimal string if it is too large for JSON, or as `0x` and hexadecimal
/// digits.
pub(crate) fn wide(value: &Value) -> u128 {
    let parsed = match value {
        Value::Number(number) => number.as_u64().map(u128::from),
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => u128::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        _ => None,
    };
    parsed.unwrap_or_else(|| panic!("no number: {value}"))
}

pub(crate) fn number(value: &Value) -> u64 {
    u64::try_from(wide(value)).expect("it fits into 64 bits")
}

pub(crate) fn from_hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "half a byte: {text}");
    let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(byte).collect()
}

pub(crate) fn hex_of(vector: &Value) -> Vec<u8> {
    from_hex(text(&vector["hex"]))
}

pub(crate) fn limits_of(value: &Value) -> Limits {
    let field = |name: &str| number(&value[name]);
    Limits {
        batch_max: field("batch_max"),
        frame_max: field("frame_max"),
        message_max: field("message_max"),
        initial_units: field("initial_units"),
        attach_pending_max: field("attach_pending_max"),
        channels_max: field("channels_max"),
        slots_max: field("slots_max"),
        assembly_initial: field("assembly_initial"),
        heartbeat_ms: field("heartbeat_ms"),
    }
}

pub(crate) fn identity_of(value: &Value) -> Identity {
    Identity {
        node: wide(&value["node"]),
        incarnation: wide(&value["incarnation"]),
        nonce: wide(&value["nonce"]),
        offered: number(&value["features_offered"]),
        required: number(&value["features_required"]),
        limits: limits_of(&value["limits"]),
    }
}

/// The fields of a frame, with their bytes decoded.
pub(crate) struct Fields<'v> {
    frame: &'v str,
    fields: &'v Value,
    bytes: BTreeMap<&'v str, Vec<u8>>,
}

impl<'v> Fields<'v> {
    pub(crate) fn of(vector: &'v Value) -> Fields<'v> {
        let fields = &vector["fields"];
        let named = fields.as_object().expect("fields have names");
        let texts = named.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
        let is_hex = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let bytes = texts.filter(|(_, value)| is_hex(value) && value.len() % 2 == 0);
        Fields {
            frame: text(&vector["frame"]),
            fields,
            bytes: bytes.map(|(name, value)| (name.as_str(), from_hex(value))).collect(),
        }
    }

    fn n(&self, name: &str) -> u64 {
        number(&self.fields[name])
    }

    fn byte(&self, name: &str) -> u8 {
        u8::try_from(self.n(name)).expect("it fits into a byte")
    }

    fn code(&self) -> Code {
        Code(u16::try_from(self.n("code")).expect("it fits into 16 bits"))
    }

    fn b(&self, name: &str) -> &[u8] {
        self.bytes.get(name).unwrap_or_else(|| panic!("no bytes `{name}` in {}", self.fields))
    }

    pub(crate) fn frame(&self) -> Frame<'_> {
        let n = |name: &str| self.n(name);
        match self.frame {
            "TELL" => Frame::Tell {
                channel: n("channel"),
                method: n("method"),
                arguments: self.b("arguments"),
            },
            "ASK" => Frame::Ask {
                channel: n("channel"),
                slot: n("slot"),
                generation: n("generation"),
                method: n("method"),
                arguments: self.b("arguments"),
            },
            "REPLY" => Frame::Reply {
                slot: n("slot"),
                generation: n("generation"),
                value: self.b("value"),
            },
            "ERROR" => Frame::Error {
                slot: n("slot"),
                generation: n("generation"),
                code: self.code(),
                text: self.b("text"),
                data: self.b("data"),
            },
            "CALL_X" => self.ask_with_extra(),
            "CANCEL" => Frame::Cancel { slot: n("slot"), generation: n("generation") },
            "CREDIT" => {
                Frame::Credit { channel: n("channel"), limit: n("limit"), handled: n("handled") }
            }
            "NEED" => {
                let units = self.fields.get("units").map_or(0, number);
                let (channel, limit_wanted) = (n("channel"), n("limit_wanted"));
                Frame::Need { channel, limit_wanted, units }
            }
            "PARTS" => Frame::Parts {
                source: n("source"),
                kind: n("type") as u8,
                total: n("total"),
                bytes: self.b("bytes"),
            },
            "PART" => Frame::Part { source: n("source"), bytes: self.b("bytes") },
            "PARTS_DROP" => Frame::PartsDrop { source: n("source") },
            "OUTCOMES" => Frame::Outcomes {
                channel: n("channel"),
                tells: n("tells"),
                rejected: n("rejected"),
            },
            "REJECTED" => Frame::Rejected {
                channel: n("channel"),
                method: n("method"),
                tells: n("tells"),
                code: self.code(),
                text: self.b("text"),
            },
            "REVOKE" => Frame::Revoke { channel: n("channel"), limit_wanted: n("limit_wanted") },
            "REVOKED" => Frame::Revoked { channel: n("channel"), limit: n("limit") },
            _ => self.other_frame(),
        }
    }

    /// The calls with extras that this release writes: an ASK with the milliseconds left, or with
    /// items wanted.
    fn ask_with_extra(&self) -> Frame<'_> {
        assert_eq!(self.byte("type"), kind::ASK);
        let (mut extras, mut call) = (Reader::new(self.b("extras")), Reader::new(self.b("call")));
        let tag_and_length = [extras.u8(), extras.u8()].map(|byte| byte.expect("two bytes"));
        assert_eq!(usize::from(tag_and_length[1]), extras.rest().len());
        let extra = varint::take(&mut extras).expect("a number");
        let mut number = || varint::take(&mut call).expect("a number");
        let (channel, slot, generation, method) = (number(), number(), number(), number());
        let arguments = call.take_rest();
        match tag_and_length[0] {
            2 => {
                Frame::AskWithin { within_ms: extra, channel, slot, generation, method, arguments }
            }
            6 => Frame::AskItems { limit: extra, channel, slot, generation, method, arguments },
            other => panic!("no such extra: {other}"),
        }
    }

    fn other_frame(&self) -> Frame<'_> {
        let n = |name: &str| self.n(name);
        match self.frame {
            "ITEM" => Frame::Item {
                slot: n("slot"),
                generation: n("generation"),
                side: self.byte("side"),
                value: self.b("value"),
            },
            "ITEM_CREDIT" => Frame::ItemCredit {
                slot: n("slot"),
                generation: n("generation"),
                side: self.byte("side"),
                limit: n("limit"),
            },
            "ITEM_END" => Frame::ItemEnd {
                stream: n("stream"),
                how: self.byte("how"),
                code: Code(n("code") as u16),
                text: self.b("text"),
            },
            "ATTACH" => Frame::Attach {
                channel: n("channel"),
                how: self.byte("how"),
                target: self.b("target"),
                schema_hash: n("schema_hash"),
                codec: self.byte("codec"),
            },
            "ATTACHED" => Frame::Attached {
                channel: n("channel"),
                limit: n("limit"),
                schema_hash: n("schema_hash"),
                codec: self.byte("codec"),
                reference: self.b("reference"),
            },
            "DETACH" => Frame::Detach { channel: n("channel") },
            "DETACHED" => Frame::Detached {
                channel: n("channel"),
                code: self.code(),
                accepted: n("accepted"),
                reason: &[],
            },
            "PING" => Frame::Ping { id: n("id"), next_ms: n("next_ms") },
            "PONG" => Frame::Pong { id: n("id") },
            "CLOSE" => {
                Frame::Close { code: self.code(), rule: self.b("rule"), detail: self.b("detail") }
            }
            "DRAIN" => Frame::Drain { stop_seq: n("stop_seq") },
            "RELEASE" => Frame::Release { reference: self.b("reference"), times: n("times") },
            "LINK" => {
                Frame::Link { channel: n("channel"), link: n("link"), actor: self.b("actor") }
            }
            "UNLINK" => {
                Frame::Unlink { channel: n("channel"), link: n("link"), reason: self.b("reason") }
            }
            "SKIPPED" => Frame::Skipped { kind: self.byte("type") },
            "NOT_UNDERSTOOD" => {
                let asker = self.fields.get("slot").map(|_| (n("slot"), n("generation")));
                Frame::NotUnderstood { tag: n("tag"), channel: n("channel"), asker }
            }
            other => panic!("no such frame: {other}"),
        }
    }
}
