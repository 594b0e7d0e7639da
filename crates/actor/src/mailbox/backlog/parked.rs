//! Senders that wait for room, first come, first served.
//!
//! The rule: a sender never takes a place that an earlier sender needs. With room for three, the
//! first three senders of the queue may pass, and a newcomer only if there is room beyond the whole
//! queue. So two senders that flood a queue together need not alternate message by message, which
//! would cost a wake each, and neither of them starves.

use std::collections::VecDeque;
use std::task::Waker;

/// The bits of a ticket's number that count; those above are the tag of its queue.
const NUMBER_BITS: u32 = 48;
const NUMBERS: u64 = (1 << NUMBER_BITS) - 1;

/// The place of one sender in the queue; `None` inside means that it has none.
#[derive(Debug, Default)]
pub struct Ticket(Option<u64>);

impl Ticket {
    /// True when the sender is in a queue.
    #[inline]
    pub fn is_parked(&self) -> bool {
        self.0.is_some()
    }

    /// True when the sender is in a queue with this tag.
    pub(crate) fn has_tag(&self, tag: u16) -> bool {
        self.0.is_some_and(|number| (number >> NUMBER_BITS) as u16 == tag)
    }

    /// Forgets the place if it is in a queue with another tag, which no longer serves its senders.
    pub fn renew(&mut self, tag: u16) {
        self.0 = self.0.filter(|number| (number >> NUMBER_BITS) as u16 == tag);
    }
}

/// The queue of the senders that wait for room.
#[derive(Debug, Default)]
pub struct Parked {
    queue: VecDeque<(u64, Waker)>,
    next: u64,
}

impl Parked {
    /// A queue whose tickets carry `tag`, for a sender that moves from queue to queue; the default
    /// is 0.
    pub fn tagged(tag: u16) -> Parked {
        Parked { queue: VecDeque::new(), next: u64::from(tag) << NUMBER_BITS }
    }

    /// True if `room` suffices for all senders before the holder of `ticket` and for that holder.
    #[inline]
    pub fn may_pass(&self, ticket: &Ticket, room: u64) -> bool {
        if self.queue.is_empty() {
            return room > 0;
        }
        let before = match ticket.0 {
            Some(mine) => self.queue.iter().position(|(id, _)| *id == mine),
            None => Some(self.queue.len()),
        };
        before.is_some_and(|before| room > before as u64)
    }

    /// The number of senders that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// True when no sender waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Adds the sender to the queue, or renews its waker if it is there.
    pub fn park(&mut self, ticket: &mut Ticket, waker: &Waker) {
        if !self.renew_waker(ticket, waker) {
            self.add(ticket, waker, self.next);
            self.next += 1;
        }
    }

    /// As [`park`](Self::park), for a queue whose tickets are told from those of other queues with the
    /// same tag: `number` is one that no other ticket of the tag has.
    pub(crate) fn park_as(
        &mut self,
        ticket: &mut Ticket,
        waker: &Waker,
        number: impl FnOnce() -> u64,
    ) {
        if !self.renew_waker(ticket, waker) {
            self.add(ticket, waker, self.next | number() & NUMBERS);
        }
    }

    fn renew_waker(&mut self, ticket: &Ticket, waker: &Waker) -> bool {
        let place = ticket.0.and_then(|mine| self.queue.iter_mut().find(|(id, _)| *id == mine));
        place.map(|(_, old)| old.clone_from(waker)).is_some()
    }

    fn add(&mut self, ticket: &mut Ticket, waker: &Waker, number: u64) {
        self.queue.push_back((number, waker.clone()));
        ticket.0 = Some(number);
    }

    /// True if the sender has a place in this queue.
    pub(crate) fn contains(&self, ticket: &Ticket) -> bool {
        ticket.0.is_some_and(|mine| self.queue.iter().any(|(id, _)| *id == mine))
    }

    /// Removes the sender from the queue, because it has passed or gives up. A sender that gives up
    /// must wake the others by [`woken_by`](Self::woken_by): one of them may have moved up to a
    /// free place.
    #[inline]
    pub fn leave(&mut self, ticket: &mut Ticket) {
        let Some(mine) = ticket.0.take() else {
            return;
        };
        // A sender that passes is near the front, so the search is short even in a long queue.
        if let Some(at) = self.queue.iter().position(|(id, _)| *id == mine) {
            self.queue.remove(at);
        }
    }

