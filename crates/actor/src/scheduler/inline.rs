//! A caller runs an idle actor on its own thread, if the actor is quick, instead of queueing it:
//! the answer is there when the ask has been sent, no task was switched for it, and the call was
//! never in the mailbox.
//!
//! Not for ever: the runtime's budget of a task bounds how many asks in a row are answered so before
//! the asker lets others go first. And not everywhere: the asker must be in the actor's runtime, the
//! actor's runs must be known to be [short](super::run_length), and actors that run one within another
//! must not be too many.

use std::cell::Cell;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use tokio::runtime::Handle;
use tokio::task::{self, coop};

use super::job::Runnable;
use super::{DirectCall, Scheduler, worker_local};
use crate::limits::{INLINE_ASKS_PER_STEP, INLINE_DEPTH_MAX, INLINE_RUNS_MAX, TURN_RUNS_MAX};
use crate::turn;

thread_local! {
    /// Actors that run on this thread one within another.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Asks since this thread last counted some.
    static ASKS: Cell<u32> = const { Cell::new(0) };
    /// The task that was found to be in a crew's runtime last, and where that crew lies.
    static LAST_ALLOWED: Cell<(Option<task::Id>, usize)> = const { Cell::new((None, 0)) };
}

/// An actor that its asker runs next: it has begun.
pub(crate) struct InlineRun(Arc<dyn Runnable>);

impl InlineRun {
    /// The actor that this waker wakes, if it sleeps and may run on this thread now.
    #[inline]
    pub(crate) fn begin(waker: Waker) -> Option<InlineRun> {
        worker_local::capture(waker).map(InlineRun)
    }

    /// Runs it, beginning with the [call at hand](super::ActorTask::poll_call).
    #[inline]
    pub(crate) fn run(self, call: &mut DirectCall<'_>) {
        let _turn = turn::outermost();
        let _depth = DepthGuard::begin();
        self.0.run_with(call);
    }
}

/// True if the caller may run the asked actor; `Pending` if its task has done so much already that
/// others must have their turn. Each ask counts towards the runtime's budget, because yielding
/// costs as much as many asks: the runtime wakes a worker for it.
#[inline]
pub(crate) fn proceed(context: &mut Context<'_>) -> Poll<bool> {
    if DEPTH.get() >= INLINE_DEPTH_MAX {
        return Poll::Ready(false);
    }
    let asks = ASKS.get() + 1;
    if asks < INLINE_ASKS_PER_STEP {
        ASKS.set(asks);
        return Poll::Ready(true);
    }
    ready!(coop::poll_proceed(context)).made_progress();
    ASKS.set(0);
    Poll::Ready(true)
}

/// True where a job of that scheduler may be run by the waking task: in a task of the scheduler's
/// runtime. A thread that merely waits on a single-threaded runtime is not the thread that its
/// actors may count on.
#[inline]
pub(super) fn may_run_inline(scheduler: &Arc<Scheduler>) -> bool {
    if worker_local::is_executor_of(scheduler) {
        return true;
    }
    let task = task::try_id();
    let known = (task, Arc::as_ptr(scheduler).addr());
    // A task stays in its runtime, and a crew that a task has asked before is that of its runtime.
    if task.is_some() && LAST_ALLOWED.get() == known {
        return true;
    }
    let is_allowed = (scheduler.is_wide || task.is_some())
        && Handle::try_current().is_ok_and(|runtime| runtime.id() == scheduler.runtime);
    if is_allowed {
        LAST_ALLOWED.set(known);
    }
    is_allowed
}

/// While it is there, an actor runs within its asker.
struct DepthGuard;

impl DepthGuard {
    fn begin() -> DepthGuard {
        DEPTH.set(DEPTH.get() + 1);
        DepthGuard
    }
}

impl Drop for DepthGuard {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Runs of an actor in one turn.
#[inline]
pub(crate) fn turn_runs_max() -> usize {
    match DEPTH.get() {
        0 => TURN_RUNS_MAX,
        1..=INLINE_DEPTH_MAX => INLINE_RUNS_MAX,
        // As in `QueuedOnly`: the others may come after each run.
        _ => 1,
    }
}

/// While it exists, no caller on this thread runs an actor inline, and an actor handles one call in
/// a turn: whatever an actor does, it was queued for it.
#[cfg(feature = "testing")]
pub(crate) struct QueuedOnly {
    depth: u32,
}

#[cfg(feature = "testing")]
impl QueuedOnly {
    pub(crate) fn begin() -> QueuedOnly {
        // Deeper than any asker goes.
        QueuedOnly { depth: DEPTH.replace(INLINE_DEPTH_MAX + 1) }
    }
}

/// True while [`QueuedOnly`] is there.
#[cfg(feature = "testing")]
pub(crate) fn is_queued_only() -> bool {
    DEPTH.get() > INLINE_DEPTH_MAX
}

#[cfg(feature = "testing")]
impl Drop for QueuedOnly {
    fn drop(&mut self) {
        DEPTH.set(self.depth);
    }
}
