//! The ways in which the calls of a run are entered.
//!
//! Nearly all runs are [`Quick`]. The loop over the calls is compiled for each actor, with its handlers
//! in it, and once more for everything that is rare: calls within `tracing` spans, and the calls of an
//! actor with slow handlers. Both are [`OneByOne`].

use tracing::Span;
use tracing::span::EnteredSpan;

use crate::message::Message;
use crate::reference::interface::Interface;
use crate::schema::Schema;

/// The scope in which each call is handled.
pub(crate) trait CallScope: Copy {
    /// True if calls must be entered one by one.
    fn is_separate(self) -> bool;

    /// Enters the handler of a call of method `method`.
    fn enter<T>(self, method: u32, handler: impl FnOnce() -> T) -> T;
}

/// Calls without spans, of which those that come in runs are handled in loops of their own.
#[derive(Clone, Copy)]
pub(crate) struct Quick;

impl CallScope for Quick {
    #[inline(always)]
    fn is_separate(self) -> bool {
        false
    }

    #[inline(always)]
    fn enter<T>(self, _: u32, handler: impl FnOnce() -> T) -> T {
        handler()
    }
}

/// Calls that are entered one by one, also those that come in runs, with spans or without.
#[derive(Clone, Copy)]
pub(crate) struct OneByOne(pub(crate) Option<Spans>);

impl CallScope for OneByOne {
    #[inline(always)]
    fn is_separate(self) -> bool {
        true
    }

    #[inline(always)]
    fn enter<T>(self, method: u32, handler: impl FnOnce() -> T) -> T {
        // The handler stands here once, so that it is compiled once.
        let _entered = self.0.map(|spans| spans.entered(method));
        handler()
    }
}

/// The actor whose calls get spans.
#[derive(Clone, Copy)]
pub(crate) struct Spans {
    pub(crate) schema: &'static Schema,
    pub(crate) number: u64,
}

impl Spans {
    /// Enters the span of a call of method `method`, which ends with the result.
    #[cold]
    #[inline(never)]
    fn entered(self, method: u32) -> EnteredSpan {
        self.of(method).entered()
    }

    /// The span of a call of method `method`.
    fn of(self, method: u32) -> Span {
        let (actor, method) = (self.schema.name, self.schema.method_name(method));
        tracing::info_span!(target: "wigwag_actor::spans", "call", actor, method, number = self.number)
    }
}

/// The span of a call; a disabled one when `spans` is `None`.
pub(crate) fn span<I: Interface>(spans: Option<Spans>, message: &I::Message) -> Span {
    spans.map_or_else(Span::none, |spans| spans.of(message.method()))
}
