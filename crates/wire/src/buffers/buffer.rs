//! The buffer that encoders write into.
//!
//! A `Vec<u8>` checks its capacity at every push. Encoders write many small fields, so this buffer
//! keeps its memory initialised: one check, then plain stores of fixed size. This saves several
//! nanoseconds per message.

use alloc::vec::Vec;

use crate::buffers::gathered::Gathered;

/// Bytes of memory beyond those that are needed when a buffer grows.
const GROWTH_MORE: usize = 64;

/// A growable byte buffer whose spare memory is already initialised.
///
/// While it [gathers](Self::gathering), it keeps long shared bytes by reference. Places and lengths
/// are those in its own memory, except where a method says that it counts all bytes.
#[derive(Default)]
pub struct Buffer {
    /// Invariant: `length <= memory.len()`.
    memory: Vec<u8>,
    length: usize,
    pub(crate) gathered: Gathered,
}

impl Buffer {
    /// Creates an empty buffer without memory.
    pub const fn new() -> Buffer {
        Buffer { memory: Vec::new(), length: 0, gathered: Gathered::new() }
    }

    /// Creates an empty buffer with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Buffer {
        Buffer { memory: alloc::vec![0; capacity], ..Buffer::new() }
    }

    /// Bytes written so far.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns true if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Bytes that fit without a new allocation.
    pub fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// The written bytes, which are all: none are kept by reference. Of a buffer that has gathered
    /// some, [`slices`](Self::slices) gives all bytes.
    pub fn as_slice(&self) -> &[u8] {
        debug_assert!(!self.has_gathered(), "the slice lacks the bytes that are kept by reference");
        self.written()
    }

    /// The written bytes, which are all, in the memory of the buffer.
    pub fn into_vec(mut self) -> Vec<u8> {
        debug_assert!(
            !self.has_gathered(),
            "the vector lacks the bytes that are kept by reference"
        );
        self.memory.truncate(self.length);
        self.memory
    }

    /// The bytes in its own memory.
    pub(crate) fn written(&self) -> &[u8] {
        &self.memory[..self.length]
    }

    /// Shortens the buffer to `length` bytes, without what was gathered since it had that length.
    /// Does nothing if it is not longer.
    pub fn truncate(&mut self, length: usize) {
        if length <= self.length {
            self.length = length;
            self.gathered.truncate(length);
        }
    }

    /// Removes the first `count` bytes of the memory.
    pub(crate) fn drop_front(&mut self, count: usize) {
        let count = count.min(self.length);
        self.memory.copy_within(count..self.length, 0);
        self.length -= count;
        self.gathered.shift(0, -(count as isize));
    }

    /// Removes all bytes and keeps the memory.
    pub fn clear(&mut self) {
        self.length = 0;
        self.gathered.clear();
    }

    /// Appends one byte.
    #[inline(always)]
    pub fn push(&mut self, byte: u8) {
        self.put([byte], 1);
    }

    /// Appends `bytes`.
    #[inline]
    pub fn extend(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        if end > self.memory.len() {
            grow(&mut self.memory, end);
        }
        self.memory[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }

    /// Stores all `N` bytes and keeps the first `used` of them: one store instead of a loop.
    #[inline(always)]
    pub fn put<const N: usize>(&mut self, bytes: [u8; N], used: usize) {
        debug_assert!(used <= N);
        let room = self.room();
        *room.place = bytes;
        room.keep(used);
    }

    /// Stores a byte and eight more, and keeps the first `used` of the nine.
    #[inline(always)]
    pub fn put_tagged(&mut self, tag: u8, bytes: [u8; 8], used: usize) {
        debug_assert!(used <= 9);
        let room = self.room::<9>();
        let [first, rest @ ..] = &mut *room.place;
        *first = tag;
        *rest = bytes;
        room.keep(used);
    }

    /// Room for `N` bytes after the end.
    #[inline(always)]
    pub fn room<const N: usize>(&mut self) -> Room<'_, N> {
        let place = place(&mut self.memory, self.length);
        Room { place, length: &mut self.length }
    }

    /// Room for `N` bytes after the end, or `None` if the memory was not
    /// [reserved](Self::make_ready).
    #[inline(always)]
    pub fn ready_room<const N: usize>(&mut self) -> Option<Room<'_, N>> {
        let place = self.memory.get_mut(self.length..)?.first_chunk_mut()?;
        Some(Room { place, length: &mut self.length })
    }

    /// Reserves memory for `bytes` more bytes.
    pub fn make_ready(&mut self, bytes: usize) {
        let end = self.length.saturating_add(bytes);
        if end > self.memory.len() {
            grow(&mut self.memory, end);
        }
    }

    /// Overwrites one written byte; does nothing if `at` is beyond the end.
    #[inline]
    pub fn set(&mut self, at: usize, byte: u8) {
        if at < self.length {
            self.memory[at] = byte;
        }
    }

    /// Removes one written byte; does nothing if `at` is beyond the end.
    pub fn remove(&mut self, at: usize) {
        if at < self.length {
            self.memory.copy_within(at + 1..self.length, at);
            self.length -= 1;
            self.gathered.shift(at, -1);
        }
    }

    /// Inserts `bytes` at `at`.
    pub fn insert(&mut self, at: usize, bytes: &[u8]) {
        let at = at.min(self.length);
        let end = self.length + bytes.len();
        if end > self.memory.len() {
            grow(&mut self.memory, end);
        }
        self.memory.copy_within(at..self.length, at + bytes.len());
        self.memory[at..at + bytes.len()].copy_from_slice(bytes);
        self.length = end;
        self.gathered.shift(at, bytes.len() as isize);
    }
}

