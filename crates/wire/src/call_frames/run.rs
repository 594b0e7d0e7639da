//! Runs: many short frames behind one head.
//!
//! Consecutive frames of one kind for one method differ only in their content. A run states the
//! common part once: a kind, a length, the numbers of the head, and then items, each a length byte
//! followed by the content. In every other respect an item counts as a frame of its own.
//!
//! The items of a mixed run are calls of several methods, and each begins with its method.

use crate::call_frames::call::{ASKS, MIXED_ASKS, MIXED_TELLS, REPLIES, TELLS};
use crate::encoding::fixed::{FIXED_BYTES_MAX, FixedWidth, MARK};
use crate::encoding::small::{Scratch, store};
use crate::{Buffer, Reader, varint};

mod builder;

pub use builder::{RunBuilder, SameMethod};

/// Items of a run at most: as many calls as an actor takes at once. The fixed cost of a run, on
/// both sides, is some hundreds of instructions.
pub const RUN_ITEMS_MAX: usize = 256;

/// Bytes of an item at most: with its head it would cost one unit of credit.
pub const ITEM_BYTES_MAX: usize = 48;

const _: () = assert!(FIXED_BYTES_MAX < ITEM_BYTES_MAX, "with their mark they fit into an item");

/// Bytes of a run's body at most: its items, and the four numbers of its head.
pub const RUN_BODY_BYTES_MAX: usize = RUN_ITEMS_MAX * (1 + ITEM_BYTES_MAX) + 40;

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
        self.count(|_| true)
    }

    /// The number of items, each of which begins with a method other than 0; `None` as for
    /// [`checked_count`](Self::checked_count).
    fn checked_count_mixed(self) -> Option<usize> {
        self.count(|item| match item.first() {
            Some(1..0x80) => true,
            _ => varint::take(&mut Reader::new(item)).is_ok_and(|method| method != 0),
        })
    }

    #[inline(always)]
    fn count(self, is_valid: impl Fn(&[u8]) -> bool + Copy) -> Option<usize> {
        self.count_equal(is_valid).or_else(|| self.count_any(is_valid))
    }

    /// Counts items that all have the same length, which is the common case. Their positions are
    /// then known in advance, so a processor need not read one to find the next.
    #[inline]
    fn count_equal(self, is_valid: impl Fn(&[u8]) -> bool) -> Option<usize> {
        let first = *self.rest.first()?;
        let whole = self.rest.chunks_exact(1 + usize::from(first));
        let equal = whole.remainder().is_empty()
            && usize::from(first) <= ITEM_BYTES_MAX
            && whole.len() <= RUN_ITEMS_MAX
            && whole.clone().all(|item| match item.split_first() {
                Some((length, item)) => *length == first && is_valid(item),
                None => false,
            });
        equal.then(|| whole.len())
    }

    #[inline(never)]
    fn count_any(self, is_valid: impl Fn(&[u8]) -> bool) -> Option<usize> {
        let (mut rest, mut count) = (self.rest, 0);
        while let Some((length, bytes)) = rest.split_first() {
            let length = Some(usize::from(*length)).filter(|length| *length <= ITEM_BYTES_MAX)?;
            let (item, after) = bytes.split_at_checked(length)?;
            if !is_valid(item) {
                return None;
            }
            rest = after;
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
    /// The method of all the calls; `None` for replies, and if each item begins with its method.
    pub method: Option<u64>,
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
        let mut run = Run { channel: 0, method: None, asker: None, items: RunItems::default() };
        if kind != REPLIES {
            run.channel = number()?;
        }
        if !matches!(kind, TELLS | MIXED_TELLS) {
            let (slot, generation) = (number()?, number()?);
            run.asker = Some((u32::try_from(slot).ok()?, u32::try_from(generation).ok()?));
        }
        if let TELLS | ASKS = kind {
            run.method = Some(number()?);
        }
        run.items = RunItems::new(reader.take_rest());
        Some(run)
    }

    /// Parses the body of a run from a peer, and counts its items. `None` if it is malformed.
    pub fn parse_checked(kind: u8, body: &'a [u8]) -> Option<(Run<'a>, usize)> {
        let run = Run::parse(kind, body)?;
        let count = match kind {
            MIXED_TELLS | MIXED_ASKS => run.items.checked_count_mixed(),
            _ => run.items.checked_count(),
        };
        (run.method != Some(0)).then_some((run, count?))
    }

    /// Appends the run as a whole frame of a call: a tell without an asker, otherwise an ask. A run
    /// may have one item only.
    pub fn write_calls(&self, out: &mut Buffer) {
        let asker = self.asker.map(|(slot, generation)| [u64::from(slot), u64::from(generation)]);
        let kind = match (asker, self.method) {
            (None, Some(_)) => TELLS,
            (Some(_), Some(_)) => ASKS,
            (None, None) => MIXED_TELLS,
            (Some(_), None) => MIXED_ASKS,
        };
        let mut builder = RunBuilder::default();
        builder.begin(out, kind, &[self.channel]);
        asker.iter().flatten().for_each(|number| varint::put(out, *number));
        self.method.iter().for_each(|method| varint::put(out, *method));
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

/// Writes the method in front of an item of a mixed run, and returns the place of its arguments.
/// Mixed runs are written of methods whose numbers take [one byte](METHOD_END) only.
#[inline(always)]
pub fn put_method(scratch: &mut Scratch, method: u32) -> usize {
    store(scratch, ITEM_BEGIN, [method as u8]);
    ITEM_BEGIN + 1
}

/// The methods that [`put_method`] writes are below this.
pub const METHOD_END: u32 = 0x80;

/// Returns true for the kinds that are runs.
#[inline(always)]
pub fn is_run(kind: u8) -> bool {
    matches!(kind, TELLS | ASKS | REPLIES) || is_mixed_run(kind)
}

/// Returns true for the kinds that are runs of several methods.
#[inline(always)]
pub fn is_mixed_run(kind: u8) -> bool {
    matches!(kind, MIXED_TELLS | MIXED_ASKS)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::Encode;

    #[test]
    fn a_run_is_written_as_it_was_parsed() {
        let items = [2, 7, 8, 1, 9];
        for asker in [None, Some((300, 70_000))] {
            for copies in [1, 60] {
                let items = items.repeat(copies);
                let items = RunItems::new(&items);
                for method in [Some(200), None] {
                    let run = Run { channel: 5, method, asker, items };
                    is_written_as_parsed(run);
                }
            }
        }
    }

    #[track_caller]
    fn is_written_as_parsed(run: Run<'_>) {
        let mut out = Buffer::new();
        out.push(0xEE);
        run.write_calls(&mut out);
        let kind = out.as_slice()[1];
        let mut reader = Reader::new(&out.as_slice()[2..]);
        let length = varint::take(&mut reader).expect("a length") as usize;
        assert_eq!(reader.rest().len(), length);
        let read = Run::parse(kind, reader.rest()).expect("a run");
        assert_eq!((read.channel, read.method, read.asker), (5, run.method, run.asker));
        assert_eq!(read.items.rest(), run.items.rest());
        assert_eq!(matches!(kind, ASKS | MIXED_ASKS), run.asker.is_some());
        assert_eq!(is_mixed_run(kind), run.method.is_none());
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

    #[test]
    fn each_item_of_a_mixed_run_begins_with_a_method() {
        let count = |items: &[u8]| {
            let body = [&[5], items].concat();
            Run::parse_checked(MIXED_TELLS, &body).map(|(_, count)| count)
        };
        assert_eq!(count(&[1, 7, 1, 8]), Some(2), "without arguments");
        assert_eq!(count(&[2, 7, 0, 1, 8, 3, 0x80, 1, 9]), Some(3));
        for (name, broken) in [
            ("an item without a method", &[1, 7, 0][..]),
            ("items without methods", &[0, 0]),
            ("method 0", &[2, 7, 1, 2, 0, 1]),
            ("method 0 among items of several lengths", &[1, 7, 2, 0, 1]),
            ("a number that is not in its shortest form", &[2, 7, 1, 2, 0x87, 0]),
            ("a number that is cut off", &[1, 7, 1, 0x87]),
            ("a number beyond 64 bits", &[11, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
            ("an item that is cut off", &[1, 7, 2, 7]),
            ("no items", &[]),
        ] {
            assert_eq!(count(broken), None, "{name}");
        }
        assert_eq!(count(&[1, 7].repeat(RUN_ITEMS_MAX)), Some(RUN_ITEMS_MAX));
        assert_eq!(count(&[1, 7].repeat(RUN_ITEMS_MAX + 1)), None);
        assert_eq!(count(&[&[ITEM_BYTES_MAX as u8][..], &[7; ITEM_BYTES_MAX]].concat()), Some(1));
        assert_eq!(count(&[&[49][..], &[7; 49]].concat()), None);
    }

    #[test]
    fn a_run_of_one_method_is_not_of_method_0() {
        let run = |kind, body: &[u8]| Run::parse_checked(kind, body).map(|(_, count)| count);
        assert_eq!(run(TELLS, &[5, 1, 1, 7]), Some(1));
        assert_eq!(run(TELLS, &[5, 0, 1, 7]), None);
        assert_eq!(run(ASKS, &[5, 3, 1, 0, 1, 7]), None);
        assert_eq!(run(MIXED_ASKS, &[5, 3, 1, 1, 7]), Some(1));
        assert_eq!(run(REPLIES, &[3, 1, 1, 7]), Some(1));
    }
}
