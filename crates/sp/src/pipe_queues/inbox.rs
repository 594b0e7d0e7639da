//! Messages that wait for the user, in a queue for each pipe, served in turn.
//!
//! A pipe whose queue is full is paused, the others are not; and a pipe that sends fast gets no
//! more turns than one that sends slowly. Pipes of a later priority are served when no pipe of an
//! earlier one has messages. Messages of closed pipes are older than the rest and go first.

use alloc::collections::{BTreeMap, VecDeque};

use crate::limits::{INBOX_BYTES_MAX, INBOX_MESSAGES_MAX, LEFT_MESSAGES_MAX};
use crate::queue::{Entry, Queue};
use crate::{Counters, DropReason, PipeId, Priority, ProtocolEvent, QueueLength, Received};

#[derive(Debug)]
struct InboundQueue<T: Entry> {
    queue: Queue<T>,
    /// Set when the queue is full, cleared when half of it is free.
    paused: bool,
    priority: Priority,
}

/// Bounded queues, one for each pipe.
#[derive(Debug)]
pub(crate) struct Inbox<T: Entry> {
    queues: BTreeMap<PipeId, InboundQueue<T>>,
    /// Invariant: exactly the pipes whose queue is not empty, each once, under its priority in
    /// order of its turn.
    turns: BTreeMap<Priority, VecDeque<PipeId>>,
    /// Messages that a queue may hold.
    length: usize,
    /// Messages of closed pipes.
    left: VecDeque<(PipeId, T::Message)>,
    events: VecDeque<ProtocolEvent>,
}

