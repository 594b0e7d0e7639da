//! A ring of bytes from one process to another.
//!
//! The producer counts the bytes that it has written, the consumer those that it has read; both
//! counts only grow and are in the shared memory, each on a cache line of its own. Each end keeps its
//! own count in memory of its own and believes only that one. An end that finds nothing to do raises
//! a flag, looks once more, and waits; the other end takes the flag down and [must wake
//! it](Progress::wake).

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::BytesMut;

use crate::memory::{Flag, Memory};

/// Bytes in front of the bytes of a ring: its counters and flags.
pub(crate) const HEADER_BYTES: usize = 4096;

/// Places in the header. A line of the cache is 64 bytes; two are fetched together.
const WRITTEN: usize = 0;
const READER_WAITS: usize = 128;
const READ: usize = 256;
const WRITER_WAITS: usize = 384;
const ENDING: usize = 512;

/// The other process has broken the rules of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Its count is impossible.
    #[error("the counters say {written} bytes written and {read} read, the ring has {capacity}")]
    Counters {
        /// The producer's count.
        written: u64,
        /// The consumer's count.
        read: u64,
        /// The bytes that the ring can hold.
        capacity: usize,
    },
    /// The flag for the end of a direction has no meaning.
    #[error("the peer's flag for its end is {0}, only 0, 1 and 2 are known")]
    Ending(u32),
}

/// How a producer has left its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// More may come.
    Open,
    /// Nothing comes behind the bytes in the ring.
    Finished,
    /// The producer has given up: what is in the ring may not be all.
    Aborted,
}

/// The result of a write or read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that were copied.
    pub bytes: usize,
    /// The other end waits for them and must be woken.
    pub wake: bool,
}

/// The place of a ring in its segment.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) memory: Arc<Memory>,
    pub(crate) header: usize,
    pub(crate) data: usize,
    /// A power of two.
    pub(crate) capacity: usize,
}

impl Place {
    /// The parts of the `length` bytes from the count `from` on: the ring's end may divide them.
    fn parts(&self, from: u64, length: usize) -> [(usize, usize); 2] {
        let at = from as usize & (self.capacity - 1);
        let first = length.min(self.capacity - at);
        [(self.data + at, first), (self.data, length - first)]
    }

    /// The bytes between two counts of which one is the peer's.
    fn distance(&self, written: u64, read: u64) -> Result<usize, Broken> {
        // Counts of 64 bits do not wrap.
        let distance = written.checked_sub(read).and_then(|bytes| usize::try_from(bytes).ok());
        let possible = distance.filter(|bytes| *bytes <= self.capacity);
        possible.ok_or(Broken::Counters { written, read, capacity: self.capacity })
    }
}

/// The end that writes.
#[derive(Debug)]
pub struct Producer {
    place: Place,
    written: u64,
    /// The consumer's count when it was last looked at.
    read: u64,
    has_ended: bool,
}

impl Producer {
    pub(crate) fn new(place: Place) -> Producer {
        Producer { place, written: 0, read: 0, has_ended: false }
    }

    /// Copies as much of `parts` as there is room for.
    pub fn write(&mut self, parts: &[IoSlice<'_>]) -> Result<Progress, Broken> {
        let wanted = parts.iter().fold(0_usize, |sum, part| sum.saturating_add(part.len()));
        let mut room = self.place.capacity - self.place.distance(self.written, self.read)?;
        if room < wanted {
            room = self.room()?;
        }
        let mut left = room;
        for part in parts {
            let now = part.len().min(left);
            let [(at, first), (begin, second)] = self.place.parts(self.written, now);
            self.place.memory.write(at, &part[..first]);
            self.place.memory.write(begin, &part[first..first + second]);
            self.written += now as u64;
            left -= now;
        }
        let bytes = room - left;
        if bytes == 0 {
            return Ok(Progress::default());
        }
        let memory = &self.place.memory;
        // Sequential: the flag is looked at behind the store. Pairs with `Consumer::wait`.
        memory.counter(self.place.header + WRITTEN).store(self.written, Ordering::SeqCst);
        Ok(Progress { bytes, wake: self.take_waiting() })
    }

    /// Says that this end waits for room. False if there is some: then it does not wait.
    pub fn wait(&mut self) -> Result<bool, Broken> {
        let flag = self.place.memory.flag(self.place.header + WRITER_WAITS);
        raise(flag); // Pairs with the look at it behind the count, in `Consumer::consume`.
        let is_full = self.room()? == 0;
        if !is_full {
            self.place.memory.flag(self.place.header + WRITER_WAITS).store(0, Ordering::Relaxed);
        }
        Ok(is_full)
    }

    /// Returns true after [`end`](Self::end): nothing is to be written any more.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Ends this direction. True if the other end waits and must be woken.
    pub fn end(&mut self, how: Direction) -> bool {
        self.has_ended |= how != Direction::Open;
        let value = match how {
            Direction::Open => return false,
            Direction::Finished => 1,
            Direction::Aborted => 2,
        };
        self.place.memory.flag(self.place.header + ENDING).store(value, Ordering::SeqCst);
        self.take_waiting()
    }

    fn room(&mut self) -> Result<usize, Broken> {
        let counter = self.place.memory.counter(self.place.header + READ);
        self.read = counter.load(Ordering::SeqCst);
        Ok(self.place.capacity - self.place.distance(self.written, self.read)?)
    }

    fn take_waiting(&self) -> bool {
        take(self.place.memory.flag(self.place.header + READER_WAITS))
    }
}

/// The end that reads.
#[derive(Debug)]
pub struct Consumer {
    place: Place,
    read: u64,
}

impl Consumer {
    pub(crate) fn new(place: Place) -> Consumer {
        Consumer { place, read: 0 }
    }

