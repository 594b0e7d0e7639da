//! Who asks an idle actor runs it himself, if it is quick, instead of having it brought in line: the
//! answer is there when the ask has been sent, and no task was switched for it.
//!
//! Not for ever: the runtime's budget of a task bounds how many asks in a row are answered so before
//! the asker lets others go first. And not everywhere: the asker must be in the actor's runtime, the
//! actor's runs must be known to be [short](super::short), and actors that run one within another
//! must not be too many.

use std::cell::Cell;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::runtime::Handle;
use tokio::task::{self, coop};

use super::job::Run;
use super::{Crew, local};
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

/// An actor that its asker runs next: it has begun. Dropped, it is brought in line.
pub(crate) struct AtOnce(Option<Arc<dyn Run>>);

impl AtOnce {
    /// Does what wakes an actor, and keeps that in `woken` instead of having it brought in line.
    /// Nothing is kept when none was asleep, or none may run on this thread now. `Pending`, and nothing
    /// is done: the task has done so much already that others must have their turn.
    #[inline]
    pub(crate) fn catch<T>(
        context: &mut Context<'_>,
        woken: &mut Option<AtOnce>,
        wakes: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        if DEPTH.get() >= AT_ONCE_DEPTH_MAX {
            return wakes(context);
        }
        ready!(proceed(context));
        let (done, caught) = local::catch(|| wakes(context));
        *woken = caught.map(|job| AtOnce(Some(job)));
        done
    }

    /// True when an actor that is woken now is likely to be run by who wakes it.
    #[inline]
    pub(crate) fn is_likely() -> bool {
        local::catches()
    }

    /// Runs it.
    pub(crate) fn run(mut self) {
        let Some(job) = self.0.take() else { return };
        let _turn = turn::outermost();
        let _deeper = Deeper::begin();
        job.go_on();
    }
}

impl Drop for AtOnce {
    fn drop(&mut self) {
        if let Some(job) = self.0.take() {
            job.put_off();
        }
    }
}

/// `Pending` when the task has done so much already that others must have their turn. Each ask counts
/// as part of what the runtime counts, because to let others go first costs as much as many asks: the
/// runtime wakes a worker for it.
#[inline]
fn proceed(context: &mut Context<'_>) -> Poll<()> {
    let asked = ASKED.get() + 1;
    if asked < AT_ONCE_ASKS_A_STEP {
        ASKED.set(asked);
        return Poll::Ready(());
    }
    ready!(coop::poll_proceed(context)).made_progress();
    ASKED.set(0);
    Poll::Ready(())
}

/// True if a job of that crew, which was just woken, may be run by who has woken it.
#[inline]
pub(super) fn may_run(crew: &Arc<Crew>) -> bool {
    local::catches() && is_here(crew)
}

/// True in a task of the crew's runtime. Who merely waits on a runtime with one thread is not on that
/// thread, which its actors may count on.
fn is_here(crew: &Arc<Crew>) -> bool {
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
