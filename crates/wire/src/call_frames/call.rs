//! Encoded calls, as links carry them and mailboxes store them.
//!
//! A call is a kind, a length and a body: the channel, for an ask the slot and generation of the
//! asker, the method, and the arguments. An inbound queue stores the calls of a session as received
//! and decodes each one when it is handled, so a call is decoded once, straight into its handler.

mod run;

pub use run::{CallRun, CallRunCursor};

use crate::call_frames::run::{Run, RunItems, is_run};
use crate::encoding::small::{SMALL_BYTES_MAX, Scratch, put_numbers, store};
use crate::trace::TRACE_BYTES;
use crate::{Buffer, Encode, Reader, Time, varint};

/// The kind of a call without an answer.
pub const TELL: u8 = 0x90;
/// The kind of a call whose asker waits for the answer.
pub const ASK: u8 = 0x91;

/// The kind of an ask with a deadline, in the form in which it is stored and never sent: the
/// [`Time`] of the deadline, in eight bytes, little-endian, precedes the body of an [`ASK`].
pub const ASK_BY: u8 = 0x92;

/// The kind of an ask that is answered with a stream, in the form in which it is stored and never
/// sent: the first limit of its items, in eight bytes, little-endian, precedes the body of an
/// [`ASK`].
pub const ASK_ITEMS: u8 = 0x96;

/// The kind of a tell with a trace context, in the form in which it is stored and never sent: the
/// [context](crate::trace), in 25 bytes, precedes the whole stored tell.
pub const TRACED_TELL: u8 = 0x98;
/// The kind of an ask with a trace context, which may have an extra too.
pub const TRACED_ASK: u8 = 0x99;

/// The kind of an answer.
pub const REPLY: u8 = 0x93;

/// The kind of a run of [`TELL`]s.
pub const TELLS: u8 = 0xA0;
/// The kind of a run of [`ASK`]s.
pub const ASKS: u8 = 0xA1;
/// The kind of a run of [`REPLY`]s.
pub const REPLIES: u8 = 0xA2;
/// The kind of a run of [`TELL`]s of several methods.
pub const MIXED_TELLS: u8 = 0xA3;
/// The kind of a run of [`ASK`]s of several methods.
pub const MIXED_ASKS: u8 = 0xA4;

/// True if the first of these calls is an ask, or a run of asks.
#[inline]
pub fn are_asks(calls: &[u8]) -> bool {
    matches!(calls.first(), Some(&(ASK | ASK_BY | ASK_ITEMS | TRACED_ASK | ASKS | MIXED_ASKS)))
}

/// The largest end of a body whose length takes one byte.
const SMALL_BODY_END: usize = 0x7F + 2;

/// Appends a frame with a short body, with a single update of the buffer's length. `body` writes
/// the body into the scratch memory from the given place on and returns its end. Returns the length
/// of the frame's body. If `body` returns `None` or a number is too wide, returns `None` and writes
/// nothing.
#[inline(always)]
pub fn small<const N: usize>(
    out: &mut Buffer,
    kind: u8,
    numbers: [u64; N],
    body: impl FnOnce(&mut Scratch, usize) -> Option<usize>,
) -> Option<usize> {
    let room = out.room();
    let at = put_numbers(room.place, numbers)?;
    let end = body(room.place, at)?;
    if end > SMALL_BODY_END {
        return None;
    }
    store(room.place, 0, [kind, (end - 2) as u8]);
    room.keep(end);
    Some(end - 2)
}

/// Appends the answer to an ask if its type guarantees that it is short; otherwise returns `None`
/// and writes nothing.
#[inline(always)]
pub fn small_reply<T: Encode>(
    out: &mut Buffer,
    (slot, generation): (u32, u32),
    value: &T,
) -> Option<usize> {
    if T::SMALL_BYTES > SMALL_BYTES_MAX {
        return None;
    }
    let numbers = [u64::from(slot), u64::from(generation)];
    let body =
        small(out, REPLY, numbers, |scratch, place| Some(value.encode_small(scratch, place)));
    Some(body.unwrap_or_else(|| wide_reply(out, (slot, generation), value)))
}

