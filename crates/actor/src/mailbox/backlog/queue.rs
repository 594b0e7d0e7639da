//! The mail of one sender group under a lock of its own: that of one session (a lane), of one timer,
//! or the urgent calls.
//!
//! Mail lies in chunks. Senders fill the last chunk; the actor takes the first one whole, so it
//! pays one lock per chunk, and the chunk it gives back is filled again: no allocation in steady
//! state. A lane's reader fills chunks of its own, with calls as they came, and publishes them
//! together: the actor decodes each one when its turn has come.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::task::Waker;

use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::backlog::parked::{Ticket, Wakers};
use crate::mailbox::backlog::since::Since;
use crate::mailbox::backlog::{Backlog, Pushed, lose};
use crate::options::WhenFull;
use crate::reply::Asker;
use crate::sync::{Mutex, MutexGuard};

/// One queue.
pub(crate) struct Queue<M>(Mutex<Backlog<M>>);

impl<M> Queue<M> {
    pub(crate) fn new(capacity: usize, when_full: WhenFull) -> Queue<M> {
        Queue(Mutex::new(Backlog::new(capacity, when_full)))
    }

    /// As [`Backlog::push`]; `lost` hears of a tell that is dropped for want of room.
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
    pub(crate) fn publish(&self, chunks: &mut Vec<Chunk<M>>) -> Pushed {
        self.lock().publish(chunks)
    }

    /// Takes the oldest call out again.
    pub(crate) fn withdraw(&self) -> Option<(M, Asker)> {
        self.lock().pop_oldest()
    }

    /// Empty chunks for the reader of a lane.
    pub(crate) fn take_spare(&self, into: &mut Vec<Chunk<M>>) {
        self.lock().take_spare(into);
    }

    /// The first chunk, for the actor. `true`: more is waiting, list the queue again.
    pub(crate) fn take(&self) -> Option<(Chunk<M>, bool)> {
        let mut backlog = self.lock();
        let taken = backlog.take()?;
        let woken = backlog.wakers();
        drop(backlog);
        woken.into_iter().for_each(Wakers::wake);
        Some(taken)
    }

    /// Takes a chunk back that the actor has emptied.
    pub(crate) fn give_back(&self, mut chunk: Chunk<M>) {
        let too_many = if chunk.clear() { self.lock().give_back(chunk) } else { Some(chunk) };
        drop(too_many);
    }

    /// A parked sender gives up.
    pub(crate) fn leave(&self, ticket: &mut Ticket) {
        let woken = self.lock().leave(ticket);
        woken.into_iter().for_each(Wakers::wake);
    }

    /// As [`Backlog::put_back`].
    pub(crate) fn put_back(&self, chunk: Chunk<M>) -> Result<bool, Chunk<M>> {
        self.lock().put_back(chunk)
    }

    /// Calls that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting()
    }

    /// Since when the oldest call waits, at least.
    pub(crate) fn since(&self) -> Option<Since> {
        self.lock().since()
    }

    /// Calls that were dropped because there was no room.
    pub(crate) fn dropped(&self) -> u64 {
        self.lock().dropped()
    }

    /// Lets nothing in any more and wakes everybody who waits; what is in stays.
    pub(crate) fn seal(&self) {
        let parked = self.lock().seal();
        parked.into_iter().for_each(Waker::wake);
    }

    /// Lets nothing in any more, wakes everybody who waits, and hands out what was waiting.
    pub(crate) fn close(&self) -> VecDeque<Chunk<M>> {
        let (left, parked) = self.lock().close();
        parked.into_iter().for_each(Waker::wake);
        left
    }

    fn lock(&self) -> MutexGuard<'_, Backlog<M>> {
        // Whole between two statements, so a panic elsewhere has broken nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
