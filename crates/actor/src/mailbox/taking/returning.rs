//! Mail that the actor has taken and does not handle now: it is put back or stashed.

use crate::error::CallErrorKind;
use crate::limits::STASH_CALLS_MAX;
use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::ready_queues::Source;
use crate::mailbox::taking::stash::{Stash, Stashed};
use crate::mailbox::{Mailbox, refuse};

impl<M> Mailbox<M> {
    /// Puts back calls that were taken and not handled, in front of all others of their queue.
    pub(crate) fn put_back(&self, chunk: Chunk<M>, source: &Source<M>) {
        if chunk.calls() == 0 {
            return;
        }
        self.taken_calls.put_back(chunk.calls());
        // The lock of a queue is released before that of the mailbox is taken: never two at once.
        let (put, mut state) = match source.queue() {
            Some(queue) => (queue.put_back(chunk), self.lock()),
            None => {
                let mut state = self.lock();
                (state.local.put_back(chunk), state)
            }
        };
        match put {
            Ok(true) => state.ready.push_first(source.clone()),
            Ok(false) => {}
            Err(chunk) => {
                drop(state);
                refuse(chunk, self.provenance(source));
            }
        }
    }

    /// Gives an emptied chunk back to the queue that it was taken from.
    pub(crate) fn give_back(&self, mut chunk: Chunk<M>, source: &Source<M>) {
        if let Some(queue) = source.queue() {
            return queue.give_back(chunk);
        }
        let too_many = if chunk.clear() { self.lock().local.give_back(chunk) } else { Some(chunk) };
        drop(too_many);
    }

    /// Stashes a call and takes it out of its `Option`. On an error the call stays there.
    pub(crate) fn stash(&self, call: &mut Option<Stashed<M>>) -> Result<(), CallErrorKind> {
        let mut state = self.lock();
        if state.closed {
            return Err(CallErrorKind::ActorStopped);
        }
        let stash = state.ready.stash_mut();
        if stash.len() >= STASH_CALLS_MAX {
            return Err(CallErrorKind::Full);
        }
        stash.extend(call.take());
        Ok(())
    }

    pub(crate) fn take_stash(&self) -> Stash<M> {
        self.lock().ready.take_stash()
    }
}
