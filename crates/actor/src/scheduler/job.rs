//! One life that a crew runs: what a task is to a runtime.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use super::inline::may_run_inline;
use super::run_length::RunLength;
use super::task_state::{AfterRun, TaskState};
use super::{ActorTask, DirectCall, Scheduler, worker_local};

/// A job, whatever it runs.
pub(super) trait Runnable: Send + Sync {
    /// Runs the job as far as it comes. The caller has taken it from the queue, or has woken it.
    fn run(self: Arc<Self>);

    /// True when its next run is likely short; it counts.
    fn is_likely_short(&self) -> bool;

    /// It never runs again; its life ends here, or where it runs just now.
    fn cancel(&self);

    /// Runs a job that has begun already, with a [call at hand](ActorTask::poll_call).
    fn run_with(self: Arc<Self>, call: &mut DirectCall<'_>);

    fn scheduler(&self) -> &Arc<Scheduler>;
}

pub(super) struct Job<L> {
    state: TaskState,
    run_length: RunLength,
    /// Its place in the crew's table.
    at: u32,
    scheduler: Arc<Scheduler>,
    /// Only whoever runs it, or drops it, locks this: nobody ever waits.
    future: Mutex<Option<PolledTask<L>>>,
}

/// A life that has not ended.
struct PolledTask<L> {
    future: L,
    /// The waker of the job, from its first run on: it keeps the job until the life is dropped.
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

    /// Polls its life; true when that has ended.
    fn poll(self: &Arc<Self>, call: &mut DirectCall<'_>) -> bool {
        let mut task = self.future.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(PolledTask { future, waker }) = &mut *task else { return true };
        let waker = waker.get_or_insert_with(|| Waker::from(self.clone()));
        let poll = || future.poll_call(&mut Context::from_waker(waker), call);
        // A panic that got this far has been reported by the panic hook.
        !matches!(catch_unwind(AssertUnwindSafe(poll)), Ok(Poll::Pending))
    }

    /// Drops its life, outside of the lock: what it holds may wake anybody.
    fn drop_task(&self) {
        let future = self.future.lock().unwrap_or_else(PoisonError::into_inner).take();
        // This also holds for a panic in a destructor.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
    }
}

impl<L: ActorTask> Runnable for Job<L> {
    fn run(self: Arc<Self>) {
        if self.state.begin() {
            self.run_with(&mut DirectCall { message: &mut (), asker: &mut None });
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
            // The count comes last: one run less is taken for short.
            let may_begin = may_run_inline(&self.scheduler)
                && self.state.is_asleep()
                && self.run_length.is_likely();
            if may_begin && self.state.begin_asleep() {
                worker_local::store_captured(self);
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
