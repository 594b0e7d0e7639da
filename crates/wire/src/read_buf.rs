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

use crate::slab_copier::{BufferPool, SlabCopier};

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
    /// [`SLAB_BYTES`](crate::slab_copier::SLAB_BYTES) or its own length instead of the block.
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
mod tests {
    use alloc::collections::{BTreeSet, VecDeque};
    use alloc::vec;

    use super::*;

    /// The buffer of a connection that needs blocks.
    fn busy() -> ReadBuf {
        ReadBuf { is_busy: true, ..ReadBuf::new() }
    }

    /// The block has its length still, and so comes from the pool and goes back to it.
    #[test]
    fn a_block_does_not_grow_while_bytes_find_room_in_it() {
        for held in [0, 1, 60_000, READ_BYTES - SPACE_BYTES_MIN] {
            let mut input = busy();
            input.append(&vec![1; held]);
            while input.room_in_block() > 0 {
                let piece = input.room_in_block().min(16 * 1024);
                input.append(&vec![2; piece]);
            }
            assert!(input.pool == Pool::Blocks && input.len() < READ_BYTES, "{held}");
            assert_eq!(input.block.capacity(), READ_BYTES, "{held}");
        }
    }

    /// Reads a message of `length` bytes in reads of 64 KiB, and takes it.
    fn long_message(input: &mut ReadBuf, length: usize) -> Bytes {
        input.want(length);
        while !input.is_ready() {
            let space = input.space();
            let room = (space.capacity() - space.len()).min(64 * 1024);
            space.resize(space.len() + room, 7);
        }
        input.take(length)
    }

    #[test]
    fn the_memory_of_a_long_message_is_used_again_once_it_is_dropped() {
        let mut input = busy();
        let mut places = BTreeSet::new();
        let mut last = Bytes::new();
        for _ in 0..50 {
            // The one before is in the user's hands meanwhile.
            let message = long_message(&mut input, LONG_BYTES_MAX);
            assert!(message.iter().all(|byte| *byte == 7));
            places.insert(message.as_ptr().addr());
            last = message;
        }
        drop(last);
        assert_eq!((places.len(), input.long_blocks.len()), (2, 1));
        input.skip(usize::MAX);
        input.release();
        assert_eq!(input.long_blocks.len(), 0, "an idle connection holds none");
    }

    /// A layer appends what has arrived of the next message too.
    #[test]
    fn bytes_behind_a_long_message_find_room() {
        for behind in [1, 4096, 100_000, 3 * READ_BYTES] {
            let mut input = busy();
            input.want(LONG_BYTES_MAX);
            let _held = long_message(&mut input, LONG_BYTES_MAX);
            input.want(LONG_BYTES_MAX);
            input.append(&vec![1; LONG_BYTES_MAX]);
            input.append(&vec![2; behind]);
            assert!(input.len() >= LONG_BYTES_MAX + behind);
        }
    }

    /// A reader checks a length before it wants it, and a length may be any number where nobody
    /// limits it.
    #[test]
    fn a_wanted_length_takes_no_memory_before_bytes_have_arrived() {
        let mut input = busy();
        input.append(&[1; 100]);
        for wanted in [LONG_BYTES_MAX, LONG_BYTES_MAX + 1, usize::MAX - 1, usize::MAX] {
            input.want(wanted);
            assert!(input.space().capacity() <= 2 * READ_BYTES, "{wanted}");
        }
    }

    #[test]
    fn the_memory_of_a_message_beyond_the_limit_is_not_kept() {
        let mut input = busy();
        for _ in 0..5 {
            let _ = long_message(&mut input, LONG_BYTES_MAX + 1);
        }
        long_message(&mut input, 100);
        assert_eq!(input.long_blocks.len(), 0);
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

    /// Bytes of the stream in turn: copied, shared, shared, copied.
    fn mixed(input: &mut ReadBuf) -> Bytes {
        let long = Bytes::from(vec![b'l'; 5]);
        input.append(b"abc");
        input.append_shared(long.clone());
        input.append_shared(Bytes::from_static(b"mn"));
        input.append(b"xyz");
        long
    }

    #[test]
    fn shared_bytes_keep_their_place_and_are_not_copied() {
        let mut input = ReadBuf::new().sharing();
        let long = mixed(&mut input);
        assert_eq!((input.len(), input.as_slice()), (13, &b"abc"[..]));
        assert_eq!(input.take(3).as_ref(), b"abc");
        assert_eq!(input.as_slice(), b"");
        let taken = input.copy(5);
        assert_eq!((taken.as_ref(), taken.as_ptr()), (&b"lllll"[..], long.as_ptr()));
        input.append_shared(Bytes::from_static(b"end"));
        input.append(b"!");
        assert_eq!(input.take(4).as_ref(), b"mnxy");
        assert_eq!((input.as_slice(), input.len()), (&b"z"[..], 5));
        assert!(input.join_front());
        assert_eq!(input.as_slice(), b"zend!");
        assert!(!input.join_front());
    }

    #[test]
    fn shared_bytes_are_taken_skipped_and_joined_at_any_place() {
        let whole = b"abclllllmnxyz";
        for first in 0..=whole.len() + 1 {
            for second in 0..=whole.len() + 1 {
                let mut input = ReadBuf::new().sharing();
                mixed(&mut input);
                let [at, end] = [first, first + second].map(|place| place.min(whole.len()));
                assert_eq!(input.take(first), whole[..at]);
                input.skip(second);
                assert_eq!(input.len(), whole.len() - end);
                while input.join_front() {}
                assert_eq!(input.as_slice(), &whole[end..], "{first} {second}");
                assert_eq!(input.copy(100), whole[end..]);
                assert!(input.is_empty());
            }
        }
    }

    #[test]
    fn a_buffer_that_does_not_share_copies_everything() {
        let mut input = ReadBuf::new();
        mixed(&mut input);
        assert_eq!(input.as_slice(), b"abclllllmnxyz");
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
