//! The bytes that a connection has received and not consumed yet.
//!
//! A block is shared, not copied: a message taken from it keeps the block alive until its last
//! reference is dropped. Then the block is filled again. Short messages can be copied into slabs
//! instead, so that they do not hold a whole block ([`ReadBuf::copy`]). Blocks and slabs are both
//! reused, so a connection whose messages are dropped as fast as they arrive allocates nothing.

use core::mem;

use bytes::{Buf, Bytes, BytesMut};

use crate::slab_copier::{BufferPool, SlabCopier};

/// Preferred room for a read: one read of this size takes one or several whole batches.
pub const READ_BYTES: usize = 256 * 1024;

/// Room for the first reads of a connection: most connections receive little, and thousands of
/// silent ones must not hold a block each. A read that fills this room shows that more is waiting.
pub const FIRST_READ_BYTES: usize = 4096;

/// Room that suffices for another read into a block whose front is still referenced: as much as
/// most reads bring. With less, another block takes over.
const READ_BYTES_MIN: usize = READ_BYTES / 4;

/// Blocks that may wait until their messages are dropped: 1 MiB, enough for an inbox of 256 KiB and
/// the message in the user's hands.
const BLOCKS_MAX: usize = 4;

/// Received bytes, shared with the messages taken off the front.
#[derive(Debug)]
pub struct ReadBuf {
    block: BytesMut,
    /// Bytes that the reader needs before it can continue; 0 if any byte helps.
    wanted: usize,
    /// True while `block` comes from `blocks`, so that it has their size and is reused.
    pooled: bool,
    /// Bytes were read since the buffer last had no memory.
    has_begun: bool,
    /// The connection has shown that it needs blocks.
    is_busy: bool,
    blocks: BufferPool,
    slabs: SlabCopier,
}

impl Default for ReadBuf {
    fn default() -> ReadBuf {
        ReadBuf::new()
    }
}

impl ReadBuf {
    /// Creates an empty buffer without memory: an idle connection holds none.
    pub fn new() -> ReadBuf {
        ReadBuf {
            block: BytesMut::new(),
            wanted: 0,
            pooled: false,
            has_begun: false,
            is_busy: false,
            blocks: BufferPool::new(READ_BYTES, BLOCKS_MAX),
            slabs: SlabCopier::new(),
        }
    }

    /// Bytes received and not consumed.
    pub fn len(&self) -> usize {
        self.block.len()
    }

    /// Returns true if no received bytes are left.
    pub fn is_empty(&self) -> bool {
        self.block.is_empty()
    }

    /// The bytes received and not consumed.
    pub fn as_slice(&self) -> &[u8] {
        &self.block
    }

    /// Records that the reader needs `total` bytes before it can continue.
    pub fn want(&mut self, total: usize) {
        self.wanted = total;
    }

    /// Returns true if the bytes that the last reader asked for have arrived.
    pub fn is_ready(&self) -> bool {
        self.block.len() >= self.wanted.max(1)
    }

    /// Takes `length` bytes off the front (all of them if there are fewer), without copying. They
    /// hold the whole block, [`READ_BYTES`] or their own length, until they are dropped.
    pub fn take(&mut self, length: usize) -> Bytes {
        self.wanted = 0;
        self.block.split_to(length.min(self.block.len())).freeze()
    }

    /// Takes `length` bytes off the front (all of them if there are fewer) as a copy, which holds
    /// [`SLAB_BYTES`](crate::slab_copier::SLAB_BYTES) or its own length instead of the block.
    pub fn copy(&mut self, length: usize) -> Bytes {
        let length = length.min(self.block.len());
        let copy = self.slabs.copy(&self.block[..length]);
        self.skip(length);
        copy
    }

    /// Drops `length` bytes off the front (all of them if there are fewer).
    pub fn skip(&mut self, length: usize) {
        self.wanted = 0;
        self.block.advance(length.min(self.block.len()));
    }

