//! The sequenced frames of a session: waiting, written, and kept until they are acknowledged.
//!
//! Senders append while somebody is writing; when the writer comes back it takes all of it at once.
//! That is the whole batching rule: a quiet link sends one frame at a time, a busy one thousands,
//! and no timer is involved. A frame gets its number here, when it is published, and not when a
//! sender encodes it; so the order on the wire is the order of publishing.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use wigwag_wire::{Buffer, Reader};

use crate::budget::Pools;
use crate::code::Code;
use crate::error::LinkError;
use crate::frame::{Frame, numbers};
use crate::limits::{
    BATCH_HEAD_BYTES_MAX, FRAME_HEAD_BYTES_MAX, Limits, SEGMENT_BYTES, UNACKED_ANSWERS_MAX,
    UNACKED_ANSWERS_MIN, UNACKED_BYTES_MAX, UNACKED_RESERVE, UNACKED_WRITTEN_MAX,
};

/// A sender's buffer of this size becomes a segment as it is; a smaller one is copied to others.
const ADOPT_BYTES_MIN: usize = 8 * 1024;

/// An open segment smaller than this is copied when it is sealed, so that thousands of small
/// writes that wait for their ack do not hold a large buffer each.
const COPY_BYTES_MAX: usize = 4 * 1024;

/// Bytes of one step in which the pools are told what is kept.
const CHARGE_BYTES: usize = SEGMENT_BYTES;

/// Buffers kept for the next segments beside what the unacked window holds: some are being filled.
const SPARE_MORE: usize = 8;

#[derive(Debug)]
struct Segment {
    bytes: Arc<Buffer>,
    first_seq: u64,
    frames: u64,
}

/// What a writer takes.
#[derive(Debug, Default)]
pub struct SegmentBatch {
    /// The number of the first frame.
    pub first_seq: u64,
    /// Frames in all the segments.
    pub frames: u64,
    /// The segments in order; shared with the outbox, which keeps them until their ack.
    pub segments: Vec<Arc<Buffer>>,
}

/// The outbox of one direction of a session.
#[derive(Debug)]
pub struct Outbox {
    /// Bytes from which on a segment takes no further frame: with one more frame of the largest
    /// size it still fits into a batch of the peer's.
    segment_bytes: usize,
    /// Bytes of the largest segment that fits into a batch of the peer's.
    piece_bytes: usize,
    /// Where single frames are appended; sealed when it is full or taken.
    open: Buffer,
    open_frames: u64,
    /// Sealed and not acknowledged, in order.
    segments: VecDeque<Segment>,
    /// Index of the next segment for a writer.
    untaken: usize,
    /// All frames before this number may have reached the peer: a writer has taken them.
    sent: u64,
    /// The number of the first frame that a writer took last.
    last_taken: u64,
    /// The number of the next frame that is published.
    next_seq: u64,
    /// All frames before this number are acknowledged.
    acked: u64,
    /// Bytes that may be kept before calls must wait.
    room_bytes: usize,
    /// Bytes kept: sealed and open.
    retained: usize,
    /// Bytes of them that no writer has taken.
    waiting: usize,
    spare: Vec<Buffer>,
    /// Bytes of `retained` that the pools know of, and that this outbox may keep in any case.
    charged: usize,
    pools: Arc<Pools>,
}

impl Outbox {
    /// An outbox at number 0, for a peer with the default limits.
    pub fn new() -> Outbox {
        Outbox::for_peer(&Limits::default())
    }

    /// An outbox at number 0 whose segments fit into the batches that `peer` accepts.
    pub fn for_peer(peer: &Limits) -> Outbox {
        let batch = usize::try_from(peer.batch_max).unwrap_or(usize::MAX);
        let body = usize::try_from(peer.body_max()).unwrap_or(usize::MAX);
        let piece_bytes = batch.saturating_sub(BATCH_HEAD_BYTES_MAX);
        let frame = body.saturating_add(FRAME_HEAD_BYTES_MAX);
        Outbox {
            segment_bytes: SEGMENT_BYTES.min(piece_bytes.saturating_sub(frame)),
            piece_bytes,
            open: Buffer::new(),
            open_frames: 0,
            segments: VecDeque::new(),
            untaken: 0,
            sent: 0,
            last_taken: 0,
            next_seq: 0,
            acked: 0,
            room_bytes: UNACKED_BYTES_MAX,
            retained: 0,
            waiting: 0,
            spare: Vec::new(),
            charged: UNACKED_ANSWERS_MIN,
            pools: Arc::default(),
        }
    }

