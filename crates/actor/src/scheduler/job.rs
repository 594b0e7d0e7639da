//! A job: one actor task that a scheduler runs, as a runtime runs a task.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use super::inline::may_run_inline;
use super::run_length::RunLength;
use super::task_state::{AfterRun, TaskState};
use super::worker_local::Captured;
use super::{ActorTask, DirectCall, Scheduler, worker_local};

/// A job with the type of its task erased.
pub(super) trait Runnable: Send + Sync {
    /// Runs the job until it waits or ends, unless it was cancelled. The caller took it out of the
    /// run queue or out of its thread's slot.
    fn run(self: Arc<Self>);

    /// True when the job's next run is likely short; the query counts as a run.
    fn is_likely_short(&self) -> bool;

    /// Cancels the job: it never runs again. Its task is dropped here, or at the end of a current
    /// run.
    fn cancel(&self);

    /// Runs a job that has begun already, with a [direct call](ActorTask::poll_call).
    fn run_with(self: Arc<Self>, call: &mut DirectCall<'_>);

    fn scheduler(&self) -> &Arc<Scheduler>;
}

pub(super) struct Job<L> {
    state: TaskState,
    run_length: RunLength,
    /// The job's index in the scheduler's job slab.
    at: u32,
    scheduler: Arc<Scheduler>,
    /// Never contended: only the thread that runs or drops the job locks it.
    future: Mutex<Option<PolledTask<L>>>,
}

/// A task that has not ended.
struct PolledTask<L> {
    future: L,
    /// The job's own waker, from its first run on. It keeps the job alive until the task is
    /// dropped.
    waker: Option<Waker>,
}

impl<L: ActorTask> Job<L> {
    pub(super) fn new(future: L, state: TaskState, at: u32, scheduler: Arc<Scheduler>) -> Job<L> {
        let task = PolledTask { future, waker: None };
        Job {
            state,
            run_length: RunLength::unknown(),
            at,
            scheduler,
            future: Mutex::new(Some(task)),
        }
    }

    /// Polls the task; true when it has ended.
    fn poll(self: &Arc<Self>, call: &mut DirectCall<'_>) -> bool {
        let mut task = self.future.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(PolledTask { future, waker }) = &mut *task else { return true };
        let waker = waker.get_or_insert_with(|| Waker::from(self.clone()));
        let poll = || future.poll_call(&mut Context::from_waker(waker), call);
        // A panic that got this far has been reported by the panic hook.
        !matches!(catch_unwind(AssertUnwindSafe(poll)), Ok(Poll::Pending))
    }

    /// Drops the task outside of the lock, because dropping it may wake other jobs.
    fn drop_task(&self) {
        let future = self.future.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A panic in a destructor has been reported by the panic hook too.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
    }
}

impl<L: ActorTask> Runnable for Job<L> {
    fn run(self: Arc<Self>) {
        if self.state.begin() {
            self.run_with(&mut DirectCall::None);
        }
    }

    fn is_likely_short(&self) -> bool {
        self.run_length.is_likely()
    }

    fn run_with(self: Arc<Self>, call: &mut DirectCall<'_>) {
        let measured = self.run_length.begin();
        if self.poll(call) {
            self.state.cancel();
            self.drop_task();
            drop(self.scheduler.remove(self.at));
            return;
        }
        self.run_length.end(measured);
        match self.state.end() {
            AfterRun::Sleeps => {}
            AfterRun::Again => worker_local::reenqueue(self),
            AfterRun::Cancelled => self.drop_task(),
        }
    }

    fn cancel(&self) {
        if self.state.cancel() {
            self.drop_task();
        }
    }

    fn scheduler(&self) -> &Arc<Scheduler> {
        &self.scheduler
    }
}

impl<L: ActorTask> Wake for Job<L> {
    fn wake(self: Arc<Self>) {
        if worker_local::is_capturing() {
            if !may_run_inline(&self.scheduler) {
                return;
            }
            let is_asleep = self.state.is_asleep();
            // A query whether it is likely short counts as a run, so a busy one is not asked.
            if is_asleep && self.run_length.is_likely() && self.state.begin_asleep() {
                worker_local::store_captured(Captured::Job(self));
            } else if !is_asleep && self.run_length.is_known() {
                worker_local::store_captured(Captured::Busy);
            }
        } else if self.state.wake() {
            worker_local::enqueue(self);
        }
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.wake() {
            worker_local::enqueue(self.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_adds_little_to_what_it_runs() {
        let job = size_of::<Job<[u8; 0]>>();
        assert!(job <= 48, "{job}");
    }
}
