//! The messages of an opening, as bytes.

use alloc::string::String;

use wigwag_wire::{Buffer, Reader, peer_text, varint};

use super::{HELLO, Identity, MAGIC, NAME_BYTES_MAX, NAME_TAG, OPEN, VERSION};
use crate::code::Code;
use crate::error::LinkError;
use crate::limits::{put_bytes, take_bytes};

pub(super) fn hello(ours: &Identity) -> Buffer {
    let mut message = Buffer::new();
    message.push(HELLO);
    message.extend(&MAGIC);
    message.extend(&[VERSION, VERSION, 0, 0]);
    for id in [ours.node, ours.incarnation, ours.nonce] {
        message.put(id.to_le_bytes(), 16);
    }
    message.put(ours.offered.to_le_bytes(), 8);
    message.put(ours.required.to_le_bytes(), 8);
    ours.limits.encode(&mut message);
    message
}

/// Appends the name, unless it is empty.
pub(super) fn put_name(message: &mut Buffer, name: &str) {
    if !name.is_empty() {
        varint::put(message, NAME_TAG);
        put_bytes(message, name.as_bytes());
    }
}

/// Reads the name of the peer among the tags that end a message; other tags are skipped, and so is a
/// name that cannot be shown.
pub(super) fn take_name(mut reader: Reader<'_>) -> Result<Option<String>, LinkError> {
    let mut name = None;
    while !reader.is_empty() {
        let (tag, value) = (varint::take(&mut reader)?, take_bytes(&mut reader)?);
        if tag == NAME_TAG {
            name = core::str::from_utf8(value).ok().filter(|name| is_presentable(name));
        }
    }
    Ok(name.map(String::from))
}

fn is_presentable(name: &str) -> bool {
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.chars().any(char::is_control)
}

pub(super) fn open(session: u128, name: &str) -> Buffer {
    let mut message = Buffer::new();
    message.push(OPEN);
    message.put(session.to_le_bytes(), 16);
    message.put([0, 0], 2);
    put_name(&mut message, name);
    message
}

pub(super) fn refused(mut reader: Reader<'_>) -> LinkError {
    let mut read = || -> Result<(Code, String, String), LinkError> {
        let code = Code(reader.u16()?);
        let (rule, detail) = (take_bytes(&mut reader)?, take_bytes(&mut reader)?);
        Ok((code, peer_text::line(rule), peer_text::line(detail)))
    };
    match read() {
        Ok((code, rule, detail)) => LinkError::ClosedByPeer { code, rule, detail },
        Err(error) => error,
    }
}