    /// Appends what is in the ring to `out`, at most `most` bytes.
    pub fn read(&mut self, out: &mut BytesMut, most: usize) -> Result<Progress, Broken> {
        let bytes = self.available()?.min(most);
        if bytes == 0 {
            return Ok(Progress::default());
        }
        for (at, length) in self.place.parts(self.read, bytes) {
            self.place.memory.append_to(at, length, out);
        }
        Ok(self.consume(bytes))
    }

    /// Copies what is in the ring to the front of `out`, as much as fits.
    pub fn read_to(&mut self, out: &mut [u8]) -> Result<Progress, Broken> {
        let bytes = self.available()?.min(out.len());
        if bytes == 0 {
            return Ok(Progress::default());
        }
        let [(at, first), (begin, second)] = self.place.parts(self.read, bytes);
        let (front, rest) = out.split_at_mut(first);
        self.place.memory.copy_to(at, front);
        self.place.memory.copy_to(begin, &mut rest[..second]);
        Ok(self.consume(bytes))
    }

    fn consume(&mut self, bytes: usize) -> Progress {
        self.read += bytes as u64;
        let memory = &self.place.memory;
        // Sequential: the flag is looked at behind the store. Pairs with `Producer::wait`.
        memory.counter(self.place.header + READ).store(self.read, Ordering::SeqCst);
        let wake = take(memory.flag(self.place.header + WRITER_WAITS));
        Progress { bytes, wake }
    }

    /// Returns true if there is something to read.
    pub fn has_more(&self) -> Result<bool, Broken> {
        Ok(self.available()? > 0)
    }

    /// Says that this end waits for bytes. False if there are some, or the direction has ended: then
    /// it does not wait.
    pub fn wait(&self) -> Result<bool, Broken> {
        let flag = self.place.memory.flag(self.place.header + READER_WAITS);
        raise(flag); // Pairs with the look at it behind the count, in `Producer::write`.
        let is_empty = !self.has_more()? && self.direction()? == Direction::Open;
        if !is_empty {
            flag.store(0, Ordering::Relaxed);
        }
        Ok(is_empty)
    }

    /// Whether more can come. Bytes that are in the ring come first.
    pub fn direction(&self) -> Result<Direction, Broken> {
        match self.place.memory.flag(self.place.header + ENDING).load(Ordering::SeqCst) {
            0 => Ok(Direction::Open),
            1 => Ok(Direction::Finished),
            2 => Ok(Direction::Aborted),
            other => Err(Broken::Ending(other)),
        }
    }

    fn available(&self) -> Result<usize, Broken> {
        let counter = self.place.memory.counter(self.place.header + WRITTEN);
        self.place.distance(counter.load(Ordering::SeqCst), self.read)
    }
}

/// Raises a flag, before the count is looked at once more.
fn raise(flag: &Flag) {
    // Sequential, as the look is. The value that was there says nothing; but only of swaps does loom
    // know their order, and on x86 a sequential store is one.
    flag.swap(1, Ordering::SeqCst);
}

/// Takes a flag down; true if it was up. The load spares the common case a write of the line.
fn take(flag: &Flag) -> bool {
    flag.load(Ordering::SeqCst) != 0 && flag.swap(0, Ordering::SeqCst) != 0
}

#[cfg(all(test, wigwag_loom))]
#[path = "ring_loom.rs"]
mod ring_loom;
