//! The list of the queues of a mailbox that have mail, in the order in which they are served.
//!
//! Most actors have neither a session nor a timer: for them the list is one word, which says
//! whether the local queue has mail. The first inbound queue, timer, urgent call or stashed call
//! allocates the full list.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use crate::letters::Origin;
use crate::lifecycle::counters::RemoteCallCounters;
use crate::mailbox::backlog::queue::Queue;
use crate::mailbox::precedence::Precedence;
use crate::mailbox::remote_bound::RemoteBound;
use crate::mailbox::taking::stash::Stash;
use crate::mailbox::timers::Timers;
use crate::reply::owner::InboundQueueOwner;

/// The inbound queue of one channel of a session.
pub(crate) struct SessionQueue<M> {
    pub(crate) queue: Queue<M>,
    pub(crate) owner: Arc<dyn InboundQueueOwner>,
}

/// A queue of a mailbox.
pub(crate) enum Source<M> {
    /// The queue of the local senders.
    Local,
    /// The inbound queue of a session.
    Session(Arc<SessionQueue<M>>),
    /// The queue of a timer, which holds one call at most. The call begins as soon as it is taken
    /// out, so it can be withdrawn until it begins.
    Timer(Arc<Queue<M>>),
    /// The queue of urgent calls.
    Urgent(Arc<Queue<M>>),
}

/// The parties that the calls of a queue concern beside their actor.
pub(crate) struct Provenance<'a, M> {
    /// The session that answers go to.
    pub(crate) owner: Option<&'a Arc<dyn InboundQueueOwner>>,
    /// The actor as described in reports of lost calls; `None` when they are not reported.
    pub(crate) origin: Option<Origin<M>>,
}

impl<M> Clone for Provenance<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Provenance<'_, M> {}

impl<M> Source<M> {
    /// The session that the queue belongs to.
    pub(crate) fn owner(&self) -> Option<&Arc<dyn InboundQueueOwner>> {
        match self {
            Source::Local | Source::Timer(_) | Source::Urgent(_) => None,
            Source::Session(session_queue) => Some(&session_queue.owner),
        }
    }

    /// The queue, if it has a lock of its own.
    pub(crate) fn queue(&self) -> Option<&Queue<M>> {
        match self {
            Source::Local => None,
            Source::Session(session_queue) => Some(&session_queue.queue),
            Source::Timer(queue) | Source::Urgent(queue) => Some(queue),
        }
    }

    pub(crate) fn is_timer(&self) -> bool {
        matches!(self, Source::Timer(_))
    }

    fn is_urgent(&self) -> bool {
        matches!(self, Source::Urgent(_))
    }
}

impl<M> Clone for Source<M> {
    fn clone(&self) -> Source<M> {
        match self {
            Source::Local => Source::Local,
            Source::Session(session_queue) => Source::Session(session_queue.clone()),
            Source::Timer(queue) => Source::Timer(queue.clone()),
            Source::Urgent(queue) => Source::Urgent(queue.clone()),
        }
    }
}

/// The queues with mail, in the order in which they are served.
pub(crate) enum ReadyQueues<M> {
    /// The mailbox has a local queue only; true when it has mail.
    LocalOnly(bool),
    Many(Box<ManyQueues<M>>),
}

/// The queues of a mailbox that has more than a local queue, or a stash.
pub(crate) struct ManyQueues<M> {
    listed: VecDeque<Source<M>>,
    /// All inbound queues, with mail or without. Queues that were dropped are removed when another
    /// one is opened.
    session_queues: Vec<Weak<SessionQueue<M>>>,
    timers: Option<Arc<Timers<M>>>,
    urgent: Option<Arc<Queue<M>>>,
    /// The calls that the actor has stashed.
    stash: Stash<M>,
    precedence: Precedence,
    remote_bound: Option<RemoteBound>,
    remote_counters: Option<Arc<RemoteCallCounters>>,
}

impl<M> ReadyQueues<M> {
    /// Adds the queue at the end, or the urgent queue where its precedence puts it.
    pub(crate) fn push_last(&mut self, queue: Source<M>) {
        match self {
            ReadyQueues::LocalOnly(local) if matches!(queue, Source::Local) => *local = true,
            _ if queue.is_urgent() => self.many().push_urgent(queue),
            _ => self.many().listed.push_back(queue),
        }
    }

    /// Adds the queue at the front, behind urgent mail.
    pub(crate) fn push_first(&mut self, queue: Source<M>) {
        match self {
            ReadyQueues::LocalOnly(local) if matches!(queue, Source::Local) => *local = true,
            _ if queue.is_urgent() => self.many().push_urgent(queue),
            _ => self.many().push_first(queue),
        }
    }

    /// Takes the queue that is served next off the list.
    pub(crate) fn pop(&mut self) -> Option<Source<M>> {
        match self {
            ReadyQueues::LocalOnly(local) => std::mem::take(local).then_some(Source::Local),
            ReadyQueues::Many(many) => many.pop(),
        }
    }

    /// True when a queue is listed.
    pub(crate) fn has_mail(&self) -> bool {
        match self {
            ReadyQueues::LocalOnly(local) => *local,
            ReadyQueues::Many(many) => !many.listed.is_empty(),
        }
    }

    pub(crate) fn add(&mut self, session_queue: &Arc<SessionQueue<M>>) {
        let many = self.many();
        many.session_queues.retain(|session_queue| session_queue.strong_count() > 0);
        many.session_queues.push(Arc::downgrade(session_queue));
    }

