//! The calls that wait in one queue, and the senders that wait for room in it.
//!
//! Nothing here locks or wakes: the wakers to be woken without the lock are returned. So the local
//! queue can be under the mailbox's own lock, and each other queue under one of its own (`queue`).

pub(crate) mod batches;
pub(crate) mod chunk;
mod chunks;
mod entry;
pub mod parked;
pub(crate) mod queue;
mod ring;
pub(crate) mod since;
pub(crate) mod short_wait;

use std::task::Waker;

use crate::error::CallErrorKind;
use crate::mailbox::backlog::batches::Batches;
use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::backlog::chunks::Chunks;
use crate::mailbox::backlog::parked::{Parked, Ticket, Wakers};
use crate::mailbox::backlog::since::Since;
use crate::mailbox::sending::mail_batch::MailBatch;
use crate::options::WhenFull;
use crate::reply::Asker;

/// The outcome of a push.
pub(crate) enum Pushed {
    /// The queue has accepted the call, or has dropped a call because its rule for a lack of room
    /// is to drop one. `list`: the queue is not listed yet, so the mailbox must list it.
    In { list: bool },
    /// There is no room, or earlier senders need it. The sender is parked if it gave a waker.
    Full,
    /// There is no room, and the queue's rule is to refuse the call.
    Refused,
    /// The queue accepts no calls any more.
    Closed,
}

/// A call that was dropped for lack of room.
pub(crate) type Dropped<M> = (M, Asker);

/// Fails the asker of a call that was dropped for lack of room, or calls `lost` for a tell. To be
/// called without the lock, because dropping the message may run any code.
#[cold]
pub(crate) fn lose<M>((message, asker): Dropped<M>, lost: impl FnOnce(&M)) {
    match asker {
        Some(asker) => {
            asker.fail(CallErrorKind::Overloaded, Some("the call was dropped: no room for it"));
        }
        None => lost(&message),
    }
}

impl<M> Default for Senders<M> {
    fn default() -> Senders<M> {
        Senders { batches: Batches::default(), parked: Parked::default(), dropped: 0 }
    }
}

/// The calls of one queue.
pub(crate) struct Backlog<M> {
    /// A call that arrived when no call was waiting. It goes before those in `chunks`, and spares
    /// a sender of single messages the chunk.
    first: Option<(M, Asker)>,
    /// The time when `first` arrived.
    first_since: Since,
    chunks: Chunks<M>,
    /// The number of calls that wait and of places that turns have leased.
    waiting: u32,
    /// The queue is in the mailbox's list of queues with mail, or is about to be added.
    listed: bool,
    /// No call is accepted any more.
    closed: bool,
    /// No call is handled any more.
    over: bool,
    when_full: WhenFull,
    /// The number of calls that may wait. An inbound queue is bounded by its session's credit
    /// instead.
    capacity: u32,
    /// Allocated for the first batch, and for the first call that finds no room.
    crowd: Option<Box<Senders<M>>>,
}

/// The data of senders that have open batches or found no room.
struct Senders<M> {
    batches: Batches<M>,
    parked: Parked,
    /// The number of calls that were dropped.
    dropped: u64,
}

