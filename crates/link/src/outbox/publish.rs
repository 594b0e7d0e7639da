//! Publishing: frames are numbered, and put into segments.
//!
//! Small frames share the open segment, which is sealed when it is full or taken. A sender's large
//! buffer becomes a segment as it is, with the long bytes that it keeps by reference.

use alloc::sync::Arc;

use wigwag_wire::{Buffer, Reader};

use super::{Outbox, Segment};
use crate::frames::frame::{Frame, numbers};
use crate::limits::SEGMENT_BYTES;

/// Smallest buffer of a sender that becomes a segment without a copy; smaller ones are appended to
/// the open segment.
pub(super) const ADOPT_BYTES_MIN: usize = 8 * 1024;

/// Largest open segment that is copied when it is sealed, so that thousands of small writes waiting
/// for their ack do not hold a large buffer each.
const COPY_BYTES_MAX: usize = 4 * 1024;

impl Outbox {
    /// Appends one frame, written by `write`, and returns the value of `write`.
    #[inline]
    pub fn append<T>(&mut self, write: impl FnOnce(&mut Buffer) -> T) -> T {
        let before = self.room();
        let value = self.open.gathering(write);
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
        match self.open.gathering(write) {
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
        if self.open.total() >= self.segment_bytes {
            self.seal();
        }
        if self.open.capacity() == 0 {
            self.open = self.buffer();
        }
        self.open.len()
    }

    #[inline]
    fn appended(&mut self, before: usize) {
        let bytes = self.open.total_behind(before);
        self.retained += bytes;
        self.waiting += bytes;
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
        let bytes = encoded.total();
        self.retained += bytes;
        self.waiting += bytes;
        if self.retained > self.charged {
            self.charge();
        }
        if bytes > self.piece_bytes {
            self.publish_in_pieces(&encoded.flat(0..bytes), frames);
            encoded.clear();
            return;
        }
        if bytes >= ADOPT_BYTES_MIN || encoded.has_gathered() {
            self.seal();
            let mut empty = self.buffer();
            core::mem::swap(&mut empty, encoded);
            self.push(empty, frames);
            self.next_seq += frames;
            return;
        }
        if self.open.total() + bytes > SEGMENT_BYTES.min(self.piece_bytes) {
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

    pub(super) fn seal(&mut self) {
        if self.open_frames == 0 {
            return;
        }
        let frames = core::mem::take(&mut self.open_frames);
        self.next_seq -= frames;
        if self.open.total() <= COPY_BYTES_MAX {
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
        let body = Arc::new(bytes).into();
        self.segments.push_back(Segment { head: None, body, first_seq, frames, whole: None });
    }

    fn buffer(&mut self) -> Buffer {
        // A little more than a segment, because the frame that fills it may reach beyond. Small at
        // first, because thousands of sessions may send little.
        let capacity =
            if self.retained > COPY_BYTES_MAX { SEGMENT_BYTES + 1024 } else { COPY_BYTES_MAX };
        self.spare.pop().unwrap_or_else(|| Buffer::with_capacity(capacity))
    }
}
