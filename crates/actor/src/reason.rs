//! The reason for the end of an actor.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Why an actor ended, as its monitors, links and supervisor are told.
///
/// A monitor receives it in a [`Down`](crate::lifecycle::monitor::Down).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It was done: no reference was left, or it ended itself.
    Normal,
    /// It was asked to stop, by its supervisor or by a holder of a reference.
    Shutdown,
    /// It was killed: its handler was not allowed to finish, and no code of it ran afterwards.
    Killed,
    /// A handler or a hook panicked, with this text.
    Panicked(Arc<str>),
    /// It ended itself because of an error of its own, with this text.
    Failed(Arc<str>),
    /// Another actor that it is linked to ended, for the reason inside.
    Linked(Arc<Reason>),
    /// Its supervisor gave up: it failed too often.
    RestartsExceeded,
    /// The runtime that it ran on is gone.
    RuntimeGone,
}

impl Reason {
    /// An error of the actor's own, with its text.
    pub fn failed(why: impl fmt::Display) -> Reason {
        Reason::Failed(why.to_string().into())
    }

    /// True for an intended end: links do not spread it, and transient children are not restarted
    /// after it.
    pub fn is_wanted(&self) -> bool {
        matches!(self, Reason::Normal | Reason::Shutdown)
    }

    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Reason {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Reason::Panicked(text.unwrap_or("a panic without a message").into())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Normal => f.write_str("it was done"),
            Reason::Shutdown => f.write_str("it was asked to stop"),
            Reason::Killed => f.write_str("it was killed"),
            Reason::Panicked(text) => write!(f, "it panicked: {text}"),
            Reason::Failed(text) => write!(f, "it failed: {text}"),
            Reason::Linked(reason) => write!(f, "an actor that it is linked to ended: {reason}"),
            Reason::RestartsExceeded => f.write_str("it was restarted too often"),
            Reason::RuntimeGone => f.write_str("its runtime is gone"),
        }
    }
}

impl std::error::Error for Reason {}
