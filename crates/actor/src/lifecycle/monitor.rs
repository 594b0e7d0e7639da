//! Monitors and links: the notices of an actor's end.

use std::fmt;
use std::sync::Arc;

use wigwag_wire::hint::{write_debug, write_hint};

use crate::lifecycle::handle::{AnyActor, Handle};
use crate::reason::Reason;
use crate::reply::caller::Caller;

/// The number of a monitor, never reused within a process.
///
/// [`This::monitor`](crate::This) sets a monitor; its notice is a [`Down`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Monitor(pub(crate) u64);

/// The notice that a monitored actor has ended.
///
/// [`This::monitor`](crate::This::monitor) says how an actor is monitored.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Down {
    /// The monitor that this notice belongs to.
    pub monitor: Monitor,
    /// The actor that has ended; `None` for an actor of another process.
    pub actor: Option<Handle>,
    /// The actor's type, or its address if it lives in another process.
    pub target: Arc<str>,
    /// The reason for its end.
    pub reason: Reason,
    /// The node that it lives on, and its proven identity; `None` for an actor of this process, and
    /// if the node was never reached.
    pub peer: Option<Caller>,
}

impl Down {
    pub(crate) fn new(number: u64, actor: &Arc<dyn AnyActor>, reason: &Reason) -> Down {
        let (target, actor) = (actor.target().clone(), Some(Handle::new(actor.clone())));
        Down { monitor: Monitor(number), actor, target, reason: reason.clone(), peer: None }
    }

    /// The notice of the end of an actor of another process.
    pub(crate) fn elsewhere(
        number: u64,
        target: Arc<str>,
        reason: &Reason,
        peer: Option<Caller>,
    ) -> Down {
        Down { monitor: Monitor(number), actor: None, target, reason: reason.clone(), peer }
    }
}

/// The notice that a linked actor has ended.
///
/// [`This`](crate::This) says how actors are linked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exit {
    /// The actor that has ended; `None` for an actor of another process.
    pub actor: Option<Handle>,
    /// The actor's type, or its address if it lives in another process.
    pub target: Arc<str>,
    /// The reason for its end.
    pub reason: Reason,
    /// The node that it lives on, and its proven identity; `None` for an actor of this process, and
    /// if the node was never reached.
    pub peer: Option<Caller>,
    /// The number of a link to another process among the watchers of the actor that has made it.
    pub(crate) link: Option<u64>,
}

impl Exit {
    pub(crate) fn new(actor: &Arc<dyn AnyActor>, reason: &Reason) -> Exit {
        let (target, actor) = (actor.target().clone(), Some(Handle::new(actor.clone())));
        Exit { actor, target, reason: reason.clone(), peer: None, link: None }
    }

    /// The notice of the end of an actor of another process.
    pub(crate) fn elsewhere(
        target: Arc<str>,
        reason: &Reason,
        peer: Option<Caller>,
        link: Option<u64>,
    ) -> Exit {
        Exit { actor: None, target, reason: reason.clone(), peer, link }
    }
}

/// The error of a watch on an actor that has [`WATCHERS_MAX`](crate::limits::WATCHERS_MAX)
/// watchers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TooManyWatchers;

impl TooManyWatchers {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        "let one watcher notify several others"
    }
}

impl fmt::Display for TooManyWatchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = crate::limits::WATCHERS_MAX;
        write!(f, "the actor is watched by {most} others already, which is the limit")?;
        write_hint(f, self.hint())
    }
}

impl fmt::Debug for TooManyWatchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "TooManyWatchers", None, self, self.hint())
    }
}

impl std::error::Error for TooManyWatchers {}
