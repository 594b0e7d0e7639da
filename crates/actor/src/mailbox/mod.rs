//! The mailbox of an actor: the queues in which its mail waits.
//!
//! A mailbox has a queue for all local senders and an inbound queue for each channel of a session,
//! and a list of those that have mail. The actor serves the listed queues in turn, one chunk each,
//! so a flood on one channel delays the others by a chunk. A queue is listed when its first mail
//! arrives, which is the only moment at which a sender may have to wake the actor. Control mail is
//! kept apart (`lifecycle::control`) and goes before all other mail.

pub mod backlog;
pub(crate) mod ready_queues;
pub mod remote_bound;
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
use crate::lifecycle::counters::{ActorCounters, CallCount, RemoteCallCounters};
use crate::lifecycle::handle::fresh_number;
use crate::mailbox::actor_type::ActorType;
use crate::mailbox::backlog::batches::Batch;
use crate::mailbox::backlog::chunk::Chunk;
use crate::mailbox::backlog::parked::{Ticket, Wakers};
use crate::mailbox::backlog::queue::Queue;
use crate::mailbox::backlog::short_wait::{ChunksTaken, ShortWaits};
use crate::mailbox::backlog::{Backlog, Pushed, lose};
use crate::mailbox::ready_queues::{Provenance, ReadyQueues, SessionQueue, Source};
use crate::mailbox::remote_bound::RemoteBound;
use crate::mailbox::timers::{TimerError, Timers};
use crate::message::Message;
use crate::options::WhenFull;
use crate::reply::Asker;
use crate::reply::owner::InboundQueueOwner;
use crate::scheduler::hurry;
use crate::schema::Schema;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, prefetch};

/// The mailbox of one actor.
pub(crate) struct Mailbox<M> {
    number: u64,
    /// The data of the actor's type, for errors and reports.
    actor_type: Arc<ActorType>,
    method: fn(&M) -> u32,
    control: Control,
    /// The number of local references. At zero, the actor ends when it has handled its mail.
    references: AtomicUsize,
    /// True while the actor handles a call and its waker is registered all the same, so that a
    /// registered waker alone does not mean that the actor is idle.
    handles: AtomicBool,
    taken: ChunksTaken,
    /// The calls that the actor has taken, also those that were handed over directly.
    taken_calls: CallCount,
    /// The capacity bounds the calls of other nodes too.
    bounds_remote_calls: bool,
    state: Mutex<MailboxState<M>>,
}

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

