//! Runs: many short frames behind one head.
//!
//! Consecutive frames of one kind for one method differ only in their content. A run states the
//! common part once: a kind, a length, the numbers of the head, and then items, each a length byte
//! followed by the content. In every other respect an item counts as a frame of its own.

use crate::call::{ASK, ASKS, REPLIES, REPLY, TELL, TELLS};
use crate::fixed::{FixedWidth, MARK};
use crate::small::{Scratch, store};
use crate::{Buffer, Reader, varint};

/// Items of a run at most: as many calls as an actor takes at once. The fixed cost of a run, on
/// both sides, is some hundreds of instructions.
pub const RUN_ITEMS_MAX: usize = 256;

/// Bytes of an item at most: with its head it would cost one unit of credit.
pub const ITEM_BYTES_MAX: usize = 48;

/// Bytes of a run's body at most: its items, and the four numbers of its head.
pub const RUN_BODY_BYTES_MAX: usize = RUN_ITEMS_MAX * (1 + ITEM_BYTES_MAX) + 40;

/// Bytes reserved for the length of a run's body, which is below 16,384.
const LENGTH_BYTES: usize = 2;

/// Iterator over the items of a run. Invalid bytes end the iteration.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunItems<'a> {
    rest: &'a [u8],
}

impl<'a> RunItems<'a> {
    /// The items in `bytes`.
    pub fn new(bytes: &'a [u8]) -> RunItems<'a> {
        RunItems { rest: bytes }
    }

    /// The bytes of the items that were not returned yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Takes the values of the next item if they have this fixed width; otherwise takes nothing.
    /// The position of the following item is then known in advance, so a processor need not wait
    /// for its length.
    #[inline(always)]
    pub fn next_fixed(&mut self, fixed: FixedWidth) -> Option<&'a [u8]> {
        let (item, rest) = self.rest.split_at_checked(2 + fixed.bytes())?;
        let (head, values) = item.split_first_chunk::<2>()?;
        if *head != [1 + fixed.bytes() as u8, MARK] {
            return None;
        }
        self.rest = rest;
        Some(values)
    }

    /// The number of items; `None` if the bytes are not valid items, or if there are none or too
    /// many.
    pub fn checked_count(self) -> Option<usize> {
        self.count_equal().or_else(|| self.count_any())
    }

    /// Counts items that all have the same length, which is the common case. Their positions are
    /// then known in advance, so a processor need not read one to find the next.
    #[inline]
    fn count_equal(self) -> Option<usize> {
        let first = *self.rest.first()?;
        let whole = self.rest.chunks_exact(1 + usize::from(first));
        let equal = whole.remainder().is_empty()
            && usize::from(first) <= ITEM_BYTES_MAX
            && whole.len() <= RUN_ITEMS_MAX
            && whole.clone().all(|item| item.first() == Some(&first));
        equal.then(|| whole.len())
    }

    #[inline(never)]
    fn count_any(self) -> Option<usize> {
        let (mut rest, mut count) = (self.rest, 0);
        while let Some((length, bytes)) = rest.split_first() {
            let length = Some(usize::from(*length)).filter(|length| *length <= ITEM_BYTES_MAX)?;
            rest = bytes.get(length..)?;
            count += 1;
        }
        (1..=RUN_ITEMS_MAX).contains(&count).then_some(count)
    }
}

impl<'a> Iterator for RunItems<'a> {
    type Item = &'a [u8];

    #[inline(always)]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, bytes) = self.rest.split_first()?;
        let (item, rest) = bytes.split_at_checked(usize::from(*length))?;
        self.rest = rest;
        Some(item)
    }
}

/// The parsed body of a run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The channel of calls; 0 for replies.
    pub channel: u64,
    /// The method of calls; 0 for replies.
    pub method: u64,
    /// Slot and generation of the first item of asks and replies; the following items have
    /// consecutive slots and the same generation.
    pub asker: Option<(u32, u32)>,
    /// The items.
    pub items: RunItems<'a>,
}

