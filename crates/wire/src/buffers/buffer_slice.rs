//! A part of a [`Buffer`] that several owners share.
//!
//! An outbox keeps what it has sent until it is acknowledged, and a writer writes the same bytes. A
//! long message is sent in parts, each of which is a slice of the one buffer that it was encoded
//! into.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use core::ops::Range;

use crate::Buffer;
use crate::buffers::gathered::Slices;

/// Bytes of a shared buffer, by their number among all its bytes.
#[derive(Clone, Debug)]
pub struct BufferSlice {
    buffer: Arc<Buffer>,
    range: Range<usize>,
}

impl BufferSlice {
    /// The bytes of `buffer` in `range`, which is cut off at the end of the buffer.
    pub fn new(buffer: Arc<Buffer>, range: Range<usize>) -> BufferSlice {
        let end = range.end.min(buffer.total());
        BufferSlice { range: range.start.min(end)..end, buffer }
    }

    /// The bytes, in slices of which none is empty.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        self.slices_from(0)
    }

    /// The bytes from the given one on.
    pub(crate) fn slices_from(&self, at: usize) -> Slices<'_> {
        self.buffer.slices_in(self.range.start + at..self.range.end)
    }

    /// The bytes in one slice, which is a copy if they lie apart.
    pub fn flat(&self) -> Cow<'_, [u8]> {
        self.buffer.flat(self.range.clone())
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// The buffer, if these are all its bytes and nobody else shares it.
    pub fn into_buffer(self) -> Option<Buffer> {
        let is_whole = self.range == (0..self.buffer.total());
        Arc::try_unwrap(self.buffer).ok().filter(|_| is_whole)
    }
}

impl From<Arc<Buffer>> for BufferSlice {
    fn from(buffer: Arc<Buffer>) -> BufferSlice {
        BufferSlice { range: 0..buffer.total(), buffer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(bytes: &[u8]) -> Arc<Buffer> {
        let mut buffer = Buffer::new();
        buffer.extend(bytes);
        Arc::new(buffer)
    }

    #[test]
    fn a_slice_never_reaches_beyond_its_buffer() {
        let buffer = buffer(b"abcdef");
        for (range, expected) in [(1..3, &b"bc"[..]), (4..9, b"ef"), (7..9, b""), (6..6, b"")] {
            let slice = BufferSlice::new(buffer.clone(), range);
            assert_eq!(*slice.flat(), *expected);
            assert_eq!((slice.len(), slice.is_empty()), (expected.len(), expected.is_empty()));
        }
    }

    #[test]
    fn a_buffer_comes_back_whole_and_from_its_last_owner_only() {
        let (first, second) = (buffer(b"abc"), buffer(b"abc"));
        let (whole, part) = (BufferSlice::from(first), BufferSlice::new(second, 0..2));
        let shared = whole.clone();
        assert!(whole.into_buffer().is_none(), "another owner is left");
        assert_eq!(shared.into_buffer().map(|buffer| buffer.len()), Some(3));
        assert!(part.into_buffer().is_none(), "it is a part");
    }
}