struct MailboxState<M> {
    /// Calls of local senders, and the senders that wait for room.
    local: Backlog<M>,
    ready: ReadyQueues<M>,
    /// The actor's waker while it waits for mail.
    actor: Option<Waker>,
    /// The mailbox accepts no new mail, and the actor ends when it has handled the mail that
    /// waits.
    sealed: bool,
    /// The actor has begun to handle calls since its waker was registered.
    is_awake: bool,
    /// The mailbox accepts no new mail, because the actor ends or has ended.
    closed: bool,
    own_thread: bool,
    /// The actor may be restarted after a failure, so a failure does not close the mailbox.
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
        let state = MailboxState {
            local,
            ready,
            actor: None,
            sealed,
            is_awake: false,
            closed,
            own_thread,
            succeeded,
        };
        Mailbox {
            number: fresh_number(),
            actor_type: actor_type::shared(schema),
            method: M::method,
            control: Control::new(),
            references: AtomicUsize::new(0),
            handles: AtomicBool::new(false),
            taken: ChunksTaken::new(),
            taken_calls: CallCount::new(),
            bounds_remote_calls: false,
            state: Mutex::new(state),
        }
    }

    /// Sets whether the capacity bounds the calls of other nodes too.
    pub(crate) fn bounding_remote_calls(self, bounds_remote_calls: bool) -> Mailbox<M> {
        Mailbox { bounds_remote_calls, ..self }
    }

    /// The bound for the calls of other nodes, the same one each time.
    pub(crate) fn remote_bound(&self) -> Option<RemoteBound> {
        if !self.bounds_remote_calls {
            return None;
        }
        let mut state = self.lock();
        let calls = state.local.capacity() as u64;
        Some(state.ready.remote_bound_or(|| RemoteBound::new(calls)))
    }

    /// The counters of the calls of other processes, the same ones each time.
    pub(crate) fn remote_counters(&self) -> Arc<RemoteCallCounters> {
        self.lock().ready.remote_counters_or(Arc::default)
    }

    /// The counters of the actor.
    pub(crate) fn counters(&self) -> ActorCounters
    where
        M: Send + 'static,
    {
        let state = self.lock();
        let (capacity, remote) = (state.local.capacity(), state.ready.remote_counters().cloned());
        drop(state);
        ActorCounters::read(self, (capacity, self.taken_calls.total()), remote.as_deref())
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn target(&self) -> &Arc<str> {
        &self.actor_type.target
    }

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

    /// Adds a queue that was empty to the list of queues with mail, and returns the actor's waker, if
    /// it sleeps.
    #[must_use]
    pub(crate) fn list(&self, queue: Source<M>) -> Option<Waker> {
        let mut state = self.lock();
        state.ready.push_last(queue);
        state.actor.take()
    }

    /// Opens an inbound queue for one session. If the mailbox accepts no new mail, the queue is
    /// closed and its owner is notified at once.
    pub(crate) fn open_inbound_queue(
        &self,
        owner: Arc<dyn InboundQueueOwner>,
    ) -> Arc<SessionQueue<M>> {
        // Unbounded, because the session's credit bounds it.
        let queue = Queue::new(usize::MAX, WhenFull::Wait);
        let session_queue = Arc::new(SessionQueue { queue, owner });
        let mut state = self.lock();
        if state.closed || state.sealed {
            drop(state);
            session_queue.queue.close();
            // A mailbox that is sealed or shut has an actor that is about to end.
            session_queue.owner.stopped(&self.control.ended().unwrap_or(crate::Reason::Normal));
            return session_queue;
        }
        state.ready.add(&session_queue);
        session_queue
    }

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

    /// Notes that the actor has a thread of its own, so that no asker runs it inline.
    pub(crate) fn has_own_thread(&self) {
        self.lock().own_thread = true;
    }

    /// Registers the waker of a new actor that sleeps before its first poll.
    pub(crate) fn sleeps(&self, actor: Waker) {
        let mut state = self.lock();
        state.actor = Some(actor);
    }

    /// Describes this mailbox in reports of lost calls.
    pub(crate) fn origin(&self) -> Origin<M> {
        Origin { number: self.number, schema: self.actor_type.schema, method: self.method }
    }

    /// Returns the [`origin`](Self::origin) of the calls of one queue; `None` for a timer, whose
    /// lost calls are not reported.
    pub(crate) fn origin_of(&self, source: &Source<M>) -> Option<Origin<M>> {
        if source.is_timer() { None } else { Some(self.origin()) }
    }

    pub(crate) fn provenance<'a>(&self, source: &'a Source<M>) -> Provenance<'a, M> {
        Provenance { owner: source.owner(), origin: self.origin_of(source) }
    }

    /// Counts a new local reference.
    pub(crate) fn refer(&self) {
        // Relaxed, because a new reference publishes nothing: its creator has a reference, or is
        // the actor itself or a timer of it.
        self.references.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a local reference as dropped. After the last one, wakes the actor, which ends when it
    /// has handled its mail.
    pub(crate) fn release(&self) {
        // Pairs with the load in `poll_next`, which is made under the lock: either it sees zero, or
        // the actor's waker is registered when `wake_actor` takes the lock.
        if self.references.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.wake_actor();
        }
    }

    /// Reads a part of each of its cache lines.
    pub(crate) fn prefetch(&self) -> usize {
        let marked = usize::from(self.control.is_marked());
        marked + self.references.load(Ordering::Relaxed) + prefetch(&self.state)
    }

    fn wake_actor(&self) {
        let actor = self.lock().actor.take();
        actor.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, MailboxState<M>> {
        // The state is consistent between any two statements, so a panic elsewhere has broken
        // nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M> MailboxState<M> {
    /// Returns the actor's waker, if it is registered, a call of the holder of `ticket` would be
    /// the next one, and the actor may run inline.
    #[inline]
    fn asleep(&self, ticket: &Ticket) -> Option<&Waker> {
        let is_next = !self.ready.has_mail() && self.local.has_room(ticket);
        let takes_calls = !self.sealed && !self.closed && !self.own_thread;
        self.actor.as_ref().filter(|_| is_next && takes_calls)
    }

    /// Moves the calls of open batches into the local queue, because what follows must be handled
    /// after them. Returns the actor's waker if it is to be woken.
    #[inline]
    fn collect(&mut self) -> Option<Waker> {
        let list = self.local.collect();
        self.list(&Pushed::In { list })
    }

    /// Registers the actor's waker for the next message.
    fn register(&mut self, context: &Context<'_>) {
        self.is_awake = false;
        if !self.actor.as_ref().is_some_and(|old| old.will_wake(context.waker())) {
            self.actor = Some(context.waker().clone());
        }
    }

    /// Lists the local queue if `pushed` says so, and then returns the actor's waker, to be woken
    /// without the lock.
    #[inline]
    fn list(&mut self, pushed: &Pushed) -> Option<Waker> {
        let Pushed::In { list: true } = pushed else { return None };
        self.ready.push_last(Source::Local);
        self.actor.take()
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

impl<M: Send + 'static> Mailbox<M> {
    /// Returns the actor's timers, creating them for the first one.
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

    /// With the counts of its `Arc` and the allocator's overhead, a mailbox of this size takes 272
    /// bytes. The actor's job takes 192 bytes and a slot of 16 bytes in the scheduler: 480 bytes
    /// for an idle actor.
    const MAILBOX_BYTES_MAX: usize = 248;

    #[test]
    fn an_idle_mailbox_is_small() {
        let bytes = size_of::<Mailbox<u64>>();
        assert!(bytes <= MAILBOX_BYTES_MAX, "{bytes}");
    }
}
