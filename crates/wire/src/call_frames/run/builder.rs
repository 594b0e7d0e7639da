//! Building runs out of frames that are written one after the other.

use super::{ITEM_BEGIN, RUN_ITEMS_MAX, end_item};
use crate::call_frames::call::{ASK, ASKS, REPLIES, REPLY, TELL, TELLS};
use crate::encoding::small::Scratch;
use crate::{Buffer, varint};

mod mixed;

pub use mixed::SameMethod;

/// Bytes reserved for the length of a run's body, which is below 16,384.
const LENGTH_BYTES: usize = 2;

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
    /// Mixed runs may be built.
    mixes: bool,
    /// Kind and channel of the last calls of one method, if they were few; otherwise 0.
    few: u32,
    /// The last calls of the mixed run.
    same: SameMethod,
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
    /// A builder of mixed runs too, if `mixes`.
    pub fn new(mixes: bool) -> RunBuilder {
        RunBuilder { mixes, ..RunBuilder::default() }
    }

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
            return self.mixes && self.mixed_tell(out, channel, method, small);
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
            return self.mixes && self.mixed_ask(out, channel, asker, method, small);
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
    pub(super) fn begin(&mut self, out: &mut Buffer, kind: u8, numbers: &[u64]) {
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
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::call_frames::call::{Calls, EncodedCall};
    use crate::call_frames::run::ITEM_BYTES_MAX;
    use crate::encoding::small::store;

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
            crate::call_frames::call::small(out, TELL, numbers, content(bytes))
                .expect("it is short");
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
                crate::call_frames::call::small(&mut out, ASK, numbers, content(&bytes))
                    .expect("it is short");
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
}
