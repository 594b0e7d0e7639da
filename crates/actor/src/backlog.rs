//! Calls that wait in one queue, and the senders that wait for room in it.
//!
//! Nothing here locks or wakes: what must be done when the lock is free again is given back. So the
//! local queue lies under the mailbox's own lock, and the others under one each ([`queue`](super::queue)).

use std::collections::VecDeque;
use std::task::Waker;

use crate::chunk::Chunk;
use crate::chunks::Chunks;
use crate::crew::AtOnce;
use crate::error::CallErrorKind;
use crate::limits::RUN_CALLS_MAX;
use crate::mails::{Asker, Mails};
use crate::options::WhenFull;
use crate::parked::{Parked, Ticket, Wakers};
use crate::since::Since;

/// What a push came to.
pub(crate) enum Pushed {
    /// It is in. `list`: the queue was empty, so the mailbox must list it.
    In { list: bool },
    /// No room, or somebody is before us; we are parked if a waker was given.
    Full,
    /// No room, and nobody waits for some here.
    Refused,
    /// The actor has stopped.
    Closed,
}

/// A call that was dropped for want of room, and who waits for its answer.
pub(crate) type Dropped<M> = (M, Asker);

/// What is to be done about a call without room, when the lock is free again: the message may do
/// anything when it is dropped. `lost` hears of a tell.
#[cold]
pub(crate) fn lose<M>((message, asker): Dropped<M>, lost: impl FnOnce(&M)) {
    match asker {
        Some(asker) => {
            asker.fail(CallErrorKind::Overloaded, Some("the call was dropped: no room for it"));
        }
        None => lost(&message),
    }
}

/// The calls of one queue.
pub(crate) struct Backlog<M> {
    /// A call that came when none waited: it goes before those in `chunks`. Who sends one thing at a
    /// time needs no chunk at all.
    first: Option<(M, Asker)>,
    /// When that was, unless whoever brought it runs the actor.
    first_since: Since,
    chunks: Chunks<M>,
    /// Calls here, and places that turns have leased.
    waiting: usize,
    /// The mailbox knows that there is mail.
    listed: bool,
    /// Nothing is let in any more.
    closed: bool,
    /// Nothing is handled any more.
    over: bool,
    when_full: WhenFull,
    /// Calls that may wait; a lane is bounded by credit instead, which its owner checks.
    capacity: usize,
    /// From the first call on that found no room.
    crowd: Option<Box<Crowd>>,
}

/// What there is to remember of calls without room.
#[derive(Default)]
struct Crowd {
    parked: Parked,
    /// Calls that were dropped.
    dropped: u64,
}

impl<M> Backlog<M> {
    pub(crate) fn new(capacity: usize, when_full: WhenFull) -> Backlog<M> {
        Backlog {
            first: None,
            first_since: Since::UNKNOWN,
            chunks: Chunks::new(),
            waiting: 0,
            listed: false,
            closed: false,
            over: false,
            when_full,
            capacity,
            crowd: None,
        }
    }

    fn crowd(&mut self) -> &mut Crowd {
        self.crowd.get_or_insert_default()
    }

    /// True when `room` suffices for everybody before the holder of `ticket` and for him.
    #[inline]
    fn may_pass(&self, ticket: &Ticket, room: u64) -> bool {
        match &self.crowd {
            None => room > 0,
            Some(crowd) => crowd.parked.may_pass(ticket, room),
        }
    }

    /// The sender has passed or gives up.
    #[inline]
    fn pass(&mut self, ticket: &mut Ticket) {
        if let Some(crowd) = &mut self.crowd {
            crowd.parked.leave(ticket);
        }
    }

    fn room(&self) -> usize {
        self.capacity.saturating_sub(self.waiting)
    }

    /// Those for whom there is room, to be woken when the lock is free again.
    #[inline]
    pub(crate) fn wakers(&self) -> Option<Wakers> {
        self.crowd.as_ref().map(|crowd| crowd.parked.wakers(self.room() as u64))
    }

    /// Everybody who waits; nobody does any more.
    fn drain_parked(&mut self) -> Vec<Waker> {
        self.crowd.as_mut().map(|crowd| crowd.parked.drain()).unwrap_or_default()
    }

    /// True when the mailbox must list the queue. Who runs the actor at once does not look at the clock.
    fn add(&mut self, message: M, asker: Asker) -> bool {
        match self.chunks.last() {
            Some(Chunk::Mails(last)) if last.len() < RUN_CALLS_MAX => last.push(message, asker),
            None if self.first.is_none() => {
                self.first = Some((message, asker));
                let is_seen = !AtOnce::is_likely();
                self.first_since = if is_seen { Since::now() } else { Since::UNKNOWN };
            }
            _ => {
                let mut mails = self.chunks.empty_mails();
                mails.push(message, asker);
                self.chunks.push_last(Chunk::Mails(mails));
            }
        }
        self.waiting += 1;
        !std::mem::replace(&mut self.listed, true)
    }

