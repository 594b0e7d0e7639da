//! The outbox: the sequenced frames of a session, from publishing to their ack.
//!
//! Senders append while the writer is busy; when the writer returns, it takes everything at once.
//! That is the whole batching rule: a quiet link sends one frame at a time, a busy one thousands,
//! and no timer is involved. A frame is numbered when it is published here, not when a sender
//! encodes it, so the order on the wire is the order of publishing.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use wigwag_wire::{Buffer, BufferSlice};

use crate::code::Code;
use crate::error::LinkError;
use crate::flow_control::budget::Pools;
use crate::limits::{
    BATCH_HEAD_BYTES_MAX, FRAME_HEAD_BYTES_MAX, Limits, SEGMENT_BYTES, UNACKED_ANSWERS_MAX,
    UNACKED_ANSWERS_MIN, UNACKED_BYTES_MAX, UNACKED_PARTS_MIN, UNACKED_RESERVE,
    UNACKED_WRITTEN_MAX,
};

mod publish;
mod delivery;
pub(crate) mod long;

pub use delivery::SegmentBatch;
pub use long::{LongFrame, Published, PublishedEnd};
use long::{LongMessages, WholeMessage};

/// Granularity in bytes at which the pools are told how much is retained.
const CHARGE_BYTES: usize = SEGMENT_BYTES;

#[derive(Debug)]
struct Segment {
    /// The head that precedes the bytes of a part.
    head: Option<BufferSlice>,
    /// Whole frames, or the bytes of a part.
    body: BufferSlice,
    first_seq: u64,
    frames: u64,
    /// The message that ends with this part.
    whole: Option<WholeMessage>,
}

impl Segment {
    fn len(&self) -> usize {
        self.head.as_ref().map_or(0, BufferSlice::len) + self.body.len()
    }

    fn is_part(&self) -> bool {
        self.head.is_some()
    }
}

/// The outbox of one direction of a session.
#[derive(Debug)]
pub struct Outbox {
    /// Bytes from which on a segment takes no further frame, so that it fits into a batch of the
    /// peer even if one more frame of the largest size was appended.
    segment_bytes: usize,
    /// Bytes of the largest segment that fits into a batch of the peer.
    piece_bytes: usize,
    /// Bytes of the body of a part.
    part_bytes_max: usize,
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
    /// The window of parts beside other frames, in bytes.
    parts_room: usize,
    /// Bytes retained: sealed and open.
    retained: usize,
    /// The part of `retained` that no writer has taken.
    waiting: usize,
    spare: Vec<Buffer>,
    longs: LongMessages,
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
            part_bytes_max: body.min(SEGMENT_BYTES),
            open: Buffer::new(),
            open_frames: 0,
            segments: VecDeque::new(),
            untaken: 0,
            sent: 0,
            last_taken: 0,
            next_seq: 0,
            acked: 0,
            room_bytes: UNACKED_BYTES_MAX,
            parts_room: UNACKED_PARTS_MIN,
            retained: 0,
            waiting: 0,
            spare: Vec::new(),
            longs: LongMessages::default(),
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
        let held = self.held();
        held.saturating_sub(self.room_bytes) > UNACKED_ANSWERS_MAX
            || held > UNACKED_ANSWERS_MIN && self.pools.retained.is_spent()
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

    /// Bytes retained, with those of long answers that are not numbered yet.
    fn held(&self) -> usize {
        self.retained + self.longs.answer_bytes
    }

    /// Updates the charge to the pools, in steps.
    #[cold]
    fn charge(&mut self) {
        let charged = self.held().next_multiple_of(CHARGE_BYTES).max(UNACKED_ANSWERS_MIN);
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

    /// Sets the window of parts in bytes.
    pub fn set_parts_room(&mut self, bytes: usize) {
        self.parts_room = bytes;
    }

    /// Returns true if nothing waits for a writer.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.open_frames == 0 && self.untaken == self.segments.len() && !self.has_part()
    }

    /// Bytes that wait for a writer.
    #[inline]
    pub fn waiting_bytes(&self) -> usize {
        self.waiting
    }

    /// Returns true if every published frame was acknowledged.
    pub fn is_settled(&self) -> bool {
        self.acked == self.next_seq && self.longs.is_empty()
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

    /// Drops all bytes, because nothing is sent any more; the counters stay.
    pub fn discard(&mut self) {
        self.segments = VecDeque::new();
        self.spare = Vec::new();
        self.longs.discard();
        self.open = Buffer::new();
        (self.untaken, self.open_frames, self.retained, self.waiting) = (0, 0, 0, 0);
        self.charge();
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
