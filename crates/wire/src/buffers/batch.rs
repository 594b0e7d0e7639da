//! A batch of bytes for one vectored write.
//!
//! Small bytes made for this write (lengths, headers, control frames) are stored together in one
//! head buffer; bodies and segments are held by reference. So a write copies no existing bytes, and
//! a segment that must be kept for resending is not copied either.

use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use bytes::Bytes;

use crate::buffers::gathered::Slices;
use crate::{Buffer, BufferSlice, ReadBuf};

#[derive(Debug)]
enum Part {
    /// A range of the head buffer.
    Head(Range<usize>),
    /// A body shared with its sender.
    Body(Bytes),
    /// Encoded frames that their owner keeps until they are acknowledged.
    Segment(BufferSlice),
}

impl Part {
    fn len(&self) -> usize {
        match self {
            Part::Head(range) => range.len(),
            Part::Body(body) => body.len(),
            Part::Segment(segment) => segment.len(),
        }
    }
}

/// Bytes that leave a batch.
enum Piece<'b> {
    /// Bytes that stay where they are.
    Copied(&'b [u8]),
    /// A body that is handed over.
    Body(Bytes),
}

/// The slices of one part.
enum PartSlices<'b> {
    One(Option<&'b [u8]>),
    Several(Slices<'b>),
}

impl<'b> Iterator for PartSlices<'b> {
    type Item = &'b [u8];

    #[inline]
    fn next(&mut self) -> Option<&'b [u8]> {
        match self {
            PartSlices::One(slice) => slice.take(),
            PartSlices::Several(slices) => slices.next(),
        }
    }
}

/// Bytes in order, some owned and some shared, with the position of the writer.
#[derive(Debug, Default)]
pub struct Batch {
    head: Buffer,
    parts: Vec<Part>,
    /// The first part that is not fully written, and the number of its bytes that are written.
    part: usize,
    offset: usize,
    /// Bytes that wait to be written, over all parts.
    left: usize,
}

impl Batch {
    /// Creates an empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Bytes that wait to be written.
    pub fn len(&self) -> usize {
        self.left
    }

    /// Returns true if nothing waits to be written.
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Appends small bytes; `write` must only append.
    #[inline]
    pub fn head(&mut self, write: impl FnOnce(&mut Buffer)) {
        let start = self.head.len();
        write(&mut self.head);
        let end = self.head.len();
        if end <= start {
            return;
        }
        self.left += end - start;
        match self.parts.last_mut() {
            Some(Part::Head(range)) if range.end == start => range.end = end,
            _ => self.parts.push(Part::Head(start..end)),
        }
    }

    /// Appends a body without copying it.
    pub fn body(&mut self, body: Bytes) {
        if !body.is_empty() {
            self.left += body.len();
            self.parts.push(Part::Body(body));
        }
    }

    /// Appends a segment without copying it.
    pub fn segment(&mut self, segment: impl Into<BufferSlice>) {
        let segment = segment.into();
        if !segment.is_empty() {
            self.left += segment.len();
            self.parts.push(Part::Segment(segment));
        }
    }

