//! Shared bytes that stand between the bytes of a block.
//!
//! A sender of the same process hands over long bodies by reference. Each keeps its place among the
//! bytes that were copied into the block, so the reader sees one stream.

use alloc::collections::VecDeque;

use bytes::Bytes;

/// Parts in the order of the stream, each with the bytes of the block in front of it.
#[derive(Debug, Default)]
pub(crate) struct Interleaved {
    /// The bytes of the block between a part and the part before it, and the part.
    parts: VecDeque<(usize, Bytes)>,
    /// Bytes of the block in front of the last part.
    placed: usize,
    /// Bytes of all parts.
    bytes: usize,
}

impl Interleaved {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Bytes of all parts.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of the block in front of the first part; `None` without parts.
    #[inline]
    pub(crate) fn gap(&self) -> Option<usize> {
        self.parts.front().map(|(gap, _)| *gap)
    }

    /// Appends a part behind the `held` bytes that the block holds.
    pub(crate) fn push(&mut self, held: usize, part: Bytes) {
        self.bytes += part.len();
        self.parts.push_back((held - self.placed, part));
        self.placed = held;
    }

    /// Records that `count` bytes of the block are gone, all in front of the first part.
    pub(crate) fn block_advanced(&mut self, count: usize) {
        if let Some((gap, _)) = self.parts.front_mut() {
            *gap -= count;
            self.placed -= count;
        }
    }

    /// Records that `count` bytes were inserted into the block, all in front of the first part.
    pub(crate) fn block_grew(&mut self, count: usize) {
        if let Some((gap, _)) = self.parts.front_mut() {
            *gap += count;
            self.placed += count;
        }
    }

    /// Takes up to `length` bytes off the first part if it stands at the front.
    pub(crate) fn take(&mut self, length: usize) -> Option<Bytes> {
        let (_, part) = self.parts.front_mut().filter(|(gap, _)| *gap == 0)?;
        let taken = part.split_to(length.min(part.len()));
        let is_whole = part.is_empty();
        self.bytes -= taken.len();
        if is_whole {
            self.parts.pop_front();
        }
        Some(taken)
    }
}
