//! Reading frames (section 3).
//!
//! A frame is a type, a length and a body. Bit 7 of the type means that the frame has a sequence
//! number. Bit 6 means that a reader which does not know the type may skip the frame. Bodies grow
//! only at the end, and readers skip everything behind the fields they know, so an old reader
//! understands a newer writer.

use wigwag_wire::Reader;
use wigwag_wire::run::{Run, is_run};
use wigwag_wire::trace::TraceContext;
use wigwag_wire::varint::{self, take as v};

use crate::code::Code;
use crate::error::LinkError;
use crate::limits::take_bytes as b;

/// Bit 7 of a type: the frame is numbered, and is sent again after a cut.
pub const SEQUENCED: u8 = 0x80;
/// Bit 6 of a type: a reader that does not know the type skips the frame.
pub const SKIPPABLE: u8 = 0x40;

/// The frame types.
#[expect(missing_docs, reason = "each is described at the variant of Frame that bears its name")]
pub mod kind {
    pub const PING: u8 = 0x01;
    pub const PONG: u8 = 0x02;
    pub const CREDIT: u8 = 0x03;
    pub const ITEM_CREDIT: u8 = 0x04;
    pub const REVOKE: u8 = 0x06;
    pub const NEED: u8 = 0x07;
    pub const OUTCOMES: u8 = 0x08;
    pub const REJECTED: u8 = 0x09;
    pub const CLOSE: u8 = 0x0F;
    pub const ATTACH: u8 = 0x81;
    pub const ATTACHED: u8 = 0x82;
    pub const DETACH: u8 = 0x83;
    pub const DETACHED: u8 = 0x84;
    pub const REVOKED: u8 = 0x85;
    pub const LINK: u8 = 0x86;
    pub const UNLINK: u8 = 0x87;
    pub use wigwag_wire::call::{ASK, ASKS, MIXED_ASKS, MIXED_TELLS, REPLIES, REPLY, TELL, TELLS};
    pub const CALL_X: u8 = 0x92;
    pub const ERROR: u8 = 0x94;
    pub const CANCEL: u8 = 0x95;
    pub const ITEM: u8 = 0x96;
    pub const ITEM_END: u8 = 0x97;
    pub const PARTS: u8 = 0x98;
    pub const PART: u8 = 0x99;
    pub const PARTS_DROP: u8 = 0x9A;
    pub const RELEASE: u8 = 0x9D;
    pub const DRAIN: u8 = 0x9E;
}

