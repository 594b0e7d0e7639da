//! The calls of a mailbox on their way to its actor, and those that it gives back.

pub(crate) mod stash;
mod returning;

use std::task::{Context, Poll};

use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::backlog::parked::Wakers;
use crate::mailbox::backlog::short_wait::ShortWaits;
use crate::mailbox::ready_queues::Source;
use crate::mailbox::{Mailbox, MailboxState};
use crate::reply::Asker;
use crate::sync::{MutexGuard, Ordering};

/// The actor's next step.
pub(crate) enum NextMail<M> {
    /// Handle control mail.
    Orders,
    /// Handle this call of a local sender. `only`: no other call waits and the actor's waker is
    /// registered, so that the actor may sleep after [`rests`](Mailbox::rests) without another
    /// poll.
    Call { message: M, asker: Asker, only: bool },
    /// Handle these calls.
    Calls(TakenCalls<M>),
    /// End: no more mail can arrive, and all mail was handled.
    Over,
}

/// A chunk of calls, and the queue that it was taken from and returns to.
pub(crate) type TakenCalls<M> = (Chunk<M>, Source<M>);

impl<M> Mailbox<M> {
    /// Returns the actor's next step. `has_running`: calls that run side by side are not finished,
    /// so the actor does not end for lack of mail.
    pub(crate) fn poll_next(&self, context: &Context<'_>, has_running: bool) -> Poll<NextMail<M>> {
        let mut waits = ShortWaits::default();
        loop {
            if self.control.is_marked() {
                return Poll::Ready(NextMail::Orders);
            }
            let mut state = self.lock();
            state.is_awake = true;
            let Some(source) = state.ready.pop() else {
                // Senders whose turns go on have not listed the queue.
                if state.local.collect() {
                    state.ready.push_last(Source::Local);
                    continue;
                }
                if state.local.has_batches() && waits.may_wait() {
                    drop(state);
                    waits.for_calls();
                    continue;
                }
                // Checked again under the lock: a thread that sets the mark then takes this lock to
                // wake the actor, so it either sets the mark before this check or finds the waker.
                if self.control.is_marked() {
                    continue;
                }
                let is_last = self.references.load(Ordering::Acquire) == 0 || state.sealed;
                if is_last && !has_running {
                    return Poll::Ready(NextMail::Over);
                }
                state.register(context);
                return Poll::Pending;
            };
            let Some(queue) = source.queue() else {
                // A single call is taken without a chunk, which would have to be given back.
                if let Some((message, asker, more)) = state.local.take_first() {
                    let only = !more && !has_running && self.is_only(&state);
                    if only {
                        state.register(context);
                        self.handles.store(true, Ordering::Relaxed);
                    }
                    self.taken_calls.add(1);
                    took_local(state, more);
                    return Poll::Ready(NextMail::Call { message, asker, only });
                }
                let Some((chunk, more)) = state.local.take() else { continue };
                self.taken.count();
                self.taken_calls.add(chunk.calls());
                took_local(state, more);
                return Poll::Ready(NextMail::Calls((chunk, source)));
            };
            drop(state);
            if let Some((chunk, more)) = queue.take() {
                self.taken_calls.add(chunk.calls());
                if more {
                    self.lock().ready.push_last(source.clone());
                }
                return Poll::Ready(NextMail::Calls((chunk, source)));
            }
        }
    }

    /// True when no queue has mail and more mail may arrive, so that the actor would wait for mail.
    fn is_only(&self, state: &MailboxState<M>) -> bool {
        !state.ready.has_mail() && !state.sealed && self.references.load(Ordering::Acquire) > 0
    }

    /// Marks the actor as busy with a call that was handed over directly and was never enqueued.
    pub(crate) fn works(&self) {
        self.taken_calls.add(1);
        self.handles.store(true, Ordering::Relaxed);
    }

    /// Ends the mark that [`works`](Self::works) or an `only` call has set: the call was handled.
    pub(crate) fn rests(&self) {
        self.handles.store(false, Ordering::Relaxed);
    }
}

impl<M> MailboxState<M> {
    /// Registers the actor's waker for the next message.
    pub(super) fn register(&mut self, context: &Context<'_>) {
        self.is_awake = false;
        if !self.actor.as_ref().is_some_and(|old| old.will_wake(context.waker())) {
            self.actor = Some(context.waker().clone());
        }
    }
}

/// Finishes taking mail out of the local queue: lists the queue again if it has `more`, releases
/// the lock, and wakes the parked senders for which there is room now.
#[inline]
fn took_local<M>(mut state: MutexGuard<'_, MailboxState<M>>, more: bool) {
    if more {
        state.ready.push_last(Source::Local);
    }
    let senders = state.local.wakers();
    drop(state);
    senders.into_iter().for_each(Wakers::wake);
}
