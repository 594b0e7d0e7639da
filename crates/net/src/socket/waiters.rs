//! Calls that wait, first come first served.
//!
//! One is woken at a time; whoever succeeds wakes the next, and whoever is woken and gives up
//! passes the wake on. So no wake is lost, and a free place does not wake a hundred senders.

use std::collections::VecDeque;
use std::task::Waker;

/// Wakers in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    queue: VecDeque<(u64, Waker)>,
    last: u64,
}

impl Waiters {
    /// Stands in the queue, or stays there. One that was woken in vain goes back to the front.
    pub(super) fn wait(&mut self, ticket: &mut Option<u64>, waker: &Waker) {
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

    /// The next one, who stands in the queue no more.
    pub(super) fn next(&mut self) -> Option<Waker> {
        self.queue.pop_front().map(|(_, waker)| waker)
    }

    /// All of them, for news that concern everybody.
    pub(super) fn all(&mut self) -> impl Iterator<Item = Waker> {
        self.queue.drain(..).map(|(_, waker)| waker)
    }

    /// Leaves the queue; false when this one had been woken already.
    pub(super) fn leave(&mut self, ticket: u64) -> bool {
        let place = self.queue.iter().position(|(waiting, _)| *waiting == ticket);
        match place {
            Some(place) => self.queue.remove(place).is_some(),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_woken_in_vain_keeps_its_turn() {
        let mut waiters = Waiters::default();
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
