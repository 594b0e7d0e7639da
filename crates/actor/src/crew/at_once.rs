//! Who asks an idle actor runs it himself, if it is quick, instead of having it brought in line: the
//! answer is there when the ask has been sent, and no task was switched for it.
//!
//! Not for ever: the runtime's budget of a task bounds how many asks in a row are answered so before
//! the asker lets others go first. And not everywhere: the asker must be in the actor's runtime, the
//! actor's runs must be known to be [short](super::short), and actors that run one within another
//! must not be too many.

use std::cell::Cell;
use std::sync::Arc;
use std::task::Context;

use tokio::runtime::Handle;
use tokio::task::{self, coop};

use super::job::Run;
use super::{Crew, local};
use crate::limits::{AT_ONCE_DEPTH_MAX, AT_ONCE_RUNS_MAX, TURN_RUNS_MAX};
use crate::turn;

thread_local! {
    /// Actors that run on this thread one within another.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// The task that was found to be in a crew's runtime last, and where that crew lies.
    static LAST_HERE: Cell<(Option<task::Id>, usize)> = const { Cell::new((None, 0)) };
}

/// An actor that its asker runs next; dropped, it is brought in line.
pub(crate) struct AtOnce(Option<Arc<dyn Run>>);

impl AtOnce {
    /// Does what wakes an actor, and keeps that in `woken` instead of having it brought in line.
    /// Nothing is kept when none was asleep, or none may run on this thread now.
    #[inline]
    pub(crate) fn catch<T>(
        context: &mut Context<'_>,
        woken: &mut Option<AtOnce>,
        wakes: impl FnOnce(&mut Context<'_>) -> T,
    ) -> T {
        if DEPTH.get() >= AT_ONCE_DEPTH_MAX || !proceeds(context) {
            return wakes(context);
        }
        let (done, caught) = local::catch(|| wakes(context));
        *woken = caught.map(|job| AtOnce(Some(job)));
        done
    }

    /// Runs it, if it is quick and its runtime is this one.
    pub(crate) fn run(mut self) {
        let Some(job) = self.0.take_if(|job| job.is_short() && is_here(job.crew())) else { return };
        let _turn = turn::outermost();
        let _deeper = Deeper::begin();
        job.run();
    }
}

impl Drop for AtOnce {
    fn drop(&mut self) {
        if let Some(job) = self.0.take() {
            local::line_up(job);
        }
    }
}

/// The task has not done so much already that others must have their turn.
fn proceeds(context: &mut Context<'_>) -> bool {
    match coop::poll_proceed(context) {
        std::task::Poll::Ready(restored) => {
            restored.made_progress();
            true
        }
        std::task::Poll::Pending => false,
    }
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
    if DEPTH.get() > 0 { AT_ONCE_RUNS_MAX } else { TURN_RUNS_MAX }
}
