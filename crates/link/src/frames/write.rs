//! Writing frames (section 3).
//!
//! A frame's length precedes its body and is known only afterwards. Nearly all bodies are shorter
//! than 128 bytes, so that the length takes one byte, which is reserved and filled in later; only a
//! longer body is moved to make room.

use wigwag_wire::call::{ASK_BY, ASK_ITEMS, CallExtra, small};
use wigwag_wire::small::{Scratch, put_numbers, store};
use wigwag_wire::trace::{TRACE_BYTES, TraceContext};
use wigwag_wire::{Buffer, varint};

use crate::code::Code;
use crate::flow_control::credit::StreamId;
use crate::frames::frame::{Frame, ITEMS, TRACE, WITHIN, kind};
use crate::limits::put_bytes;

/// Appends a frame whose body is written by `write`, and returns the length of the body.
#[inline]
pub fn frame(out: &mut Buffer, kind: u8, write: impl FnOnce(&mut Buffer)) -> usize {
    let start = head(out, kind, []);
    write(out);
    finish(out, start)
}

#[cold]
fn widen(out: &mut Buffer, start: usize, length: usize) {
    let mut prefix = Buffer::new();
    varint::put(&mut prefix, length as u64);
    out.set(start - 1, prefix.as_slice()[0]);
    out.insert(start, &prefix.as_slice()[1..]);
}

/// Writes the type, a placeholder for the length, and the numbers, which take at most eight bytes
/// in nearly all frames.
#[inline(always)]
fn head<const N: usize>(out: &mut Buffer, kind: u8, numbers: [u64; N]) -> usize {
    let room = out.room();
    store(room.place, 0, [kind, 0]);
    match put_numbers(room.place, numbers) {
        Some(used) => {
            room.keep(used);
            out.len() - (used - 2)
        }
        None => wide_head(out, kind, &numbers),
    }
}

#[cold]
fn wide_head(out: &mut Buffer, kind: u8, numbers: &[u64]) -> usize {
    out.put([kind, 0], 2);
    let start = out.len();
    for number in numbers {
        varint::put(out, *number);
    }
    start
}

/// Fills in the length.
#[inline(always)]
fn finish(out: &mut Buffer, start: usize) -> usize {
    let length = out.total_behind(start);
    if length < 0x80 {
        out.set(start - 1, length as u8);
    } else {
        widen(out, start, length);
    }
    length
}

/// Like [`tell`] for short arguments; returns `None` and writes nothing if they are too long.
#[inline(always)]
pub fn small_tell(
    out: &mut Buffer,
    channel: u64,
    method: u32,
    arguments: impl FnOnce(&mut Scratch, usize) -> Option<usize>,
) -> Option<usize> {
    small(out, kind::TELL, [channel, u64::from(method)], arguments)
}

/// Like [`ask`] for short arguments; returns `None` and writes nothing if they are too long.
#[inline(always)]
pub fn small_ask(
    out: &mut Buffer,
    channel: u64,
    (slot, generation): (u32, u32),
    method: u32,
    arguments: impl FnOnce(&mut Scratch, usize) -> Option<usize>,
) -> Option<usize> {
    let numbers = [channel, u64::from(slot), u64::from(generation), u64::from(method)];
    small(out, kind::ASK, numbers, arguments)
}

/// Appends a TELL and returns the length of its body, which determines its cost.
#[inline]
pub fn tell(
    out: &mut Buffer,
    channel: u64,
    method: u32,
    arguments: impl FnOnce(&mut Buffer),
) -> usize {
    let start = head(out, kind::TELL, [channel, u64::from(method)]);
    arguments(out);
    finish(out, start)
}

/// Appends an ASK and returns the length of its body, which determines its cost.
#[inline]
pub fn ask(
    out: &mut Buffer,
    channel: u64,
    (slot, generation): (u32, u32),
    method: u32,
    arguments: impl FnOnce(&mut Buffer),
) -> usize {
    let numbers = [channel, u64::from(slot), u64::from(generation), u64::from(method)];
    let start = head(out, kind::ASK, numbers);
    arguments(out);
    finish(out, start)
}

/// Appends an ask with an extra in the form in which inbound queues store it, [`ASK_BY`] or
/// [`ASK_ITEMS`].
pub fn ask_stored(
    out: &mut Buffer,
    extra: CallExtra,
    channel: u64,
    (slot, generation): (u32, u32),
    method: u32,
    arguments: impl FnOnce(&mut Buffer),
) -> usize {
    let (kind, number) = match extra {
        CallExtra::Deadline(deadline) => (ASK_BY, deadline.as_nanos()),
        CallExtra::Items(limit) => (ASK_ITEMS, limit),
    };
    frame(out, kind, |out| {
        out.put(number.to_le_bytes(), 8);
        let numbers = [channel, slot.into(), generation.into(), method.into()];
        numbers.iter().for_each(|number| varint::put(out, *number));
        arguments(out);
    })
}

