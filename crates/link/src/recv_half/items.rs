//! Items of one stream that follow one another, which are read and handed over together.
//!
//! On the wire each is a frame of its own. All of one stream begin with the same bytes, so that those
//! behind the first one are told apart by one comparison.

use wigwag_wire::Reader;

use super::Incoming;
use crate::flow_control::credit::StreamId;
use crate::frames::frame::Frame;
use crate::frames::frame::kind::ITEM;
use crate::limits::{ITEM_RUN_BYTES, units};

/// Consecutive items of one stream. All are new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemRun<'a> {
    /// The stream.
    pub stream: StreamId,
    /// The credit units that the items in front of the last one cost.
    pub units_before_last: u64,
    /// The credit units that all of them cost.
    pub units: u64,
    /// The items as received: ITEM frames.
    pub frames: &'a [u8],
}

/// Takes the value of the first item off `frames`, which are ITEM frames of one stream whose heads
/// take `head` bytes.
#[inline]
pub fn next_item<'a>(frames: &mut Reader<'a>, head: usize) -> Option<&'a [u8]> {
    Frame::next(frames, u64::MAX).ok()?.1.get(head..)
}

impl<'a> Incoming<'a> {
    /// Returns the next frames if they are items of one stream, as nearly all frames are while a stream
    /// is read: one, or as many as take at most [`ITEM_RUN_BYTES`]. `None` means only that nothing was
    /// taken.
    pub fn next_items(&mut self) -> Option<ItemRun<'a>> {
        let bytes = self.reader.rest();
        let knows_items = self.receiver.streams || self.receiver.stream_values;
        if bytes.first() != Some(&ITEM) || !knows_items || self.seq < self.fresh {
            return None;
        }
        let frame_max = self.receiver.frame_max;
        let mut rest = self.reader.clone();
        let (_, body) = Frame::next(&mut rest, frame_max).ok()?;
        let Ok(Frame::Item { slot, generation, side, value }) = Frame::parse(ITEM, body) else {
            return None;
        };
        let stream = StreamId::read(slot, generation, side)?;
        // Numbers have one form only, so all items of the stream begin in the same way.
        let is_same = begins_with(&body[..body.len() - value.len()]);
        let most = self.end.checked_sub(self.seq).filter(|most| *most > 0)?;
        let (mut count, mut sum, mut last) = (1, 0, units(body.len()));
        let mut after = rest.clone();
        while count < most
            && after.rest().first() == Some(&ITEM)
            && let Ok((_, body)) = Frame::next(&mut after, frame_max)
            && is_same(body)
            && bytes.len() - after.rest().len() <= ITEM_RUN_BYTES
        {
            count += 1;
            sum += core::mem::replace(&mut last, units(body.len()));
            rest = after.clone();
        }
        let frames = &bytes[..bytes.len() - rest.rest().len()];
        self.reader = rest;
        self.seq += count;
        Some(ItemRun { stream, units_before_last: sum, units: sum + last, frames })
    }
}

