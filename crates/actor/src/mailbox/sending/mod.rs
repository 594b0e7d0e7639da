//! The calls of local senders on their way into a mailbox.

pub(crate) mod mail_batch;
mod urgent;

use std::task::Waker;

use crate::letters::Loss;
use crate::mailbox::backlog::batches::Batch;
use crate::mailbox::backlog::parked::{Ticket, Wakers};
use crate::mailbox::backlog::short_wait::ShortWaits;
use crate::mailbox::backlog::{Pushed, lose};
use crate::mailbox::ready_queues::Source;
use crate::mailbox::{Mailbox, MailboxState, refuse_askers};
use crate::reply::Asker;
use crate::scheduler::hurry;
use crate::sync::MutexGuard;

impl<M> Mailbox<M> {
    /// Enqueues a call of a local sender, or parks the sender if there is no room.
    pub(crate) fn push(
        &self,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Pushed {
        let mut state = self.lock();
        let collected = state.collect();
        self.push_locked(state, collected, message, asker, ticket, waker)
    }

    /// Pushes a call, or returns the actor's waker and enqueues nothing: when the waker is
    /// registered and a call of this sender would be the next one. A caller that can begin the
    /// actor by the waker may hand the call over directly. The waker stays registered, also
    /// while the actor handles a call that was handed over, so the attempt to begin the actor
    /// may fail.
    #[inline]
    pub(crate) fn push_or_find_asleep(
        &self,
        message: &mut Option<M>,
        asker: &mut Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Result<Pushed, Waker> {
        let mut state = self.lock();
        let collected = state.collect();
        match state.asleep(ticket).cloned() {
            // No call waits, so none was collected.
            Some(actor) => Err(actor),
            None => Ok(self.push_locked(state, collected, message, asker.take(), ticket, waker)),
        }
    }

    /// Returns the actor's waker where [`push_or_find_asleep`](Self::push_or_find_asleep) would do so
    /// for a sender that has nothing waiting.
    #[inline]
    pub(crate) fn find_asleep(&self) -> Option<Waker> {
        let mut state = self.lock();
        let collected = state.collect();
        let actor = state.asleep(&Ticket::default()).cloned();
        drop(state);
        collected.into_iter().for_each(Waker::wake);
        actor
    }

    #[inline]
    fn push_locked(
        &self,
        mut state: MutexGuard<'_, MailboxState<M>>,
        collected: Option<Waker>,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Pushed {
        let (pushed, dropped) = state.local.push(message, asker, ticket, waker);
        let actor = collected.or_else(|| state.list(&pushed));
        drop(state);
        actor.into_iter().for_each(Waker::wake);
        if let Some(dropped) = dropped {
            lose(dropped, |message| self.origin().lost(Loss::NoRoom, message));
        }
        pushed
    }

    /// Reports a tell that was refused because the mailbox accepts no new mail.
    #[cold]
    pub(crate) fn lost(&self, message: &M) {
        self.origin().lost(Loss::Refused, message);
    }

    /// Enqueues a tell of a turn whose `batch` has no place left: leases it up to `want` places and
    /// adds the tell, or else does what [`push`](Self::push) does.
    pub(crate) fn push_in_turn(
        &self,
        batch: &mut Batch<M>,
        want: usize,
        message: &mut Option<M>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Pushed {
        let mut waits = ShortWaits::default();
        loop {
            let mut state = self.lock();
            let (renewed, senders) = state.local.renew(batch, want);
            let actor = state.list(&renewed);
            let wake = || {
                actor.into_iter().for_each(Waker::wake);
                senders.into_iter().for_each(Wakers::wake);
            };
            if batch.push(message) {
                // Besides the places that were just leased, so many calls wait.
                let is_late = !state.is_awake && state.local.waiting() > 2 * want;
                drop(state);
                wake();
                if is_late {
                    hurry();
                }
                return renewed;
            }
            if state.is_awake && state.local.is_full(ticket) && waits.may_wait() {
                drop(state);
                wake();
                waits.for_room(&self.taken);
                continue;
            }
            let pushed = self.push_locked(state, None, message, None, ticket, waker);
            wake();
            return pushed;
        }
    }

    /// Moves the calls of open batches into the queue; `batch` is finished and has none any more.
    pub(crate) fn finish(&self, batch: &mut Batch<M>) {
        let mut state = self.lock();
        let (pushed, senders, mut left) = state.local.finish(batch);
        let actor = state.list(&pushed);
        drop(state);
        actor.into_iter().for_each(Waker::wake);
        senders.into_iter().for_each(Wakers::wake);
        refuse_askers(&mut left.drain(), Some(self.origin()));
    }

    /// Removes a parked local sender that gives up.
    pub(crate) fn leave(&self, ticket: &mut Ticket) {
        let woken = self.lock().local.leave(ticket);
        woken.into_iter().for_each(Wakers::wake);
    }
}

impl<M> MailboxState<M> {
    /// Returns the actor's waker, if it is registered, a call of the holder of `ticket` would be
    /// the next one, and the actor may run inline.
    #[inline]
    pub(super) fn asleep(&self, ticket: &Ticket) -> Option<&Waker> {
        let is_next = !self.ready.has_mail() && self.local.has_room(ticket);
        let takes_calls = !self.sealed && !self.closed && !self.own_thread;
        self.actor.as_ref().filter(|_| is_next && takes_calls)
    }

    /// Moves the calls of open batches into the local queue, because what follows must be handled
    /// after them. Returns the actor's waker if it is to be woken.
    #[inline]
    pub(super) fn collect(&mut self) -> Option<Waker> {
        let list = self.local.collect();
        self.list(&Pushed::In { list })
    }

    /// Lists the local queue if `pushed` says so, and then returns the actor's waker, to be woken
    /// without the lock.
    #[inline]
    pub(super) fn list(&mut self, pushed: &Pushed) -> Option<Waker> {
        let Pushed::In { list: true } = pushed else { return None };
        self.ready.push_last(Source::Local);
        self.actor.take()
    }
}
