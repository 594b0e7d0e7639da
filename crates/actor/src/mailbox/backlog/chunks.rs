//! The chunks of one queue in one buffer: filled chunks, and behind them empty ones for reuse.
//!
//! A million actors may sleep after a call or two, so the buffer begins with room for one chunk,
//! which is enough for a chunk that is taken, emptied and given back.

use std::collections::VecDeque;

use crate::limits::SPARE_CHUNKS_MAX;
use crate::mailbox::backlog::chunk::{Chunk, Frames};
use crate::mailbox::backlog::since::Since;
use crate::mailbox::sending::mail_batch::MailBatch;

/// The filled chunks of a queue, the oldest first, and behind them empty ones.
pub(crate) struct Chunks<M> {
    /// Each filled chunk with the time since when its first call waits.
    all: VecDeque<(Since, Chunk<M>)>,
    /// The number of filled chunks.
    filled: usize,
}

impl<M> Chunks<M> {
    pub(crate) fn new() -> Chunks<M> {
        Chunks { all: VecDeque::new(), filled: 0 }
    }

    /// True when no chunk is filled.
    pub(crate) fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// The oldest filled chunk.
    pub(crate) fn first(&mut self) -> Option<&mut Chunk<M>> {
        self.all.front_mut().filter(|_| self.filled > 0).map(|(_, chunk)| chunk)
    }

    /// The time since when the oldest filled chunk waits.
    pub(crate) fn since(&self) -> Option<Since> {
        self.all.front().filter(|_| self.filled > 0).map(|(since, _)| *since)
    }

    /// The newest filled chunk.
    #[inline]
    pub(crate) fn last(&mut self) -> Option<&mut Chunk<M>> {
        // Without filled chunks the index wraps around and is out of range.
        self.all.get_mut(self.filled.wrapping_sub(1)).map(|(_, chunk)| chunk)
    }

    /// Adds a chunk behind the filled ones. The empty chunk at this place moves to the end.
    pub(crate) fn push_last(&mut self, chunk: Chunk<M>) {
        self.make_room();
        self.all.push_back((Since::now(), chunk));
        let end = self.all.len() - 1;
        self.all.swap(self.filled, end);
        self.filled += 1;
    }

    /// Adds a chunk, whose first call waits since `since`, in front of all others.
    pub(crate) fn push_first(&mut self, chunk: Chunk<M>, since: Since) {
        self.make_room();
        self.all.push_front((since, chunk));
        self.filled += 1;
    }

    /// Takes the oldest filled chunk.
    pub(crate) fn pop_first(&mut self) -> Option<Chunk<M>> {
        self.filled = self.filled.checked_sub(1)?;
        self.all.pop_front().map(|(_, chunk)| chunk)
    }

    /// Keeps an empty chunk; returns it when there are enough.
    pub(crate) fn keep(&mut self, chunk: Chunk<M>) -> Option<Chunk<M>> {
        if self.all.len() - self.filled >= SPARE_CHUNKS_MAX {
            return Some(chunk);
        }
        self.make_room();
        self.all.push_back((Since::NEVER, chunk));
        None
    }

    /// Takes an empty chunk for local calls, or creates one.
    pub(crate) fn empty_mails(&mut self) -> MailBatch<M> {
        match self.pop_empty() {
            Some(Chunk::Mails(mails)) => mails,
            _ => MailBatch::of_one(),
        }
    }

    /// Takes an empty chunk for the calls of a session, or creates one.
    pub(crate) fn empty_frames(&mut self) -> Frames {
        match self.pop_empty() {
            Some(Chunk::Frames(frames)) => frames,
            _ => Frames::default(),
        }
    }

    fn pop_empty(&mut self) -> Option<Chunk<M>> {
        let has_empty = self.all.len() > self.filled;
        has_empty.then(|| self.all.pop_back()).flatten().map(|(_, chunk)| chunk)
    }

    /// Takes all empty chunks.
    pub(crate) fn take_empty(&mut self, into: &mut Vec<Chunk<M>>) {
        into.extend(self.all.drain(self.filled..).map(|(_, chunk)| chunk));
    }

    /// Takes all chunks, the filled ones first, together with the buffer.
    pub(crate) fn take_all(&mut self, into: &mut Vec<Chunk<M>>) {
        self.filled = 0;
        for (_, chunk) in std::mem::take(&mut self.all) {
            into.push(chunk);
        }
    }

    fn make_room(&mut self) {
        if self.all.capacity() == 0 {
            self.all.reserve_exact(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(numbers: &[u8]) -> Chunk<u8> {
        Chunk::Mails(numbers.iter().map(|number| (*number, None)).collect())
    }

    fn numbers(chunk: Option<Chunk<u8>>) -> Vec<u8> {
        match chunk {
            Some(Chunk::Mails(mut mails)) => mails.drain().map(|(number, _)| number).collect(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn calls_keep_their_order_whatever_empty_chunks_lie_behind_them() {
        let mut chunks = Chunks::new();
        for _ in 0..3 {
            assert!(chunks.keep(chunk(&[])).is_none());
        }
        assert!(chunks.is_empty() && chunks.first().is_none() && chunks.last().is_none());
        chunks.push_last(chunk(&[2]));
        chunks.push_last(chunk(&[3]));
        chunks.push_first(chunk(&[1]), Since::now());
        assert_eq!(chunks.last().map(|last| last.calls()), Some(1));
        assert!(chunks.empty_mails().is_empty());
        for expected in 1..=3 {
            assert_eq!(numbers(chunks.pop_first()), [expected]);
        }
        assert!(chunks.pop_first().is_none());
        let mut empty = Vec::new();
        chunks.take_empty(&mut empty);
        assert_eq!(empty.len(), 2);
    }

    #[test]
    fn one_chunk_that_comes_and_goes_needs_one_place() {
        let mut chunks = Chunks::new();
        for _ in 0..10 {
            chunks.push_last(chunk(&[1]));
            assert_eq!(numbers(chunks.pop_first()), [1]);
            assert!(chunks.keep(chunk(&[])).is_none());
            assert!(chunks.empty_mails().is_empty());
        }
        assert_eq!(chunks.all.capacity(), 1);
    }

    #[test]
    fn no_more_empty_chunks_are_kept_than_the_limit_says() {
        let mut chunks = Chunks::new();
        for _ in 0..SPARE_CHUNKS_MAX {
            assert!(chunks.keep(chunk(&[])).is_none());
        }
        assert!(chunks.keep(chunk(&[])).is_some());
    }
}
