//! Calls that wait in one queue, and the senders that wait for room in it.
//!
//! Nothing here locks or wakes: what must be done when the lock is free again is given back. So the
//! local queue lies under the mailbox's own lock, and the others under one each (`queue`).

pub(crate) mod chunk;
mod chunks;
mod entry;
pub mod parked;
pub(crate) mod queue;
pub(crate) mod since;

use std::collections::VecDeque;
use std::task::Waker;

use crate::error::CallErrorKind;
use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::backlog::chunks::Chunks;
use crate::mailbox::backlog::parked::{Parked, Ticket, Wakers};
use crate::mailbox::backlog::since::Since;
use crate::options::WhenFull;
use crate::reply::Asker;

/// The outcome of a push.
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

/// The work for a call without room, done after the lock is released, because the message may run
/// any code when it is dropped. `lost` is called for a tell.
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
    /// A call that arrived when none was waiting: it goes before those in `chunks`. A sender of
    /// single messages needs no chunk at all.
    first: Option<(M, Asker)>,
    /// When that was.
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
    crowd: Option<Box<ParkedSenders>>,
}

/// Data that is needed only when calls find no room.
#[derive(Default)]
struct ParkedSenders {
    parked: Parked,
    /// Calls that were dropped.
    dropped: u64,
}

impl<M> Backlog<M> {
    pub(crate) fn new(capacity: usize, when_full: WhenFull) -> Backlog<M> {
        Backlog {
            first: None,
            first_since: Since::NEVER,
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

    fn crowd(&mut self) -> &mut ParkedSenders {
        self.crowd.get_or_insert_default()
    }

    /// True if `room` suffices for everybody before the holder of `ticket` and for that holder.
    #[inline]
    fn may_pass(&self, ticket: &Ticket, room: u64) -> bool {
        match &self.crowd {
            None => room > 0,
            Some(crowd) => crowd.parked.may_pass(ticket, room),
        }
    }

    /// There is room for the holder of `ticket`, and no earlier sender needs it.
    #[inline]
    pub(crate) fn has_room(&self, ticket: &Ticket) -> bool {
        !self.closed && self.may_pass(ticket, self.room() as u64)
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

    /// Notes that `calls` calls were taken out; true if there are more.
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
    pub(crate) fn since(&self) -> Option<Since> {
        if self.first.is_none() {
            return self.chunks.since();
        }
        Some(self.first_since)
    }

    /// The fate of a call that finds no room.
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
