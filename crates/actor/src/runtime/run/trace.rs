//! The trace context of the call that a thread handles, for the calls that it makes meanwhile.
//!
//! Calls of other processes bring a context only if their session carries it. So all other calls pay
//! nothing, and a call that is sent asks for the context only if its session carries it. Between
//! actors of one process no context travels: it belongs to the actor, or the task, that has entered
//! it, also where an actor runs on the thread of its caller.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

pub use wigwag_wire::trace::{NotTraceparent, TraceContext};

use crate::lifecycle::current::current_number;
use crate::reference::run_writer;
use crate::turn::buffers;

/// A context, and the actor that it belongs to; `None` for a task that is no actor.
#[derive(Clone, Copy)]
struct Entered {
    actor: Option<u64>,
    context: TraceContext,
}

thread_local! {
    static ENTERED: Cell<Option<Entered>> = const { Cell::new(None) };
}

/// The context of the call that is handled, or that [`with`] or [`within`] has set.
pub fn current() -> Option<TraceContext> {
    let Entered { actor, context } = ENTERED.get()?;
    (actor == current_number()).then_some(context)
}

/// Runs `work` with a context: the calls to other processes that are sent meanwhile carry it, if their
/// nodes do. An `async` call is sent when it is polled, so it needs [`within`].
pub fn with<T>(context: TraceContext, work: impl FnOnce() -> T) -> T {
    let _entered = enter(context);
    work()
}

/// Runs a future with a context: the calls to other processes that it sends carry it, if their nodes do.
///
/// # Cancellation
/// As for the future.
pub async fn within<F: Future>(context: TraceContext, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|poll| {
        let _entered = enter(context);
        future.as_mut().poll(poll)
    })
    .await
}

/// Restores the thread's previous context when it is dropped.
pub(crate) struct EnterGuard {
    before: Option<Entered>,
}

/// Sets the context of this thread.
pub(crate) fn enter(context: TraceContext) -> EnterGuard {
    // Calls that join a run have no extras: the next one must ask its route.
    if let Some(target) = run_writer::handed_out() {
        buffers::publish_one(target.get());
    }
    let entered = Entered { actor: current_number(), context };
    EnterGuard { before: ENTERED.replace(Some(entered)) }
}

impl Drop for EnterGuard {
    fn drop(&mut self) {
        ENTERED.set(self.before);
    }
}