    /// So many calls were taken out; true when there are more.
    fn took(&mut self, calls: usize) -> bool {
        self.waiting -= calls;
        self.listed = !self.chunks.is_empty();
        self.listed
    }

    /// The first chunk; the call that goes before all chunks is one by itself.
    fn pop_chunk(&mut self) -> Option<Chunk<M>> {
        let Some((message, asker)) = self.first.take() else { return self.chunks.pop_first() };
        let mut mails = self.chunks.empty_mails();
        mails.push(message, asker);
        Some(Chunk::Mails(mails))
    }

    /// The local call that waits longest.
    pub(crate) fn pop_oldest(&mut self) -> Option<(M, Asker)> {
        if let Some(first) = self.first.take() {
            self.waiting -= 1;
            return Some(first);
        }
        let Some(Chunk::Mails(first)) = self.chunks.first() else { return None };
        let oldest = first.pop_first()?;
        self.waiting -= 1;
        if first.is_empty() {
            self.chunks.pop_first();
        }
        Some(oldest)
    }

    /// Takes the message out of its `Option` when it is let in; no allocation in steady state. What
    /// was dropped for want of room is [lost](lose).
    #[inline]
    pub(crate) fn push(
        &mut self,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> (Pushed, Option<Dropped<M>>) {
        if self.closed {
            return (Pushed::Closed, None);
        }
        if !self.may_pass(ticket, self.room() as u64) {
            return self.push_full(message, asker, ticket, waker);
        }
        let Some(message) = message.take() else {
            return (Pushed::In { list: false }, None);
        };
        let list = self.add(message, asker);
        self.pass(ticket);
        (Pushed::In { list }, None)
    }

    /// There is no room: the queue's rule says what becomes of the call.
    #[cold]
    fn push_full(
        &mut self,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> (Pushed, Option<Dropped<M>>) {
        let (dropped, list) = match self.when_full {
            WhenFull::Refuse => return (Pushed::Refused, None),
            WhenFull::Wait => {
                if let Some(waker) = waker {
                    self.crowd().parked.park(ticket, waker);
                }
                return (Pushed::Full, None);
            }
            WhenFull::DropOldest => match (self.pop_oldest(), message.take()) {
                (Some(oldest), Some(message)) => (Some(oldest), self.add(message, asker)),
                (oldest, message) => (oldest.or(message.map(|message| (message, asker))), false),
            },
            WhenFull::DropNewest => (message.take().map(|message| (message, asker)), false),
        };
        self.crowd().dropped += u64::from(dropped.is_some());
        (Pushed::In { list }, dropped)
    }

    /// Moves in what a turn has staged, takes back the `unused` places that it leased, and leases up
    /// to `want` new ones. When the actor has stopped, the mails stay with the caller.
    pub(crate) fn publish_staged(
        &mut self,
        mails: &mut Mails<M>,
        unused: usize,
        want: usize,
    ) -> (Pushed, usize, Option<Wakers>) {
        if self.closed {
            return (Pushed::Closed, 0, None);
        }
        self.waiting -= unused;
        let mut list = false;
        if !mails.is_empty() {
            match self.chunks.last() {
                Some(Chunk::Mails(last)) if last.len() + mails.len() <= RUN_CALLS_MAX => {
                    last.append(mails);
                }
                _ => {
                    let empty = self.chunks.empty_mails();
                    self.chunks.push_last(Chunk::Mails(std::mem::replace(mails, empty)));
                }
            }
            list = !std::mem::replace(&mut self.listed, true);
        }
        let woken = if unused > 0 { self.wakers() } else { None };
        let parked = self.crowd.as_ref().map_or(0, |crowd| crowd.parked.len());
        // Who stands in the queue finds the place that he needs, and others find some too.
        let leased = want.min(self.room().saturating_sub(parked).div_ceil(4));
        self.waiting += leased;
        (Pushed::In { list }, leased, woken)
    }

    /// Moves full chunks in; those of a lane, whose places its credit has paid for.
    pub(crate) fn publish(&mut self, chunks: &mut Vec<Chunk<M>>) -> Pushed {
        if self.closed {
            return Pushed::Closed;
        }
        self.waiting += chunks.iter().map(Chunk::calls).sum::<usize>();
        chunks.drain(..).for_each(|chunk| self.chunks.push_last(chunk));
        Pushed::In { list: !std::mem::replace(&mut self.listed, true) }
    }

    /// Empty chunks for the reader of a lane.
    pub(crate) fn take_spare(&mut self, into: &mut Vec<Chunk<M>>) {
        self.chunks.take_empty(into);
    }

    /// The call that came when none waited, for the actor; `None` when it was taken. `true`: more is
    /// waiting, list the queue again.
    #[inline]
    pub(crate) fn take_first(&mut self) -> Option<(M, Asker, bool)> {
        let (message, asker) = self.first.take()?;
        Some((message, asker, self.took(1)))
    }

    /// The first chunk, for the actor. `true`: more is waiting, list the queue again.
    pub(crate) fn take(&mut self) -> Option<(Chunk<M>, bool)> {
        let Some(chunk) = self.pop_chunk() else {
            self.listed = false;
            return None;
        };
        let more = self.took(chunk.calls());
        Some((chunk, more))
    }

    /// Takes an emptied chunk back; one that is not kept is given back, to be dropped without the lock.
    pub(crate) fn give_back(&mut self, chunk: Chunk<M>) -> Option<Chunk<M>> {
        // Nobody fills a queue that is closed.
        if self.closed { Some(chunk) } else { self.chunks.keep(chunk) }
    }

    /// A parked sender gives up; those who have moved up are woken.
    pub(crate) fn leave(&mut self, ticket: &mut Ticket) -> Option<Wakers> {
        self.pass(ticket);
        self.wakers()
    }

    /// Puts back what was taken out and not handled; true when the mailbox must list the queue.
    ///
    /// # Errors
    /// The chunk, when nothing will be handled any more.
    pub(crate) fn put_back(&mut self, chunk: Chunk<M>) -> Result<bool, Chunk<M>> {
        if self.over {
            return Err(chunk);
        }
        self.waiting += chunk.calls();
        if let Some((message, asker)) = self.first.take() {
            let mut mails = self.chunks.empty_mails();
            mails.push(message, asker);
            self.chunks.push_first(Chunk::Mails(mails), self.first_since);
        }
        let since = self.since().unwrap_or_else(Since::now);
        self.chunks.push_first(chunk, since);
        Ok(!std::mem::replace(&mut self.listed, true))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Calls that wait, and places that turns have leased.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Since when the oldest call waits, at least.
    pub(crate) fn since(&mut self) -> Option<Since> {
        let since = self.chunks.since();
        if self.first.is_none() {
            return since;
        }
        self.first_since = self.first_since.or(|| since.unwrap_or_else(Since::now));
        Some(self.first_since)
    }

    /// What becomes of a call that finds no room.
    pub(crate) fn when_full(&self) -> WhenFull {
        self.when_full
    }

    /// Calls that were dropped because there was no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.crowd.as_ref().map_or(0, |crowd| crowd.dropped)
    }

    /// Lets nothing in any more, and gives everybody who waits; what is in stays.
    pub(crate) fn seal(&mut self) -> Vec<Waker> {
        self.closed = true;
        self.drain_parked()
    }

    /// Lets nothing in any more, and gives out what was waiting, and everybody who waits.
    pub(crate) fn close(&mut self) -> (VecDeque<Chunk<M>>, Vec<Waker>) {
        (self.closed, self.over) = (true, true);
        self.waiting = 0;
        let first = self.first.take().map(|first| Chunk::Mails([first].into_iter().collect()));
        let left = first.into_iter().chain(self.chunks.take_all()).collect();
        (left, self.drain_parked())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_turn_leases_only_what_those_who_wait_do_not_need() {
        let queue = RefCell::new(Backlog::new(8, WhenFull::Wait));
        let push = |ticket: &mut Ticket| {
            queue.borrow_mut().push(&mut Some(7), None, ticket, Some(Waker::noop())).0
        };
        for _ in 0..8 {
            assert!(matches!(push(&mut Ticket::default()), Pushed::In { .. }));
        }
        let mut waiting = [Ticket::default(), Ticket::default()];
        for ticket in &mut waiting {
            assert!(matches!(push(ticket), Pushed::Full));
        }
        // The first, and the chunk behind it.
        assert!(queue.borrow_mut().take().is_some() && queue.borrow_mut().take().is_some());
        let mut leased = 0;
        while let (_, more @ 1.., _) =
            queue.borrow_mut().publish_staged(&mut Mails::default(), 0, RUN_CALLS_MAX)
        {
            leased += more;
        }
        assert_eq!(leased, 6);
        for ticket in &mut waiting {
            assert!(matches!(push(ticket), Pushed::In { .. }));
        }
        assert!(matches!(push(&mut Ticket::default()), Pushed::Full));
        // What was not used comes back.
        let _ = queue.borrow_mut().publish_staged(&mut Mails::default(), leased, 0);
        assert!(matches!(push(&mut Ticket::default()), Pushed::In { .. }));
    }
}
