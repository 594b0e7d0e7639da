//! A `tracing` span around each call, for actors started with spans.
//!
//! All other actors pay one comparison per chunk of calls. In spans, calls are entered one by one,
//! also those that come in runs.

use tracing::Span;

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

/// Calls without spans.
#[derive(Clone, Copy)]
pub(crate) struct NoSpans;

impl CallScope for NoSpans {
    #[inline(always)]
    fn is_separate(self) -> bool {
        false
    }

    #[inline(always)]
    fn enter<T>(self, _: u32, handler: impl FnOnce() -> T) -> T {
        handler()
    }
}

/// The actor whose calls get spans.
#[derive(Clone, Copy)]
pub(crate) struct Spans {
    pub(crate) schema: &'static Schema,
    pub(crate) number: u64,
}

impl CallScope for Spans {
    fn is_separate(self) -> bool {
        true
    }

    fn enter<T>(self, method: u32, handler: impl FnOnce() -> T) -> T {
        self.of(method).in_scope(handler)
    }
}

impl Spans {
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
