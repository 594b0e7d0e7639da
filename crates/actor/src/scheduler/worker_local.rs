//! The thread-local state of the scheduler whose executor the thread polls.
//!
//! An actor that another one has just woken is best run next and on the same thread, where its mail
//! lies in the cache: it waits in a place of this thread, and nothing is locked for it.

use std::cell::Cell;
use std::sync::Arc;
use std::task::Waker;

use super::Scheduler;
use super::job::Runnable;

thread_local! {
    static WORKER_LOCAL: WorkerLocal = const {
        WorkerLocal {
            scheduler: Cell::new(0),
            next: Cell::new(None),
            is_capturing: Cell::new(false),
            captured: Cell::new(None),
        }
    };
}

struct WorkerLocal {
    /// Where the crew lies whose runner this thread polls; 0 for none. Only compared.
    scheduler: Cell<usize>,
    /// The job to run next.
    next: Cell<Option<Arc<dyn Runnable>>>,
    /// A job that is woken begins now and goes to who wakes it, or is not woken at all.
    is_capturing: Cell<bool>,
    captured: Cell<Option<Arc<dyn Runnable>>>,
}

/// While it is there, this thread polls a runner of a crew.
pub(super) struct EnteredScheduler {
    before: usize,
}

pub(super) fn enter(scheduler: &Arc<Scheduler>) -> EnteredScheduler {
    EnteredScheduler {
        before: WORKER_LOCAL.with(|local| local.scheduler.replace(Arc::as_ptr(scheduler).addr())),
    }
}

impl Drop for EnteredScheduler {
    fn drop(&mut self) {
        let left = WORKER_LOCAL.with(|local| {
            local.scheduler.set(self.before);
            local.next.take()
        });
        if let Some(job) = left {
            job.scheduler().clone().push(job, true);
        }
    }
}

/// The job that is to run next on this thread.
pub(super) fn take_next() -> Option<Arc<dyn Runnable>> {
    WORKER_LOCAL.with(|local| local.next.take())
}

/// True on a thread that polls a runner of this crew.
pub(super) fn is_executor_of(scheduler: &Arc<Scheduler>) -> bool {
    WORKER_LOCAL.with(|local| local.scheduler.get() == Arc::as_ptr(scheduler).addr())
}

/// A job was woken.
pub(super) fn enqueue(job: Arc<dyn Runnable>) {
    let mut job = Some(job);
    // Without the place, at the end of a thread, everybody takes the long way.
    let _ = WORKER_LOCAL.try_with(|local| {
        let Some(woken) = job.take() else { return };
        let is_ours = local.scheduler.get() == Arc::as_ptr(woken.scheduler()).addr();
        job = if is_ours { local.next.replace(Some(woken)) } else { Some(woken) };
    });
    if let Some(job) = job {
        job.scheduler().clone().push(job, true);
    }
}

/// A job was woken while it ran, or has had its turn: the others in line go first.
pub(super) fn reenqueue(job: Arc<dyn Runnable>) {
    let scheduler = job.scheduler().clone();
    // This thread looks at the line next, so nobody is woken for a job that is alone there.
    let must_wake = !is_executor_of(&scheduler);
    scheduler.push(job, must_wake);
}

/// True while a job that is woken goes to who wakes it.
pub(super) fn is_capturing() -> bool {
    WORKER_LOCAL.try_with(|local| local.is_capturing.get()).unwrap_or(false)
}

/// A job that has begun to run is for who has woken it.
pub(super) fn store_captured(job: Arc<dyn Runnable>) {
    WORKER_LOCAL.with(|local| local.captured.set(Some(job)));
}

/// The job that this waker wakes, if it could begin now: it has. Otherwise nothing was done.
#[inline]
pub(super) fn capture(waker: Waker) -> Option<Arc<dyn Runnable>> {
    WORKER_LOCAL.with(|local| local.is_capturing.set(true));
    let capture = WakeCapture;
    waker.wake();
    drop(capture);
    WORKER_LOCAL.with(|local| local.captured.take())
}

/// While it is there, a job that this thread wakes is kept for it.
struct WakeCapture;

impl Drop for WakeCapture {
    fn drop(&mut self) {
        WORKER_LOCAL.with(|local| local.is_capturing.set(false));
    }
}
