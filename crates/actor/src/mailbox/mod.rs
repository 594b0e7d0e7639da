//! Where the mail of an actor waits.
//!
//! A mailbox is a list of queues that have mail: one for all local senders, one (a lane) for each
//! session. The actor serves them in turn, a chunk each, so a flood from one peer delays the
//! others by a chunk. A queue is listed when its first mail comes, and that is the only moment at
//! which a sender may have to wake the actor. Control mail lies apart (`control`), and before it.

pub mod backlog;
pub(crate) mod ready_queues;
pub(crate) mod mail_batch;
#[cfg(all(test, any(wigwag_loom, wigwag_shuttle)))]
mod models;
mod actor_type;
mod precedence;
pub(crate) mod stash;
pub mod timers;
mod returning;
mod closing;
mod any_actor;
mod urgent;

use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

pub(crate) use closing::{refuse, refuse_askers, refuse_calls};

use crate::letters::{Loss, Origin};
use crate::lifecycle::control::Control;
use crate::lifecycle::handle::fresh_number;
use crate::mailbox::actor_type::ActorType;
use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::backlog::parked::{Ticket, Wakers};
use crate::mailbox::backlog::queue::Queue;
use crate::mailbox::backlog::{Backlog, Pushed, lose};
use crate::mailbox::mail_batch::MailBatch;
use crate::mailbox::ready_queues::{Provenance, ReadyQueues, SessionQueue, Source};
use crate::mailbox::timers::{TimerError, Timers};
use crate::message::Message;
use crate::options::WhenFull;
use crate::reply::Asker;
use crate::reply::owner::InboundQueueOwner;
use crate::schema::Schema;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering};

/// All the mail of one actor.
pub(crate) struct Mailbox<M> {
    number: u64,
    /// The actor's type, for errors.
    actor_type: Arc<ActorType>,
    method: fn(&M) -> u32,
    control: Control,
    /// Local references; without one the actor ends when the mail does.
    references: AtomicUsize,
    /// It handles a call though its waker lies here.
    handles: AtomicBool,
    state: Mutex<MailboxState<M>>,
}

/// The actor's next step.
pub(crate) enum NextMail<M> {
    /// There is control mail.
    Orders,
    /// This call of a local sender. `only`: nothing else waits, and whatever comes next wakes the actor,
    /// so that it may sleep when it [rests](Mailbox::rests).
    Call { message: M, asker: Asker, only: bool },
    /// These calls.
    Calls(TakenCalls<M>),
    /// Nothing any more: nobody can send, and all was handled.
    Over,
}

/// A chunk for the actor, and the queue that it came from and returns to.
pub(crate) type TakenCalls<M> = (Chunk<M>, Source<M>);

struct MailboxState<M> {
    /// Messages of local senders, and the senders that wait for room.
    local: Backlog<M>,
    ready: ReadyQueues<M>,
    actor: Option<Waker>,
    /// No mail is let in any more: the actor ends when what is in was handled.
    sealed: bool,
    closed: bool,
    own_thread: bool,
    /// The actor may be restarted after a failure, so mail is still let in then.
    succeeded: bool,
}