impl<'a> Run<'a> {
    /// Parses the body of a frame whose kind is a run; returns `None` if it is malformed.
    pub fn parse(kind: u8, body: &'a [u8]) -> Option<Run<'a>> {
        let mut reader = Reader::new(body);
        let mut number = || varint::take(&mut reader).ok();
        let mut run = Run { channel: 0, method: 0, asker: None, items: RunItems::default() };
        if kind != REPLIES {
            run.channel = number()?;
        }
        if kind != TELLS {
            let (slot, generation) = (number()?, number()?);
            run.asker = Some((u32::try_from(slot).ok()?, u32::try_from(generation).ok()?));
        }
        if kind != REPLIES {
            run.method = number()?;
        }
        run.items = RunItems::new(reader.take_rest());
        Some(run)
    }

    /// Appends the run as a whole frame of a call: a tell without an asker, otherwise an ask. A run
    /// may have one item only.
    pub fn write_calls(&self, out: &mut Buffer) {
        let asker = self.asker.map(|(slot, generation)| [u64::from(slot), u64::from(generation)]);
        let kind = if asker.is_some() { ASKS } else { TELLS };
        let mut builder = RunBuilder::default();
        builder.begin(out, kind, &[self.channel]);
        asker.iter().flatten().for_each(|number| varint::put(out, *number));
        varint::put(out, self.method);
        out.extend(self.items.rest());
        builder.note_items(1);
        builder.close(out);
    }
}

/// Where the content of an item begins in the scratch memory.
pub const ITEM_BEGIN: usize = 1;

/// Completes an item whose content is stored from [`ITEM_BEGIN`] to `end`. Returns false if it is
/// too long for an item.
#[inline(always)]
pub fn end_item(scratch: &mut Scratch, end: usize) -> bool {
    store(scratch, 0, [end.wrapping_sub(ITEM_BEGIN) as u8]);
    end <= ITEM_BEGIN + ITEM_BYTES_MAX
}

/// Returns true for the kinds that are runs.
#[inline(always)]
pub fn is_run(kind: u8) -> bool {
    matches!(kind, TELLS | ASKS | REPLIES)
}

/// Builds runs from frames that are written one after the other into a buffer.
///
/// A single frame is written as it is: a run begins with the second frame that matches the first.
/// Before anything else is written into the buffer, or before the buffer is taken away, the run
/// must be [closed](Self::close).
#[derive(Debug, Default)]
pub struct RunBuilder {
    /// Kind, channel and method of the last frame; 0 if nothing may be joined to it.
    key: u64,
    /// Slot and generation that the next ask or reply must have.
    next: u64,
    /// Where the body of the open run begins; 0 if none is open.
    body: usize,
    /// Items that still fit into the open run.
    room: usize,
}

/// Slot and generation as one word, which counts up with the slot.
#[inline(always)]
fn word((slot, generation): (u32, u32)) -> u64 {
    u64::from(slot) << 32 | u64::from(generation)
}

const NEXT_SLOT: u64 = 1 << 32;

#[inline(always)]
fn key(kind: u8, channel: u64, method: u32) -> u64 {
    u64::from(kind) << 56 | channel << 32 | u64::from(method)
}

/// The first channel number that does not fit into the key; peers that run this implementation
/// never use one.
const CHANNELS_MAX: u64 = 1 << 24;

impl RunBuilder {
    /// Joins a tell to the previous ones. `small` writes its arguments, as in
    /// [`small`](crate::small). If it returns false, nothing was written and the tell must be
    /// written as a frame of its own.
    #[inline(always)]
    pub fn tell(
        &mut self,
        out: &mut Buffer,
        channel: u64,
        method: u32,
        small: impl FnOnce(&mut Scratch, usize) -> Option<usize>,
    ) -> bool {
        if self.key != key(TELL, channel, method) {
            return false;
        }
        if self.room == 0 {
            self.begin(out, TELLS, &[channel, u64::from(method)]);
        }
        self.item(out, small)
    }

