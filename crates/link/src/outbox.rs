//! The outbox: the sequenced frames of a session, from publishing to their ack.
//!
//! Senders append while the writer is busy; when the writer returns, it takes everything at once.
//! That is the whole batching rule: a quiet link sends one frame at a time, a busy one thousands,
//! and no timer is involved. A frame is numbered when it is published here, not when a sender
//! encodes it, so the order on the wire is the order of publishing.

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

/// Smallest buffer of a sender that becomes a segment without a copy; smaller ones are appended to
/// the open segment.
const ADOPT_BYTES_MIN: usize = 8 * 1024;

/// Largest open segment that is copied when it is sealed, so that thousands of small writes waiting
/// for their ack do not hold a large buffer each.
const COPY_BYTES_MAX: usize = 4 * 1024;

/// Granularity in bytes at which the pools are told how much is retained.
const CHARGE_BYTES: usize = SEGMENT_BYTES;

/// Spare buffers kept beyond those that fill the unacked window, because some are being filled.
const SPARE_MORE: usize = 8;

#[derive(Debug)]
struct Segment {
    bytes: Arc<Buffer>,
    first_seq: u64,
    frames: u64,
}

/// Segments that a writer has taken for one batch.
#[derive(Debug, Default)]
pub struct SegmentBatch {
    /// The number of the first frame.
    pub first_seq: u64,
    /// The number of frames in all segments.
    pub frames: u64,
    /// The segments in order; shared with the outbox, which retains them until their ack.
    pub segments: Vec<Arc<Buffer>>,
}

/// The outbox of one direction of a session.
#[derive(Debug)]
pub struct Outbox {
    /// Bytes from which on a segment takes no further frame, so that it fits into a batch of the
    /// peer even if one more frame of the largest size was appended.
    segment_bytes: usize,
    /// Bytes of the largest segment that fits into a batch of the peer.
    piece_bytes: usize,
    /// The open segment, to which single frames are appended; sealed when it is full or taken.
    open: Buffer,
    open_frames: u64,
    /// Sealed segments that are not acknowledged, in order.
    segments: VecDeque<Segment>,
    /// Index of the first segment that no writer has taken.
    untaken: usize,
    /// All frames before this number were taken by a writer and may have reached the peer.
    sent: u64,
    /// The number of the first frame in the last batch that a writer took.
    last_taken: u64,
    /// The number of the next frame that is published.
    next_seq: u64,
    /// All frames before this number are acknowledged.
    acked: u64,
    /// The unacked window: retained bytes from which on calls must wait.
    room_bytes: usize,
    /// Bytes retained: sealed and open.
    retained: usize,
    /// The part of `retained` that no writer has taken.
    waiting: usize,
    spare: Vec<Buffer>,
    /// Bytes charged to the pools: `retained` in steps, but no less than what this outbox may
    /// always retain.
    charged: usize,
    pools: Arc<Pools>,
}

impl Outbox {
    /// Creates an outbox at sequence number 0, for a peer with the default limits.
    pub fn new() -> Outbox {
        Outbox::for_peer(&Limits::default())
    }

    /// Creates an outbox at sequence number 0 whose segments fit into the batches that `peer`
    /// accepts.
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

    /// Shares `pools`, which bound what their outboxes retain together. Call it before the first
    /// frame.
    pub fn set_pools(&mut self, pools: Arc<Pools>) {
        self.pools = pools;
    }

    /// Returns true if calls may be published. One publish may overshoot the bound.
    #[inline]
    pub fn has_room_for_calls(&self) -> bool {
        self.retained < self.room_bytes
    }

    /// Returns true if frames other than calls may be published.
    pub fn has_room_for_answers(&self) -> bool {
        self.retained < self.room_bytes + UNACKED_RESERVE
    }

    /// Returns true if the peer leaves so much unacknowledged that it gets no new credit and no
    /// large replies.
    pub fn is_overfull(&self) -> bool {
        let overdraft = self.retained.saturating_sub(self.room_bytes);
        overdraft > UNACKED_ANSWERS_MAX
            || self.retained > UNACKED_ANSWERS_MIN && self.pools.retained.is_spent()
    }

    /// Checks that the peer acknowledges what it reads.
    ///
    /// # Errors
    ///
    /// Fails if more unacknowledged bytes were written than the buffers of both ends hold: the peer
    /// has read some of them and does not acknowledge them.
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

