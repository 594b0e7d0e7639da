//! Chunks: calls that are moved together, either messages of local senders or encoded calls of a
//! session.

use bytes::Bytes;
use wigwag_wire::call::{Calls, CallsPosition, are_asks};

use crate::limits::{INBOUND_CHUNK_CALLS_MAX, JOINED_BYTES_MAX, SPARE_BYTES_MAX};
use crate::mailbox::sending::mail_batch::MailBatch;

/// Encoded calls of a session. It takes one line of the cache, because each actor of a session that
/// speaks to many of them has a few.
#[derive(Default)]
pub(crate) struct Frames {
    memory: Memory,
    calls: u32,
    /// The asks among the calls that were not handled yet.
    asks: u32,
    /// The number of calls at the front that were handled before the chunk was put back, and the place
    /// of the next one.
    skip: u32,
    position: Option<Box<CallsPosition>>,
    /// Credit that the calls have used.
    units: u64,
}

/// The bytes of encoded calls.
enum Memory {
    /// A copy, which may grow.
    Own(Vec<u8>),
    /// The memory that the session has read into.
    Shared(Bytes),
}

impl Default for Memory {
    fn default() -> Memory {
        Memory::Own(Vec::new())
    }
}

impl Frames {
    /// Calls of one kind, whose memory is shared.
    pub(crate) fn of_shared(bytes: Bytes, calls: usize, units: u64) -> Frames {
        let mut frames = Frames::default();
        frames.count(&bytes, calls, units);
        frames.memory = Memory::Shared(bytes);
        frames
    }

    /// Adds calls of one kind, all tells or all asks, and returns true; false if there is no room for
    /// them beside those that were added. Shared calls stay alone.
    #[inline]
    pub(crate) fn add(&mut self, bytes: &[u8], calls: usize, units: u64) -> bool {
        let Memory::Own(memory) = &mut self.memory else { return false };
        if self.calls > 0 && self.calls as usize + calls > INBOUND_CHUNK_CALLS_MAX {
            return false;
        }
        memory.extend_from_slice(bytes);
        self.count(bytes, calls, units);
        true
    }

    /// Adds the calls of `later`, which becomes empty, and returns true; false if they are long or
    /// have no room, or if calls of this chunk were handled.
    #[inline]
    pub(crate) fn join(&mut self, later: &mut Frames) -> bool {
        let (Memory::Own(memory), Memory::Own(added)) = (&mut self.memory, &mut later.memory)
        else {
            return false;
        };
        let calls = self.calls + later.calls;
        let has_room = calls as usize <= INBOUND_CHUNK_CALLS_MAX && added.len() <= JOINED_BYTES_MAX;
        if !has_room || self.skip > 0 || self.position.is_some() {
            return false;
        }
        memory.extend_from_slice(added);
        self.calls = calls;
        self.asks += later.asks;
        self.units += later.units;
        later.clear();
        true
    }

    fn count(&mut self, bytes: &[u8], calls: usize, units: u64) {
        // A run has no more calls than a chunk may have.
        let calls = calls as u32;
        self.calls += calls;
        self.asks += if are_asks(bytes) { calls } else { 0 };
        self.units += units;
    }

