//! The short answers of a run, which go to their session together.

use wigwag_wire::run::{ITEM_BYTES_MAX, RunBuilder};
use wigwag_wire::small::Scratch;
use wigwag_wire::{Buffer, Encode, call};

use crate::limits::IDLE_REPLY_BYTES_MAX;

/// Short answers of one run on their way to the session together: the cost between an actor and its
/// session is paid once for all of them.
#[derive(Default)]
pub(crate) struct ReplyBatch {
    pub(super) frames: Buffer,
    pub(super) count: u64,
    pub(super) joiner: RunBuilder,
    /// The session accepts runs of answers.
    pub(super) joins: bool,
}

impl ReplyBatch {
    /// Adds an answer, if its encoding is short for all values.
    #[inline(always)]
    pub(super) fn add<R: Encode>(&mut self, asker: (u32, u32), value: &R) -> bool {
        if R::SMALL_BYTES <= ITEM_BYTES_MAX {
            let small = |window: &mut Scratch, place| Some(value.encode_small(window, place));
            if self.joiner.reply(&mut self.frames, asker, small) {
                self.count += 1;
                return true;
            }
        }
        self.joiner.close(&mut self.frames);
        if call::small_reply(&mut self.frames, asker, value).is_none() {
            return false;
        }
        if self.joins {
            self.joiner.note_reply(asker);
        }
        self.count += 1;
        true
    }

    /// The actor sleeps: releases the memory of a burst, but keeps what answering one ask at a time
    /// needs.
    pub(crate) fn rest(&mut self) {
        if self.frames.capacity() > IDLE_REPLY_BYTES_MAX {
            self.frames = Buffer::new();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

    use wigwag_wire::run::Run;
    use wigwag_wire::{Reader, varint};

    use super::*;

    /// The last slots of a large table have numbers of four bytes.
    #[test]
    fn answers_are_joined_whatever_slots_they_go_to() {
        for first in [1, (1 << 21) - 100, u32::MAX - 300] {
            let mut batch = ReplyBatch { joins: true, ..ReplyBatch::default() };
            for slot in first..first + 200 {
                assert!(batch.add((slot, u32::MAX), &7_u64));
            }
            batch.joiner.close(&mut batch.frames);
            let mut reader = Reader::new(batch.frames.as_slice());
            let mut frame = || {
                let (kind, length) = (reader.u8().unwrap(), varint::take(&mut reader).unwrap());
                (kind, reader.take(length as usize).unwrap())
            };
            let (kind, body) = frame();
            let mut body = Reader::new(body);
            let numbers = [(); 2].map(|()| varint::take(&mut body).unwrap());
            assert_eq!((kind, numbers), (call::REPLY, [first.into(), u32::MAX.into()]));
            assert_eq!(body.rest(), [7]);
            let (kind, body) = frame();
            let run = Run::parse(kind, body).unwrap();
            assert_eq!((kind, run.asker), (call::REPLIES, Some((first + 1, u32::MAX))));
            assert!(run.items.eq([[7]; 199]));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn a_sleeping_actor_keeps_the_room_of_one_answer_and_not_of_a_burst() {
        let mut batch = ReplyBatch::default();
        call::small_reply(&mut batch.frames, (1, 1), &7_u64).expect("it is short");
        batch.frames.clear();
        batch.rest();
        assert!(batch.frames.capacity() > 0);
        for slot in 0..64 {
            call::small_reply(&mut batch.frames, (slot, 1), &7_u64).expect("it is short");
        }
        batch.frames.clear();
        batch.rest();
        assert_eq!(batch.frames.capacity(), 0);
    }
}