    /// Updates the charge to the pools, in steps.
    #[cold]
    fn charge(&mut self) {
        let charged = self.retained.next_multiple_of(CHARGE_BYTES).max(UNACKED_ANSWERS_MIN);
        self.pools.retained.change(self.charged, charged);
        self.charged = charged;
    }

    /// Sets the unacked window in bytes. A smaller window does not drop what is retained. Returns
    /// true if calls fit again that did not before.
    pub fn set_room(&mut self, bytes: usize) -> bool {
        let was_full = !self.has_room_for_calls();
        self.room_bytes = bytes;
        was_full && self.has_room_for_calls()
    }

    /// Returns true if nothing waits for a writer.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.open_frames == 0 && self.untaken == self.segments.len()
    }

    /// Bytes that wait for a writer.
    #[inline]
    pub fn waiting_bytes(&self) -> usize {
        self.waiting
    }

    /// Returns true if every published frame was acknowledged.
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

    /// Bytes retained: waiting, or written and not acknowledged.
    pub fn retained(&self) -> usize {
        self.retained
    }

    /// The number of frames that were published and not acknowledged.
    pub fn unacked(&self) -> u64 {
        self.next_seq - self.acked
    }

    /// The number of frames that no writer has taken; they are certainly not delivered if the
    /// session ends now.
    pub fn untaken_frames(&self) -> u64 {
        self.next_seq - self.sent
    }

    /// Appends one frame, written by `write`, and returns the value of `write`.
    #[inline]
    pub fn append<T>(&mut self, write: impl FnOnce(&mut Buffer) -> T) -> T {
        let before = self.room();
        let value = write(&mut self.open);
        self.appended(before);
        value
    }

    /// Appends one frame, written by `write`; if that returns an error, undoes what it wrote.
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

    /// Makes room in the open segment and returns its length.
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

    /// Publishes a sender's turn: `frames` encoded frames. A large buffer becomes a segment and is
    /// replaced by an empty one; a small buffer is copied and cleared.
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

    /// Publishes a turn that is longer than a batch of the peer, cut between frames.
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
                // The last piece, or bytes that hold no frame and cannot be cut.
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

    /// Takes whole segments of at most `bytes_max` bytes together, but at least one if any waits.
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

    /// Records that the last taken batch was not written whole before the connection was cut. None
    /// of it has reached the peer, which only takes whole batches.
    pub fn mark_torn(&mut self) {
        self.sent = self.sent.min(self.last_taken.max(self.acked));
    }

    /// Calls `each` with type and body of every frame that has certainly not reached the peer; a
    /// run counts as one frame.
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

    /// Releases everything before `recv_next`. Returns true if calls fit again that did not before.
    ///
    /// # Errors
    ///
    /// Fails if the ack goes beyond what was sent.
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

    /// Checks that a peer which has accepted everything before `recv_next` can be resumed.
    ///
    /// # Errors
    ///
    /// Fails if `recv_next` takes back an earlier ack or goes beyond what was sent.
    pub fn check_resume(&self, recv_next: u64) -> Result<(), LinkError> {
        if recv_next < self.acked {
            return Err(LinkError::protocol("an ack may not be taken back"));
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

    /// Prepares the outbox for a new connection after a cut: the next writer gets, in order, all
    /// frames from `recv_next` on, which the peer has not accepted. A segment of which the peer has
    /// accepted some frames is sent whole; the peer skips those frames. The other frames have
    /// certainly not reached it, because the peer accepts nothing more from the old connection once
    /// it has announced `recv_next`. Returns true if calls fit again that did not before.
    ///
    /// # Errors
    ///
    /// Fails like [`check_resume`](Self::check_resume).
    pub fn rewind(&mut self, recv_next: u64) -> Result<bool, LinkError> {
        self.check_resume(recv_next)?;
        let room = self.acknowledge(recv_next)?;
        self.untaken = 0;
        self.sent = recv_next;
        self.waiting = self.retained;
        Ok(room)
    }

    /// Drops all bytes, because nothing is sent any more; the counters stay.
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

    /// Appends a segment whose frames begin at `next_seq`.
    fn push(&mut self, bytes: Buffer, frames: u64) {
        let first_seq = self.next_seq;
        self.segments.push_back(Segment { bytes: Arc::new(bytes), first_seq, frames });
    }

    fn buffer(&mut self) -> Buffer {
        // A little more than a segment, because the frame that fills it may reach beyond. Small at
        // first, because thousands of sessions may send little.
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