/// The fields of a call besides its arguments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// The trace that it belongs to.
    pub trace: Option<TraceContext>,
    /// Of an ask: the milliseconds for which its caller waits.
    pub within_ms: Option<u64>,
    /// Of an ask: the first limit of the items that it is answered with, in units.
    pub items: Option<u64>,
}

/// Appends a TELL, or an ASK with its slot and generation, behind its extras. Returns the length of
/// the body, which determines its cost.
pub fn call_with(
    out: &mut Buffer,
    extras: &Extras,
    channel: u64,
    asker: Option<(u32, u32)>,
    method: u32,
    arguments: impl FnOnce(&mut Buffer),
) -> usize {
    frame(out, kind::CALL_X, |out| {
        out.push(if asker.is_some() { kind::ASK } else { kind::TELL });
        // All lengths are below 128: that of the context, and of two numbers with their heads.
        let at = out.len();
        out.push(0);
        if let Some(trace) = &extras.trace {
            out.extend(&[TRACE as u8, TRACE_BYTES as u8]);
            out.extend(&trace.to_bytes());
        }
        for (tag, value) in [(WITHIN, extras.within_ms), (ITEMS, extras.items)] {
            let Some(value) = value else { continue };
            out.push(tag as u8);
            let at = out.len();
            out.push(0);
            varint::put(out, value);
            out.set(at, (out.len() - at - 1) as u8);
        }
        out.set(at, (out.len() - at - 1) as u8);
        varint::put(out, channel);
        if let Some((slot, generation)) = asker {
            varint::put(out, slot.into());
            varint::put(out, generation.into());
        }
        varint::put(out, method.into());
        arguments(out);
    })
}

/// Appends a REPLY and returns the length of its body.
#[inline]
pub fn reply(
    out: &mut Buffer,
    (slot, generation): (u32, u32),
    value: impl FnOnce(&mut Buffer),
) -> usize {
    let start = head(out, kind::REPLY, [u64::from(slot), u64::from(generation)]);
    value(out);
    finish(out, start)
}

/// Appends an ITEM of a stream, and returns the length of its body, which determines its cost.
#[inline]
pub fn item(out: &mut Buffer, stream: StreamId, value: impl FnOnce(&mut Buffer)) -> usize {
    // A side is a `v` of one byte too.
    let start = head(out, kind::ITEM, [stream.slot(), stream.generation(), stream.side().into()]);
    value(out);
    finish(out, start)
}

/// Appends an ERROR.
pub fn error(out: &mut Buffer, asker: (u32, u32), code: Code, text: &str) {
    error_with(out, asker, code, text.as_bytes(), &[]);
}

fn error_with(
    out: &mut Buffer,
    (slot, generation): (u32, u32),
    code: Code,
    text: &[u8],
    data: &[u8],
) {
    frame(out, kind::ERROR, |out| {
        varint::put(out, u64::from(slot));
        varint::put(out, u64::from(generation));
        put_code(out, code);
        put_bytes(out, text);
        put_bytes(out, data);
    });
}

fn put_code(out: &mut Buffer, code: Code) {
    out.put(code.0.to_le_bytes(), 2);
}

/// Appends any frame; of the CALL_X an ASK with the milliseconds that are left. The frequent ones
/// have functions of their own.
pub fn any(out: &mut Buffer, what: &Frame<'_>) {
    let vs = |out: &mut Buffer, numbers: &[u64]| {
        numbers.iter().for_each(|number| varint::put(out, *number));
    };
    match *what {
        Frame::Credit { channel, limit, handled } => {
            frame(out, kind::CREDIT, |out| vs(out, &[channel, limit, handled]));
        }
        Frame::Need { channel, limit_wanted, units: 0 } => {
            frame(out, kind::NEED, |out| vs(out, &[channel, limit_wanted]));
        }
        Frame::Need { channel, limit_wanted, units } => {
            frame(out, kind::NEED, |out| vs(out, &[channel, limit_wanted, units]));
        }
        Frame::PartsDrop { source } => {
            frame(out, kind::PARTS_DROP, |out| vs(out, &[source]));
        }
        Frame::Outcomes { channel, tells, rejected } => {
            frame(out, kind::OUTCOMES, |out| vs(out, &[channel, tells, rejected]));
        }
        Frame::Revoke { channel, limit_wanted } => {
            frame(out, kind::REVOKE, |out| vs(out, &[channel, limit_wanted]));
        }
        Frame::Revoked { channel, limit } => {
            frame(out, kind::REVOKED, |out| vs(out, &[channel, limit]));
        }
        Frame::ItemCredit { slot, generation, side, limit } => {
            frame(out, kind::ITEM_CREDIT, |out| {
                vs(out, &[slot, generation]);
                out.push(side);
                varint::put(out, limit);
            });
        }
        Frame::Cancel { slot, generation } => {
            frame(out, kind::CANCEL, |out| vs(out, &[slot, generation]));
        }
        Frame::Detach { channel } => {
            frame(out, kind::DETACH, |out| vs(out, &[channel]));
        }
        Frame::Ping { id, next_ms } => {
            frame(out, kind::PING, |out| vs(out, &[id, next_ms]));
        }
        Frame::Pong { id } => {
            frame(out, kind::PONG, |out| vs(out, &[id]));
        }
        Frame::Drain { stop_seq } => {
            frame(out, kind::DRAIN, |out| vs(out, &[stop_seq]));
        }
        _ => with_bytes(out, what),
    }
}