    /// Joins an ask, as [`tell`](Self::tell) joins a tell.
    #[inline(always)]
    pub fn ask(
        &mut self,
        out: &mut Buffer,
        channel: u64,
        asker: (u32, u32),
        method: u32,
        small: impl FnOnce(&mut Scratch, usize) -> Option<usize>,
    ) -> bool {
        if self.key != key(ASK, channel, method) || self.next != word(asker) {
            return false;
        }
        if self.room == 0 {
            let (slot, generation) = (u64::from(asker.0), u64::from(asker.1));
            self.begin(out, ASKS, &[channel, slot, generation, u64::from(method)]);
        }
        let joined = self.item(out, small);
        self.next += NEXT_SLOT;
        joined
    }

    /// Joins the answer to an ask, as [`tell`](Self::tell) joins a tell.
    #[inline(always)]
    pub fn reply(
        &mut self,
        out: &mut Buffer,
        asker: (u32, u32),
        small: impl FnOnce(&mut Scratch, usize) -> Option<usize>,
    ) -> bool {
        if self.key != key(REPLY, 0, 0) || self.next != word(asker) {
            return false;
        }
        if self.room == 0 {
            self.begin(out, REPLIES, &[u64::from(asker.0), u64::from(asker.1)]);
        }
        let joined = self.item(out, small);
        self.next += NEXT_SLOT;
        joined
    }

    /// Notes that a tell was written as a frame of its own, so that the next one may be joined to
    /// it.
    #[inline(always)]
    pub fn note_tell(&mut self, channel: u64, method: u32) {
        self.key = if channel < CHANNELS_MAX { key(TELL, channel, method) } else { 0 };
    }

    /// Notes that an ask was written as a frame of its own.
    #[inline(always)]
    pub fn note_ask(&mut self, channel: u64, asker: (u32, u32), method: u32) {
        self.key = if channel < CHANNELS_MAX { key(ASK, channel, method) } else { 0 };
        self.next = word(asker).wrapping_add(NEXT_SLOT);
    }

    /// Notes that a reply was written as a frame of its own.
    #[inline(always)]
    pub fn note_reply(&mut self, asker: (u32, u32)) {
        self.key = key(REPLY, 0, 0);
        self.next = word(asker).wrapping_add(NEXT_SLOT);
    }

    /// Items that may be added to the open run with [`end_item`].
    pub fn room(&self) -> usize {
        self.room
    }

    /// Notes that `items` items were added, from consecutive slots.
    pub fn note_items(&mut self, items: usize) {
        self.room = self.room.saturating_sub(items);
        self.next = self.next.wrapping_add(NEXT_SLOT.wrapping_mul(items as u64));
    }

    #[inline(always)]
    fn item(
        &mut self,
        out: &mut Buffer,
        small: impl FnOnce(&mut Scratch, usize) -> Option<usize>,
    ) -> bool {
        let room = out.room();
        if let Some(end) = small(room.place, ITEM_BEGIN)
            && end_item(room.place, end)
        {
            room.keep(end);
            self.room -= 1;
            return true;
        }
        self.close(out);
        false
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, out: &mut Buffer, kind: u8, numbers: &[u64]) {
        self.end(out);
        out.put([kind, 0, 0], 1 + LENGTH_BYTES);
        self.body = out.len();
        numbers.iter().for_each(|number| varint::put(out, *number));
        self.room = RUN_ITEMS_MAX;
    }

    /// Ends the open run, if any; the next frame starts anew.
    #[inline(always)]
    pub fn close(&mut self, out: &mut Buffer) {
        self.key = 0;
        if self.body != 0 {
            self.end(out);
        }
    }

