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
#[cfg(all(test, any(wigwag_loom, wigwag_shuttle)))]
mod models;
mod actor_type;
mod precedence;
pub(crate) mod sending;
pub(crate) mod taking;
pub mod timers;
mod closing;
mod any_actor;

use std::sync::{Arc, PoisonError};
use std::task::Waker;

pub(crate) use closing::{refuse, refuse_askers, refuse_calls};
pub(crate) use taking::NextMail;

use crate::letters::Origin;
use crate::lifecycle::control::Control;
use crate::lifecycle::counters::{ActorCounters, CallCount, RemoteCallCounters};
use crate::lifecycle::handle::fresh_number;
use crate::mailbox::actor_type::ActorType;
use crate::mailbox::backlog::Backlog;
use crate::mailbox::backlog::queue::Queue;
use crate::mailbox::backlog::short_wait::ChunksTaken;
use crate::mailbox::ready_queues::{Provenance, ReadyQueues, SessionQueue, Source};
use crate::mailbox::remote_bound::RemoteBound;
use crate::mailbox::timers::{TimerError, Timers};
use crate::message::Message;
use crate::options::WhenFull;
use crate::reply::owner::InboundQueueOwner;
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

    /// Cancels the actor's timers, due or not.
    pub(crate) fn cancel_timers(&self) {
        let timers = self.lock().ready.timers();
        if let Some(timers) = timers {
            timers.cancel_all();
        }
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