fn with_bytes(out: &mut Buffer, what: &Frame<'_>) {
    match *what {
        Frame::Attach { channel, how, target, schema_hash, codec } => {
            frame(out, kind::ATTACH, |out| {
                varint::put(out, channel);
                out.push(how);
                put_bytes(out, target);
                out.put(schema_hash.to_le_bytes(), 8);
                out.push(codec);
            });
        }
        Frame::Attached { channel, limit, schema_hash, codec, reference } => {
            frame(out, kind::ATTACHED, |out| {
                varint::put(out, channel);
                varint::put(out, limit);
                out.put(schema_hash.to_le_bytes(), 8);
                out.push(codec);
                put_bytes(out, reference);
            });
        }
        Frame::Detached { channel, code, accepted, reason } => {
            frame(out, kind::DETACHED, |out| {
                varint::put(out, channel);
                put_code(out, code);
                varint::put(out, accepted);
                if !reason.is_empty() {
                    put_bytes(out, reason);
                }
            });
        }
        Frame::Rejected { channel, method, tells, code, text } => {
            frame(out, kind::REJECTED, |out| {
                varint::put(out, channel);
                varint::put(out, method);
                varint::put(out, tells);
                put_code(out, code);
                put_bytes(out, text);
            });
        }
        Frame::Close { code, rule, detail } => {
            frame(out, kind::CLOSE, |out| {
                put_code(out, code);
                put_bytes(out, rule);
                put_bytes(out, detail);
            });
        }
        Frame::Parts { source, kind, total, bytes } => {
            frame(out, kind::PARTS, |out| {
                varint::put(out, source);
                out.push(kind);
                varint::put(out, total);
                out.extend(bytes);
            });
        }
        Frame::Part { source, bytes } => {
            frame(out, kind::PART, |out| {
                varint::put(out, source);
                out.extend(bytes);
            });
        }
        Frame::Release { reference, times } => {
            frame(out, kind::RELEASE, |out| {
                put_bytes(out, reference);
                varint::put(out, times);
            });
        }
        _ => others(out, what),
    }
}

fn link_frame(out: &mut Buffer, kind: u8, channel: u64, link: u64, text: &[u8]) {
    frame(out, kind, |out| {
        varint::put(out, channel);
        varint::put(out, link);
        put_bytes(out, text);
    });
}

fn others(out: &mut Buffer, what: &Frame<'_>) {
    match *what {
        Frame::Link { channel, link, actor } => link_frame(out, kind::LINK, channel, link, actor),
        Frame::Unlink { channel, link, reason } => {
            link_frame(out, kind::UNLINK, channel, link, reason);
        }
        Frame::Tell { channel, method, arguments } => {
            tell(out, channel, method as u32, |out| out.extend(arguments));
        }
        Frame::Ask { channel, slot, generation, method, arguments } => {
            let asker = (slot as u32, generation as u32);
            ask(out, channel, asker, method as u32, |out| out.extend(arguments));
        }
        Frame::Item { slot, generation, side, value } => {
            frame(out, kind::ITEM, |out| {
                varint::put(out, slot);
                varint::put(out, generation);
                out.push(side);
                out.extend(value);
            });
        }
        Frame::ItemEnd { stream, how, code, text } => {
            frame(out, kind::ITEM_END, |out| {
                varint::put(out, stream);
                out.push(how);
                put_code(out, code);
                put_bytes(out, text);
            });
        }
        Frame::AskItems { limit, channel, slot, generation, method, arguments } => {
            let asker = Some((slot as u32, generation as u32));
            let extras = Extras { items: Some(limit), ..Extras::default() };
            let put = |out: &mut Buffer| out.extend(arguments);
            call_with(out, &extras, channel, asker, method as u32, put);
        }
        Frame::AskWithin { within_ms, channel, slot, generation, method, arguments } => {
            let asker = Some((slot as u32, generation as u32));
            let extras = Extras { within_ms: Some(within_ms), ..Extras::default() };
            let put = |out: &mut Buffer| out.extend(arguments);
            call_with(out, &extras, channel, asker, method as u32, put);
        }
        Frame::Reply { slot, generation, value } => {
            reply(out, (slot as u32, generation as u32), |out| out.extend(value));
        }
        Frame::Error { slot, generation, code, text, data } => {
            error_with(out, (slot as u32, generation as u32), code, text, data)
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_data_equals_the_generic_encoding() {
        let (mut short, mut whole) = (Buffer::new(), Buffer::new());
        error(&mut short, (300, 7), Code::CANCELLED, "gone");
        let (code, text) = (Code::CANCELLED, &b"gone"[..]);
        any(&mut whole, &Frame::Error { slot: 300, generation: 7, code, text, data: &[] });
        assert!(!whole.is_empty());
        assert_eq!(short.as_slice(), whole.as_slice());
    }
}