    /// Shares `pools`, which bound what all outboxes that have them keep together; before the first frame.
    pub fn set_pools(&mut self, pools: Arc<Pools>) {
        self.pools = pools;
    }

    /// True when calls may be published. Overshoot is bounded by what is published at once.
    #[inline]
    pub fn has_room_for_calls(&self) -> bool {
        self.retained < self.room_bytes
    }

    /// True when frames other than calls may be published.
    pub fn has_room_for_answers(&self) -> bool {
        self.retained < self.room_bytes + UNACKED_RESERVE
    }

    /// True when the peer leaves so much unacknowledged that it gets no new credit and no large replies.
    pub fn is_overfull(&self) -> bool {
        let overdraft = self.retained.saturating_sub(self.room_bytes);
        overdraft > UNACKED_ANSWERS_MAX
            || self.retained > UNACKED_ANSWERS_MIN && self.pools.retained.is_spent()
    }

    /// Whether the peer acknowledges what it takes. More than the buffers of both ends hold has been
    /// written, so it has read that.
    pub fn check_written(&self) -> Result<(), LinkError> {
        if self.retained - self.waiting > self.room_bytes + UNACKED_WRITTEN_MAX {
            let rule = "a peer acknowledges what it has read";
            return Err(LinkError::Misbehaved { code: Code::LIMIT_EXCEEDED, rule });
        }
        Ok(())
    }

    /// All frames before this number may have reached the peer.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Tells the pools of what is kept, in steps.
    #[cold]
    fn charge(&mut self) {
        let charged = self.retained.next_multiple_of(CHARGE_BYTES).max(UNACKED_ANSWERS_MIN);
        self.pools.retained.change(self.charged, charged);
        self.charged = charged;
    }

    /// So many bytes may be kept from now on; fewer than before only when they are let go of.
    /// True when there is room again that there was not.
    pub fn set_room(&mut self, bytes: usize) -> bool {
        let was_full = !self.has_room_for_calls();
        self.room_bytes = bytes;
        was_full && self.has_room_for_calls()
    }

