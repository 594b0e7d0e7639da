//! Thread-local state of a thread that polls an executor.
//!
//! An actor that another actor has just woken is best run next and on the same thread, where its
//! mail is in the cache: it waits in a slot of this thread, without taking a lock.

use std::cell::Cell;
use std::sync::Arc;
use std::task::Waker;

use super::job::Runnable;
use super::{Scheduler, wake_batch};
use crate::turn;

thread_local! {
    static WORKER_LOCAL: WorkerLocal = const {
        WorkerLocal {
            scheduler: Cell::new(0),
            next: Cell::new(None),
            is_capturing: Cell::new(false),
            captured: Cell::new(Captured::Nothing),
        }
    };
}

struct WorkerLocal {
    /// Address of the scheduler whose executor this thread polls; 0 for none. Only compared.
    scheduler: Cell<usize>,
    /// The job to run next.
    next: Cell<Option<Arc<dyn Runnable>>>,
    /// While set, waking a job starts it and hands it to the waking code if it sleeps, may run on
    /// this thread, and is likely short. Otherwise the job is not woken.
    is_capturing: Cell<bool>,
    captured: Cell<Captured>,
}

/// The outcome of a captured wake.
#[derive(Default)]
pub(super) enum Captured {
    /// A job that counts as running now.
    Job(Arc<dyn Runnable>),
    /// The job runs already, or is about to, and is likely short.
    Busy,
    #[default]
    Nothing,
}

/// While this guard exists, the thread polls an executor of a scheduler.
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
        turn::set_followed(false);
        if let Some(job) = left {
            job.scheduler().clone().push(job, true);
        }
    }
}

/// Takes the job that is to run next on this thread.
pub(super) fn take_next() -> Option<Arc<dyn Runnable>> {
    WORKER_LOCAL.with(|local| local.next.take())
}

/// True on a thread that polls an executor of this scheduler.
pub(super) fn is_executor_of(scheduler: &Arc<Scheduler>) -> bool {
    WORKER_LOCAL.with(|local| local.scheduler.get() == Arc::as_ptr(scheduler).addr())
}

/// Enqueues a job that was woken: with its thread's batch of wakes, or in this thread's slot if
/// possible.
pub(super) fn enqueue(job: Arc<dyn Runnable>) {
    let mut job = wake_batch::add(job);
    // While the thread ends, the slot is gone and the job goes through the shared queue.
    let _ = WORKER_LOCAL.try_with(|local| {
        let Some(woken) = job.take() else { return };
        let is_ours = local.scheduler.get() == Arc::as_ptr(woken.scheduler()).addr();
        job = if is_ours { local.next.replace(Some(woken)) } else { Some(woken) };
    });
    if let Some(job) = job {
        job.scheduler().clone().push(job, true);
    }
}

/// Enqueues a job that was woken during its run or used up its turn, behind the queued ones.
pub(super) fn reenqueue(job: Arc<dyn Runnable>) {
    let scheduler = job.scheduler().clone();
    // This thread looks at the queue next, so a job that is alone there needs no wake.
    let must_wake = !is_executor_of(&scheduler);
    scheduler.push(job, must_wake);
}

/// True while waking a job hands it to the waking code.
pub(super) fn is_capturing() -> bool {
    WORKER_LOCAL.try_with(|local| local.is_capturing.get()).unwrap_or(false)
}

/// Stores a job for the code that woke it.
pub(super) fn store_captured(job: Captured) {
    WORKER_LOCAL.with(|local| local.captured.set(job));
}

/// Wakes the job of this waker and returns it if it could begin now; it then counts as running.
/// Otherwise does nothing.
#[inline]
pub(super) fn capture(waker: Waker) -> Captured {
    WORKER_LOCAL.with(|local| local.is_capturing.set(true));
    let capture = WakeCapture;
    waker.wake();
    drop(capture);
    WORKER_LOCAL.with(|local| local.captured.take())
}

/// While this guard exists, a job that this thread wakes is captured.
struct WakeCapture;

impl Drop for WakeCapture {
    fn drop(&mut self) {
        WORKER_LOCAL.with(|local| local.is_capturing.set(false));
    }
}