/// [`small_reply`] for a slot with a wide number, as at the end of a large table.
#[cold]
#[inline(never)]
fn wide_reply<T: Encode>(out: &mut Buffer, (slot, generation): (u32, u32), value: &T) -> usize {
    let start = out.len();
    out.put([REPLY, 0], 2);
    varint::put(out, slot.into());
    varint::put(out, generation.into());
    out.small(|scratch| value.encode_small(scratch, 0));
    // Two numbers of five bytes and the longest value: below 0x80.
    let body = out.len() - start - 2;
    out.set(start + 1, body as u8);
    body
}

/// One encoded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedCall<'a> {
    /// The method's number.
    pub method: u32,
    /// Slot and generation of an ask.
    pub asker: Option<(u32, u32)>,
    /// The encoded arguments.
    pub arguments: &'a [u8],
    /// The extra of an ask, if it has one.
    pub extra: Option<CallExtra>,
    /// The trace context of the call, if it has one.
    pub trace: Option<&'a [u8; TRACE_BYTES]>,
}

/// An extra of an ask, besides its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallExtra {
    /// The time after which the caller waits no longer.
    Deadline(Time),
    /// The answer is a stream: the first limit of its items, in units.
    Items(u64),
}

/// Iterator over encoded calls that were validated on arrival. Invalid bytes end the iteration.
#[derive(Clone, Debug, Default)]
pub struct Calls<'a> {
    rest: &'a [u8],
    /// The rest of the current run, and the method of its calls; `None` if each begins with its
    /// own.
    items: RunItems<'a>,
    method: Option<u32>,
    /// Whether the calls of the run are asks, and the next asker.
    asks: bool,
    slot: u32,
    generation: u32,
}

/// A place among encoded calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallsPosition {
    /// Bytes behind the current run, and those of the run that are left.
    rest: usize,
    items: usize,
    method: Option<u32>,
    asks: bool,
    slot: u32,
    generation: u32,
}

impl<'a> Calls<'a> {
    /// The calls in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Calls<'a> {
        Calls { rest: bytes, ..Calls::default() }
    }

    /// The calls in `bytes` from a place on that [`position`](Self::position) has returned for the same
    /// bytes.
    pub fn at(bytes: &'a [u8], position: &CallsPosition) -> Calls<'a> {
        let CallsPosition { rest, items, method, asks, slot, generation } = *position;
        let (before, rest) = bytes.split_at(bytes.len().saturating_sub(rest));
        // A run ends where the frame behind it begins.
        let items = RunItems::new(&before[before.len().saturating_sub(items)..]);
        Calls { rest, items, method, asks, slot, generation }
    }

    /// The place of the next call.
    pub fn position(&self) -> CallsPosition {
        CallsPosition {
            rest: self.rest.len(),
            items: self.items.rest().len(),
            method: self.method,
            asks: self.asks,
            slot: self.slot,
            generation: self.generation,
        }
    }

    /// True if no call is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty() && self.items.rest().is_empty()
    }

    /// The calls that were taken since `start`, an earlier state of this iterator, and the asks among
    /// them.
    pub fn taken_since(&self, start: &Calls<'a>) -> (usize, usize) {
        let is_here = |it: &Calls<'a>| {
            it.rest.len() == self.rest.len() && it.items.rest().len() == self.items.rest().len()
        };
        let (mut calls, mut asks) = (0, 0);
        let mut at = start.clone();
        while !is_here(&at)
            && let Some(call) = at.next()
        {
            calls += 1;
            asks += usize::from(call.asker.is_some());
        }
        (calls, asks)
    }

    /// The rest of the current run, to be taken call by call.
    #[inline]
    pub fn run(&mut self) -> Option<CallRun<'_, 'a>> {
        if self.items.rest().is_empty() {
            return None;
        }
        let (items, slot) = (self.items, self.slot);
        Some(CallRun { items, slot, calls: self })
    }

    #[inline(never)]
    fn parse(&mut self) -> Option<EncodedCall<'a>> {
        let mut whole = Reader::new(core::mem::take(&mut self.rest));
        let kind = whole.u8().ok()?;
        let length = usize::try_from(varint::take(&mut whole).ok()?).ok()?;
        let body = whole.take(length).ok()?;
        if is_run(kind) {
            return self.begin(Run::parse(kind, body)?, whole.take_rest());
        }
        if let TRACED_TELL | TRACED_ASK = kind {
            self.rest = whole.take_rest();
            return traced(body);
        }
        let mut body = Reader::new(body);
        let extra = match kind {
            ASK_BY => Some(CallExtra::Deadline(Time::from_nanos(body.u64().ok()?))),
            ASK_ITEMS => Some(CallExtra::Items(body.u64().ok()?)),
            _ => None,
        };
        varint::take(&mut body).ok()?;
        let asker = if let ASK | ASK_BY | ASK_ITEMS = kind {
            let (slot, generation) = (varint::take(&mut body).ok()?, varint::take(&mut body).ok()?);
            Some((u32::try_from(slot).ok()?, u32::try_from(generation).ok()?))
        } else {
            None
        };
        let method = narrow(varint::take(&mut body).ok()?);
        self.rest = whole.take_rest();
        Some(EncodedCall { method, asker, arguments: body.take_rest(), extra, trace: None })
    }

    fn begin(&mut self, run: Run<'a>, rest: &'a [u8]) -> Option<EncodedCall<'a>> {
        self.rest = rest;
        self.items = run.items;
        self.asks = run.asker.is_some();
        (self.slot, self.generation) = run.asker.unwrap_or_default();
        self.method = run.method.map(narrow);
        self.item()
    }

    /// The next call of a run.
    #[inline(always)]
    fn item(&mut self) -> Option<EncodedCall<'a>> {
        let item = self.items.next()?;
        let (method, arguments) = match self.method {
            Some(method) => (method, item),
            None => split_method(item),
        };
        let asker = self.asks.then_some((self.slot, self.generation));
        self.slot = self.slot.wrapping_add(1);
        Some(EncodedCall { method, asker, arguments, extra: None, trace: None })
    }
}