    #[cold]
    #[inline(never)]
    fn end(&mut self, out: &mut Buffer) {
        let body = core::mem::take(&mut self.body);
        let room = core::mem::take(&mut self.room);
        if body == 0 {
            return;
        }
        if room == RUN_ITEMS_MAX {
            // The run was begun for an item that did not fit.
            return out.truncate(body - 1 - LENGTH_BYTES);
        }
        let length = out.len() - body;
        if length < 0x80 {
            // Numbers must be in their shortest form.
            out.set(body - 2, length as u8);
            out.remove(body - 1);
        } else {
            out.set(body - 2, length as u8 | 0x80);
            out.set(body - 1, (length >> 7) as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Encode;
    use crate::call::{Calls, EncodedCall};
    use alloc::vec;
    use alloc::vec::Vec;

    fn content(bytes: &[u8]) -> impl FnOnce(&mut Scratch, usize) -> Option<usize> + '_ {
        move |scratch, at| {
            for (place, byte) in bytes.iter().enumerate() {
                store(scratch, at + place, [*byte]);
            }
            Some(at + bytes.len())
        }
    }

    fn tell(builder: &mut RunBuilder, out: &mut Buffer, channel: u64, method: u32, bytes: &[u8]) {
        if !builder.tell(out, channel, method, content(bytes)) {
            builder.close(out);
            let numbers = [channel, u64::from(method)];
            crate::call::small(out, TELL, numbers, content(bytes)).expect("it is short");
            builder.note_tell(channel, method);
        }
    }

    /// Their numbers would overlap the kind of the frame.
    #[test]
    fn channels_beyond_the_key_are_never_joined() {
        for (channel, joins) in [(CHANNELS_MAX - 1, true), (CHANNELS_MAX, false), (1 << 40, false)]
        {
            let (mut builder, mut out) = (RunBuilder::default(), Buffer::new());
            builder.note_tell(channel, 16);
            assert_eq!(builder.tell(&mut out, channel, 16, content(&[1])), joins, "{channel}");
            let (mut builder, mut out) = (RunBuilder::default(), Buffer::new());
            builder.note_ask(channel, (3, 1), 16);
            let joined = builder.ask(&mut out, channel, (4, 1), 16, content(&[1]));
            assert_eq!(joined, joins, "{channel}");
        }
    }

    #[test]
    fn tells_to_one_method_are_joined_and_round_trip() {
        let (mut builder, mut out) = (RunBuilder::default(), Buffer::new());
        let mut expected: Vec<(u32, Vec<u8>)> = Vec::new();
        for n in 0..1000_u32 {
            let (channel, method) = if n % 300 < 2 { (7, 19) } else { (5, 16 + n / 500) };
            let bytes = vec![n as u8; 1 + (n % 40) as usize];
            tell(&mut builder, &mut out, channel, method, &bytes);
            expected.push((method, bytes));
        }
        builder.close(&mut out);
        let calls: Vec<_> =
            Calls::new(out.as_slice()).map(|call| (call.method, call.arguments.to_vec())).collect();
        assert_eq!(calls, expected);
        let alone = expected.iter().map(|(_, bytes)| 4 + bytes.len()).sum::<usize>();
        assert!(out.len() < alone - 2500, "{} of {alone}", out.len());
    }

    #[test]
    fn asks_from_consecutive_slots_are_joined() {
        let (mut builder, mut out) = (RunBuilder::default(), Buffer::new());
        let askers = [(4, 9), (5, 9), (6, 9), (6, 9), (8, 9), (9, 9), (10, 8), (11, 8)];
        for (at, asker) in askers.into_iter().enumerate() {
            let bytes = [at as u8, 1];
            if !builder.ask(&mut out, 5, asker, 16, content(&bytes)) {
                builder.close(&mut out);
                let numbers = [5, u64::from(asker.0), u64::from(asker.1), 16];
                crate::call::small(&mut out, ASK, numbers, content(&bytes)).expect("it is short");
                builder.note_ask(5, asker, 16);
            }
        }
        builder.close(&mut out);
        let calls: Vec<EncodedCall<'_>> = Calls::new(out.as_slice()).collect();
        assert_eq!(calls.len(), askers.len());
        for (at, (call, asker)) in calls.iter().zip(askers).enumerate() {
            assert_eq!((call.asker, call.arguments), (Some(asker), &[at as u8, 1][..]));
        }
        let kinds = out.as_slice().iter().filter(|byte| **byte == ASKS).count();
        assert_eq!(kinds, 3);
    }

    #[test]
    fn an_item_that_does_not_fit_leaves_no_trace() {
        let (mut builder, mut out) = (RunBuilder::default(), Buffer::new());
        tell(&mut builder, &mut out, 5, 16, &[1]);
        let before = out.as_slice().to_vec();
        assert!(!builder.tell(&mut out, 5, 16, |_, _| None));
        assert_eq!(out.as_slice(), before);
        assert!(!builder.tell(&mut out, 5, 16, content(&[2])), "it was closed");
        builder.note_tell(5, 16);
        assert!(!builder.tell(&mut out, 5, 16, content(&[2; ITEM_BYTES_MAX + 1])));
        assert_eq!(out.as_slice(), before);
    }

    #[test]
    fn a_run_is_written_as_it_was_parsed() {
        let items = [2, 7, 8, 1, 9];
        for asker in [None, Some((300, 70_000))] {
            for copies in [1, 60] {
                let items = items.repeat(copies);
                let run = Run { channel: 5, method: 200, asker, items: RunItems::new(&items) };
                let mut out = Buffer::new();
                out.push(0xEE);
                run.write_calls(&mut out);
                let kind = out.as_slice()[1];
                let mut reader = Reader::new(&out.as_slice()[2..]);
                let length = varint::take(&mut reader).expect("a length") as usize;
                assert_eq!(reader.rest().len(), length);
                let read = Run::parse(kind, reader.rest()).expect("a run");
                assert_eq!((read.channel, read.method, read.asker), (5, 200, asker));
                assert_eq!(read.items.rest(), items);
                assert_eq!(kind == ASKS, asker.is_some());
            }
        }
    }

    #[test]
    fn fixed_width_items_are_taken_until_another_form_follows() {
        let fixed = <(u8, u16)>::FIXED;
        let good = [4, MARK, 1, 2, 3];
        let others: [&[u8]; 6] = [
            &[4, 0x93, 1, 2, 3],
            &[3, MARK, 1, 2],
            &[5, MARK, 1, 2, 3, 4],
            &[4, MARK, 1],
            &[0],
            &[],
        ];
        for other in others {
            let bytes = [&good, &good, other].concat();
            let mut items = RunItems::new(&bytes);
            let taken: Vec<_> = core::iter::from_fn(|| items.next_fixed(fixed)).collect();
            assert_eq!(taken, [&good[2..]; 2]);
            assert_eq!(items.rest(), other);
        }
    }

    #[test]
    fn only_complete_short_items_are_counted_up_to_the_limit() {
        let count = |bytes: &[u8]| RunItems::new(bytes).checked_count();
        assert_eq!(count(&[1, 7, 0, 2, 8, 9]), Some(3));
        assert_eq!(count(&[]), None);
        assert_eq!(count(&[2, 7]), None);
        assert_eq!(count(&[0; RUN_ITEMS_MAX]), Some(RUN_ITEMS_MAX));
        assert_eq!(count(&[0; RUN_ITEMS_MAX + 1]), None);
        assert_eq!(count(&[ITEM_BYTES_MAX as u8; ITEM_BYTES_MAX + 1]), Some(1));
        assert_eq!(count(&[ITEM_BYTES_MAX as u8 + 1; ITEM_BYTES_MAX + 2]), None);
        assert_eq!(count(&[1, 7, 1, 8, 1]), None, "the last item is cut off");
        assert_eq!(count(&[1, 7, 1, 8, 0]), Some(3));
        assert_eq!(count(&[1, 7, 0, 8]), None, "the third item is longer than the rest");
        assert_eq!(count(&[1, 1].repeat(RUN_ITEMS_MAX)), Some(RUN_ITEMS_MAX));
        assert_eq!(count(&[1, 1].repeat(RUN_ITEMS_MAX + 1)), None);
    }
}