/// Spare memory after the end of a [`Buffer`]. Bytes stored there are appended by
/// [`keep`](Self::keep).
pub struct Room<'b, const N: usize> {
    /// The spare memory.
    pub place: &'b mut [u8; N],
    length: &'b mut usize,
}

impl<const N: usize> Room<'_, N> {
    /// Appends the first `used` bytes, at most `N`. For a constant `used` there is no branch.
    #[inline(always)]
    pub fn keep(self, used: usize) {
        *self.length += used.min(N);
    }
}

/// Returns the `N` bytes at `length`. Growing takes the memory instead of the buffer, so that the
/// compiler sees that the length does not change and keeps it in a register between stores.
#[inline(always)]
fn place<const N: usize>(memory: &mut Vec<u8>, length: usize) -> &mut [u8; N] {
    // The expression is repeated so that the compiler needs no second check if there is room.
    if memory.get_mut(length..).and_then(<[u8]>::first_chunk_mut::<N>).is_none() {
        grow(memory, length + N);
    }
    memory
        .get_mut(length..)
        .and_then(<[u8]>::first_chunk_mut::<N>)
        .expect("memory was grown to hold it")
}

#[cold]
#[inline(never)]
fn grow(memory: &mut Vec<u8>, needed: usize) {
    // A little more, so that a length that is put before what was written finds room.
    memory.resize((needed + GROWTH_MORE).max(memory.len() * 2), 0);
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Buffer) -> bool {
        self.total() == other.total() && self.flat(0..usize::MAX) == other.flat(0..usize::MAX)
    }
}

impl Eq for Buffer {}

impl core::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.slices(0..usize::MAX).flatten()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_keeps_what_was_written_and_no_more() {
        let mut buffer = Buffer::new();
        buffer.push(1);
        buffer.put([2, 3, 9, 9], 2);
        buffer.extend(&[4, 5]);
        assert_eq!(buffer.as_slice(), [1, 2, 3, 4, 5]);
        buffer.insert(1, &[7, 8]);
        assert_eq!(buffer.as_slice(), [1, 7, 8, 2, 3, 4, 5]);
        buffer.truncate(2);
        buffer.set(0, 6);
        buffer.set(2, 6);
        assert_eq!(buffer.as_slice(), [6, 7]);
        buffer.remove(2);
        buffer.remove(0);
        assert_eq!(buffer.as_slice(), [7]);
    }

    #[test]
    fn existing_capacity_is_not_reserved_again() {
        let mut buffer = Buffer::with_capacity(100);
        assert!(buffer.is_empty() && buffer.capacity() >= 100);
        buffer.extend(&[1; 30]);
        assert!(!buffer.is_empty());
        let capacity = buffer.capacity();
        buffer.make_ready(capacity - 30);
        assert_eq!(buffer.capacity(), capacity);
        buffer.make_ready(capacity - 29);
        assert!(buffer.capacity() > capacity);
        buffer.clear();
        assert!(buffer.is_empty() && buffer.capacity() > capacity);
    }

    #[test]
    fn growing_loses_nothing_at_any_length() {
        let mut buffer = Buffer::new();
        for n in 0..300_u16 {
            buffer.put(n.to_be_bytes(), 2);
        }
        let expected: Vec<u8> = (0..300_u16).flat_map(u16::to_be_bytes).collect();
        assert_eq!(buffer.as_slice(), expected);
    }
}