/// The call behind its trace context.
fn traced(body: &[u8]) -> Option<EncodedCall<'_>> {
    let (trace, call) = body.split_first_chunk()?;
    let call = Calls::new(call).next()?;
    Some(EncodedCall { trace: Some(trace), ..call })
}

/// A method number as calls have it. A number that is too large must not become a valid one.
#[inline(always)]
fn narrow(method: u64) -> u32 {
    u32::try_from(method).unwrap_or(u32::MAX)
}

/// Splits an item of a mixed run into its method and its arguments.
#[inline(always)]
fn split_method(item: &[u8]) -> (u32, &[u8]) {
    match item.split_first() {
        Some((method @ 0..0x80, arguments)) => (u32::from(*method), arguments),
        _ => split_wide_method(item),
    }
}

#[cold]
#[inline(never)]
fn split_wide_method(item: &[u8]) -> (u32, &[u8]) {
    let mut reader = Reader::new(item);
    let method = varint::take(&mut reader).map_or(u32::MAX, narrow);
    (method, reader.take_rest())
}

impl<'a> Iterator for Calls<'a> {
    type Item = EncodedCall<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<EncodedCall<'a>> {
        if let Some(call) = self.item() {
            return Some(call);
        }
        // The common case: a tell whose length, channel and method take one byte each, or such an
        // ask.
        if let [kind @ (TELL | ASK), length @ 2..0x80, channel @ 0..0x80, rest @ ..] = self.rest {
            let _ = channel;
            if let Some((body, after)) = rest.split_at_checked(usize::from(*length) - 1) {
                if let (TELL, [method @ 0..0x80, arguments @ ..]) = (*kind, body) {
                    self.rest = after;
                    return Some(EncodedCall {
                        method: u32::from(*method),
                        asker: None,
                        arguments,
                        extra: None,
                        trace: None,
                    });
                }
                if *kind == ASK
                    && let Some(call) = small_ask(body)
                {
                    self.rest = after;
                    return Some(call);
                }
            }
        }
        if self.rest.is_empty() { None } else { self.parse() }
    }
}

#[inline(always)]
fn small_ask(body: &[u8]) -> Option<EncodedCall<'_>> {
    let (slot, generation, used) = varint::pair(body)?;
    let (method, arguments) = body.get(used..)?.split_first()?;
    let method = Some(u32::from(*method)).filter(|method| *method < 0x80)?;
    Some(EncodedCall {
        method,
        asker: Some((slot, generation)),
        arguments,
        extra: None,
        trace: None,
    })
}

#[cfg(test)]
mod tests;
