//! The bytes that a connection has received and not consumed yet.
//!
//! A block is shared, not copied: a message taken from it keeps the block alive until its last
//! reference is dropped. Then the block is filled again. Short messages can be copied into slabs
//! instead, so that they do not hold a whole block ([`ReadBuf::copy`]). Blocks and slabs are both
//! reused, so a connection whose messages are dropped as fast as they arrive allocates nothing.
//!
//! A sender of the same process can hand over long bodies without copying them
//! ([`ReadBuf::append_shared`]).

use alloc::vec::Vec;
use core::mem;

use bytes::{Buf, Bytes, BytesMut};
use interleaved::Interleaved;

use crate::buffers::slab_copier::{BufferPool, SlabCopier};

mod interleaved;

/// Preferred room for a read: one read of this size takes one or several whole batches.
pub const READ_BYTES: usize = 256 * 1024;

/// Room for the first reads of a connection: most connections receive little, and thousands of
/// silent ones must not hold a block each. A read that fills this room shows that more is waiting.
pub const FIRST_READ_BYTES: usize = 4096;

/// Room of every read, but the first ones of a connection.
const SPACE_BYTES_MIN: usize = 4096;

/// Room that suffices for another read into a block whose front is still referenced: as much as
/// most reads bring. With less, another block takes over.
const READ_BYTES_MIN: usize = READ_BYTES / 4;

/// Blocks that may wait until their messages are dropped: 1 MiB, enough for an inbox of 256 KiB and
/// the message in the user's hands.
const BLOCKS_MAX: usize = 4;

/// Length of a message up to which its own memory is used again for the next one: the receive limit of
/// a socket unless it is set, and what goes before a message.
const LONG_BYTES_MAX: usize = 1024 * 1024 + 64;

/// Blocks of long messages that may wait until these are dropped: that of the message in the user's
/// hands, and of one that waits.
const LONG_BLOCKS_MAX: usize = 2;

/// Received bytes, shared with the messages taken off the front.
#[derive(Debug)]
pub struct ReadBuf {
    block: BytesMut,
    /// Bytes that the reader needs before it can continue; 0 if any byte helps.
    wanted: usize,
    /// The pool that `block` goes to when it is used up.
    pool: Pool,
    /// Bytes were read since the buffer last had no memory.
    has_begun: bool,
    /// The connection has shown that it needs blocks.
    is_busy: bool,
    blocks: BufferPool,
    long_blocks: BufferPool,
    slabs: SlabCopier,
    /// Shared bytes between those of `block`.
    shared: Interleaved,
    /// The reader finds bytes behind those of [`as_slice`](Self::as_slice).
    shares: bool,
}