    /// True when nothing waits to be taken.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.open_frames == 0 && self.untaken == self.segments.len()
    }

    /// Bytes that wait for a writer.
    #[inline]
    pub fn waiting_bytes(&self) -> usize {
        self.waiting
    }

    /// True when everything published was acknowledged.
    pub fn is_settled(&self) -> bool {
        self.acked == self.next_seq
    }

    /// The number of the next frame.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// All frames before this number are acknowledged.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// Bytes kept: waiting, written, and not acknowledged yet.
    pub fn retained(&self) -> usize {
        self.retained
    }

    /// Frames published and not acknowledged.
    pub fn unacked(&self) -> u64 {
        self.next_seq - self.acked
    }

    /// Frames that no writer has taken: certainly not delivered if the session ends now.
    pub fn untaken_frames(&self) -> u64 {
        self.next_seq - self.sent
    }

    /// Appends one frame; `write` gives a value that is handed on.
    #[inline]
    pub fn append<T>(&mut self, write: impl FnOnce(&mut Buffer) -> T) -> T {
        let before = self.room();
        let value = write(&mut self.open);
        self.appended(before);
        value
    }

    /// Appends one frame, unless `write` says with an error that it must not go: then what it wrote
    /// is taken back.
    #[inline]
    pub fn append_unless<T, E>(
        &mut self,
        write: impl FnOnce(&mut Buffer) -> Result<T, E>,
    ) -> Result<T, E> {
        let before = self.room();
        match write(&mut self.open) {
            Ok(value) => {
                self.appended(before);
                Ok(value)
            }
            Err(error) => {
                self.open.truncate(before);
                Err(error)
            }
        }
    }

    /// Makes room in the open segment and gives its length.
    #[inline]
    fn room(&mut self) -> usize {
        if self.open.len() >= self.segment_bytes {
            self.seal();
        }
        if self.open.capacity() == 0 {
            self.open = self.buffer();
        }
        self.open.len()
    }

    #[inline]
    fn appended(&mut self, before: usize) {
        self.retained += self.open.len() - before;
        self.waiting += self.open.len() - before;
        if self.retained > self.charged {
            self.charge();
        }
        self.open_frames += 1;
        self.next_seq += 1;
    }

    /// Publishes a sender's turn: `frames` frames that it has encoded. A large buffer is adopted
    /// and the sender gets an empty one for it; a small one is copied and emptied.
    pub fn publish(&mut self, encoded: &mut Buffer, frames: u64) {
        if frames == 0 {
            return;
        }
        self.retained += encoded.len();
        self.waiting += encoded.len();
        if self.retained > self.charged {
            self.charge();
        }
        if encoded.len() > self.piece_bytes {
            self.publish_in_pieces(encoded.as_slice(), frames);
            encoded.clear();
            return;
        }
        if encoded.len() >= ADOPT_BYTES_MIN {
            self.seal();
            let mut empty = self.buffer();
            core::mem::swap(&mut empty, encoded);
            self.push(empty, frames);
            self.next_seq += frames;
            return;
        }
        if self.open.len() + encoded.len() > SEGMENT_BYTES.min(self.piece_bytes) {
            self.seal();
        }
        if self.open.capacity() == 0 {
            self.open = self.buffer();
        }
        self.open.extend(encoded.as_slice());
        self.open_frames += frames;
        self.next_seq += frames;
        encoded.clear();
    }

    /// A turn that is longer than a batch of the peer's: it is cut between frames.
    #[cold]
    fn publish_in_pieces(&mut self, mut encoded: &[u8], mut frames: u64) {
        self.seal();
        while frames > 0 {
            let mut reader = Reader::new(encoded);
            let (mut bytes, mut count) = (0, 0);
            while count < frames
                && let Ok((kind, body)) = Frame::next(&mut reader, u64::MAX)
                && let Ok(numbers) = numbers(kind, body)
            {
                let end = encoded.len() - reader.rest().len();
                if count > 0 && end > self.piece_bytes {
                    break;
                }
                (bytes, count) = (end, count + numbers);
            }
            if count >= frames || count == 0 {
                // The last piece; or no frame at all, which cannot be cut.
                (bytes, count) = (encoded.len(), frames);
            }
            let (piece, rest) = encoded.split_at(bytes);
            let mut copy = Buffer::with_capacity(piece.len());
            copy.extend(piece);
            self.push(copy, count);
            self.next_seq += count;
            (encoded, frames) = (rest, frames - count);
        }
    }

    /// Takes whole segments of at most `bytes_max` bytes, and one in any case.
    pub fn take(&mut self, bytes_max: usize, taken: &mut SegmentBatch) {
        taken.segments.clear();
        taken.frames = 0;
        if self.untaken == self.segments.len() {
            self.seal();
        }
        let mut bytes = 0;
        while let Some(segment) = self.segments.get(self.untaken) {
            bytes += segment.bytes.len();
            if !taken.segments.is_empty() && bytes > bytes_max {
                break;
            }
            if taken.segments.is_empty() {
                taken.first_seq = segment.first_seq;
            }
            taken.frames += segment.frames;
            self.waiting -= segment.bytes.len();
            self.sent = self.sent.max(segment.first_seq + segment.frames);
            taken.segments.push(segment.bytes.clone());
            self.untaken += 1;
        }
        if taken.segments.is_empty() {
            taken.first_seq = self.next_seq;
            self.last_taken = self.sent;
        } else {
            self.last_taken = taken.first_seq;
        }
    }

    /// The connection is gone, and what a writer took last was not written whole: none of it has
    /// reached the peer, who takes batches whole.
    pub fn mark_torn(&mut self) {
        self.sent = self.sent.min(self.last_taken.max(self.acked));
    }

    /// The frames that have certainly not reached the peer, type and body, each run as one.
    pub fn each_unsent(&self, mut each: impl FnMut(u8, &[u8])) {
        let open = (self.open.as_slice(), self.next_seq - self.open_frames);
        let sealed = self.segments.iter().map(|one| (one.bytes.as_slice(), one.first_seq));
        for (bytes, mut seq) in sealed.chain([open]) {
            let mut reader = Reader::new(bytes);
            while let Ok((kind, body)) = Frame::next(&mut reader, u64::MAX)
                && let Ok(numbers) = numbers(kind, body)
            {
                if seq >= self.sent {
                    each(kind, body);
                }
                seq += numbers;
            }
        }
    }

    /// Lets go of everything before `recv_next`. True when there is room again that there was not.
    pub fn acknowledge(&mut self, recv_next: u64) -> Result<bool, LinkError> {
        self.check_ack(recv_next)?;
        let was_full = !self.has_room_for_calls();
        self.acked = self.acked.max(recv_next);
        while let Some(first) = self.segments.front() {
            if self.untaken == 0 || first.first_seq + first.frames > self.acked {
                break;
            }
            let Some(segment) = self.segments.pop_front() else {
                break;
            };
            self.untaken -= 1;
            self.retained -= segment.bytes.len();
            self.recycle(segment.bytes);
        }
        if self.retained + 2 * CHARGE_BYTES < self.charged {
            self.charge();
        }
        Ok(was_full && self.has_room_for_calls())
    }

    /// Whether a peer can be resumed that has accepted everything before `recv_next`: nothing that it
    /// has acknowledged is missing, and nothing that was never sent is in it.
    pub fn check_resume(&self, recv_next: u64) -> Result<(), LinkError> {
        if recv_next < self.acked {
            return Err(LinkError::protocol("what was acknowledged stays accepted"));
        }
        self.check_ack(recv_next)
    }

    fn check_ack(&self, recv_next: u64) -> Result<(), LinkError> {
        if recv_next > self.sent {
            let rule = "an ack may not go beyond what was sent";
            return Err(LinkError::Misbehaved { code: Code::ACK_BEYOND_SENT, rule });
        }
        Ok(())
    }

    /// A new connection takes the place of one that was cut: what the peer has not accepted, from
    /// `recv_next` on, goes to the next writer, in order. A segment of which the peer has accepted some
    /// frames goes whole; the peer skips those. The others have certainly not reached it so far: the
    /// peer takes nothing more from the old connection once it has told its number. True when there is
    /// room again that there was not.
    pub fn rewind(&mut self, recv_next: u64) -> Result<bool, LinkError> {
        self.check_resume(recv_next)?;
        let room = self.acknowledge(recv_next)?;
        self.untaken = 0;
        self.sent = recv_next;
        self.waiting = self.retained;
        Ok(room)
    }

    /// Nothing is sent any more: the bytes go, the counts stay.
    pub fn discard(&mut self) {
        self.segments = VecDeque::new();
        self.spare = Vec::new();
        self.open = Buffer::new();
        (self.untaken, self.open_frames, self.retained, self.waiting) = (0, 0, 0, 0);
        self.charge();
    }

    fn seal(&mut self) {
        if self.open_frames == 0 {
            return;
        }
        let frames = core::mem::take(&mut self.open_frames);
        self.next_seq -= frames;
        if self.open.len() <= COPY_BYTES_MAX {
            let mut copy = Buffer::with_capacity(self.open.len());
            copy.extend(self.open.as_slice());
            self.open.clear();
            self.push(copy, frames);
        } else {
            let mut next = self.buffer();
            core::mem::swap(&mut next, &mut self.open);
            self.push(next, frames);
        }
        self.next_seq += frames;
    }

    /// The frames of `bytes` begin at `next_seq`.
    fn push(&mut self, bytes: Buffer, frames: u64) {
        let first_seq = self.next_seq;
        self.segments.push_back(Segment { bytes: Arc::new(bytes), first_seq, frames });
    }

    fn buffer(&mut self) -> Buffer {
        // A little more than a segment: the frame that fills it may reach beyond. Not before there is
        // something to fill it with, because of the thousand sessions that say little.
        let capacity =
            if self.retained > COPY_BYTES_MAX { SEGMENT_BYTES + 1024 } else { COPY_BYTES_MAX };
        self.spare.pop().unwrap_or_else(|| Buffer::with_capacity(capacity))
    }

    fn recycle(&mut self, bytes: Arc<Buffer>) {
        if self.spare.len() >= self.room_bytes / SEGMENT_BYTES + SPARE_MORE
            || bytes.capacity() < SEGMENT_BYTES
        {
            return;
        }
        if let Ok(mut buffer) = Arc::try_unwrap(bytes) {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.pools.retained.change(self.charged, UNACKED_ANSWERS_MIN);
    }
}

impl Default for Outbox {
    fn default() -> Outbox {
        Outbox::new()
    }
}

#[cfg(test)]
mod tests;