    /// The slices that wait to be written, in order.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        self.parts[self.part..].iter().enumerate().flat_map(|(index, part)| {
            let at = if index == 0 { self.offset } else { 0 };
            match part {
                Part::Head(range) => {
                    PartSlices::One(self.head.as_slice().get(range.start + at..range.end))
                }
                Part::Body(body) => PartSlices::One(body.get(at..)),
                Part::Segment(segment) => PartSlices::Several(segment.slices_from(at)),
            }
        })
    }

    /// Records that the first `written` bytes were written. Once all are, the batch is empty again
    /// and keeps its memory.
    pub fn advance(&mut self, written: usize) {
        self.left = self.left.saturating_sub(written);
        if self.left == 0 {
            self.clear();
            return;
        }
        let mut written = written;
        while let Some(part) = self.parts.get(self.part) {
            let first = part.len() - self.offset;
            if written < first {
                self.offset += written;
                return;
            }
            written -= first;
            self.part += 1;
            self.offset = 0;
        }
    }

    /// Removes the first `length` bytes (all if there are fewer) and returns them: shared if they
    /// are of one body, otherwise copied.
    pub fn take(&mut self, length: usize) -> Bytes {
        let length = length.min(self.left);
        let taken = match self.parts.get(self.part) {
            Some(Part::Body(body)) if self.offset + length <= body.len() => {
                body.slice(self.offset..self.offset + length)
            }
            _ => {
                let mut copy = Vec::with_capacity(length);
                for slice in self.slices() {
                    let missing = length - copy.len();
                    copy.extend_from_slice(&slice[..missing.min(slice.len())]);
                }
                Bytes::from(copy)
            }
        };
        self.advance(length);
        taken
    }

    /// Moves all bytes of `other` to the end of this batch, bodies by reference.
    pub fn append(&mut self, other: &mut Batch) {
        other.drain(|piece| match piece {
            Piece::Copied(slice) => self.head(|out| out.extend(slice)),
            Piece::Body(body) => self.body(body),
        });
    }

    /// Moves all bytes to the end of `input`, bodies by reference.
    pub fn pour(&mut self, input: &mut ReadBuf) {
        self.drain(|piece| match piece {
            Piece::Copied(slice) => input.append(slice),
            Piece::Body(body) => input.append_shared(body),
        });
    }

    /// Shows all bytes in order; the batch is then empty and keeps its memory.
    fn drain(&mut self, mut each: impl FnMut(Piece<'_>)) {
        for (index, part) in self.parts[self.part..].iter_mut().enumerate() {
            let at = if index == 0 { self.offset } else { 0 };
            match part {
                Part::Head(range) => {
                    each(Piece::Copied(&self.head.as_slice()[range.start + at..range.end]));
                }
                Part::Body(body) => each(Piece::Body(mem::take(body).split_off(at))),
                Part::Segment(segment) => {
                    segment.slices_from(at).for_each(|slice| each(Piece::Copied(slice)));
                }
            }
        }
        self.clear();
    }

    /// Removes all bytes.
    pub fn clear(&mut self) {
        self.head.clear();
        self.parts.clear();
        self.part = 0;
        self.offset = 0;
        self.left = 0;
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;

    use super::*;
    use crate::buffers::gathered::GATHER_BYTES_MIN;

    fn long() -> Bytes {
        alloc::vec![b'l'; GATHER_BYTES_MIN].into()
    }

    fn sample() -> Batch {
        let mut batch = Batch::new();
        batch.head(|out| out.extend(b"ab"));
        batch.head(|out| out.extend(b"cd"));
        batch.body(Bytes::from_static(b"efg"));
        batch.head(|out| out.extend(b"h"));
        batch.segment(Arc::new({
            let mut segment = Buffer::new();
            segment.extend(b"ijk");
            segment.gathering(|out| out.extend_shared(&long()));
            segment.push(b'm');
            segment
        }));
        batch
    }

    fn rest(batch: &Batch) -> Vec<u8> {
        batch.slices().flatten().copied().collect()
    }

    #[test]
    fn bytes_are_taken_across_parts_and_a_body_is_shared() {
        let whole = [&b"abcdefghijk"[..], &long(), b"m"].concat();
        let cuts = (0..14).chain(whole.len() - 3..=whole.len());
        for first in cuts.clone() {
            for second in cuts.clone().filter(|second| first + second <= whole.len() + 1) {
                let mut batch = sample();
                assert_eq!(batch.take(first), &whole[..first]);
                let end = (first + second).min(whole.len());
                assert_eq!(batch.take(second), &whole[first..end]);
                assert_eq!(rest(&batch), &whole[end..]);
            }
        }
        let body = Bytes::from(b"body".to_vec());
        let mut batch = Batch::new();
        batch.body(body.clone());
        assert_eq!(batch.take(1).as_ptr(), body.as_ptr());
        assert_eq!(batch.take(3).as_ptr(), body[1..].as_ptr());
        assert!(batch.is_empty() && batch.take(1).is_empty());
    }

    #[test]
    fn a_batch_is_moved_from_where_its_writer_is_and_its_bodies_are_not_copied() {
        let whole = [&b"abcdefghijk"[..], &long(), b"m"].concat();
        let body = long();
        for written in 0..12 {
            let mut batch = sample();
            batch.body(body.clone());
            batch.advance(written);
            let mut onward = Batch::new();
            onward.append(&mut batch);
            assert!(batch.is_empty() && batch.slices().next().is_none());
            let mut input = ReadBuf::new().sharing();
            onward.pour(&mut input);
            assert!(onward.is_empty());
            let left = whole.len() - written;
            assert_eq!(input.take(left), whole[written..]);
            assert_eq!(input.take(body.len()).as_ptr(), body.as_ptr());
            assert!(input.is_empty());
        }
    }

    #[test]
    fn short_writes_of_any_two_lengths_lose_nothing() {
        let whole = [&b"abcdefghijk"[..], &long(), b"m"].concat();
        assert_eq!(sample().slices().count(), 6);
        let cuts = (0..14).chain(whole.len() - 3..=whole.len());
        for first in cuts.clone() {
            for second in cuts.clone().filter(|second| *second <= whole.len() - first) {
                let mut batch = sample();
                batch.advance(first);
                assert_eq!(rest(&batch), &whole[first..]);
                batch.advance(second);
                assert_eq!(rest(&batch), &whole[first + second..]);
                assert_eq!(batch.len(), whole.len() - first - second);
            }
        }
    }
}