    /// True if no calls were added.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls == 0
    }

    /// The number of calls that were not handled yet.
    pub(crate) fn calls(&self) -> usize {
        (self.calls - self.skip) as usize
    }

    /// The asks among them.
    pub(crate) fn asks(&self) -> usize {
        self.asks as usize
    }

    /// Takes the credit that the calls have used.
    pub(crate) fn take_units(&mut self) -> u64 {
        std::mem::take(&mut self.units)
    }

    /// The memory of the calls, if it is shared.
    pub(crate) fn shared(&self) -> Option<&Bytes> {
        match &self.memory {
            Memory::Own(_) => None,
            Memory::Shared(bytes) => Some(bytes),
        }
    }

    /// The calls that were not handled yet.
    pub(crate) fn left(&self) -> Calls<'_> {
        let bytes = match &self.memory {
            Memory::Own(bytes) => bytes,
            Memory::Shared(bytes) => &bytes[..],
        };
        match &self.position {
            None => Calls::new(bytes),
            Some(position) => Calls::at(bytes, position),
        }
    }

    /// Keeps the last `calls` calls, `asks` of them asks, of which the first is at `position`.
    pub(crate) fn keep_last(&mut self, calls: usize, asks: usize, position: Option<CallsPosition>) {
        self.skip = self.calls - self.calls.min(calls as u32);
        self.asks = asks as u32;
        match (self.position.as_deref_mut(), position) {
            (Some(place), Some(position)) => *place = position,
            (_, position) => self.position = position.map(Box::new),
        }
    }

    /// Empties the chunk; false when it holds so much memory that it should not be kept.
    fn clear(&mut self) -> bool {
        let mut memory = match std::mem::take(self).memory {
            Memory::Own(memory) => memory,
            Memory::Shared(_) => return true,
        };
        memory.clear();
        let is_small = memory.capacity() <= SPARE_BYTES_MAX;
        self.memory = Memory::Own(memory);
        is_small
    }
}

/// A chunk of calls of one queue, in order: up to
/// [`RUN_CALLS_MAX`](crate::limits::RUN_CALLS_MAX) of local senders, or up to
/// [`INBOUND_CHUNK_CALLS_MAX`](crate::limits::INBOUND_CHUNK_CALLS_MAX) of a session.
pub(crate) enum Chunk<M> {
    Mails(MailBatch<M>),
    Frames(Frames),
}

impl<M> Chunk<M> {
    /// The number of calls that were not handled yet.
    pub(crate) fn calls(&self) -> usize {
        match self {
            Chunk::Mails(mails) => mails.len(),
            Chunk::Frames(frames) => frames.calls(),
        }
    }

    /// Credit that the calls have used; zero for local calls.
    pub(crate) fn units(&self) -> u64 {
        match self {
            Chunk::Mails(_) => 0,
            Chunk::Frames(frames) => frames.units,
        }
    }

    /// Empties the chunk; false when it holds so much memory that it should not be kept.
    pub(crate) fn clear(&mut self) -> bool {
        match self {
            Chunk::Mails(mails) => {
                mails.clear();
                true
            }
            Chunk::Frames(frames) => frames.clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use wigwag_wire::call::TELL;

    use super::*;

    #[test]
    fn a_chunk_of_encoded_calls_takes_one_line_of_the_cache() {
        let bytes = size_of::<Frames>();
        assert!(bytes <= 64, "{bytes}");
    }

    fn of(bytes: usize, calls: usize) -> Frames {
        let mut frames = Frames::default();
        assert!(frames.add(&vec![TELL; bytes], calls, calls as u64));
        frames
    }

    #[test]
    fn calls_join_a_chunk_if_they_are_short_and_have_room() {
        let mut waits = of(40, INBOUND_CHUNK_CALLS_MAX - 2);
        let mut later = of(JOINED_BYTES_MAX + 1, 1);
        assert!(!waits.join(&mut later), "they are long");
        assert_eq!((waits.calls(), later.calls()), (INBOUND_CHUNK_CALLS_MAX - 2, 1));
        assert!(!waits.join(&mut of(60, 3)), "they have no room");
        let mut later = of(JOINED_BYTES_MAX, 2);
        assert!(waits.join(&mut later) && later.is_empty());
        let all = INBOUND_CHUNK_CALLS_MAX;
        assert_eq!((waits.calls(), waits.take_units()), (all, all as u64));
    }

    #[test]
    fn calls_join_no_chunk_that_was_begun_or_is_shared() {
        let mut begun = of(40, 2);
        begun.keep_last(1, 0, None);
        assert!(!begun.join(&mut of(20, 1)));
        assert_eq!(begun.calls(), 1);
        let shared = || Frames::of_shared(Bytes::from_static(&[TELL; 20]), 1, 1);
        assert!(!shared().join(&mut of(20, 1)) && !of(20, 1).join(&mut shared()));
    }
}