impl<M> Mailbox<M> {
    pub(crate) fn new(schema: &'static Schema, capacity: usize, when_full: WhenFull) -> Mailbox<M>
    where
        M: Message,
    {
        let local = Backlog::new(capacity, when_full);
        let ready = ReadyQueues::LocalOnly(false);
        let (sealed, closed, own_thread, succeeded) = (false, false, false, false);
        let state =
            MailboxState { local, ready, actor: None, sealed, closed, own_thread, succeeded };
        Mailbox {
            number: fresh_number(),
            actor_type: actor_type::shared(schema),
            method: M::method,
            control: Control::new(),
            references: AtomicUsize::new(0),
            handles: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn target(&self) -> &Arc<str> {
        &self.actor_type.target
    }

    /// One call of a local sender.
    pub(crate) fn push(
        &self,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Pushed {
        self.push_locked(self.lock(), message, asker, ticket, waker)
    }

    /// Pushes a message, unless the actor is idle and nothing waits: then it returns the actor's
    /// waker and enqueues nothing, and a caller that can begin the actor with it may hand the call
    /// over itself. The waker stays registered.
    #[inline]
    pub(crate) fn push_or_find_asleep(
        &self,
        message: &mut Option<M>,
        asker: &mut Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Result<Pushed, Waker> {
        let state = self.lock();
        match state.asleep(ticket).cloned() {
            Some(actor) => Err(actor),
            None => Ok(self.push_locked(state, message, asker.take(), ticket, waker)),
        }
    }

    #[inline]
    fn push_locked(
        &self,
        mut state: MutexGuard<'_, MailboxState<M>>,
        message: &mut Option<M>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Pushed {
        let (pushed, dropped) = state.local.push(message, asker, ticket, waker);
        let actor = state.list(&pushed);
        drop(state);
        actor.into_iter().for_each(Waker::wake);
        if let Some(dropped) = dropped {
            lose(dropped, |message| self.origin().lost(Loss::NoRoom, message));
        }
        pushed
    }

    /// A tell was refused, because the actor has ended.
    #[cold]
    pub(crate) fn lost(&self, message: &M) {
        self.origin().lost(Loss::Refused, message);
    }

    /// Accepts the batch of a local sender's turn; returns the places that it may fill next, out of
    /// the `want` that it asks for. Unused leased places are returned.
    pub(crate) fn publish(&self, mails: &mut MailBatch<M>, unused: usize, want: usize) -> usize {
        if mails.is_empty() && unused == 0 && want == 0 {
            return 0;
        }
        let mut state = self.lock();
        let (pushed, leased, senders) = state.local.publish_staged(mails, unused, want);
        let actor = state.list(&pushed);
        drop(state);
        actor.into_iter().for_each(Waker::wake);
        senders.into_iter().for_each(Wakers::wake);
        if let Pushed::Closed = pushed {
            refuse_askers(&mut mails.drain(), Some(self.origin()));
        }
        leased
    }

    /// A local sender that waited gives up.
    pub(crate) fn leave(&self, ticket: &mut Ticket) {
        let woken = self.lock().local.leave(ticket);
        woken.into_iter().for_each(Wakers::wake);
    }

    /// The queue has got its first mail: the actor must hear of it.
    pub(crate) fn list(&self, queue: Source<M>) {
        let mut state = self.lock();
        state.ready.push_last(queue);
        let actor = state.actor.take();
        drop(state);
        actor.into_iter().for_each(Waker::wake);
    }

    /// A queue for one session.
    pub(crate) fn open_inbound_queue(
        &self,
        owner: Arc<dyn InboundQueueOwner>,
    ) -> Arc<SessionQueue<M>> {
        let queue = Queue::new(usize::MAX, WhenFull::Wait);
        let session_queue = Arc::new(SessionQueue { queue, owner });
        let mut state = self.lock();
        if state.closed || state.sealed {
            drop(state);
            session_queue.queue.close();
            session_queue.owner.stopped();
            return session_queue;
        }
        state.ready.add(&session_queue);
        session_queue
    }

    /// Returns the actor's next step. `has_running`: calls have been begun, so the actor is not
    /// finished.
    pub(crate) fn poll_next(&self, context: &Context<'_>, has_running: bool) -> Poll<NextMail<M>> {
        loop {
            if self.control.is_marked() {
                return Poll::Ready(NextMail::Orders);
            }
            let mut state = self.lock();
            let Some(source) = state.ready.pop() else {
                // A thread that sets the mark looks for the actor's waker next, under this lock.
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
                // A sender of single messages is served without moving a chunk back and forth.
                if let Some((message, asker, more)) = state.local.take_first() {
                    let only = !more && !has_running && self.is_only(&state);
                    if only {
                        state.register(context);
                        self.handles.store(true, Ordering::Relaxed);
                    }
                    took_local(state, more);
                    return Poll::Ready(NextMail::Call { message, asker, only });
                }
                let Some((chunk, more)) = state.local.take() else { continue };
                took_local(state, more);
                return Poll::Ready(NextMail::Calls((chunk, source)));
            };
            drop(state);
            if let Some((chunk, more)) = queue.take() {
                if more {
                    self.lock().ready.push_last(source.clone());
                }
                return Poll::Ready(NextMail::Calls((chunk, source)));
            }
        }
    }

    /// No mail waits, and the actor would not end for want of references.
    fn is_only(&self, state: &MailboxState<M>) -> bool {
        !state.ready.has_mail() && !state.sealed && self.references.load(Ordering::Acquire) > 0
    }

    /// A call is handled that has not lain here.
    pub(crate) fn works(&self) {
        self.handles.store(true, Ordering::Relaxed);
    }

    /// The only call was handled.
    pub(crate) fn rests(&self) {
        self.handles.store(false, Ordering::Relaxed);
    }

    /// The actor has a thread of its own, on which nobody else runs it.
    pub(crate) fn has_own_thread(&self) {
        self.lock().own_thread = true;
    }

    /// The actor sleeps before it has looked for mail once.
    pub(crate) fn sleeps(&self, actor: Waker) {
        let mut state = self.lock();
        state.actor = Some(actor);
    }

    /// For those who hear of lost calls.
    pub(crate) fn origin(&self) -> Origin<M> {
        Origin { number: self.number, schema: self.actor_type.schema, method: self.method }
    }

    /// As [`origin`](Self::origin), for the calls of one queue. `None` for a timer, whose lost calls
    /// are not reported.
    pub(crate) fn origin_of(&self, source: &Source<M>) -> Option<Origin<M>> {
        if source.is_timer() { None } else { Some(self.origin()) }
    }

    pub(crate) fn provenance<'a>(&self, source: &'a Source<M>) -> Provenance<'a, M> {
        Provenance { owner: source.owner(), origin: self.origin_of(source) }
    }

    /// There is one local reference more.
    pub(crate) fn refer(&self) {
        // Nothing is published: who refers has a reference, or is the actor itself.
        self.references.fetch_add(1, Ordering::Relaxed);
    }

    /// One is gone; without any the actor ends when the mail does.
    pub(crate) fn release(&self) {
        // Pairs with the load in `poll_next`. That one is made under the lock: either it sees that
        // nobody is left, or the actor's waker lies here when the lock is ours.
        if self.references.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.wake_actor();
        }
    }

    fn wake_actor(&self) {
        let actor = self.lock().actor.take();
        actor.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, MailboxState<M>> {
        // Whole between two statements, so a panic elsewhere has broken nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M> MailboxState<M> {
    /// The actor, if it sleeps and a call by the holder of `ticket` would be the next one.
    #[inline]
    fn asleep(&self, ticket: &Ticket) -> Option<&Waker> {
        let is_next = !self.ready.has_mail() && self.local.has_room(ticket);
        let takes_calls = !self.sealed && !self.closed && !self.own_thread;
        self.actor.as_ref().filter(|_| is_next && takes_calls)
    }

    /// Registers the actor's waker for the next message.
    fn register(&mut self, context: &Context<'_>) {
        if !self.actor.as_ref().is_some_and(|old| old.will_wake(context.waker())) {
            self.actor = Some(context.waker().clone());
        }
    }

    /// Lists the local queue if `pushed` says so; gives the actor, to be woken.
    #[inline]
    fn list(&mut self, pushed: &Pushed) -> Option<Waker> {
        let Pushed::In { list: true } = pushed else { return None };
        self.ready.push_last(Source::Local);
        self.actor.take()
    }
}

/// The actor has taken something out of the local queue: lists it again if there is `more`, and wakes
/// the senders who find room now.
#[inline]
fn took_local<M>(mut state: MutexGuard<'_, MailboxState<M>>, more: bool) {
    if more {
        state.ready.push_last(Source::Local);
    }
    let senders = state.local.wakers();
    drop(state);
    senders.into_iter().for_each(Wakers::wake);
}

impl<M: Send + 'static> Mailbox<M> {
    /// The actor's timers; from now on it has some.
    pub(crate) fn timers(self: &Arc<Self>) -> Result<Arc<Timers<M>>, TimerError> {
        let mut state = self.lock();
        if state.closed || state.sealed {
            return Err(TimerError::Ended);
        }
        let new = || Arc::new(Timers::new(Arc::downgrade(self)));
        Ok(state.ready.timers_or(new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With its counts and the allocator's this takes 272 bytes, and the job beside it 192 and 16 in
    /// the table of its crew: 480 for an idle actor.
    const MAILBOX_BYTES_MAX: usize = 248;

    #[test]
    fn an_idle_mailbox_is_small() {
        let bytes = size_of::<Mailbox<u64>>();
        assert!(bytes <= MAILBOX_BYTES_MAX, "{bytes}");
    }
}
