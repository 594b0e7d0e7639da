//! A task that runs the jobs of its crew.
//!
//! A task that one of its jobs wakes comes next on this thread, where no other worker may take it, when
//! the runner's turn ends. So the turn ends before a job that may take long, or that may even block the
//! thread until that task has done something.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::task::coop::has_budget_remaining;

use super::{Crew, local};
use crate::limits::{RUNNER_JOBS_MAX, RUNNER_OWN_MAX};

pub(super) struct Runner {
    /// Which one of the crew.
    number: usize,
    crew: Arc<Crew>,
}

impl Runner {
    pub(super) fn new(number: usize, crew: Arc<Crew>) -> Runner {
        Runner { number, crew }
    }
}

impl Future for Runner {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let crew = &self.crew;
        let _entered = local::enter(crew);
        for count in 0..RUNNER_JOBS_MAX {
            // Those that the others wait for have their turn too.
            let is_lines_turn = count % RUNNER_OWN_MAX == RUNNER_OWN_MAX - 1;
            let first = if is_lines_turn { crew.pop() } else { None };
            let (job, is_own) = match first {
                Some(job) => (Some(job), false),
                None => match local::take_next() {
                    Some(job) => (Some(job), true),
                    None => (crew.pop(), false),
                },
            };
            match job {
                Some(job) if job.is_likely_short() || count == 0 || !crew.is_wide => job.run(),
                Some(job) => {
                    crew.hand_over(self.number, context.waker(), job, is_own);
                    return Poll::Pending;
                }
                None if crew.sleeps(self.number, context.waker()) => return Poll::Pending,
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

impl Drop for Runner {
    fn drop(&mut self) {
        // A runner never ends by itself: its runtime does.
        self.crew.close();
    }
}
