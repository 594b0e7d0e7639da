//! Delivery: writers take segments, acks release them, and a new connection rewinds.
//!
//! A segment that was taken stays until its last frame is acknowledged, because its connection may
//! be cut.

use alloc::vec::Vec;

use wigwag_wire::{BufferSlice, Reader};

use super::{CHARGE_BYTES, Outbox, Segment};
use crate::code::Code;
use crate::error::LinkError;
use crate::frames::frame::{Frame, numbers};
use crate::limits::SEGMENT_BYTES;

/// Spare buffers kept beyond those that fill the unacked window, because some are being filled.
const SPARE_MORE: usize = 8;

/// Segments that a writer has taken for one batch.
#[derive(Debug, Default)]
pub struct SegmentBatch {
    /// The number of the first frame.
    pub first_seq: u64,
    /// The number of frames in all segments.
    pub frames: u64,
    /// The segments in order; shared with the outbox, which retains them until their ack.
    pub segments: Vec<BufferSlice>,
}

impl Outbox {
    /// Takes whole segments of at most `bytes_max` bytes together, but at least one if any waits.
    pub fn take(&mut self, bytes_max: usize, taken: &mut SegmentBatch) {
        taken.segments.clear();
        taken.frames = 0;
        if self.has_part() {
            self.number_part();
        } else if self.untaken == self.segments.len() {
            self.seal();
        }
        let mut bytes = 0;
        while let Some(segment) = self.segments.get(self.untaken) {
            bytes += segment.len();
            if !taken.segments.is_empty() && bytes > bytes_max {
                break;
            }
            if taken.segments.is_empty() {
                taken.first_seq = segment.first_seq;
            }
            taken.frames += segment.frames;
            self.waiting -= segment.len();
            self.sent = self.sent.max(segment.first_seq + segment.frames);
            taken.segments.extend(segment.head.clone());
            taken.segments.push(segment.body.clone());
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
    /// run counts as one frame, and a long message as one whose last part has not.
    pub fn each_unsent(&self, mut each: impl FnMut(u8, &[u8])) {
        self.each_unnumbered(&mut each);
        for segment in &self.segments {
            if let Some(whole) = segment.whole.as_ref().filter(|_| segment.first_seq >= self.sent) {
                each(whole.kind(), &whole.body());
            }
        }
        let open = (self.open.flat(0..usize::MAX), self.next_seq - self.open_frames);
        let frames = self.segments.iter().filter(|segment| !segment.is_part());
        let sealed = frames.map(|one| (one.body.flat(), one.first_seq));
        for (bytes, mut seq) in sealed.chain([open]) {
            let mut reader = Reader::new(&bytes);
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
            self.retained -= segment.len();
            self.recycle(segment);
        }
        self.forget_acknowledged();
        if self.held() + 2 * CHARGE_BYTES < self.charged {
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

    fn recycle(&mut self, segment: Segment) {
        if segment.is_part() {
            return self.part_acknowledged(segment);
        }
        if self.spare.len() >= self.room_bytes / SEGMENT_BYTES + SPARE_MORE {
            return;
        }
        let buffer = segment.body.into_buffer();
        if let Some(mut buffer) = buffer.filter(|buffer| buffer.capacity() >= SEGMENT_BYTES) {
            buffer.clear();
            self.spare.push(buffer);
        }
    }
}
