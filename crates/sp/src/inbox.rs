//! What waits for the user, pipe by pipe, served in turn.
//!
//! Each pipe has a queue of its own. A pipe whose queue is full is paused, the others are not; and
//! one that sends fast gets no more turns than one that sends slowly. What a closed pipe left
//! behind is older than the rest and goes first.

use alloc::collections::{BTreeMap, VecDeque};

use crate::limits::{INBOX_BYTES_MAX, INBOX_MESSAGES_MAX, LEFT_MESSAGES_MAX};
use crate::queue::{Queue, Weight};
use crate::{Attention, Counters, DropReason, PipeId, Received};

#[derive(Debug)]
struct Lane<T> {
    queue: Queue<T>,
    /// Set when the queue is full, cleared when half of it is free.
    paused: bool,
}

/// Bounded queues, one a pipe.
#[derive(Debug)]
pub(crate) struct Inbox<T> {
    lanes: BTreeMap<PipeId, Lane<T>>,
    /// Invariant: exactly the pipes whose queue is not empty, each once, in order of their turn.
    turns: VecDeque<PipeId>,
    /// What closed pipes left behind.
    left: VecDeque<(PipeId, T)>,
    attention: VecDeque<Attention>,
}

impl<T: Weight> Inbox<T> {
    pub(crate) fn new() -> Inbox<T> {
        Inbox {
            lanes: BTreeMap::new(),
            turns: VecDeque::new(),
            left: VecDeque::new(),
            attention: VecDeque::new(),
        }
    }

    pub(crate) fn open(&mut self, pipe: PipeId) {
        let queue = Queue::new(INBOX_MESSAGES_MAX, INBOX_BYTES_MAX);
        let paused = false;
        self.lanes.insert(pipe, Lane { queue, paused });
    }

    /// Forgets the pipe and keeps what came from it for the user.
    pub(crate) fn close(&mut self, pipe: PipeId) {
        let items = self.remove(pipe);
        self.left.extend(items.into_iter().map(|item| (pipe, item)));
    }

    /// Forgets the pipe, and all that came from it and was not taken; gives that back.
    pub(crate) fn remove(&mut self, pipe: PipeId) -> VecDeque<T> {
        self.turns.retain(|waiting| *waiting != pipe);
        let lane = self.lanes.remove(&pipe);
        lane.map(|lane| lane.queue.into_items()).unwrap_or_default()
    }

    /// True when closed pipes have left so much behind that no further pipe should be opened.
    pub(crate) fn is_crowded(&self) -> bool {
        self.left.len() >= LEFT_MESSAGES_MAX
    }

    pub(crate) fn contains(&self, pipe: PipeId) -> bool {
        self.lanes.contains_key(&pipe)
    }

    /// Appends what came from `pipe`; hands it back when there is no room for it.
    pub(crate) fn push(&mut self, pipe: PipeId, item: T) -> Result<(), T> {
        let Some(lane) = self.lanes.get_mut(&pipe) else {
            return Err(item);
        };
        let first = lane.queue.is_empty();
        lane.queue.push(item)?;
        lane.paused = !lane.queue.has_room();
        if first {
            self.turns.push_back(pipe);
            self.attention.push_back(Attention::Receivers);
        }
        Ok(())
    }

    /// Takes in what came from `pipe`; what finds no room is dropped and counted.
    pub(crate) fn take_in(&mut self, pipe: PipeId, item: T, counters: &mut Counters) -> Received {
        if self.push(pipe, item).is_ok() {
            return Received::Queued;
        }
        let reason = if self.contains(pipe) { DropReason::Overflow } else { DropReason::PipeGone };
        counters.drop_one(reason);
        Received::Dropped(reason)
    }

    pub(crate) fn is_paused(&self, pipe: PipeId) -> bool {
        self.lanes.get(&pipe).is_some_and(|lane| lane.paused)
    }

    /// The pipes that are paused.
    pub(crate) fn paused(&self) -> impl Iterator<Item = PipeId> {
        self.lanes.iter().filter(|(_, lane)| lane.paused).map(|(pipe, _)| *pipe)
    }

