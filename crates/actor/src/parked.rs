//! Senders that wait for room, first come, first served.
//!
//! Only the one in front is woken; when it has passed it wakes the next. As long as somebody is
//! parked nobody may overtake, not even a `try_tell` that would find room.

use std::collections::VecDeque;
use std::task::Waker;

/// The place of one sender in the queue; `None` inside means that it has none.
#[derive(Debug, Default)]
pub struct Ticket(Option<u64>);

impl Ticket {
    /// True when the sender stands in a queue.
    pub fn is_parked(&self) -> bool {
        self.0.is_some()
    }
}

/// The queue.
#[derive(Debug, Default)]
pub struct Parked {
    queue: VecDeque<(u64, Waker)>,
    next: u64,
}

impl Parked {
    /// True when nobody stands before the holder of `ticket`.
    #[inline]
    pub fn may_pass(&self, ticket: &Ticket) -> bool {
        match self.queue.front() {
            None => true,
            Some((front, _)) => ticket.0 == Some(*front),
        }
    }

    /// True when nobody waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Queues the sender, or renews its waker.
    pub fn park(&mut self, ticket: &mut Ticket, waker: &Waker) {
        let place = ticket
            .0
            .and_then(|mine| self.queue.iter_mut().find(|(id, _)| *id == mine));
        match place {
            Some((_, old)) => old.clone_from(waker),
            None => {
                self.queue.push_back((self.next, waker.clone()));
                ticket.0 = Some(self.next);
                self.next += 1;
            }
        }
    }

    /// Takes the sender out of the queue, because it has passed or gives up. The waker returned is
    /// that of the new front, and must be woken if room is left.
    #[must_use]
    pub fn leave(&mut self, ticket: &mut Ticket) -> Option<Waker> {
        let mine = ticket.0.take()?;
        let at = self.queue.iter().position(|(id, _)| *id == mine)?;
        self.queue.remove(at);
        if at == 0 { self.front() } else { None }
    }

    /// The waker of whoever is in front; room has been made.
    #[must_use]
    pub fn front(&self) -> Option<Waker> {
        self.queue.front().map(|(_, waker)| waker.clone())
    }

    /// Everybody's wakers; the queue is closed.
    #[must_use]
    pub fn drain(&mut self) -> Vec<Waker> {
        self.queue.drain(..).map(|(_, waker)| waker).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_overtakes_and_a_leaver_in_front_names_the_next() {
        let mut parked = Parked::default();
        let (mut first, mut second) = (Ticket::default(), Ticket::default());
        assert!(parked.may_pass(&Ticket::default()));
        parked.park(&mut first, Waker::noop());
        parked.park(&mut second, Waker::noop());
        assert!(!parked.may_pass(&Ticket::default()));
        assert!(!parked.may_pass(&second));
        assert!(parked.may_pass(&first));
        assert!(parked.leave(&mut first).is_some());
        assert!(parked.may_pass(&second));
        assert!(parked.leave(&mut second).is_none());
        assert!(parked.is_empty());
    }

    #[test]
    fn leaving_from_the_middle_wakes_nobody() {
        let mut parked = Parked::default();
        let (mut first, mut second) = (Ticket::default(), Ticket::default());
        parked.park(&mut first, Waker::noop());
        parked.park(&mut second, Waker::noop());
        assert!(parked.leave(&mut second).is_none());
        assert!(parked.may_pass(&first));
    }
}