    pub(crate) fn session_queues(&self) -> Vec<Arc<SessionQueue<M>>> {
        let mut alive = Vec::new();
        if let ReadyQueues::Many(many) = self {
            for session_queue in &many.session_queues {
                if let Some(session_queue) = session_queue.upgrade() {
                    alive.push(session_queue);
                }
            }
        }
        alive
    }

    pub(crate) fn timers(&self) -> Option<Arc<Timers<M>>> {
        match self {
            ReadyQueues::LocalOnly(_) => None,
            ReadyQueues::Many(many) => many.timers.clone(),
        }
    }

    pub(crate) fn timers_or(&mut self, new: impl FnOnce() -> Arc<Timers<M>>) -> Arc<Timers<M>> {
        self.many().timers.get_or_insert_with(new).clone()
    }

    /// The queue of urgent calls; `None` before the first urgent call.
    pub(crate) fn urgent(&self) -> Option<&Arc<Queue<M>>> {
        match self {
            ReadyQueues::LocalOnly(_) => None,
            ReadyQueues::Many(many) => many.urgent.as_ref(),
        }
    }

    pub(crate) fn urgent_or(&mut self, new: impl FnOnce() -> Queue<M>) -> Arc<Queue<M>> {
        self.many().urgent.get_or_insert_with(|| Arc::new(new())).clone()
    }

    pub(crate) fn remote_bound_or(&mut self, new: impl FnOnce() -> RemoteBound) -> RemoteBound {
        self.many().remote_bound.get_or_insert_with(new).clone()
    }

    /// The counters of the calls of other processes; `None` before the first session.
    pub(crate) fn remote_counters(&self) -> Option<&Arc<RemoteCallCounters>> {
        match self {
            ReadyQueues::LocalOnly(_) => None,
            ReadyQueues::Many(many) => many.remote_counters.as_ref(),
        }
    }

    pub(crate) fn remote_counters_or(
        &mut self,
        new: impl FnOnce() -> Arc<RemoteCallCounters>,
    ) -> Arc<RemoteCallCounters> {
        self.many().remote_counters.get_or_insert_with(new).clone()
    }

    /// Takes out everything but the counters, which may be read when the actor has ended.
    pub(crate) fn take_all(&mut self) -> ReadyQueues<M> {
        let all = std::mem::replace(self, ReadyQueues::LocalOnly(false));
        if let Some(counters) = all.remote_counters() {
            self.many().remote_counters = Some(counters.clone());
        }
        all
    }

    /// The stash; `None` when nothing but a local queue was ever used.
    pub(crate) fn stash(&self) -> Option<&Stash<M>> {
        match self {
            ReadyQueues::LocalOnly(_) => None,
            ReadyQueues::Many(many) => Some(&many.stash),
        }
    }

    pub(crate) fn stash_mut(&mut self) -> &mut Stash<M> {
        &mut self.many().stash
    }

    /// Takes out all stashed calls.
    pub(crate) fn take_stash(&mut self) -> Stash<M> {
        match self {
            ReadyQueues::LocalOnly(_) => Stash::new(),
            ReadyQueues::Many(many) => std::mem::take(&mut many.stash),
        }
    }

    /// True when the current run, if there is one, is broken off for urgent mail.
    pub(crate) fn breaks_off(&self) -> bool {
        match self {
            ReadyQueues::LocalOnly(_) => true,
            ReadyQueues::Many(many) => many.precedence.breaks_off(),
        }
    }

    /// Passes on the listed queues of timers. A queue whose call was withdrawn is listed and empty.
    pub(crate) fn for_each_due(&self, mut each: impl FnMut(&Queue<M>)) {
        let ReadyQueues::Many(many) = self else { return };
        for source in &many.listed {
            if let Source::Timer(queue) = source {
                each(queue);
            }
        }
    }

    fn many(&mut self) -> &mut ManyQueues<M> {
        if let ReadyQueues::LocalOnly(local) = self {
            let listed = local.then_some(Source::Local).into_iter().collect();
            *self = ReadyQueues::Many(Box::new(ManyQueues {
                listed,
                session_queues: Vec::new(),
                timers: None,
                urgent: None,
                stash: Stash::new(),
                precedence: Precedence::default(),
                remote_bound: None,
                remote_counters: None,
            }));
        }
        match self {
            ReadyQueues::Many(many) => many,
            ReadyQueues::LocalOnly(_) => unreachable!("replaced above"),
        }
    }
}

impl<M> ManyQueues<M> {
    /// Adds the urgent queue at the front, or behind one other queue when urgent mail has gone
    /// first too often.
    fn push_urgent(&mut self, queue: Source<M>) {
        let place = usize::from(!self.precedence.goes_first());
        self.listed.insert(place.min(self.listed.len()), queue);
    }

    /// Adds a queue whose run was broken off at the front, behind urgent mail.
    fn push_first(&mut self, queue: Source<M>) {
        let urgent = self.listed.front().is_some_and(Source::is_urgent);
        self.listed.insert(usize::from(urgent), queue);
    }

    fn pop(&mut self) -> Option<Source<M>> {
        let first = self.listed.pop_front()?;
        match first.is_urgent() {
            true => self.precedence.take_urgent(),
            false => self.precedence.take_ordinary(),
        }
        Some(first)
    }
}
