//! What a thread knows of the crew whose runner it polls.
//!
//! An actor that another one has just woken is best run next and on the same thread, where its mail
//! lies in the cache: it waits in a place of this thread, and nothing is locked for it.

use std::cell::Cell;
use std::sync::Arc;
use std::task::Waker;

use super::Crew;
use super::job::Run;

thread_local! {
    static LOCAL: Local = const {
        Local {
            crew: Cell::new(0),
            next: Cell::new(None),
            catches: Cell::new(false),
            caught: Cell::new(None),
        }
    };
}

struct Local {
    /// Where the crew lies whose runner this thread polls; 0 for none. Only compared.
    crew: Cell<usize>,
    /// The job to run next.
    next: Cell<Option<Arc<dyn Run>>>,
    /// A job that is woken begins now and goes to who wakes it, or is not woken at all.
    catches: Cell<bool>,
    caught: Cell<Option<Arc<dyn Run>>>,
}

/// While it is there, this thread polls a runner of a crew.
pub(super) struct Entered {
    before: usize,
}

pub(super) fn enter(crew: &Arc<Crew>) -> Entered {
    Entered { before: LOCAL.with(|local| local.crew.replace(Arc::as_ptr(crew).addr())) }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let left = LOCAL.with(|local| {
            local.crew.set(self.before);
            local.next.take()
        });
        if let Some(job) = left {
            job.crew().clone().push(job, true);
        }
    }
}

/// The job that is to run next on this thread.
pub(super) fn take_next() -> Option<Arc<dyn Run>> {
    LOCAL.with(|local| local.next.take())
}

/// True on a thread that polls a runner of this crew.
pub(super) fn is_runner_of(crew: &Arc<Crew>) -> bool {
    LOCAL.with(|local| local.crew.get() == Arc::as_ptr(crew).addr())
}

/// A job was woken.
pub(super) fn line_up(job: Arc<dyn Run>) {
    let mut job = Some(job);
    // Without the place, at the end of a thread, everybody takes the long way.
    let _ = LOCAL.try_with(|local| {
        let Some(woken) = job.take() else { return };
        let is_ours = local.crew.get() == Arc::as_ptr(woken.crew()).addr();
        job = if is_ours { local.next.replace(Some(woken)) } else { Some(woken) };
    });
    if let Some(job) = job {
        job.crew().clone().push(job, true);
    }
}

/// A job was woken while it ran, or has had its turn: the others in line go first.
pub(super) fn again(job: Arc<dyn Run>) {
    let crew = job.crew().clone();
    // This thread looks at the line next, so nobody is woken for a job that is alone there.
    let must_wake = !is_runner_of(&crew);
    crew.push(job, must_wake);
}

/// True while a job that is woken goes to who wakes it.
pub(super) fn catches() -> bool {
    LOCAL.try_with(|local| local.catches.get()).unwrap_or(false)
}

/// A job that has begun to run is for who has woken it.
pub(super) fn give(job: Arc<dyn Run>) {
    LOCAL.with(|local| local.caught.set(Some(job)));
}

/// The job that this waker wakes, if it could begin now: it has. Otherwise nothing was done.
#[inline]
pub(super) fn catch(waker: Waker) -> Option<Arc<dyn Run>> {
    LOCAL.with(|local| local.catches.set(true));
    let catching = Catching;
    waker.wake();
    drop(catching);
    LOCAL.with(|local| local.caught.take())
}

/// While it is there, a job that this thread wakes is kept for it.
struct Catching;

impl Drop for Catching {
    fn drop(&mut self) {
        LOCAL.with(|local| local.catches.set(false));
    }
}