/// Tests whether bodies begin with `head`, which is short as a rule: then with one comparison.
#[inline(always)]
fn begins_with(head: &[u8]) -> impl Fn(&[u8]) -> bool {
    let mut padded = [0; 8];
    let is_short = padded.get_mut(..head.len()).map(|front| front.copy_from_slice(head)).is_some();
    let (word, unused) = (u64::from_le_bytes(padded), 64 - 8 * head.len().clamp(1, 8) as u32);
    move |body| match body.first_chunk::<8>() {
        Some(first) if is_short => u64::from_le_bytes(*first) << unused == word << unused,
        _ => body.starts_with(head),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use wigwag_wire::Buffer;

    use super::*;
    use crate::features;
    use crate::frames::batch::BatchHeader;
    use crate::frames::write;
    use crate::limits::Limits;
    use crate::recv_half::RecvHalf;

    const FEATURES: u64 = features::STREAMS | features::CANCELLING | features::STREAM_VALUES;

    /// A batch with items of these streams and lengths, numbered from `first_seq` on.
    fn batch(first_seq: u64, items: &[(StreamId, usize)]) -> Buffer {
        let mut out = Buffer::new();
        let count = items.len() as u64;
        BatchHeader { ack: 0, first_seq, count }.encode(&mut out);
        for (at, (stream, length)) in items.iter().enumerate() {
            let value = [at as u8].repeat(*length);
            write::item(&mut out, *stream, |out| out.extend(&value));
        }
        out
    }

    /// The runs of a batch: stream, units in front of the last item and in all, first byte and length
    /// of each value.
    #[expect(clippy::type_complexity, reason = "it is compared as it is")]
    fn runs(
        receiver: &mut RecvHalf,
        batch: &Buffer,
    ) -> Vec<(StreamId, u64, u64, Vec<(u8, usize)>)> {
        let mut incoming = receiver.open(batch.as_slice()).expect("a sound batch");
        let mut runs = Vec::new();
        while incoming.next_calls(256).is_none()
            && let Some(run) = incoming.next_items()
        {
            let (mut frames, mut values) = (Reader::new(run.frames), Vec::new());
            while let Some(value) = next_item(&mut frames, run.stream.head_bytes()) {
                values.push((value.first().copied().unwrap_or(0), value.len()));
            }
            assert!(frames.is_empty());
            runs.push((run.stream, run.units_before_last, run.units, values));
        }
        assert_eq!(incoming.next_frame(), Ok(None), "all were taken");
        runs
    }

    fn receiver(features: u64) -> RecvHalf {
        RecvHalf::new(&Limits::default()).with_features(features)
    }

    #[test]
    fn items_of_one_stream_come_together_and_those_of_another_by_themselves() {
        let (one, value) = (StreamId::Answer(7, 1), StreamId::Value(7));
        let (later, far) = (StreamId::Answer(7, 2), StreamId::Answer(70_000, 70_000));
        let items = [
            (one, 0),
            (one, 100),
            (one, 9),
            (later, 1),
            (value, 61),
            (value, 62),
            (far, 5),
            (far, 1),
        ];
        assert_eq!(
            runs(&mut receiver(FEATURES), &batch(0, &items)),
            [
                (one, 3, 4, [(0, 0), (1, 100), (2, 9)].to_vec()),
                (later, 0, 1, [(3, 1)].to_vec()),
                (value, 1, 3, [(4, 61), (5, 62)].to_vec()),
                (far, 1, 2, [(6, 5), (7, 1)].to_vec()),
            ]
        );
    }

    #[test]
    fn a_run_of_items_has_a_bounded_length_and_one_long_item_is_a_run() {
        let stream = StreamId::Answer(1, 1);
        let items = [1000, 60_000, 5000, 5000, 5000, 5000].map(|length| (stream, length));
        let lengths = runs(&mut receiver(FEATURES), &batch(0, &items));
        let lengths: Vec<usize> = lengths.iter().map(|(.., values)| values.len()).collect();
        assert_eq!(lengths, [1, 1, 3, 1]);
    }

    #[test]
    fn items_that_come_again_after_a_cut_are_skipped() {
        let stream = StreamId::Value(3);
        let mut receiver = receiver(FEATURES);
        assert_eq!(runs(&mut receiver, &batch(0, &[(stream, 1), (stream, 2)]))[0].3.len(), 2);
        let again = [(stream, 1), (stream, 2), (stream, 3)];
        assert_eq!(runs(&mut receiver, &batch(0, &again)), [(stream, 0, 1, [(2, 3)].to_vec())]);
        assert_eq!(receiver.repeated(), 2);
    }

    #[test]
    fn without_the_feature_and_beyond_what_the_batch_announces_no_item_is_taken() {
        let items = batch(0, &[(StreamId::Answer(1, 1), 1)]);
        let mut receiver = receiver(0);
        let mut incoming = receiver.open(items.as_slice()).expect("a sound batch");
        assert!(incoming.next_items().is_none() && incoming.next_frame().is_err());
        let mut more = Buffer::new();
        BatchHeader { ack: 0, first_seq: 0, count: 1 }.encode(&mut more);
        for _ in 0..2 {
            write::item(&mut more, StreamId::Value(1), |out| out.push(1));
        }
        let mut receiver = self::receiver(FEATURES);
        let mut incoming = receiver.open(more.as_slice()).expect("a sound header");
        let run = incoming.next_items().expect("one is announced");
        assert_eq!((run.units_before_last, run.units), (0, 1));
        assert!(incoming.next_items().is_none() && incoming.next_frame().is_err());
    }
}
