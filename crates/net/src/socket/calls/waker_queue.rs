//! Queues of waiting calls, first come first served.
//!
//! One call is woken at a time; a call that succeeds wakes the next, and a call that is woken and
//! gives up passes the wake-up on. So no wake-up is lost, and a free place does not wake a hundred
//! senders.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::task::Waker;

/// Wakers in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct WakerQueue {
    queue: VecDeque<(u64, Waker)>,
    last: u64,
}

impl WakerQueue {
    /// Enters the queue, or stays there. A call that was woken in vain goes back to the front.
    pub(crate) fn wait(&mut self, ticket: &mut Option<u64>, waker: &Waker) {
        let Some(held) = *ticket else {
            self.last += 1;
            *ticket = Some(self.last);
            self.queue.push_back((self.last, waker.clone()));
            return;
        };
        match self.queue.iter_mut().find(|(waiting, _)| *waiting == held) {
            Some((_, kept)) => kept.clone_from(waker),
            None => self.queue.push_front((held, waker.clone())),
        }
    }

    /// Removes the next call from the queue and returns its waker.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Waker> {
        self.queue.pop_front().map(|(_, waker)| waker)
    }

    /// Removes all calls, for events that concern each of them.
    pub(crate) fn all(&mut self) -> impl Iterator<Item = Waker> {
        self.queue.drain(..).map(|(_, waker)| waker)
    }

    /// Leaves the queue; false if this call had been woken already.
    pub(crate) fn leave(&mut self, ticket: u64) -> bool {
        let place = self.queue.iter().position(|(waiting, _)| *waiting == ticket);
        match place {
            Some(place) => self.queue.remove(place).is_some(),
            None => false,
        }
    }
}

/// Queues by key that exist only while calls wait in them: for one context, or for one peer.
#[derive(Debug)]
pub(crate) struct KeyedWakerQueues<K> {
    queues: HashMap<K, WakerQueue>,
    /// The highest ticket of a removed queue. A call woken from it still holds a ticket, and no
    /// call in its successor may have the same.
    last: u64,
}

impl<K> Default for KeyedWakerQueues<K> {
    fn default() -> KeyedWakerQueues<K> {
        KeyedWakerQueues { queues: HashMap::new(), last: 0 }
    }
}

impl<K: Copy + Eq + Hash> KeyedWakerQueues<K> {
    pub(crate) fn wait(&mut self, key: K, ticket: &mut Option<u64>, waker: &Waker) {
        let last = self.last;
        let fresh = || WakerQueue { queue: VecDeque::new(), last };
        self.queues.entry(key).or_insert_with(fresh).wait(ticket, waker);
    }

    pub(crate) fn next(&mut self, key: K) -> Option<Waker> {
        let next = self.queues.get_mut(&key)?.next();
        self.remove_if_empty(key);
        next
    }

    pub(crate) fn all(&mut self) -> impl Iterator<Item = Waker> {
        self.queues.values_mut().flat_map(WakerQueue::all)
    }

    pub(crate) fn leave(&mut self, key: K, ticket: u64) -> bool {
        let left = self.queues.get_mut(&key).is_some_and(|queue| queue.leave(ticket));
        self.remove_if_empty(key);
        left
    }

    fn remove_if_empty(&mut self, key: K) {
        let empty = self.queues.get(&key).filter(|queue| queue.queue.is_empty());
        if let Some(last) = empty.map(|queue| queue.last) {
            self.last = self.last.max(last);
            self.queues.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recreated_queue_reuses_no_ticket() {
        let mut queues = KeyedWakerQueues::default();
        let (mut first, mut second) = (None, None);
        queues.wait('a', &mut first, Waker::noop());
        assert!(queues.next('b').is_none() && queues.next('a').is_some());
        assert!(queues.queues.is_empty());
        queues.wait('a', &mut second, Waker::noop());
        queues.wait('a', &mut first, Waker::noop());
        assert_eq!(queues.all().count(), 2, "neither has replaced the other");
        assert!(!queues.leave('a', 1));
        assert!(queues.queues.is_empty());
    }

    #[test]
    fn a_call_woken_in_vain_keeps_its_turn() {
        let mut waiters = WakerQueue::default();
        let (mut first, mut second) = (None, None);
        waiters.wait(&mut first, Waker::noop());
        waiters.wait(&mut second, Waker::noop());
        waiters.wait(&mut first, Waker::noop());
        assert!(waiters.next().is_some());
        waiters.wait(&mut first, Waker::noop());
        assert_eq!(waiters.queue.front().map(|(ticket, _)| *ticket), first);
        assert!(waiters.leave(second.unwrap()));
        assert!(!waiters.leave(second.unwrap()));
        assert_eq!(waiters.all().count(), 1);
    }
}