/// A frame; its byte slices borrow from the batch.
#[expect(missing_docs, reason = "the fields are those of section 3, by the same names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A one-way call to the actor behind the channel.
    Tell { channel: u64, method: u64, arguments: &'a [u8] },
    /// A call whose answer goes to a slot in the asker's table.
    Ask { channel: u64, slot: u64, generation: u64, method: u64, arguments: &'a [u8] },
    /// An ask whose caller waits no longer than this for its answer. It arrives as a CALL_X.
    AskWithin {
        within_ms: u64,
        channel: u64,
        slot: u64,
        generation: u64,
        method: u64,
        arguments: &'a [u8],
    },
    /// An ask that is answered with a stream: the first limit of its items, in units. It arrives as
    /// a CALL_X.
    AskItems {
        limit: u64,
        channel: u64,
        slot: u64,
        generation: u64,
        method: u64,
        arguments: &'a [u8],
    },
    /// One value of a stream. `side` is 1 if the stream answers an ask, and 0 if it is a value
    /// itself: then `slot` is its number, and `generation` 0.
    Item { slot: u64, generation: u64, side: u8, value: &'a [u8] },
    /// The units that the items of a stream may have used.
    ItemCredit { slot: u64, generation: u64, side: u8, limit: u64 },
    /// The end of a stream that is a value: `how` is 0 from its sender, 1 from its reader, which
    /// leaves, and 2 from a receiver that has not opened it.
    ItemEnd { stream: u64, how: u8, code: Code, text: &'a [u8] },
    /// The answer to an ask.
    Reply { slot: u64, generation: u64, value: &'a [u8] },
    /// The failure of an ask.
    Error { slot: u64, generation: u64, code: Code, text: &'a [u8], data: &'a [u8] },
    /// The first part of a frame of the type `kind` whose body has `total` bytes. `source` is 0 for
    /// an answer, and one more than the channel for a call.
    Parts { source: u64, kind: u8, total: u64, bytes: &'a [u8] },
    /// The next part.
    Part { source: u64, bytes: &'a [u8] },
    /// The rest of the call will not come.
    PartsDrop { source: u64 },
    /// The asker no longer waits; the answer or error is still sent.
    Cancel { slot: u64, generation: u64 },
    /// Credit: the units that may have been used on the channel since ATTACH, and the calls
    /// handled.
    Credit { channel: u64, limit: u64, handled: u64 },
    /// The sender is blocked and wants the limit raised to this value. If its next call is longer
    /// than a frame, `units` is the cost of that call, and 0 otherwise.
    Need { channel: u64, limit_wanted: u64, units: u64 },
    /// Of the tells on the channel since ATTACH: how many were taken in their turn, and how many of
    /// these were rejected.
    Outcomes { channel: u64, tells: u64, rejected: u64 },
    /// How many tells of this method were rejected since ATTACH, and why the first one was. Method 0
    /// stands for all methods that have no count of their own.
    Rejected { channel: u64, method: u64, tells: u64, code: Code, text: &'a [u8] },
    /// The receiver wants the limit lowered to this value.
    Revoke { channel: u64, limit_wanted: u64 },
    /// The sender has lowered the limit; answers REVOKE.
    Revoked { channel: u64, limit: u64 },
    /// Opens a channel to a target, given by name (`how` 0) or by reference (1).
    Attach { channel: u64, how: u8, target: &'a [u8], schema_hash: u64, codec: u8 },
    /// The channel is open; answers ATTACH.
    Attached { channel: u64, limit: u64, schema_hash: u64, codec: u8, reference: &'a [u8] },
    /// The sender closes the channel.
    Detach { channel: u64 },
    /// The receiver closes the channel, or refuses to open it.
    /// The receiver ends a channel; `reason` says why the actor has stopped, and is empty if that is
    /// not said.
    Detached { channel: u64, code: Code, accepted: u64, reason: &'a [u8] },
    /// An actor of the sender is linked to the actor of the channel. `link` is the sender's number
    /// of it, `actor` the name of its type.
    Link { channel: u64, link: u64, actor: &'a [u8] },
    /// The end of a link: `reason` says why the sender's actor has ended, and is empty if the link is
    /// undone.
    Unlink { channel: u64, link: u64, reason: &'a [u8] },
    /// A heartbeat that wants an answer.
    Ping { id: u64, next_ms: u64 },
    /// The answer to PING.
    Pong { id: u64 },
    /// The last frame of the connection.
    Close { code: Code, rule: &'a [u8], detail: &'a [u8] },
    /// Calls from this sequence number on are not delivered.
    Drain { stop_seq: u64 },
    /// A reference is no longer held.
    Release { reference: &'a [u8], times: u64 },
    /// A call with an extra that must be understood and is unknown.
    NotUnderstood { tag: u64, channel: u64, asker: Option<(u64, u64)> },
    /// A frame of unknown type that may be skipped.
    Skipped { kind: u8 },
}

/// The number of sequence numbers that a sequenced frame takes: one, or one for each item of a run.
#[inline]
pub fn numbers(kind: u8, body: &[u8]) -> Result<u64, LinkError> {
    if !is_run(kind) {
        return Ok(1);
    }
    let run = Run::parse_checked(kind, body);
    run.map(|(_, items)| items as u64).ok_or_else(broken_run)
}

/// The error for a malformed run.
#[cold]
pub(crate) fn broken_run() -> LinkError {
    LinkError::protocol(
        "a run has 1 to 256 items of at most 48 bytes, of methods and slots that are there",
    )
}

impl<'a> Frame<'a> {
    /// Reads the type and body of the next frame. The body is at most `frame_max` bytes long.
    #[inline(always)]
    pub fn next(reader: &mut Reader<'a>, frame_max: u64) -> Result<(u8, &'a [u8]), LinkError> {
        let kind = reader.u8()?;
        let length = v(reader)?;
        if length > frame_max {
            let rule = "a frame is longer than frame_max";
            return Err(LinkError::Misbehaved { code: Code::LIMIT_EXCEEDED, rule });
        }
        Ok((kind, reader.take(length as usize)?))
    }

    /// Parses the body of a frame.
    #[inline(always)]
    pub fn parse(kind: u8, body: &'a [u8]) -> Result<Frame<'a>, LinkError> {
        let mut r = Reader::new(body);
        match kind {
            kind::TELL => {
                let (channel, method) = (v(&mut r)?, v(&mut r)?);
                Ok(Frame::Tell { channel, method, arguments: r.take_rest() })
            }
            kind::ASK => {
                let (channel, slot) = (v(&mut r)?, v(&mut r)?);
                let (generation, method) = (v(&mut r)?, v(&mut r)?);
                Ok(Frame::Ask { channel, slot, generation, method, arguments: r.take_rest() })
            }
            kind::REPLY => {
                let (slot, generation) = (v(&mut r)?, v(&mut r)?);
                Ok(Frame::Reply { slot, generation, value: r.take_rest() })
            }
            kind::ITEM => {
                let (slot, generation, side) = (v(&mut r)?, v(&mut r)?, r.u8()?);
                Ok(Frame::Item { slot, generation, side, value: r.take_rest() })
            }
            _ => Frame::parse_other(kind, r),
        }
    }

    #[inline(never)]
    fn parse_other(kind: u8, mut reader: Reader<'a>) -> Result<Frame<'a>, LinkError> {
        let r = &mut reader;
        Ok(match kind {
            kind::CREDIT => Frame::Credit { channel: v(r)?, limit: v(r)?, handled: v(r)? },
            kind::NEED => {
                let (channel, limit_wanted) = (v(r)?, v(r)?);
                // An earlier release does not send the cost.
                let units = v(r).unwrap_or(0);
                Frame::Need { channel, limit_wanted, units }
            }
            kind::REVOKE => Frame::Revoke { channel: v(r)?, limit_wanted: v(r)? },
            kind::REVOKED => Frame::Revoked { channel: v(r)?, limit: v(r)? },
            kind::ERROR => Frame::Error {
                slot: v(r)?,
                generation: v(r)?,
                code: Code(r.u16()?),
                text: b(r)?,
                data: b(r)?,
            },
            kind::CANCEL => Frame::Cancel { slot: v(r)?, generation: v(r)? },
            kind::ATTACH => Frame::Attach {
                channel: v(r)?,
                how: r.u8()?,
                target: b(r)?,
                schema_hash: r.u64()?,
                codec: r.u8()?,
            },
            kind::ATTACHED => Frame::Attached {
                channel: v(r)?,
                limit: v(r)?,
                schema_hash: r.u64()?,
                codec: r.u8()?,
                reference: b(r)?,
            },
            _ => return Frame::parse_rare(kind, reader),
        })
    }

    fn parse_rare(kind: u8, mut reader: Reader<'a>) -> Result<Frame<'a>, LinkError> {
        let r = &mut reader;
        Ok(match kind {
            kind::OUTCOMES => Frame::Outcomes { channel: v(r)?, tells: v(r)?, rejected: v(r)? },
            kind::REJECTED => Frame::Rejected {
                channel: v(r)?,
                method: v(r)?,
                tells: v(r)?,
                code: Code(r.u16()?),
                text: b(r)?,
            },
            kind::ITEM_CREDIT => {
                Frame::ItemCredit { slot: v(r)?, generation: v(r)?, side: r.u8()?, limit: v(r)? }
            }
            kind::ITEM_END => {
                Frame::ItemEnd { stream: v(r)?, how: r.u8()?, code: Code(r.u16()?), text: b(r)? }
            }
            kind::PARTS => {
                Frame::Parts { source: v(r)?, kind: r.u8()?, total: v(r)?, bytes: r.take_rest() }
            }
            kind::PART => Frame::Part { source: v(r)?, bytes: r.take_rest() },
            kind::PARTS_DROP => Frame::PartsDrop { source: v(r)? },
            kind::DETACH => Frame::Detach { channel: v(r)? },
            kind::DETACHED => Frame::Detached {
                channel: v(r)?,
                code: Code(r.u16()?),
                accepted: v(r)?,
                // An earlier release does not send it.
                reason: if r.is_empty() { &[] } else { b(r)? },
            },
            kind::LINK => Frame::Link { channel: v(r)?, link: v(r)?, actor: b(r)? },
            kind::UNLINK => Frame::Unlink { channel: v(r)?, link: v(r)?, reason: b(r)? },
            kind::PING => Frame::Ping { id: v(r)?, next_ms: v(r)? },
            kind::PONG => Frame::Pong { id: v(r)? },
            kind::CLOSE => Frame::Close { code: Code(r.u16()?), rule: b(r)?, detail: b(r)? },
            kind::DRAIN => Frame::Drain { stop_seq: v(r)? },
            kind::RELEASE => Frame::Release { reference: b(r)?, times: v(r)? },
            kind::CALL_X => return extended(reader),
            unknown if unknown & SKIPPABLE != 0 => Frame::Skipped { kind },
            _ => return Err(unknown_frame()),
        })
    }
}

/// The error for a frame that must be understood and is not known.
#[cold]
pub(crate) fn unknown_frame() -> LinkError {
    let rule = "a frame of unknown type without the bit that lets it be skipped";
    LinkError::Misbehaved { code: Code::UNKNOWN_FRAME, rule }
}

/// Extras that this version knows: 1 traceparent, 2 milliseconds left, 4 call chain, 6 items wanted.
/// All but the last are advisory: a call may be handled without them. Unknown odd tags are always
/// skipped.
const TAGS_KNOWN: [u64; 4] = [TRACE, WITHIN, 4, ITEMS];
/// The tag of the trace context, in its encoded form of 25 bytes.
pub(crate) const TRACE: u64 = 1;
/// The tag of the milliseconds for which the caller of an ask waits from its arrival on.
pub(crate) const WITHIN: u64 = 2;
/// The tag of the first limit of the items that an ask is answered with, in units.
pub(crate) const ITEMS: u64 = 6;

/// The trace context among the extras of a CALL_X. A context that is malformed, or has another length,
/// counts as none.
#[cold]
pub(crate) fn trace_of(body: &[u8]) -> Option<TraceContext> {
    let mut reader = Reader::new(body);
    reader.u8().ok()?;
    let mut meta = Reader::new(b(&mut reader).ok()?);
    while !meta.is_empty() {
        let (tag, value) = (varint::take(&mut meta).ok()?, b(&mut meta).ok()?);
        if tag == TRACE {
            return TraceContext::from_bytes(value.try_into().ok()?);
        }
    }
    None
}

/// Parses CALL_X: a call behind its extras. Even tags must be understood; a call with an unknown
/// one is answered with an error.
fn extended(mut reader: Reader<'_>) -> Result<Frame<'_>, LinkError> {
    let inner = reader.u8()?;
    let mut meta = Reader::new(b(&mut reader)?);
    let (mut not_understood, mut within, mut items) = (None, None, None);
    while !meta.is_empty() {
        let tag = varint::take(&mut meta)?;
        let value = b(&mut meta)?;
        if tag == WITHIN {
            within = Some(varint::take(&mut Reader::new(value))?);
        }
        if tag == ITEMS {
            items = Some(varint::take(&mut Reader::new(value))?);
        }
        if tag % 2 == 0 && !TAGS_KNOWN.contains(&tag) {
            not_understood = Some(tag);
        }
    }
    if !matches!(inner, kind::TELL | kind::ASK | kind::REPLY) {
        return Err(LinkError::protocol("extras stand only before a TELL, ASK or REPLY"));
    }
    if items.is_some() && inner != kind::ASK {
        not_understood = Some(ITEMS);
    }
    let frame = Frame::parse(inner, reader.take_rest())?;
    let Some(tag) = not_understood else {
        return Ok(match (frame, within, items) {
            (Frame::Ask { channel, slot, generation, method, arguments }, _, Some(limit)) => {
                Frame::AskItems { limit, channel, slot, generation, method, arguments }
            }
            (Frame::Ask { channel, slot, generation, method, arguments }, Some(within_ms), _) => {
                Frame::AskWithin { within_ms, channel, slot, generation, method, arguments }
            }
            (frame, ..) => frame,
        });
    };
    Ok(match frame {
        Frame::Ask { channel, slot, generation, .. } => {
            Frame::NotUnderstood { tag, channel, asker: Some((slot, generation)) }
        }
        Frame::Tell { channel, .. } => Frame::NotUnderstood { tag, channel, asker: None },
        Frame::Reply { slot, generation, .. } => Frame::Error {
            slot,
            generation,
            code: Code::BAD_ARGUMENTS,
            text: b"the reply has an extra that this side does not know",
            data: &[],
        },
        other => other,
    })
}