    /// Takes the oldest item of the next pipe that `may` be served.
    pub(crate) fn pop(&mut self, may: impl Fn(PipeId) -> bool) -> Option<(PipeId, T)> {
        if let Some(left) = self.left.pop_front() {
            return Some(left);
        }
        let place = self.turns.iter().position(|pipe| may(*pipe))?;
        let pipe = self.turns.remove(place)?;
        let lane = self.lanes.get_mut(&pipe)?;
        let item = lane.queue.pop()?;
        if !lane.queue.is_empty() {
            self.turns.push_back(pipe);
        }
        if lane.paused && lane.queue.is_half_empty() {
            lane.paused = false;
            self.attention.push_back(Attention::Read(pipe));
        }
        Some((pipe, item))
    }

    pub(crate) fn next_attention(&mut self) -> Option<Attention> {
        self.attention.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn any(_: PipeId) -> bool {
        true
    }

    #[test]
    fn a_fast_pipe_gets_no_more_turns_than_a_slow_one() {
        let mut inbox = Inbox::new();
        inbox.open(PipeId(1));
        inbox.open(PipeId(2));
        for item in [b"a", b"b", b"c"] {
            inbox.push(PipeId(1), Bytes::from_static(item)).unwrap();
        }
        inbox.push(PipeId(2), Bytes::from_static(b"x")).unwrap();
        let taken: alloc::vec::Vec<Bytes> =
            core::iter::from_fn(|| inbox.pop(any).map(|(_, item)| item)).collect();
        assert_eq!(taken, [&b"a"[..], b"x", b"b", b"c"]);
    }

    #[test]
    fn a_full_pipe_pauses_alone_and_resumes_at_half() {
        let mut inbox = Inbox::new();
        inbox.open(PipeId(1));
        inbox.open(PipeId(2));
        for _ in 0..INBOX_MESSAGES_MAX {
            assert!(!inbox.is_paused(PipeId(1)));
            inbox.push(PipeId(1), Bytes::new()).unwrap();
        }
        assert_eq!(inbox.next_attention(), Some(Attention::Receivers));
        assert!(inbox.is_paused(PipeId(1)) && !inbox.is_paused(PipeId(2)));
        assert!(inbox.push(PipeId(1), Bytes::new()).is_err());
        inbox.pop(any).unwrap();
        assert!(inbox.is_paused(PipeId(1)), "one place is not half");
        assert_eq!(inbox.next_attention(), None);
        inbox.pop(any).unwrap();
        assert!(!inbox.is_paused(PipeId(1)));
        assert_eq!(inbox.next_attention(), Some(Attention::Read(PipeId(1))));
    }

    #[test]
    fn what_a_closed_pipe_left_behind_goes_first() {
        let mut inbox = Inbox::new();
        inbox.open(PipeId(1));
        inbox.open(PipeId(2));
        inbox.push(PipeId(1), Bytes::from_static(b"a")).unwrap();
        inbox.push(PipeId(2), Bytes::from_static(b"b")).unwrap();
        inbox.close(PipeId(2));
        assert_eq!(inbox.pop(any).unwrap().1.as_ref(), b"b");
        assert_eq!(inbox.pop(any).unwrap().1.as_ref(), b"a");
        assert!(inbox.pop(any).is_none());
    }

    #[test]
    fn a_pipe_that_may_not_be_served_keeps_its_turn() {
        let mut inbox = Inbox::new();
        inbox.open(PipeId(1));
        inbox.open(PipeId(2));
        inbox.push(PipeId(1), Bytes::from_static(b"a")).unwrap();
        inbox.push(PipeId(2), Bytes::from_static(b"b")).unwrap();
        let (pipe, _) = inbox.pop(|pipe| pipe != PipeId(1)).unwrap();
        assert_eq!(pipe, PipeId(2));
        assert!(inbox.pop(|pipe| pipe != PipeId(1)).is_none());
        assert_eq!(inbox.pop(any).unwrap().0, PipeId(1));
    }
}
