//! Handing jobs to another worker of the runtime while the task that woke them goes on.
//!
//! A runtime keeps the task that was woken last for the thread that woke it, where no other worker
//! looks for it: for a task that soon waits itself, this is the quickest way. But a task that goes
//! on sending would fill the mailbox of an actor that cannot begin. Another task that is woken takes
//! the place of the first one, which then goes to a queue from which idle workers steal. So two
//! more executors are woken; those that find no job park again.
//!
//! It is not for speed: an actor would wait for as long as the sender's thread is busy or blocked.

use tokio::runtime::Handle;

use super::{Scheduler, lock, worker_local};

/// Executors beside one for each worker. While one polls the caller, which is an actor, and the
/// runtime has two workers, two others can be woken.
pub(super) const SPARE_EXECUTORS: usize = 1;

/// Makes other workers of the caller's runtime run the jobs that wait, because the caller goes on.
/// Outside a runtime this does nothing: there every wake reaches an idle worker.
#[cold]
pub(crate) fn hurry() {
    if let Some(job) = worker_local::take_next() {
        job.scheduler().clone().push(job, true);
    }
    let Ok(runtime) = Handle::try_current() else { return };
    let existing = || Scheduler::existing(&runtime).map(Scheduler::remembered);
    if let Some(scheduler) = Scheduler::recent(&runtime).or_else(existing) {
        scheduler.displace();
    }
}

impl Scheduler {
    /// Wakes two executors, if a job waits.
    fn displace(&self) {
        let mut queue = lock(&self.queue);
        if queue.jobs.is_empty() {
            return;
        }
        let woken = [queue.parked.pop(), queue.parked.pop()];
        drop(queue);
        woken.into_iter().flatten().for_each(|(_, waker)| waker.wake());
    }
}
