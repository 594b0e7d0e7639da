//! Reuse of the memory that holds received bytes.
//!
//! A buffer is shared by the messages taken from it, so nothing reports when the last of them is
//! dropped. The pool keeps a handle to each used-up buffer, oldest first. When a new buffer is
//! needed, it checks whether its handle to the oldest one is the only one left: then that buffer is
//! filled again, and nothing is allocated. A buffer that stays referenced is forgotten once enough
//! others wait; it is freed with its last message.

use alloc::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Bytes of a slab, into which short messages are copied. A message that is kept for long holds
/// this much instead of a block of [`READ_BYTES`](crate::buffers::read_buf::READ_BYTES).
pub const SLAB_BYTES: usize = 16 * 1024;

/// Slabs that may wait until their messages are dropped: 512 KiB, twice what a pipe's inbox holds.
const SLABS_MAX: usize = 32;

/// Used-up buffers of one size.
#[derive(Debug)]
pub(crate) struct BufferPool {
    bytes: usize,
    retired_max: usize,
    used: VecDeque<BytesMut>,
}

impl BufferPool {
    /// A pool of buffers of `bytes` bytes, of which at most `retired_max` wait for their last
    /// message.
    pub(crate) const fn new(bytes: usize, retired_max: usize) -> BufferPool {
        BufferPool { bytes, retired_max, used: VecDeque::new() }
    }

    /// Stores a used-up buffer, whose bytes all belong to messages.
    pub(crate) fn retire(&mut self, mut piece: BytesMut) {
        piece.clear();
        if self.used.len() == self.retired_max {
            // Messages that still refer to the oldest buffer keep it alive; the pool forgets it.
            self.used.pop_front();
        }
        self.used.push_back(piece);
    }

    /// Returns an empty buffer: the oldest one if no message refers to it, or a new one.
    pub(crate) fn take(&mut self) -> BytesMut {
        self.reclaim(self.bytes).unwrap_or_else(|| BytesMut::with_capacity(self.bytes))
    }

    /// Returns the oldest buffer, empty, if no message refers to it and it has room for `bytes`.
    pub(crate) fn reclaim(&mut self, bytes: usize) -> Option<BytesMut> {
        let mut oldest = self.used.pop_front()?;
        if oldest.try_reclaim(bytes) {
            return Some(oldest);
        }
        self.used.push_front(oldest);
        None
    }

    /// Buffers that wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.used.len()
    }

    /// Drops the pool's handles, which frees all memory that no message refers to.
    pub(crate) fn release(&mut self) {
        self.used = VecDeque::new();
    }
}

/// Copies short messages out of the block that they were read into.
#[derive(Debug)]
pub(crate) struct SlabCopier {
    /// The slab that is being filled; its used part belongs to messages.
    slab: Option<BytesMut>,
    pool: BufferPool,
}

impl SlabCopier {
    pub(crate) const fn new() -> SlabCopier {
        SlabCopier { slab: None, pool: BufferPool::new(SLAB_BYTES, SLABS_MAX) }
    }

    /// Copies `bytes`. Allocates nothing if older copies are dropped as fast as new ones are made;
    /// bytes longer than a slab get memory of their own.
    pub(crate) fn copy(&mut self, bytes: &[u8]) -> Bytes {
        if bytes.len() > SLAB_BYTES {
            return Bytes::copy_from_slice(bytes);
        }
        let slab = self.with_room(bytes.len());
        slab.extend_from_slice(bytes);
        slab.split().freeze()
    }

    fn with_room(&mut self, length: usize) -> &mut BytesMut {
        let slab = match self.slab.take() {
            Some(slab) if slab.capacity() >= length => slab,
            Some(mut slab) => {
                if !slab.try_reclaim(SLAB_BYTES) {
                    self.pool.retire(slab);
                    slab = self.pool.take();
                }
                slab
            }
            None => self.pool.take(),
        };
        self.slab.insert(slab)
    }

    /// Drops all handles, which frees all memory that no message refers to.
    pub(crate) fn release(&mut self) {
        self.slab = None;
        self.pool.release();
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn place(bytes: &Bytes) -> usize {
        bytes.as_ptr() as usize
    }

    #[test]
    fn an_unreferenced_slab_is_reused() {
        let mut slabs = SlabCopier::new();
        let first = place(&slabs.copy(&[1; SLAB_BYTES]));
        for round in 0..100_u8 {
            let copy = slabs.copy(&[round; SLAB_BYTES]);
            assert_eq!(copy, [round; SLAB_BYTES].as_slice());
            assert_eq!(place(&copy), first, "the only slab is reused");
        }
    }

    #[test]
    fn copies_share_a_slab_and_longer_messages_have_their_own_memory() {
        let mut slabs = SlabCopier::new();
        let (first, long) = (slabs.copy(&[1; 100]), slabs.copy(&[2; SLAB_BYTES + 1]));
        let second = slabs.copy(&[3; 100]);
        assert_eq!(place(&second), place(&first) + first.len(), "directly after the first");
        assert_eq!(long, [2; SLAB_BYTES + 1].as_slice());
        // The longest copy that goes into a slab finds no room after the others.
        let full = slabs.copy(&[4; SLAB_BYTES]);
        let next = slabs.copy(&[5; 1]);
        assert_eq!((full.len(), next.len()), (SLAB_BYTES, 1));
        assert_eq!((&first[..], &second[..]), (&[1; 100][..], &[3; 100][..]));
    }

    /// The newest hundred messages are always held; the slabs are reused in turn, and nothing is
    /// overwritten.
    #[test]
    fn referenced_bytes_are_never_overwritten() {
        let mut slabs = SlabCopier::new();
        let mut held = VecDeque::new();
        let mut places = alloc::collections::BTreeSet::new();
        for number in 0..20_000_u32 {
            let copy = slabs.copy(&number.to_be_bytes().repeat(100));
            places.insert(place(&copy));
            held.push_back((number, copy));
            if held.len() > 100 {
                let (number, copy) = held.pop_front().unwrap();
                assert_eq!(copy, number.to_be_bytes().repeat(100));
            }
        }
        // 100 messages of 400 bytes fill two and a half slabs, of 40 messages each.
        assert!(places.len() <= 6 * 40, "{} places", places.len());
    }

    #[test]
    fn a_message_kept_for_ever_blocks_nothing_and_memory_stays_bounded() {
        let mut slabs = SlabCopier::new();
        let mut kept = Vec::new();
        for number in 0..10 * SLABS_MAX {
            let slab = slabs.copy(&[7; SLAB_BYTES - 1]);
            assert!(slabs.pool.used.len() <= SLABS_MAX);
            if number % 2 == 0 {
                kept.push(slab);
            }
        }
        assert!(kept.iter().all(|slab| slab.iter().all(|byte| *byte == 7)));
        assert_eq!(slabs.copy(&[1; SLAB_BYTES + 1]).len(), SLAB_BYTES + 1);
        assert!(slabs.copy(b"").is_empty());
    }
}