impl<M> Backlog<M> {
    /// The number of calls that may wait.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity as usize
    }

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
            capacity: u32::try_from(capacity).unwrap_or(u32::MAX),
            crowd: None,
        }
    }

    fn crowd(&mut self) -> &mut Senders<M> {
        self.crowd.get_or_insert_default()
    }

    /// True if `room` suffices for all senders before the holder of `ticket` and for that holder.
    #[inline]
    fn may_pass(&self, ticket: &Ticket, room: u64) -> bool {
        match &self.crowd {
            None => room > 0,
            Some(crowd) => crowd.parked.may_pass(ticket, room),
        }
    }

    /// True if there is room for the holder of `ticket` that no earlier sender needs.
    #[inline]
    pub(crate) fn has_room(&self, ticket: &Ticket) -> bool {
        !self.closed && self.may_pass(ticket, self.room() as u64)
    }

    /// True if there is no room for the holder of `ticket` as long as no call is taken out.
    pub(crate) fn is_full(&self, ticket: &Ticket) -> bool {
        !self.closed && !self.may_pass(ticket, self.room() as u64)
    }

    /// Removes a sender that has passed or gives up from the parked senders.
    #[inline]
    fn pass(&mut self, ticket: &mut Ticket) {
        if let Some(crowd) = &mut self.crowd {
            crowd.parked.leave(ticket);
        }
    }

    fn room(&self) -> usize {
        self.capacity.saturating_sub(self.waiting) as usize
    }

    /// The parked senders for which there is room, to be woken when the lock is released.
    #[inline]
    pub(crate) fn wakers(&self) -> Option<Wakers> {
        self.crowd.as_ref().map(|crowd| crowd.parked.wakers(self.room() as u64))
    }

    /// Takes out the wakers of all parked senders.
    fn drain_parked(&mut self) -> Vec<Waker> {
        self.crowd.as_mut().map(|crowd| crowd.parked.drain()).unwrap_or_default()
    }

    /// Notes that `calls` calls were taken out; true if there are more.
    fn took(&mut self, calls: usize) -> bool {
        self.wait_less(calls);
        self.listed = !self.chunks.is_empty();
        self.listed
    }

    /// Takes the first chunk; the call in `first` becomes a chunk of its own.
    fn pop_chunk(&mut self) -> Option<Chunk<M>> {
        let Some((message, asker)) = self.first.take() else { return self.chunks.pop_first() };
        let mut mails = self.chunks.empty_mails();
        mails.push(message, asker);
        Some(Chunk::Mails(mails))
    }

    /// Takes out the local call that has waited longest; `None` for an inbound queue.
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

    /// Takes the empty chunks, for the reader of a session.
    pub(crate) fn take_spare(&mut self, into: &mut Vec<Chunk<M>>) {
        self.chunks.take_empty(into);
    }

    /// Takes the call in `first`, for the actor. True: more calls wait, and the queue must be
    /// listed again.
    #[inline]
    pub(crate) fn take_first(&mut self) -> Option<(M, Asker, bool)> {
        let (message, asker) = self.first.take()?;
        Some((message, asker, self.took(1)))
    }

    /// Takes the first chunk, for the actor. True: more calls wait, and the queue must be listed
    /// again.
    pub(crate) fn take(&mut self) -> Option<(Chunk<M>, bool)> {
        let Some(chunk) = self.pop_chunk() else {
            self.listed = false;
            return None;
        };
        let more = self.took(chunk.calls());
        Some((chunk, more))
    }

    /// Takes back an emptied chunk, or returns it, to be dropped without the lock.
    pub(crate) fn give_back(&mut self, chunk: Chunk<M>) -> Option<Chunk<M>> {
        // A closed queue needs no empty chunks.
        if self.closed { Some(chunk) } else { self.chunks.keep(chunk) }
    }

    /// Removes a parked sender that gives up; returns the senders to wake, of which some may have
    /// moved up to a free place.
    pub(crate) fn leave(&mut self, ticket: &mut Ticket) -> Option<Wakers> {
        self.pass(ticket);
        self.wakers()
    }

    /// Puts back calls that were taken out and not handled, in front of all others; true when the
    /// mailbox must list the queue.
    ///
    /// # Errors
    /// The chunk, when no call will be handled any more.
    pub(crate) fn put_back(&mut self, chunk: Chunk<M>) -> Result<bool, Chunk<M>> {
        if self.over {
            return Err(chunk);
        }
        self.wait_more(chunk.calls());
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

    /// The number of calls that wait and of places that turns have leased.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting as usize
    }

    /// Counts calls, or places, that wait from now on: at most as many as the capacity says, or as
    /// there are units in the credit of a session.
    fn wait_more(&mut self, calls: usize) {
        self.waiting += calls as u32;
    }

    /// Counts calls, or places, that wait no more.
    fn wait_less(&mut self, calls: usize) {
        self.waiting -= calls as u32;
    }

    /// The time since when the oldest call waits, or a later one.
    pub(crate) fn since(&self) -> Option<Since> {
        if self.first.is_none() {
            return self.chunks.since();
        }
        Some(self.first_since)
    }

    /// The rule for a call that finds no room.
    pub(crate) fn when_full(&self) -> WhenFull {
        self.when_full
    }

    /// The number of calls that were dropped for lack of room.
    pub(crate) fn dropped(&self) -> u64 {
        self.crowd.as_ref().map_or(0, |crowd| crowd.dropped)
    }

    /// Stops accepting calls and returns the wakers of the parked senders; calls that wait stay. The
    /// caller has [collected](Self::collect) the batches.
    pub(crate) fn seal(&mut self) -> Vec<Waker> {
        self.closed = true;
        self.drain_parked()
    }

    /// Stops accepting and handling calls; returns the calls that wait and the wakers of the parked
    /// senders.
    pub(crate) fn close(&mut self) -> (Vec<Chunk<M>>, Vec<Waker>) {
        (self.closed, self.over) = (true, true);
        self.waiting = 0;
        let mut left = Vec::new();
        if let Some((message, asker)) = self.first.take() {
            let mut first = MailBatch::of_one();
            first.push(message, asker);
            left.push(Chunk::Mails(first));
        }
        self.chunks.take_all(&mut left);
        (left, self.drain_parked())
    }
}