    /// The wakers of the senders for which `room` suffices. No allocation when no sender waits.
    #[must_use]
    pub fn woken_by(&self, room: u64) -> Vec<Waker> {
        let most = usize::try_from(room).unwrap_or(usize::MAX);
        self.queue.iter().take(most).map(|(_, waker)| waker.clone()).collect()
    }

    /// The wakers of the senders for which `room` suffices, for a hot path: no allocation for up to
    /// [`WAKERS_INLINE`] of them.
    pub(crate) fn wakers(&self, room: u64) -> Wakers {
        let most = usize::try_from(room).unwrap_or(usize::MAX);
        let mut woken = self.queue.iter().take(most).map(|(_, waker)| waker.clone());
        Wakers { few: std::array::from_fn(|_| woken.next()), more: woken.collect() }
    }

    /// Empties the queue and returns the wakers of all senders.
    #[must_use]
    pub fn drain(&mut self) -> Vec<Waker> {
        self.queue.drain(..).map(|(_, waker)| waker).collect()
    }
}

/// The number of senders that are woken together without an allocation: a flood usually has a few
/// senders, and with more of them one allocation is a small part of the cost.
const WAKERS_INLINE: usize = 4;

/// The senders to wake when the lock is released.
#[must_use]
pub(crate) struct Wakers {
    few: [Option<Waker>; WAKERS_INLINE],
    more: Vec<Waker>,
}

impl Wakers {
    pub(crate) fn wake(self) {
        let few = self.few.into_iter().flatten();
        few.chain(self.more).for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::task::Wake;

    use super::*;

    fn two_parked() -> (Parked, Ticket, Ticket) {
        let mut parked = Parked::default();
        let (mut first, mut second) = (Ticket::default(), Ticket::default());
        parked.park(&mut first, Waker::noop());
        parked.park(&mut second, Waker::noop());
        (parked, first, second)
    }

    #[test]
    fn a_sender_never_takes_a_place_that_an_earlier_sender_needs() {
        let (parked, first, second) = two_parked();
        let newcomer = Ticket::default();
        for (room, passing) in
            [(0, [false; 3]), (1, [true, false, false]), (2, [true, true, false])]
        {
            let may = [&first, &second, &newcomer].map(|ticket| parked.may_pass(ticket, room));
            assert_eq!(may, passing, "room for {room}");
            assert_eq!(parked.woken_by(room).len() as u64, room);
        }
        assert!(parked.may_pass(&newcomer, 3));
    }

    #[test]
    fn leaving_moves_the_others_up() {
        let (mut parked, mut first, second) = two_parked();
        parked.leave(&mut first);
        assert!(!first.is_parked());
        assert!(parked.may_pass(&second, 1));
        assert!(!parked.may_pass(&Ticket::default(), 1));
        assert_eq!(parked.len(), 1);
    }

    /// Without the tag, the sender would take the place of the newcomer in the second queue, and
    /// one of them would never be woken.
    #[test]
    fn a_ticket_of_another_queue_is_forgotten() {
        let (_, mut moved, _) = two_parked();
        let (mut second, mut newcomer) = (Parked::tagged(7), Ticket::default());
        second.park(&mut newcomer, Waker::noop());
        moved.renew(7);
        assert!(!moved.is_parked());
        second.park(&mut moved, Waker::noop());
        assert_eq!(second.len(), 2);
        moved.renew(7);
        second.park(&mut moved, Waker::noop());
        assert_eq!(second.len(), 2, "it has a place in this queue");
        assert!(second.may_pass(&newcomer, 1) && !second.may_pass(&moved, 1));
    }

    struct Counted(Mutex<u64>);

    impl Wake for Counted {
        fn wake(self: Arc<Self>) {
            *self.0.lock().unwrap() += 1;
        }
    }

    #[test]
    fn wakes_match_the_free_room_inline_or_not() {
        let waiting = 2 * WAKERS_INLINE as u64;
        for room in 0..=waiting + 1 {
            let counted = Arc::new(Counted(Mutex::new(0)));
            let waker = Waker::from(counted.clone());
            let mut parked = Parked::default();
            for _ in 0..waiting {
                parked.park(&mut Ticket::default(), &waker);
            }
            parked.wakers(room).wake();
            assert_eq!(*counted.0.lock().unwrap(), room.min(waiting));
        }
    }

    #[test]
    fn parking_twice_keeps_the_place() {
        let (mut parked, mut first, second) = two_parked();
        parked.park(&mut first, Waker::noop());
        assert_eq!(parked.len(), 2);
        assert!(!parked.may_pass(&second, 1));
    }
}