    /// Appends a copy of `bytes`, for tests and the simulator.
    pub fn fill(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    /// The memory to read into, with room for about [`READ_BYTES`] and for the bytes that are
    /// wanted; [`FIRST_READ_BYTES`] until a read has filled that much.
    ///
    /// Memory grows with the bytes that have arrived, not with those that were announced: a wanted
    /// length is checked against the receive limit beforehand, and the room grows with each read.
    pub fn space(&mut self) -> &mut BytesMut {
        if !self.is_busy && self.make_first_room() {
            return &mut self.block;
        }
        let held = self.block.len();
        let missing = self.wanted.saturating_sub(held).clamp(4096, READ_BYTES);
        let room = if held == 0 { READ_BYTES } else { missing };
        // First try the same block, in case its front is no longer referenced.
        let enough = self.block.try_reclaim(room)
            || (held == 0 && self.block.capacity() >= READ_BYTES_MIN.max(missing));
        if enough {
            return &mut self.block;
        }
        if held + missing > READ_BYTES {
            // A long message has its own memory, which grows with it.
            self.block.reserve(missing);
            self.pooled = false;
            return &mut self.block;
        }
        let mut fresh = self.blocks.take();
        fresh.extend_from_slice(&self.block);
        let used = mem::replace(&mut self.block, fresh);
        if mem::replace(&mut self.pooled, true) {
            self.blocks.retire(used);
        }
        &mut self.block
    }

    /// Makes room for a small read. Returns false if small reads no longer suffice.
    fn make_first_room(&mut self) -> bool {
        let held = self.block.len();
        // A read that filled its room leaves none, even if everything it brought was consumed.
        let was_filled = self.has_begun && self.block.capacity() == held;
        if was_filled || held.max(self.wanted) > FIRST_READ_BYTES / 2 {
            self.is_busy = true;
            return false;
        }
        self.has_begun = true;
        if !self.block.try_reclaim(FIRST_READ_BYTES - held) {
            let mut fresh = BytesMut::with_capacity(FIRST_READ_BYTES);
            fresh.extend_from_slice(&self.block);
            self.block = fresh;
        }
        true
    }

    /// Frees the memory if no received bytes are left; for a connection that has become idle.
    pub fn release(&mut self) {
        if self.block.is_empty() {
            self.block = BytesMut::new();
            self.pooled = false;
            (self.has_begun, self.is_busy) = (false, false);
            self.blocks.release();
            self.slabs.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::{BTreeSet, VecDeque};
    use alloc::vec;

    use super::*;

    /// The buffer of a connection that needs blocks.
    fn busy() -> ReadBuf {
        ReadBuf { is_busy: true, ..ReadBuf::new() }
    }

    #[test]
    fn taken_bytes_stay_valid_while_the_buffer_is_refilled() {
        let mut input = ReadBuf::new();
        input.fill(b"abcdef");
        let first = input.take(3);
        input.fill(b"ghi");
        assert_eq!(first.as_ref(), b"abc");
        assert_eq!(input.as_slice(), b"defghi");
    }

    #[test]
    fn readiness_follows_what_was_wanted() {
        let mut input = ReadBuf::new();
        assert!(!input.is_ready());
        input.fill(b"ab");
        input.want(3);
        assert!(!input.is_ready());
        input.fill(b"c");
        assert!(input.is_ready());
    }

    /// Small reads get little room; the first one that fills it is followed by large ones.
    #[test]
    fn a_quiet_connection_holds_little_memory() {
        let mut input = ReadBuf::new();
        for _ in 0..1000 {
            assert_eq!(input.space().capacity(), FIRST_READ_BYTES);
            input.fill(&[7; 100]);
            drop(input.take(100));
        }
        let room = input.space().capacity() - input.len();
        input.fill(&vec![7; room]);
        input.skip(room);
        assert!(input.space().capacity() >= READ_BYTES, "a read has filled the small room");
        input.release();
        assert!(input.space().capacity() <= FIRST_READ_BYTES);
        input.fill(&[7; 10]);
        input.want(100_000);
        assert!(input.space().capacity() >= 100_000, "more bytes are wanted");
        assert_eq!(input.as_slice(), [7; 10]);
    }

    /// A copy does not hold the block, but taken bytes do: only then another block is filled.
    #[test]
    fn a_copy_frees_the_block_and_a_taken_part_holds_it() {
        let mut input = busy();
        let block = input.space().as_ptr();
        input.fill(&[1; 3 * READ_BYTES / 4]);
        let copy = input.copy(100);
        input.skip(READ_BYTES);
        assert!(input.is_empty());
        assert_eq!(input.space().as_ptr(), block);
        input.fill(&[2; 7 * READ_BYTES / 8]);
        let part = input.take(READ_BYTES);
        assert_ne!(input.space().as_ptr(), block);
        assert!(copy.iter().all(|byte| *byte == 1) && part.iter().all(|byte| *byte == 2));
        drop(part);
        // The first block has waited for that, and is used after the current one.
        input.fill(&[3; 7 * READ_BYTES / 8]);
        let _part = input.take(READ_BYTES);
        assert_eq!(input.space().as_ptr(), block);
    }

    /// Messages across the ends of blocks, each held while the next two arrive: four blocks
    /// suffice.
    #[test]
    fn blocks_are_reused_in_turn() {
        let message = 100_000;
        let mut input = ReadBuf::new();
        let mut places = BTreeSet::new();
        let mut held = VecDeque::new();
        for number in 0..200_u8 {
            while input.len() < message {
                input.want(message);
                places.insert(input.space().as_ptr() as usize / READ_BYTES);
                let missing = message - input.len();
                input.fill(&vec![number; missing.min(30_000)]);
            }
            held.push_back((number, input.take(message)));
            if held.len() > 2 {
                let (number, message) = held.pop_front().unwrap();
                assert!(message.iter().all(|byte| *byte == number));
            }
        }
        // A block may cross one multiple of its size.
        assert!(places.len() <= 2 * (BLOCKS_MAX + 1), "{} places", places.len());
    }
}
