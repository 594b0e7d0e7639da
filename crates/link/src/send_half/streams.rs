//! The streams that this side reads: what their items may use, and what the peer is told of it.

use alloc::collections::{BTreeMap, BTreeSet};

use wigwag_wire::Buffer;

use super::SendHalf;
use crate::frame::Frame;
use crate::limits::ITEM_UNITS_MAX;
use crate::write;

/// The side of a stream that comes from the end that was asked.
const FROM_ASKED: u8 = 1;

/// The open streams of a session, by the slot of their ask.
#[derive(Debug, Default)]
pub(super) struct ReadStreams {
    open: BTreeMap<u32, ReadStream>,
    /// Streams whose limit the peer is to be told.
    due: BTreeSet<u32>,
}

#[derive(Debug)]
struct ReadStream {
    generation: u32,
    limit: u64,
    /// Units of the budget that it holds.
    held: u64,
}

impl ReadStreams {
    pub(super) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// The peer may not have been told of any limit that was announced.
    pub(super) fn announce_again(&mut self) {
        self.due = self.open.keys().copied().collect();
    }

    /// Writes limits that are due while `out` is shorter than `most`.
    pub(super) fn write(&mut self, out: &mut Buffer, most: usize) {
        while out.len() < most {
            let Some(slot) = self.due.pop_first() else { return };
            if let Some(ReadStream { generation, limit, .. }) = self.open.get(&slot) {
                let (slot, generation) = (slot.into(), (*generation).into());
                let limit = *limit;
                let credit = Frame::ItemCredit { slot, generation, side: FROM_ASKED, limit };
                write::any(out, &credit);
            }
        }
    }
}

impl SendHalf {
    /// Opens a stream that answers the ask in this slot, and returns its window in units: `wanted`,
    /// or as many as streams have, and fewer when the budget runs out. `None` if it has nothing left.
    pub fn open_stream(
        &mut self,
        (slot, generation): (u32, u32),
        wanted: Option<u64>,
    ) -> Option<u64> {
        let window = self.budget.take_for_stream(wanted)?;
        let stream = ReadStream { generation, limit: window, held: window + ITEM_UNITS_MAX };
        if let Some(before) = self.streams.open.insert(slot, stream) {
            self.budget.give_stream_back(before.held);
        }
        Some(window)
    }

    /// Raises the limit of a stream. True if there is something to write.
    pub fn raise_items(&mut self, (slot, generation): (u32, u32), limit: u64) -> bool {
        let stream = self.streams.open.get_mut(&slot);
        let Some(stream) = stream.filter(|stream| stream.generation == generation) else {
            return false;
        };
        stream.limit = stream.limit.max(limit);
        self.streams.due.insert(slot);
        !self.closed
    }

    /// The stream in this slot is over, and everything that came of it is gone.
    pub fn close_stream(&mut self, slot: u32) {
        self.streams.due.remove(&slot);
        if let Some(stream) = self.streams.open.remove(&slot) {
            self.budget.give_stream_back(stream.held);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    use wigwag_wire::{Reader, Time};

    use super::*;
    use crate::batch::BatchHeader;
    use crate::budget::{Pools, UnitPool};
    use crate::limits::{ITEM_WINDOW_UNITS, Limits, SESSION_STREAM_UNITS_MAX};
    use crate::send_half::Outgoing;

    fn half() -> SendHalf {
        SendHalf::new(&Limits::default(), Limits::default(), Time::START)
    }

    /// The limits in the next batch.
    fn credits(half: &mut SendHalf) -> Vec<(u64, u64)> {
        let mut out = Outgoing::default();
        half.take_output(&mut out, Time::START);
        if out.head.is_empty() {
            return Vec::new();
        }
        let mut reader = Reader::new(out.head.as_slice());
        BatchHeader::decode(&mut reader).expect("it was written here");
        let mut credits = Vec::new();
        while !reader.is_empty() {
            let (kind, body) = Frame::next(&mut reader, u64::MAX).expect("a frame");
            if let Ok(Frame::ItemCredit { slot, limit, .. }) = Frame::parse(kind, body) {
                credits.push((slot, limit));
            }
        }
        credits
    }

    #[test]
    fn a_limit_is_announced_once_and_again_after_a_cut() {
        let mut half = half();
        let window = half.open_stream((7, 1), None).expect("there is room");
        assert_eq!(window, ITEM_WINDOW_UNITS);
        assert!(credits(&mut half).is_empty(), "the ask carries the first one");
        assert!(half.raise_items((7, 1), 5000) && !half.raise_items((7, 2), 9000));
        assert_eq!(credits(&mut half), [(7, 5000)]);
        assert!(credits(&mut half).is_empty());
        half.resume(0, Time::START).expect("nothing was sent");
        assert_eq!(credits(&mut half), [(7, 5000)]);
        half.close_stream(7);
        half.resume(0, Time::START).expect("nothing was sent");
        assert!(!half.raise_items((7, 1), 6000) && credits(&mut half).is_empty());
    }

    /// A program may open many streams; what they hold stays within the budgets.
    #[test]
    fn the_streams_of_a_session_and_of_a_node_stay_within_their_budgets() {
        let whole = Pools::default();
        let units = SESSION_STREAM_UNITS_MAX + SESSION_STREAM_UNITS_MAX / 2;
        let pools = Arc::new(Pools { streams: UnitPool::new(units), ..whole });
        let mut halves = [(); 2].map(|()| half().with_pools(pools.clone()));
        let mut opened = [0_u32; 2];
        for (half, opened) in halves.iter_mut().zip(&mut opened) {
            let mut held = 0;
            while let Some(window) = half.open_stream((*opened, 1), None) {
                held += window + ITEM_UNITS_MAX;
                *opened += 1;
            }
            assert!(held <= SESSION_STREAM_UNITS_MAX);
        }
        assert!(opened[0] >= 1500 && opened[1] < opened[0], "{opened:?}");
        (0..opened[0]).for_each(|slot| halves[0].close_stream(slot));
        assert!(halves[1].open_stream((opened[1], 1), Some(1)).is_some(), "room came back");
        drop(halves);
        assert_eq!(pools.streams.left(), units);
    }

    #[test]
    fn a_reader_may_ask_for_a_small_window_and_not_for_all_of_the_budget() {
        let mut half = half();
        assert_eq!(half.open_stream((0, 1), Some(1)), Some(1));
        let most = half.open_stream((1, 1), Some(u64::MAX)).expect("there is room");
        assert_eq!(most, crate::limits::ITEM_WINDOW_UNITS_MAX);
    }
}