/// Where a used-up block waits until it is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pool {
    /// It is freed with its last message.
    None,
    /// With those of [`READ_BYTES`].
    Blocks,
    /// With those of long messages.
    LongBlocks,
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
            pool: Pool::None,
            has_begun: false,
            is_busy: false,
            blocks: BufferPool::new(READ_BYTES, BLOCKS_MAX),
            long_blocks: BufferPool::new(LONG_BYTES_MAX, LONG_BLOCKS_MAX),
            slabs: SlabCopier::new(),
            shared: Interleaved::default(),
            shares: false,
        }
    }

    /// Lets shared bytes stay where they are: for a reader that looks only at
    /// [`as_slice`](Self::as_slice) for lengths and headers, and [takes](Self::take) what follows.
    #[must_use]
    pub fn sharing(self) -> ReadBuf {
        ReadBuf { shares: true, ..self }
    }

    /// Bytes received and not consumed.
    #[inline]
    pub fn len(&self) -> usize {
        self.block.len() + self.shared.bytes()
    }

    /// Returns true if no received bytes are left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes received and not consumed; if the buffer is [sharing](Self::sharing), those in
    /// front of the first shared ones.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match self.shared.gap() {
            None => &self.block,
            Some(gap) => &self.block[..gap],
        }
    }

    /// [`as_slice`](Self::as_slice), to change them in place: a layer decrypts its input there.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        let end = self.shared.gap().unwrap_or(self.block.len());
        &mut self.block[..end]
    }

    /// Copies the first shared bytes behind those of [`as_slice`](Self::as_slice), which then has
    /// them too. False if there are none.
    pub fn join_front(&mut self) -> bool {
        let Some(gap) = self.shared.gap() else { return false };
        let rest = self.block.split_off(gap);
        self.shared.block_advanced(gap);
        let joined = self.shared.take(usize::MAX).unwrap_or_default();
        // The part is gone, and with it the gap: the bytes of the block are counted anew.
        self.block.extend_from_slice(&joined);
        self.shared.block_grew(gap + joined.len());
        self.block.extend_from_slice(&rest);
        self.pool = Pool::None;
        true
    }

    /// Records that the reader needs `total` bytes before it can continue.
    pub fn want(&mut self, total: usize) {
        self.wanted = total;
    }

    /// Returns true if the bytes that the last reader asked for have arrived.
    pub fn is_ready(&self) -> bool {
        self.len() >= self.wanted.max(1)
    }

    /// Takes `length` bytes off the front (all of them if there are fewer), without copying. They
    /// hold the whole block, [`READ_BYTES`] or their own length, until they are dropped. Bytes that
    /// are shared in part are copied.
    pub fn take(&mut self, length: usize) -> Bytes {
        self.wanted = 0;
        if !self.shared.is_empty() {
            return self.take_shared(length);
        }
        self.block.split_to(length.min(self.block.len())).freeze()
    }

    fn take_shared(&mut self, length: usize) -> Bytes {
        let first = self.take_piece(length);
        if first.len() == length || self.is_empty() {
            return first;
        }
        let mut joined = Vec::with_capacity(length.min(first.len() + self.len()));
        joined.extend_from_slice(&first);
        while joined.len() < length && !self.is_empty() {
            joined.extend_from_slice(&self.take_piece(length - joined.len()));
        }
        Bytes::from(joined)
    }

    /// Takes up to `length` bytes that lie together.
    fn take_piece(&mut self, length: usize) -> Bytes {
        if let Some(part) = self.shared.take(length) {
            return part;
        }
        let here = length.min(self.as_slice().len());
        self.shared.block_advanced(here);
        self.block.split_to(here).freeze()
    }

    /// Takes `length` bytes off the front (all of them if there are fewer) as a copy, which holds
    /// [`SLAB_BYTES`](crate::buffers::slab_copier::SLAB_BYTES) or its own length instead of the block.
    /// Shared bytes are not copied.
    pub fn copy(&mut self, length: usize) -> Bytes {
        if self.shared.gap().is_some_and(|gap| gap < length) {
            return self.take(length);
        }
        let length = length.min(self.block.len());
        let copy = self.slabs.copy(&self.block[..length]);
        self.skip(length);
        copy
    }

    /// Drops `length` bytes off the front (all of them if there are fewer).
    pub fn skip(&mut self, length: usize) {
        self.wanted = 0;
        let mut left = length;
        loop {
            let here = left.min(self.as_slice().len());
            self.block.advance(here);
            self.shared.block_advanced(here);
            left -= here;
            match self.shared.take(left) {
                Some(part) if left > 0 => left -= part.len(),
                _ => return,
            }
        }
    }

    /// Bytes that can be [appended](Self::append) before memory grows beyond that of a block, which is
    /// used again.
    pub fn room_in_block(&self) -> usize {
        (READ_BYTES - SPACE_BYTES_MIN).saturating_sub(self.len())
    }

    /// Appends a copy of `bytes`, for tests and the simulator.
    pub fn fill(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    /// Appends a copy of `bytes`, as a read would.
    pub fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.space();
            let (now, rest) = bytes.split_at(bytes.len().min(space.capacity() - space.len()));
            space.extend_from_slice(now);
            bytes = rest;
        }
    }

    /// Appends `bytes`: by reference if the buffer is [sharing](Self::sharing), otherwise a copy.
    pub fn append_shared(&mut self, bytes: Bytes) {
        if self.shares && !bytes.is_empty() {
            self.shared.push(self.block.len(), bytes);
        } else {
            self.append(&bytes);
        }
    }

    /// The memory to read into, with room for about [`READ_BYTES`] and for the bytes that are
    /// wanted; [`FIRST_READ_BYTES`] until a read has filled that much.
    ///
    /// Memory grows with the bytes that have arrived, not with those that were announced: a wanted
    /// length is checked against the receive limit beforehand, and the room grows with each read. Of
    /// a message of up to 1 MiB the first [`READ_BYTES`] fill a block, and then there is room for the
    /// rest.
    pub fn space(&mut self) -> &mut BytesMut {
        if !self.is_busy && self.make_first_room() {
            return &mut self.block;
        }
        let held = self.block.len();
        // The rest of a message that has arrived whole is the next one.
        let wants_long = (READ_BYTES.max(held) + 1..=LONG_BYTES_MAX).contains(&self.wanted);
        if wants_long && self.block.capacity() < self.wanted {
            self.reuse_long_block();
        }
        let mut missing = self.wanted.saturating_sub(held).clamp(SPACE_BYTES_MIN, READ_BYTES);
        if wants_long && held + SPACE_BYTES_MIN <= READ_BYTES {
            missing = missing.min(READ_BYTES - held);
        }
        let room = if held == 0 { READ_BYTES } else { missing };
        // First try the same block, in case its front is no longer referenced.
        let enough = self.block.try_reclaim(room)
            || (held == 0 && self.block.capacity() >= READ_BYTES_MIN.max(missing));
        if enough {
            return &mut self.block;
        }
        if held + missing > READ_BYTES {
            self.make_room_for_long(missing, wants_long);
            return &mut self.block;
        }
        let fresh = self.blocks.take();
        self.move_to(fresh, Pool::Blocks);
        &mut self.block
    }

    /// Begins a long message in the block of an earlier one, if one waits whose message is dropped.
    fn reuse_long_block(&mut self) {
        if let Some(waiting) = self.long_blocks.reclaim(self.wanted + SPACE_BYTES_MIN) {
            self.move_to(waiting, Pool::LongBlocks);
        }
    }

    /// Gives a long message memory of its own: all of it at once if that is used again, since a quarter
    /// has arrived; longer ones grow with what arrives.
    fn make_room_for_long(&mut self, missing: usize, is_reused: bool) {
        if is_reused {
            let fresh = BytesMut::with_capacity(self.wanted + SPACE_BYTES_MIN);
            self.move_to(fresh, Pool::LongBlocks);
        } else {
            self.block.reserve(missing);
            self.pool = Pool::None;
        }
    }

    /// Goes on in another block, with a copy of what is held.
    fn move_to(&mut self, mut fresh: BytesMut, pool: Pool) {
        fresh.extend_from_slice(&self.block);
        let used = mem::replace(&mut self.block, fresh);
        match mem::replace(&mut self.pool, pool) {
            Pool::None => {}
            Pool::Blocks => self.blocks.retire(used),
            Pool::LongBlocks => self.long_blocks.retire(used),
        }
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
        if self.is_empty() {
            self.block = BytesMut::new();
            self.pool = Pool::None;
            (self.has_begun, self.is_busy) = (false, false);
            self.blocks.release();
            self.long_blocks.release();
            self.slabs.release();
        }
    }
}

#[cfg(test)]
mod tests;
