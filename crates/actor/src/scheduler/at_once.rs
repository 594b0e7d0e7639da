//! Who asks an idle actor runs it himself, if it is quick, instead of having it brought in line: the
//! answer is there when the ask has been sent, no task was switched for it, and the call has not lain in
//! the mailbox.
//!
//! Not for ever: the runtime's budget of a task bounds how many asks in a row are answered so before
//! the asker lets others go first. And not everywhere: the asker must be in the actor's runtime, the
//! actor's runs must be known to be [short](super::short), and actors that run one within another
//! must not be too many.

use std::cell::Cell;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use tokio::runtime::Handle;
use tokio::task::{self, coop};

use super::job::Run;
use super::{AtHand, Crew, local};
use crate::limits::{AT_ONCE_ASKS_A_STEP, AT_ONCE_DEPTH_MAX, AT_ONCE_RUNS_MAX, TURN_RUNS_MAX};
use crate::turn;

thread_local! {
    /// Actors that run on this thread one within another.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Asks since this thread last counted some.
    static ASKED: Cell<u32> = const { Cell::new(0) };
    /// The task that was found to be in a crew's runtime last, and where that crew lies.
    static LAST_HERE: Cell<(Option<task::Id>, usize)> = const { Cell::new((None, 0)) };
}

/// An actor that its asker runs next: it has begun.
pub(crate) struct AtOnce(Arc<dyn Run>);

impl AtOnce {
    /// The actor that this waker wakes, if it sleeps and may run on this thread now.
    #[inline]
    pub(crate) fn begin(waker: Waker) -> Option<AtOnce> {
        local::catch(waker).map(AtOnce)
    }

    /// Runs it, beginning with the [call at hand](super::Live::poll_call).
    #[inline]
    pub(crate) fn run(self, call: &mut AtHand<'_>) {
        let _turn = turn::outermost();
        let _deeper = Deeper::begin();
        self.0.go_on(call);
    }
}

/// True when the caller may run the actor that he asks; `Pending` when his task has done so much already
/// that others must have their turn. Each ask counts as part of what the runtime counts, because to let
/// others go first costs as much as many asks: the runtime wakes a worker for it.
#[inline]
pub(crate) fn proceed(context: &mut Context<'_>) -> Poll<bool> {
    if DEPTH.get() >= AT_ONCE_DEPTH_MAX {
        return Poll::Ready(false);
    }
    let asked = ASKED.get() + 1;
    if asked < AT_ONCE_ASKS_A_STEP {
        ASKED.set(asked);
        return Poll::Ready(true);
    }
    ready!(coop::poll_proceed(context)).made_progress();
    ASKED.set(0);
    Poll::Ready(true)
}

/// True where a job of that crew may be run by who wakes it: in a task of the crew's runtime. Who merely waits on a runtime with one thread is not on that
/// thread, which its actors may count on.
#[inline]
pub(super) fn may_run(crew: &Arc<Crew>) -> bool {
    if local::is_runner_of(crew) {
        return true;
    }
    let task = task::try_id();
    let known = (task, Arc::as_ptr(crew).addr());
    // A task stays in its runtime, and a crew that a task has asked before is that of its runtime.
    if task.is_some() && LAST_HERE.get() == known {
        return true;
    }
    let is_here = (crew.is_wide || task.is_some())
        && Handle::try_current().is_ok_and(|runtime| runtime.id() == crew.runtime);
    if is_here {
        LAST_HERE.set(known);
    }
    is_here
}

/// While it is there, an actor runs within its asker.
struct Deeper;

impl Deeper {
    fn begin() -> Deeper {
        DEPTH.set(DEPTH.get() + 1);
        Deeper
    }
}

impl Drop for Deeper {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Runs of an actor in one turn.
#[inline]
pub(crate) fn turn_runs_max() -> usize {
    match DEPTH.get() {
        0 => TURN_RUNS_MAX,
        1..=AT_ONCE_DEPTH_MAX => AT_ONCE_RUNS_MAX,
        // As in `AllInLine`: the others may come after each run.
        _ => 1,
    }
}

/// While it is there, nobody on this thread runs an actor whom he asks, and an actor handles one call
/// in a turn: whatever an actor does, it was in line for it.
#[cfg(feature = "testing")]
pub(crate) struct AllInLine {
    depth: u32,
}

#[cfg(feature = "testing")]
impl AllInLine {
    pub(crate) fn begin() -> AllInLine {
        // Deeper than any asker goes.
        AllInLine { depth: DEPTH.replace(AT_ONCE_DEPTH_MAX + 1) }
    }
}

/// True while [`AllInLine`] is there.
#[cfg(feature = "testing")]
pub(crate) fn is_all_in_line() -> bool {
    DEPTH.get() > AT_ONCE_DEPTH_MAX
}

#[cfg(feature = "testing")]
impl Drop for AllInLine {
    fn drop(&mut self) {
        DEPTH.set(self.depth);
    }
}
