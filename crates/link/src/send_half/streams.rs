//! The streams that this side reads: what their items may use, and what the peer is told of it.

use alloc::collections::{BTreeMap, BTreeSet};

use wigwag_wire::Buffer;

use super::SendHalf;
use crate::flow_control::credit::StreamId;
use crate::frames::frame::Frame;
use crate::frames::write;
use crate::limits::ITEM_UNITS_MAX;

/// Side and slot of a stream: at a time, one stream has them.
type Place = (u8, u64);

/// The open streams of a session.
#[derive(Debug, Default)]
pub(super) struct ReadStreams {
    open: BTreeMap<Place, ReadStream>,
    /// Streams whose limit the peer is to be told.
    due: BTreeSet<Place>,
}

#[derive(Debug)]
struct ReadStream {
    id: StreamId,
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
            let Some(place) = self.due.pop_first() else { return };
            if let Some(&ReadStream { id, limit, .. }) = self.open.get(&place) {
                let (slot, generation, side) = (id.slot(), id.generation(), id.side());
                write::any(out, &Frame::ItemCredit { slot, generation, side, limit });
            }
        }
    }
}

impl SendHalf {
    /// Opens a stream, and returns its window in units: `wanted`, or as many as streams have, and
    /// fewer when the budget runs out. `None` if it has nothing left. An ask carries the first limit
    /// of its answer; that of a value is to be written.
    pub fn open_stream(&mut self, id: StreamId, wanted: Option<u64>) -> Option<u64> {
        let window = self.budget.take_for_stream(wanted)?;
        let stream = ReadStream { id, limit: window, held: window + ITEM_UNITS_MAX };
        if let Some(before) = self.streams.open.insert(place(id), stream) {
            self.budget.give_stream_back(before.held);
        }
        if let StreamId::Value(_) = id {
            self.streams.due.insert(place(id));
        }
        Some(window)
    }

    /// Raises the limit of a stream. True if there is something to write.
    pub fn raise_items(&mut self, id: StreamId, limit: u64) -> bool {
        let stream = self.streams.open.get_mut(&place(id));
        let Some(stream) = stream.filter(|stream| stream.id == id) else { return false };
        stream.limit = stream.limit.max(limit);
        self.streams.due.insert(place(id));
        !self.closed
    }

    /// The stream that answers the ask in this slot is over, and everything that came of it is gone.
    pub fn close_stream(&mut self, slot: u32) {
        self.close_place(place(StreamId::Answer(slot, 0)));
    }

    /// The stream that was the value with this number is over, and everything that came of it is
    /// gone.
    pub fn close_stream_value(&mut self, number: u64) {
        self.close_place(place(StreamId::Value(number)));
    }

    fn close_place(&mut self, place: Place) {
        self.streams.due.remove(&place);
        if let Some(stream) = self.streams.open.remove(&place) {
            self.budget.give_stream_back(stream.held);
        }
    }
}

fn place(id: StreamId) -> Place {
    (id.side(), id.slot())
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    use wigwag_wire::{Reader, Time};

    use super::*;
    use crate::flow_control::budget::{Pools, UnitPool};
    use crate::frames::batch::BatchHeader;
    use crate::limits::{ITEM_WINDOW_UNITS, Limits, SESSION_STREAM_UNITS_MAX};
    use crate::send_half::Outgoing;

    const ANSWER: StreamId = StreamId::Answer(7, 1);

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
        let window = half.open_stream(ANSWER, None).expect("there is room");
        assert_eq!(window, ITEM_WINDOW_UNITS);
        assert!(credits(&mut half).is_empty(), "the ask carries the first one");
        let raised = window + 1000;
        let other = StreamId::Answer(7, 2);
        assert!(half.raise_items(ANSWER, raised) && !half.raise_items(other, raised + 1000));
        assert_eq!(credits(&mut half), [(7, raised)]);
        assert!(credits(&mut half).is_empty());
        half.resume(0, Time::START).expect("nothing was sent");
        assert_eq!(credits(&mut half), [(7, raised)]);
        half.close_stream(7);
        half.resume(0, Time::START).expect("nothing was sent");
        assert!(!half.raise_items(ANSWER, raised + 1000) && credits(&mut half).is_empty());
    }

    /// Nothing else tells the sender of a value that its reader has opened it.
    #[test]
    fn the_first_limit_of_a_value_is_announced_and_an_answer_of_its_number_is_another_stream() {
        let mut half = half();
        let value = StreamId::Value(7);
        let window = half.open_stream(value, Some(3)).expect("there is room");
        half.open_stream(ANSWER, Some(5)).expect("there is room");
        assert_eq!((window, credits(&mut half)), (3, [(7, 3)].to_vec()));
        assert!(half.raise_items(value, 6) && half.raise_items(ANSWER, 9));
        assert_eq!(credits(&mut half), [(7, 6), (7, 9)]);
        half.close_stream_value(7);
        assert!(!half.raise_items(value, 7) && half.raise_items(ANSWER, 10));
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
            while let Some(window) = half.open_stream(StreamId::Answer(*opened, 1), None) {
                held += window + ITEM_UNITS_MAX;
                *opened += 1;
            }
            assert!(held <= SESSION_STREAM_UNITS_MAX);
        }
        assert!(opened[0] >= 1000 && opened[1] < opened[0], "{opened:?}");
        (0..opened[0]).for_each(|slot| halves[0].close_stream(slot));
        assert!(
            halves[1].open_stream(StreamId::Value(opened[1].into()), Some(1)).is_some(),
            "room came back"
        );
        drop(halves);
        assert_eq!(pools.streams.left(), units);
    }

    #[test]
    fn a_reader_may_ask_for_a_small_window_and_not_for_all_of_the_budget() {
        let mut half = half();
        assert_eq!(half.open_stream(StreamId::Answer(0, 1), Some(1)), Some(1));
        let most = half.open_stream(StreamId::Answer(1, 1), Some(u64::MAX)).expect("there is room");
        assert_eq!(most, crate::limits::ITEM_WINDOW_UNITS_MAX);
    }
}
