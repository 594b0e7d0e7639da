//! The reason for the end of an actor.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use wigwag_wire::peer_text;

/// Characters of a reason that other processes are told at most.
const REASON_CHARS_MAX: usize = 512;
/// The kind of a reason that is not known.
const UNKNOWN: u8 = 255;

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
    /// Another actor that it is linked to ended, for the reason inside: along a chain of links, the
    /// reason of the first one that ended.
    Linked(Arc<Reason>),
    /// Its supervisor gave up: it failed too often.
    RestartsExceeded,
    /// The runtime that it ran on is gone.
    RuntimeGone,
    /// It lived in another process, whose node was closed in good order.
    NodeClosed,
    /// It lives, or lived, in another process, and the session with that process was lost, for the
    /// reason inside. It may go on there.
    Unreachable(Arc<str>),
    /// A link to it was refused, for the reason inside: it goes on, and its process does not let this
    /// one end it.
    LinkRefused(Arc<str>),
    /// It ended in another process, which has not said why.
    Unknown,
}

impl Reason {
    /// An error of the actor's own, with its text.
    pub fn failed(why: impl fmt::Display) -> Reason {
        Reason::Failed(why.to_string().into())
    }

    /// True for an intended end: links do not spread it, and transient children are not restarted
    /// after it.
    pub fn is_wanted(&self) -> bool {
        matches!(self, Reason::Normal | Reason::Shutdown | Reason::NodeClosed)
    }

    /// The reason as it is told to other processes: a byte for its kind, and a text.
    #[doc(hidden)]
    pub fn to_wire(&self) -> Vec<u8> {
        let text = match self {
            Reason::Panicked(text)
            | Reason::Failed(text)
            | Reason::Unreachable(text)
            | Reason::LinkRefused(text) => text.to_string(),
            Reason::Linked(reason) => reason.to_string(),
            _ => String::new(),
        };
        let kind = match self {
            Reason::Normal => 0,
            Reason::Shutdown => 1,
            Reason::Killed => 2,
            Reason::Panicked(_) => 3,
            Reason::Failed(_) => 4,
            Reason::Linked(_) => 5,
            Reason::RestartsExceeded => 6,
            Reason::RuntimeGone => 7,
            Reason::NodeClosed => 8,
            Reason::Unreachable(_) => 9,
            Reason::LinkRefused(_) => 10,
            Reason::Unknown => UNKNOWN,
        };
        let text = text.chars().take(REASON_CHARS_MAX).collect::<String>();
        [&[kind], text.as_bytes()].concat()
    }

    /// Reads a reason that another process has told.
    #[doc(hidden)]
    pub fn from_wire(bytes: &[u8]) -> Reason {
        let Some((kind, text)) = bytes.split_first() else { return Reason::Unknown };
        let text = || Arc::from(peer_text::line(text));
        match kind {
            0 => Reason::Normal,
            1 => Reason::Shutdown,
            2 => Reason::Killed,
            3 => Reason::Panicked(text()),
            4 => Reason::Failed(text()),
            // The text is all that is known of the other actor's end.
            5 => Reason::Linked(Arc::new(Reason::Failed(text()))),
            6 => Reason::RestartsExceeded,
            7 => Reason::RuntimeGone,
            8 => Reason::NodeClosed,
            9 => Reason::Unreachable(text()),
            10 => Reason::LinkRefused(text()),
            _ => Reason::Unknown,
        }
    }

    /// The reason of a panic with this payload.
    pub(crate) fn panicked(payload: Box<dyn Any + Send>) -> Reason {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let reason = Reason::Panicked(text.unwrap_or("a panic without a message").into());
        // The destructor of the payload may panic too, with a payload whose destructor does.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(again);
        }
        reason
    }

    /// The end of another actor for this reason, as the reason for the end of one that is linked to
    /// it. Of a chain of links, the first end is kept: a reason for each link would take memory, and
    /// a stack, as long as the chain.
    pub(crate) fn of_link(self) -> Reason {
        match self {
            Reason::Linked(first) => Reason::Linked(first),
            own => Reason::Linked(Arc::new(own)),
        }
    }

    /// This reason without links of links, which an actor may have made of what it was told.
    pub(crate) fn without_chain(mut self) -> Reason {
        while let Reason::Linked(inner) = &self
            && let Reason::Linked(_) = &**inner
        {
            self = Reason::clone(inner);
        }
        self
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
            Reason::NodeClosed => f.write_str("its node was closed"),
            Reason::Unreachable(why) => write!(f, "it cannot be reached: {why}"),
            Reason::LinkRefused(why) => write!(f, "a link to it was refused: {why}"),
            Reason::Unknown => f.write_str("it ended in another process"),
        }
    }
}

impl std::error::Error for Reason {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_is_told_each_reason() {
        let reasons = [
            Reason::Normal,
            Reason::Shutdown,
            Reason::Killed,
            Reason::Panicked("boom".into()),
            Reason::Failed("no disk".into()),
            Reason::RestartsExceeded,
            Reason::RuntimeGone,
            Reason::NodeClosed,
            Reason::Unreachable("cut".into()),
            Reason::LinkRefused("no".into()),
            Reason::Unknown,
        ];
        for reason in reasons {
            assert_eq!(Reason::from_wire(&reason.to_wire()), reason);
        }
        let linked = Reason::Linked(Arc::new(Reason::Killed));
        let told = Reason::from_wire(&linked.to_wire());
        assert_eq!(
            told.to_string(),
            "an actor that it is linked to ended: it failed: it was killed"
        );
        assert_eq!(Reason::from_wire(&[]), Reason::Unknown);
        assert_eq!(Reason::from_wire(&[77, 1]), Reason::Unknown);
        let told = Reason::from_wire(b"\x03\x1b[2J\r\n");
        assert_eq!(told, Reason::Panicked(" [2J  ".into()));
        let long = Reason::Failed("x".repeat(9_999).into()).to_wire();
        assert_eq!(long.len(), 1 + REASON_CHARS_MAX);
    }
}
