//! A scheduler with a random order, for tests: any queued job may run next, not only the first.
//!
//! The order on a quiet machine differs from that on a busy one, and a test that only ever meets
//! one order says nothing about the other. So this executor draws from a seed which job runs and
//! when it yields to the tasks of the runtime; equal seeds draw equal orders. This holds because
//! every job goes through the queue: the executor does not enter its thread's `worker_local`, so no
//! job is kept apart to run next there, and `QueuedOnly` keeps askers from running actors inline
//! (`inline`).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

use super::job::Runnable;
use super::{Scheduler, lock};
use crate::limits::EXECUTOR_JOBS_MAX;

/// Mean number of jobs in a turn of the executor; the seed picks one of these. With the first,
/// tasks and actors alternate; with the last, actors get far ahead of the tasks.
const TURN_JOBS_MEAN: [u64; 3] = [1, 3, 12];

impl Scheduler {
    /// Creates the scheduler of a single-threaded runtime, with an order that follows from `seed`.
    /// Call it on a new runtime: an existing scheduler would stay as it is.
    pub(crate) fn start_random(runtime: &Handle, seed: u64) {
        drop(Scheduler::with_executors(runtime, |number, scheduler| {
            RandomExecutor::new(number, scheduler, seed)
        }));
    }

    /// Takes a random queued job.
    fn pop_random(&self, rng: &mut Rng) -> Option<Arc<dyn Runnable>> {
        let mut queue = lock(&self.queue);
        let at = rng.below(queue.jobs.len() as u64);
        queue.jobs.swap_remove_back(at as usize)
    }
}

/// An executor that runs the jobs of its scheduler in random order.
struct RandomExecutor {
    number: usize,
    scheduler: Arc<Scheduler>,
    rng: Rng,
    jobs_mean: u64,
}

impl RandomExecutor {
    fn new(number: usize, scheduler: Arc<Scheduler>, seed: u64) -> RandomExecutor {
        let mut rng = Rng(seed);
        let at = rng.below(TURN_JOBS_MEAN.len() as u64);
        RandomExecutor { number, scheduler, rng, jobs_mean: TURN_JOBS_MEAN[at as usize] }
    }
}

impl Future for RandomExecutor {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        for _ in 0..EXECUTOR_JOBS_MAX {
            match this.scheduler.pop_random(&mut this.rng) {
                Some(job) => job.run(),
                None if this.scheduler.park(this.number, context.waker()) => return Poll::Pending,
                None => {}
            }
            if this.rng.below(this.jobs_mean) == 0 {
                break;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for RandomExecutor {
    fn drop(&mut self) {
        // As with the other executors, its runtime has ended.
        self.scheduler.close();
    }
}

/// Random numbers from a seed: splitmix64 (Steele, Lea, Flood 2014). Written out here, so that a
/// seed from an old log still draws the same numbers.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ (value >> 31)
    }

    /// A number below `end`; 0 if `end` is 0.
    fn below(&mut self, end: u64) -> u64 {
        // The bias of a remainder is far too small for a test to see: queues are short.
        self.next().checked_rem(end).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the reference program for seed 1234567.
    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        let mut rng = Rng(1_234_567);
        let first = [(); 3].map(|()| rng.next());
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn below_nothing_is_the_first_place() {
        let mut rng = Rng(1);
        assert_eq!(rng.below(0), 0);
        assert!((0..100).all(|_| rng.below(3) < 3));
    }
}
