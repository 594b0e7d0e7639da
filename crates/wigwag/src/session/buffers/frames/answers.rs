//! Answers and items of streams among the frames of a turn: frames of no channel.

use wigwag_link::credit::StreamId;
use wigwag_link::outbox::LongFrame;
use wigwag_link::{Code, write};
use wigwag_wire::Buffer;

use super::Frames;
use crate::limits::SMALL_ANSWER;
use crate::session::Session;
use crate::session::buffers::ItemOutcome;

impl Frames {
    /// Appends answers that are encoded already.
    pub(crate) fn answers(&mut self, frames: &[u8], count: u64) {
        self.run.close(&mut self.encoded);
        self.encoded.extend(frames);
        self.of_no_channel += count;
        self.answered += count;
        self.flush = true;
    }

    /// Appends the answer to one ask. `encode` runs no code of the program.
    pub(crate) fn answer(
        &mut self,
        session: &Session,
        asker: (u32, u32),
        encode: &dyn Fn(&mut Buffer),
    ) {
        self.run.close(&mut self.encoded);
        let (frame_max, message_max) = (session.identity.limits.frame_max, session.message_max);
        let before = self.encoded.len();
        let body = self.encoded.gathering(|out| write::reply(out, asker, encode));
        // A peer that leaves much unacknowledged gets no large replies.
        let is_overfull = || session.sending().sender.outbox.is_overfull();
        if body as u64 > message_max {
            drop(LongFrame::take(&mut self.encoded, before));
            session.sending().statistics.asks_failed += 1;
            let text = session.too_large("the reply", body, "the asker");
            write::error(&mut self.encoded, asker, Code::TOO_LARGE, &text);
        } else if body > SMALL_ANSWER && is_overfull() {
            self.encoded.truncate(before);
            session.sending().statistics.asks_failed += 1;
            let text = "replies pile up because the asker does not read them";
            write::error(&mut self.encoded, asker, Code::OVERLOADED, text);
        } else if body as u64 > frame_max {
            let long = LongFrame::take(&mut self.encoded, before);
            let mut sending = session.sending();
            sending.asks_answered += 1;
            if sending.ended.is_none() {
                sending.sender.long_answer(long);
            }
            self.flush = true;
            return;
        }
        self.of_no_channel += 1;
        self.answered += 1;
        self.flush = true;
    }

    /// Appends an item of a stream. `encode` runs no code of the program.
    ///
    /// The first frame of a turn or of a segment finds out whether the outbox has room, so that what
    /// waits grows by one segment beyond.
    #[inline(always)]
    pub(crate) fn item(
        &mut self,
        session: &Session,
        stream: StreamId,
        encode: &dyn Fn(&mut Buffer),
    ) -> ItemOutcome {
        if self.encoded.total() == 0 && !session.has_room_for_items() {
            return ItemOutcome::NotHere;
        }
        self.run.close(&mut self.encoded);
        let before = self.encoded.len();
        let body = self.encoded.gathering(|out| write::item(out, stream, encode));
        if body as u64 > session.identity.limits.frame_max {
            self.encoded.truncate(before);
            return ItemOutcome::Long(body);
        }
        self.of_no_channel += 1;
        self.flush = true;
        ItemOutcome::Encoded(body)
    }
}
