//! Which queues of a mailbox have mail, and whose turn is next.
//!
//! Most actors never meet a session and have no timer: for them it is one word that says whether the
//! local queue has mail. The list of queues is there from the first lane or timer on.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use crate::lane::LaneOwner;
use crate::letters::Origin;
use crate::queue::Queue;
use crate::timers::Timers;

/// The queue of one session.
pub(crate) struct LaneQueue<M> {
    pub(crate) queue: Queue<M>,
    pub(crate) owner: Arc<dyn LaneOwner>,
}

/// A queue of a mailbox.
pub(crate) enum Source<M> {
    /// That of the local senders.
    Local,
    Lane(Arc<LaneQueue<M>>),
    /// The one call of a timer: it begins as soon as it is taken out, so that it is in here, and can
    /// be withdrawn, until then.
    Timer(Arc<Queue<M>>),
}

/// Whom calls of a queue concern beside their actor.
pub(crate) struct Whose<'a, M> {
    /// The session that answers go to.
    pub(crate) owner: Option<&'a Arc<dyn LaneOwner>>,
    /// For those who hear of lost calls.
    pub(crate) origin: Option<Origin<M>>,
}

impl<M> Clone for Whose<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Whose<'_, M> {}

impl<M> Source<M> {
    /// The session that it belongs to.
    pub(crate) fn owner(&self) -> Option<&Arc<dyn LaneOwner>> {
        match self {
            Source::Local | Source::Timer(_) => None,
            Source::Lane(lane) => Some(&lane.owner),
        }
    }

    pub(crate) fn is_timer(&self) -> bool {
        matches!(self, Source::Timer(_))
    }
}

impl<M> Clone for Source<M> {
    fn clone(&self) -> Source<M> {
        match self {
            Source::Local => Source::Local,
            Source::Lane(lane) => Source::Lane(lane.clone()),
            Source::Timer(queue) => Source::Timer(queue.clone()),
        }
    }
}

/// The queues with mail, in the order of their turns.
pub(crate) enum Lists<M> {
    /// There is the local queue alone; true when it has mail.
    Alone(bool),
    Many(Box<Many<M>>),
}

/// From the first session or timer on.
pub(crate) struct Many<M> {
    listed: VecDeque<Source<M>>,
    /// Every lane that was opened; for closing. Lanes whose session is gone drop out.
    lanes: Vec<Weak<LaneQueue<M>>>,
    timers: Option<Arc<Timers<M>>>,
}

impl<M> Lists<M> {
    /// Gives the queue the last turn.
    pub(crate) fn push_last(&mut self, queue: Source<M>) {
        match self {
            Lists::Alone(local) if matches!(queue, Source::Local) => *local = true,
            _ => self.many().listed.push_back(queue),
        }
    }

    /// Gives the queue the next turn.
    pub(crate) fn push_first(&mut self, queue: Source<M>) {
        match self {
            Lists::Alone(local) if matches!(queue, Source::Local) => *local = true,
            _ => self.many().listed.push_front(queue),
        }
    }

    /// Whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<Source<M>> {
        match self {
            Lists::Alone(local) => std::mem::take(local).then_some(Source::Local),
            Lists::Many(many) => many.listed.pop_front(),
        }
    }

    pub(crate) fn add(&mut self, lane: &Arc<LaneQueue<M>>) {
        let many = self.many();
        many.lanes.retain(|lane| lane.strong_count() > 0);
        many.lanes.push(Arc::downgrade(lane));
    }

    pub(crate) fn lanes(&self) -> Vec<Arc<LaneQueue<M>>> {
        match self {
            Lists::Alone(_) => Vec::new(),
            Lists::Many(many) => many.lanes.iter().filter_map(Weak::upgrade).collect(),
        }
    }

    pub(crate) fn timers(&self) -> Option<Arc<Timers<M>>> {
        match self {
            Lists::Alone(_) => None,
            Lists::Many(many) => many.timers.clone(),
        }
    }

    pub(crate) fn timers_or(&mut self, new: impl FnOnce() -> Arc<Timers<M>>) -> Arc<Timers<M>> {
        self.many().timers.get_or_insert_with(new).clone()
    }

    /// The timers whose call has its turn some time.
    pub(crate) fn due(&self) -> impl Iterator<Item = &Queue<M>> {
        let listed = match self {
            Lists::Alone(_) => None,
            Lists::Many(many) => Some(many.listed.iter()),
        };
        listed.into_iter().flatten().filter_map(|source| match source {
            Source::Timer(queue) => Some(&**queue),
            Source::Local | Source::Lane(_) => None,
        })
    }

    fn many(&mut self) -> &mut Many<M> {
        if let Lists::Alone(local) = self {
            let listed = local.then_some(Source::Local).into_iter().collect();
            *self = Lists::Many(Box::new(Many { listed, lanes: Vec::new(), timers: None }));
        }
        match self {
            Lists::Many(many) => many,
            Lists::Alone(_) => unreachable!("made above"),
        }
    }
}
