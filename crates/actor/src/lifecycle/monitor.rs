//! The end of an actor, as those hear of it that watch it.

use std::fmt;
use std::sync::Arc;

use crate::lifecycle::handle::{AnyActor, Handle};
use crate::reason::Reason;

/// The number of a monitor; no two of a process are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Monitor(pub(crate) u64);

/// A monitored actor has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Down {
    /// Which monitor it was.
    pub monitor: Monitor,
    /// The actor that has ended.
    pub actor: Handle,
    /// Why.
    pub reason: Reason,
}

impl Down {
    pub(crate) fn new(number: u64, actor: &Arc<dyn AnyActor>, reason: &Reason) -> Down {
        let actor = Handle::new(actor.clone());
        Down { monitor: Monitor(number), actor, reason: reason.clone() }
    }
}

/// A linked actor has ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exit {
    /// The actor that has ended.
    pub actor: Handle,
    /// Why.
    pub reason: Reason,
}

impl Exit {
    pub(crate) fn new(actor: &Arc<dyn AnyActor>, reason: &Reason) -> Exit {
        Exit { actor: Handle::new(actor.clone()), reason: reason.clone() }
    }
}

/// More watchers or links than an actor may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyWatchers;

impl fmt::Display for TooManyWatchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = crate::limits::WATCHERS_MAX;
        write!(f, "the actor is watched by {most} others already: let one watch for all of them")
    }
}

impl std::error::Error for TooManyWatchers {}
