//! Which queues of a mailbox have mail, and whose turn is next.
//!
//! Most actors never meet a session: for them it is one word that says whether the local queue has
//! mail. The list of queues is there from the first lane on.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use crate::lane::LaneOwner;
use crate::queue::Queue;

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
}

impl<M> Source<M> {
    /// The session that it belongs to.
    pub(crate) fn owner(&self) -> Option<&Arc<dyn LaneOwner>> {
        match self {
            Source::Local => None,
            Source::Lane(lane) => Some(&lane.owner),
        }
    }
}

impl<M> Clone for Source<M> {
    fn clone(&self) -> Source<M> {
        match self {
            Source::Local => Source::Local,
            Source::Lane(lane) => Source::Lane(lane.clone()),
        }
    }
}

/// The queues with mail, in the order of their turns.
pub(crate) enum Lists<M> {
    /// There is the local queue alone; true when it has mail.
    Alone(bool),
    Many(Box<Many<M>>),
}

/// From the first session on.
pub(crate) struct Many<M> {
    listed: VecDeque<Source<M>>,
    /// Every lane that was opened; for closing. Lanes whose session is gone drop out.
    lanes: Vec<Weak<LaneQueue<M>>>,
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

    fn many(&mut self) -> &mut Many<M> {
        if let Lists::Alone(local) = self {
            let listed = local.then_some(Source::Local).into_iter().collect();
            *self = Lists::Many(Box::new(Many { listed, lanes: Vec::new() }));
        }
        match self {
            Lists::Many(many) => many,
            Lists::Alone(_) => unreachable!("made above"),
        }
    }
}