impl<T: Entry> Inbox<T> {
    pub(crate) fn new() -> Inbox<T> {
        Inbox {
            queues: BTreeMap::new(),
            turns: BTreeMap::new(),
            length: INBOX_MESSAGES_MAX,
            left: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    pub(crate) fn open(&mut self, pipe: PipeId) {
        let queue = Queue::new(self.length, INBOX_BYTES_MAX);
        let priority = Priority::default();
        self.queues.insert(pipe, InboundQueue { queue, paused: false, priority });
    }

    /// Sets the priority of the pipe; if it has messages, it goes to the end of its new priority.
    pub(crate) fn set_priority(&mut self, pipe: PipeId, priority: Priority) {
        let Some(inbound) = self.queues.get_mut(&pipe) else {
            return;
        };
        inbound.priority = priority;
        if !inbound.queue.is_empty() {
            self.turns.values_mut().for_each(|turns| turns.retain(|waiting| *waiting != pipe));
            self.turns.entry(priority).or_default().push_back(pipe);
        }
    }

    /// Sets how many messages each queue may hold. Messages beyond the new length stay.
    pub(crate) fn set_length(&mut self, length: QueueLength) {
        self.length = length.get();
        for (pipe, inbound) in &mut self.queues {
            inbound.queue.set_length(self.length);
            let paused = !inbound.queue.has_room();
            if inbound.paused && !paused {
                self.events.push_back(ProtocolEvent::Resume(*pipe));
            }
            inbound.paused = paused;
        }
    }

    /// Discards and counts all messages: the socket is closed.
    pub(crate) fn finish(&mut self, counters: &mut Counters) {
        let waiting: usize = self.queues.values().map(|inbound| inbound.queue.len()).sum();
        counters.drop_some(DropReason::Unread, waiting + self.left.len());
        self.queues.clear();
        self.turns.clear();
        self.left.clear();
    }

    /// Removes the pipe and keeps its messages for the user.
    pub(crate) fn close(&mut self, pipe: PipeId) {
        let items = self.remove(pipe);
        self.left.extend(items.into_iter().map(|item| (pipe, item)));
    }

    /// Removes the pipe and returns its messages that were not received.
    pub(crate) fn remove(&mut self, pipe: PipeId) -> VecDeque<T::Message> {
        let Some(mut inbound) = self.queues.remove(&pipe) else {
            return VecDeque::new();
        };
        if let Some(turns) = self.turns.get_mut(&inbound.priority) {
            turns.retain(|waiting| *waiting != pipe);
        }
        inbound.queue.take()
    }

    /// How many messages and bytes of `pipe` are accepted before it is paused; `None` if the pipe is
    /// unknown.
    pub(crate) fn room(&self, pipe: PipeId) -> Option<(usize, usize)> {
        self.queues.get(&pipe).map(|inbound| inbound.queue.room())
    }

    /// True if closed pipes left so many messages that no further pipe should be opened.
    pub(crate) fn is_crowded(&self) -> bool {
        self.left.len() >= LEFT_MESSAGES_MAX
    }

    pub(crate) fn contains(&self, pipe: PipeId) -> bool {
        self.queues.contains_key(&pipe)
    }

    /// Appends a message of `pipe`; returns it if there is no room or the pipe is unknown.
    pub(crate) fn push(&mut self, pipe: PipeId, item: T) -> Result<(), T> {
        let Some(inbound) = self.queues.get_mut(&pipe) else {
            return Err(item);
        };
        let first = inbound.queue.is_empty();
        inbound.queue.push(item)?;
        inbound.paused = !inbound.queue.has_room();
        if first {
            self.turns.entry(inbound.priority).or_default().push_back(pipe);
            self.events.push_back(ProtocolEvent::RecvReady);
        }
        Ok(())
    }

    /// Appends a message of `pipe`; a message without room is dropped and counted.
    pub(crate) fn accept(&mut self, pipe: PipeId, item: T, counters: &mut Counters) -> Received {
        let Err(refused) = self.push(pipe, item) else {
            return Received::Queued;
        };
        let reason = if self.contains(pipe) { DropReason::Overflow } else { DropReason::PipeGone };
        counters.drop_some(reason, refused.messages());
        Received::Dropped(reason)
    }

    pub(crate) fn is_paused(&self, pipe: PipeId) -> bool {
        self.queues.get(&pipe).is_some_and(|inbound| inbound.paused)
    }

    /// The paused pipes.
    pub(crate) fn paused(&self) -> impl Iterator<Item = PipeId> {
        self.queues.iter().filter(|(_, inbound)| inbound.paused).map(|(pipe, _)| *pipe)
    }

    /// Takes the oldest message of the next pipe that `may` be served, in the first priority that
    /// has one.
    #[inline(always)]
    pub(crate) fn pop(&mut self, may: impl Fn(PipeId) -> bool) -> Option<(PipeId, T::Message)> {
        let mut popped = None;
        self.pop_some(may, 1, |pipe, message| popped = Some((pipe, message)));
        popped
    }

    /// [`pop`](Self::pop) of several messages, at most `limit`, for which the choice of the pipe is the
    /// same. Returns how many there are: 0 if there is none.
    #[inline(always)]
    pub(crate) fn pop_some(
        &mut self,
        may: impl Fn(PipeId) -> bool,
        limit: usize,
        mut each: impl FnMut(PipeId, T::Message),
    ) -> usize {
        if let Some((pipe, left)) = self.left.pop_front() {
            each(pipe, left);
            return 1;
        }
        let next = self.turns.values_mut().find_map(|turns| {
            let place = turns.iter().position(|pipe| may(*pipe))?;
            Some((turns, place))
        });
        let Some((turns, place)) = next else { return 0 };
        let pipe = turns[place];
        let Some(inbound) = self.queues.get_mut(&pipe) else { return 0 };
        let most = if turns.len() == 1 { limit } else { limit.min(1) };
        let mut popped = 0;
        while popped < most
            && let Some(message) = inbound.queue.pop()
        {
            each(pipe, message);
            popped += 1;
        }
        if inbound.queue.is_empty() {
            turns.remove(place);
        } else if turns.len() > 1 {
            turns.remove(place);
            turns.push_back(pipe);
        }
        if inbound.paused && inbound.queue.is_half_empty() {
            inbound.paused = false;
            self.events.push_back(ProtocolEvent::Resume(pipe));
        }
        popped
    }

    pub(crate) fn next_event(&mut self) -> Option<ProtocolEvent> {
        self.events.pop_front()
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
    fn a_fast_pipe_gets_no_more_turns_than_a_slow_pipe() {
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
    fn several_messages_are_taken_of_one_pipe_while_no_other_has_any() {
        let mut inbox = Inbox::new();
        inbox.open(PipeId(1));
        inbox.open(PipeId(2));
        for (pipe, item) in [(1, b"a"), (1, b"b"), (1, b"c"), (1, b"d"), (2, b"x")] {
            inbox.push(PipeId(pipe), Bytes::from_static(item)).unwrap();
        }
        let mut taken = alloc::vec::Vec::new();
        for due in [1, 1, 2, 1, 0] {
            let popped = inbox.pop_some(any, 2, |pipe, item| taken.push((pipe.0, item)));
            assert_eq!(popped, due);
        }
        let due = [(1, "a"), (2, "x"), (1, "b"), (1, "c"), (1, "d")];
        assert_eq!(taken, due.map(|(pipe, item)| (pipe, Bytes::from(item))));
    }

    #[test]
    fn a_new_length_resumes_only_the_pipes_that_it_gives_room() {
        let length = |messages| QueueLength::new(messages).unwrap();
        let mut inbox = Inbox::new();
        inbox.open(PipeId(1));
        inbox.open(PipeId(2));
        inbox.set_length(length(2));
        assert_eq!(inbox.next_event(), None, "no pipe was paused");
        inbox.push(PipeId(1), Bytes::new()).unwrap();
        inbox.push(PipeId(1), Bytes::new()).unwrap();
        assert_eq!(inbox.next_event(), Some(ProtocolEvent::RecvReady));
        inbox.set_length(length(1));
        assert_eq!(inbox.next_event(), None, "the first pipe is still full");
        inbox.set_length(length(3));
        assert_eq!(inbox.next_event(), Some(ProtocolEvent::Resume(PipeId(1))));
        assert_eq!(inbox.next_event(), None, "the second pipe was never paused");
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
        assert_eq!(inbox.next_event(), Some(ProtocolEvent::RecvReady));
        assert!(inbox.is_paused(PipeId(1)) && !inbox.is_paused(PipeId(2)));
        assert!(inbox.push(PipeId(1), Bytes::new()).is_err());
        inbox.pop(any).unwrap();
        assert!(inbox.is_paused(PipeId(1)), "one place is not half");
        assert_eq!(inbox.next_event(), None);
        inbox.pop(any).unwrap();
        assert!(!inbox.is_paused(PipeId(1)));
        assert_eq!(inbox.next_event(), Some(ProtocolEvent::Resume(PipeId(1))));
    }

    #[test]
    fn messages_of_a_closed_pipe_go_first() {
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

    /// A turn that stays behind would find no queue, and hold up the pipes after it.
    #[test]
    fn a_pipe_that_is_removed_leaves_no_turn_behind() {
        let mut inbox = Inbox::new();
        for pipe in 1..=3 {
            inbox.open(PipeId(pipe));
            inbox.push(PipeId(pipe), Bytes::from_static(b"a")).unwrap();
        }
        inbox.close(PipeId(1));
        assert_eq!(inbox.remove(PipeId(2)).len(), 1);
        assert_eq!(inbox.pop(any).map(|(pipe, _)| pipe), Some(PipeId(1)), "kept for the user");
        assert_eq!(inbox.pop(any).map(|(pipe, _)| pipe), Some(PipeId(3)));
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

    #[test]
    fn a_later_priority_waits_for_the_earlier_ones() {
        let mut inbox = Inbox::new();
        for pipe in 1..=3 {
            inbox.open(PipeId(pipe));
            inbox.push(PipeId(pipe), Bytes::from_static(b"a")).unwrap();
        }
        inbox.set_priority(PipeId(3), Priority::FIRST);
        inbox.set_priority(PipeId(1), Priority::LAST);
        inbox.push(PipeId(3), Bytes::from_static(b"b")).unwrap();
        let order: alloc::vec::Vec<u32> =
            core::iter::from_fn(|| inbox.pop(any).map(|(pipe, _)| pipe.0)).collect();
        assert_eq!(order, [3, 3, 2, 1]);
        inbox.push(PipeId(1), Bytes::new()).unwrap();
        inbox.remove(PipeId(1));
        assert!(inbox.pop(any).is_none());
    }

    #[test]
    fn a_longer_queue_resumes_a_pipe_and_unread_messages_are_counted() {
        let mut inbox = Inbox::new();
        inbox.set_length(QueueLength::new(1).unwrap());
        inbox.open(PipeId(1));
        inbox.open(PipeId(2));
        inbox.push(PipeId(1), Bytes::new()).unwrap();
        inbox.push(PipeId(2), Bytes::new()).unwrap();
        assert!(inbox.is_paused(PipeId(1)));
        while inbox.next_event().is_some() {}
        inbox.set_length(QueueLength::new(2).unwrap());
        assert!(!inbox.is_paused(PipeId(1)));
        assert_eq!(inbox.next_event(), Some(ProtocolEvent::Resume(PipeId(1))));
        inbox.close(PipeId(2));
        let mut counters = Counters::default();
        inbox.finish(&mut counters);
        assert_eq!(counters.dropped_unread, 2);
    }
}
