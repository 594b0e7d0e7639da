//! Several messages as one read has brought them, still framed.
//!
//! A protocol that gives messages to its user as they arrived queues such a run as a whole, and
//! each message is split off when the user receives it. So a run is copied at once out of the block
//! that it was read into, and its messages are not moved from queue to queue. `push
//! 16 B tcp` of the lab: 80 ns of the receiver's processor time a message, and 120 ns with a queue
//! of messages.

use alloc::collections::VecDeque;
use core::mem;

use bytes::Bytes;
use wigwag_wire::framing::Peeked;
use wigwag_wire::slab_copier::SLAB_BYTES;
use wigwag_wire::{Framing, FramingError, ReadBuf};

use crate::queue::Entry;

/// Bytes of a header that is one word.
const WORD_BYTES: usize = 4;

/// Bytes of a run with their framing: what a slab holds, so that a message that is kept for long
/// holds no more than if it had been copied alone.
const RUN_BYTES_MAX: usize = SLAB_BYTES;

/// The messages that a protocol accepts as one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunRoom {
    /// At most so many.
    pub messages: usize,
    /// None behind so many bytes.
    pub bytes: usize,
    /// The largest word that each message may begin with, which the user does not get; `None`: the
    /// messages have no header.
    pub word_max: Option<u32>,
}

impl RunRoom {
    fn accepts(&self, message: &[u8]) -> bool {
        let Some(word_max) = self.word_max else { return true };
        message.first_chunk().is_some_and(|word| u32::from_be_bytes(*word) <= word_max)
    }
}

/// Whole messages of one connection, one after the other.
#[derive(Debug)]
pub struct InboundRun {
    framed: Bytes,
    /// Bytes of `framed` in front of the first message and its framing.
    start: usize,
    /// `None`: `framed` is one message without framing.
    framing: Option<Framing>,
    messages: usize,
    /// Bytes of the messages, without framing and headers.
    bytes: usize,
    /// Bytes of the header in front of each message.
    header_bytes: usize,
}

impl InboundRun {
    /// Copies the short messages that `room` accepts off the front of `input`, as many as a slab
    /// holds. `None` if that is not even the first one: it is not whole, or must be cut alone.
    ///
    /// # Errors
    ///
    /// Fails if the first message is malformed. A malformed one behind others ends the run.
    pub fn cut(
        framing: Framing,
        input: &mut ReadBuf,
        limit: usize,
        room: RunRoom,
    ) -> Result<Option<InboundRun>, FramingError> {
        if framing.next(input, limit)?.is_none() {
            return Ok(None);
        }
        let header_bytes = if room.word_max.is_some() { WORD_BYTES } else { 0 };
        let (mut messages, mut bytes, mut end) = (0, 0, 0);
        let mut rest = input.as_slice();
        while messages < room.messages
            && bytes < room.bytes
            && let Ok(Peeked::Whole { length }) = framing.peek(rest, limit)
            && let Some((frame, behind)) = rest.split_at_checked(framing.prefix_bytes() + length)
            && end + frame.len() <= RUN_BYTES_MAX
            && room.accepts(&frame[framing.prefix_bytes()..])
        {
            messages += 1;
            bytes += length - header_bytes;
            end += frame.len();
            rest = behind;
        }
        if messages == 0 {
            return Ok(None);
        }
        let (framed, framing) = (input.copy(end), Some(framing));
        Ok(Some(InboundRun { framed, start: 0, framing, messages, bytes, header_bytes }))
    }

    /// The number of messages.
    pub fn messages(&self) -> usize {
        self.messages
    }

    /// Bytes of the messages as they arrived, without the framing.
    pub fn received_bytes(&self) -> usize {
        self.bytes + self.messages * self.header_bytes
    }

    /// Takes the first message: one reference count, no copy.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Bytes> {
        let message = match self.framing {
            None => mem::take(&mut self.framed),
            Some(framing) => {
                let body = self.start + framing.prefix_bytes();
                let end = body + framing.length(self.framed.get(self.start..)?)?;
                self.start = end;
                self.framed.slice(body + self.header_bytes..end)
            }
        };
        self.messages -= 1;
        self.bytes -= message.len();
        Some(message)
    }
}

impl Entry for InboundRun {
    type Message = Bytes;

    fn messages(&self) -> usize {
        self.messages
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline(always)]
    fn pop(entries: &mut VecDeque<InboundRun>) -> Option<(Bytes, usize)> {
        let run = entries.front_mut()?;
        let message = run.next()?;
        if run.messages == 0 {
            entries.pop_front();
        }
        let length = message.len();
        Some((message, length))
    }
}

