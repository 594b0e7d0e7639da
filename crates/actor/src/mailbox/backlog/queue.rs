//! A queue of calls under a lock of its own: the calls of one session (an inbound queue), the call
//! of one timer, or the urgent calls.
//!
//! Calls are kept in chunks. Senders fill the last chunk. The actor takes the first chunk whole, so
//! it pays one lock per chunk, and gives it back to be filled again: no allocation in steady state.
//! The reader of a session fills chunks with encoded calls and publishes them together; the actor
//! decodes each call when its turn comes.

use std::sync::PoisonError;
use std::task::Waker;

use crate::mailbox::backlog::chunk::{Chunk, Frames};
use crate::mailbox::backlog::parked::{Ticket, Wakers};
use crate::mailbox::backlog::since::Since;
use crate::mailbox::backlog::{Backlog, Pushed, lose};
use crate::options::WhenFull;
use crate::reply::Asker;
use crate::sync::{Mutex, MutexGuard, prefetch};

/// A [`Backlog`] under a lock of its own.
pub(crate) struct Queue<M>(Mutex<Backlog<M>>);

impl<M> Queue<M> {
    pub(crate) fn new(capacity: usize, when_full: WhenFull) -> Queue<M> {
        Queue(Mutex::new(Backlog::new(capacity, when_full)))
    }

    /// As [`Backlog::push`]; `lost` is called for a tell that is dropped for lack of room.
    pub(crate) fn push(
        &self,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        lost: impl FnOnce(&M),
    ) -> Pushed {
        let (pushed, dropped) = self.lock().push(message, asker, ticket, waker);
        if let Some(dropped) = dropped {
            lose(dropped, lost);
        }
        pushed
    }

    /// As [`Backlog::publish`].
    pub(crate) fn publish(&self, full: &mut Vec<Chunk<M>>, last: &mut Frames) -> Pushed {
        self.lock().publish(full, last)
    }

    /// Reads the beginning of its memory.
    pub(crate) fn prefetch(&self) -> usize {
        prefetch(&self.0)
    }

    /// Takes out the oldest call.
    pub(crate) fn withdraw(&self) -> Option<(M, Asker)> {
        self.lock().pop_oldest()
    }

    /// Takes the empty chunks, for the reader of a session.
    pub(crate) fn take_spare(&self, into: &mut Vec<Chunk<M>>) {
        self.lock().take_spare(into);
    }

    /// Takes the first chunk, for the actor, and wakes the parked senders for which there is room
    /// now. True: more calls wait, and the queue must be listed again.
    pub(crate) fn take(&self) -> Option<(Chunk<M>, bool)> {
        let mut backlog = self.lock();
        let taken = backlog.take()?;
        let woken = backlog.wakers();
        drop(backlog);
        woken.into_iter().for_each(Wakers::wake);
        Some(taken)
    }

    /// Takes back a chunk that the actor has emptied.
    pub(crate) fn give_back(&self, mut chunk: Chunk<M>) {
        let too_many = if chunk.clear() { self.lock().give_back(chunk) } else { Some(chunk) };
        drop(too_many);
    }

    /// Removes a parked sender that gives up.
    pub(crate) fn leave(&self, ticket: &mut Ticket) {
        let woken = self.lock().leave(ticket);
        woken.into_iter().for_each(Wakers::wake);
    }

    /// As [`Backlog::put_back`].
    pub(crate) fn put_back(&self, chunk: Chunk<M>) -> Result<bool, Chunk<M>> {
        self.lock().put_back(chunk)
    }

    /// The number of calls that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    /// The time since when the oldest call waits, or a later one.
    pub(crate) fn since(&self) -> Option<Since> {
        self.lock().since()
    }

    /// The number of calls that were dropped for lack of room.
    pub(crate) fn dropped(&self) -> u64 {
        self.lock().dropped()
    }

    /// Stops accepting calls and wakes the parked senders; calls that wait stay.
    pub(crate) fn seal(&self) {
        let parked = self.lock().seal();
        parked.into_iter().for_each(Waker::wake);
    }

    /// Stops accepting calls, wakes the parked senders, and returns the calls that wait.
    pub(crate) fn close(&self) -> Vec<Chunk<M>> {
        let (left, parked) = self.lock().close();
        parked.into_iter().for_each(Waker::wake);
        left
    }

    fn lock(&self) -> MutexGuard<'_, Backlog<M>> {
        // The state is consistent between any two statements, so a panic elsewhere has broken
        // nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
