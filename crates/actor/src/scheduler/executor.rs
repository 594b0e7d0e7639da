//! The executor: a task of the runtime that runs the jobs of its scheduler.
//!
//! A task that one of the jobs wakes runs next on this thread, where no other worker may take it,
//! once the executor's turn ends. So the turn ends before a job that may take long, or that may
//! even block the thread until that task has done something.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::task::coop::has_budget_remaining;

use super::{Scheduler, worker_local};
use crate::limits::{EXECUTOR_JOBS_MAX, EXECUTOR_OWN_MAX};

pub(super) struct Executor {
    /// The executor's index in its scheduler.
    number: usize,
    scheduler: Arc<Scheduler>,
}

impl Executor {
    pub(super) fn new(number: usize, scheduler: Arc<Scheduler>) -> Executor {
        Executor { number, scheduler }
    }
}

impl Future for Executor {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let scheduler = &self.scheduler;
        let _entered = worker_local::enter(scheduler);
        for count in 0..EXECUTOR_JOBS_MAX {
            // Jobs of the shared queue get their turn too.
            let is_queue_turn = count % EXECUTOR_OWN_MAX == EXECUTOR_OWN_MAX - 1;
            let first = if is_queue_turn { scheduler.pop() } else { None };
            let (job, is_own) = match first {
                Some(job) => (Some(job), false),
                None => match worker_local::take_next() {
                    Some(job) => (Some(job), true),
                    None => (scheduler.pop(), false),
                },
            };
            match job {
                Some(job) if job.is_likely_short() || count == 0 || !scheduler.is_wide => job.run(),
                Some(job) => {
                    scheduler.hand_over(self.number, context.waker(), job, is_own);
                    return Poll::Pending;
                }
                None if scheduler.park(self.number, context.waker()) => return Poll::Pending,
                None => {}
            }
            if !has_budget_remaining() {
                break;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        // An executor never ends by itself; it is dropped with its runtime.
        self.scheduler.close();
    }
}