/// A message that was handled alone.
impl From<Bytes> for InboundRun {
    fn from(message: Bytes) -> InboundRun {
        let bytes = message.len();
        InboundRun { framed: message, start: 0, framing: None, messages: 1, bytes, header_bytes: 0 }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const ROOM: RunRoom = RunRoom { messages: 100, bytes: 1 << 20, word_max: None };

    fn framed(framing: Framing, messages: &[&[u8]]) -> ReadBuf {
        let mut input = ReadBuf::new();
        for message in messages {
            let (prefix, used) = framing.prefix(message.len());
            input.fill(&prefix[..used]);
            input.fill(message);
        }
        input
    }

    fn cut(input: &mut ReadBuf, room: RunRoom) -> Vec<Vec<u8>> {
        let Some(mut run) = InboundRun::cut(Framing::Tcp, input, 1 << 20, room).unwrap() else {
            return Vec::new();
        };
        let count = run.messages();
        let messages: Vec<Vec<u8>> =
            core::iter::from_fn(|| run.next()).map(|message| message.to_vec()).collect();
        assert_eq!((messages.len(), run.messages(), run.bytes()), (count, 0, 0));
        messages
    }

    /// The second message is torn at every byte: it comes with the first only when it is whole.
    #[test]
    fn a_run_holds_whole_messages_only() {
        for framing in [Framing::Tcp, Framing::Ipc] {
            let whole = framed(framing, &[b"one", b"", b"three"]);
            for end in 0..=whole.len() {
                let mut input = ReadBuf::new();
                input.fill(&whole.as_slice()[..end]);
                let run = InboundRun::cut(framing, &mut input, 5, ROOM).unwrap();
                let prefix = framing.prefix_bytes();
                let ends = [prefix + 3, 2 * prefix + 3, 3 * prefix + 8];
                let due = ends.iter().filter(|due| **due <= end).count();
                assert_eq!(run.map_or(0, |run| run.messages()), due, "{framing:?} at {end}");
                assert_eq!(input.len(), end - ends[..due].last().unwrap_or(&0));
            }
        }
    }

    #[test]
    fn a_run_ends_where_the_room_ends_as_if_its_messages_came_alone() {
        let all: [&[u8]; 4] = [b"ab", b"", b"cd", b"e"];
        for (messages, bytes, due) in [(3, 9, 3), (9, 1, 1), (9, 2, 1), (9, 3, 3), (0, 9, 0)] {
            let mut input = framed(Framing::Tcp, &all);
            let room = RunRoom { messages, bytes, word_max: None };
            assert_eq!(cut(&mut input, room), all[..due], "{messages} {bytes}");
        }
    }

    #[test]
    fn a_long_message_ends_a_run_and_is_cut_alone() {
        let long = alloc::vec![7; RUN_BYTES_MAX];
        let mut input = framed(Framing::Tcp, &[b"a", &long, b"b"]);
        assert_eq!(cut(&mut input, ROOM), [b"a"]);
        assert_eq!(cut(&mut input, ROOM), [b"a"; 0]);
        assert_eq!(crate::stream::cut(Framing::Tcp, &mut input, 1 << 20).unwrap().unwrap(), long);
        assert_eq!(cut(&mut input, ROOM), [b"b"]);
    }

    #[test]
    fn a_message_whose_header_is_not_accepted_is_left_to_be_judged_alone() {
        let room = RunRoom { word_max: Some(8), ..ROOM };
        let good: &[u8] = b"\0\0\0\x08good";
        for bad in [&b"\0\0\0\x09many"[..], b"\x01\0\0\0set", b"\0\0\0"] {
            let mut input = framed(Framing::Tcp, &[good, b"\0\0\0\0", bad, good]);
            assert_eq!(cut(&mut input, room), [&b"good"[..], b""]);
            let left = input.len();
            assert_eq!(cut(&mut input, room), [b""; 0]);
            assert_eq!(input.len(), left);
        }
        let mut input = framed(Framing::Tcp, &[good, good]);
        let run = InboundRun::cut(Framing::Tcp, &mut input, 100, room).unwrap().unwrap();
        assert_eq!((run.received_bytes(), run.bytes()), (16, 8));
    }

    #[test]
    fn a_malformed_length_ends_the_run_and_is_refused_next() {
        let mut input = framed(Framing::Tcp, &[b"ab", b"abc"]);
        let run = InboundRun::cut(Framing::Tcp, &mut input, 2, ROOM).unwrap();
        assert_eq!(run.map(|run| run.messages()), Some(1));
        let refused = InboundRun::cut(Framing::Tcp, &mut input, 2, ROOM).unwrap_err();
        assert_eq!(refused, FramingError::TooLong { length: 3, limit: 2 });
    }
}
