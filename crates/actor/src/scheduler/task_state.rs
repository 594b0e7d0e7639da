//! The state of a job: whether it sleeps, is queued, runs, or is done.
//!
//! The state is three flags in one byte; each change reads and writes the byte in one atomic step.
//! The thread that wakes a sleeping job must enqueue it. A wake during a run only sets a flag,
//! which the executor of the run sees when the run ends.

use crate::sync::{AtomicU8, Ordering};

/// The job is queued, or must be queued when its run ends.
const WOKEN: u8 = 1;
const RUNNING: u8 = 2;
const DONE: u8 = 4;

/// The atomic state of one job.
pub(crate) struct TaskState(AtomicU8);

/// The next step for a job after its run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterRun {
    /// The job sleeps until it is woken.
    Sleeps,
    /// The job was woken during the run and must be queued.
    Again,
    /// The job was cancelled during the run.
    Cancelled,
}

impl TaskState {
    pub(crate) fn asleep() -> TaskState {
        TaskState(AtomicU8::new(0))
    }

    /// The state of a new job that its creator enqueues.
    pub(crate) fn woken() -> TaskState {
        TaskState(AtomicU8::new(WOKEN))
    }

    /// Wakes the job; true when the caller must enqueue it.
    #[inline]
    pub(crate) fn wake(&self) -> bool {
        self.0.fetch_or(WOKEN, Ordering::AcqRel) == 0
    }

    /// Marks a dequeued job as running; false when it was cancelled and must not run.
    #[inline]
    pub(crate) fn begin(&self) -> bool {
        self.0.compare_exchange(WOKEN, RUNNING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// True when the next wake is the one that must enqueue the job.
    #[inline]
    pub(crate) fn is_asleep(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// Marks a sleeping job as running, without queueing it; false when it does not sleep.
    #[inline]
    pub(crate) fn begin_asleep(&self) -> bool {
        self.0.compare_exchange(0, RUNNING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Ends a run of a job that has more to do or to wait for.
    #[inline]
    pub(crate) fn end(&self) -> AfterRun {
        match self.0.fetch_and(!RUNNING, Ordering::AcqRel) {
            before if before & DONE != 0 => AfterRun::Cancelled,
            before if before & WOKEN != 0 => AfterRun::Again,
            _ => AfterRun::Sleeps,
        }
    }

    /// Keeps the job from running again; true when it is not running now, so that the caller may
    /// drop it.
    pub(crate) fn cancel(&self) -> bool {
        self.0.fetch_or(DONE, Ordering::AcqRel) & RUNNING == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_queued_once_however_often_it_is_woken() {
        let state = TaskState::asleep();
        assert!(state.wake());
        assert!(!state.wake());
        assert!(state.begin());
        assert!(!state.wake(), "its executor sees the flag");
        assert_eq!(state.end(), AfterRun::Again);
        assert!(state.begin());
        assert_eq!(state.end(), AfterRun::Sleeps);
        assert!(state.wake());
    }

    #[test]
    fn a_job_that_its_waker_runs_is_not_queued_meanwhile() {
        let state = TaskState::asleep();
        assert!(state.is_asleep() && state.begin_asleep());
        assert!(!state.begin_asleep() && !state.wake());
        assert_eq!(state.end(), AfterRun::Again);
        assert!(!state.begin_asleep(), "the job is queued");
        assert!(state.begin());
    }

    #[test]
    fn a_cancelled_job_does_not_run_again() {
        let state = TaskState::woken();
        assert!(state.cancel());
        assert!(!state.begin() && !state.wake());

        let state = TaskState::woken();
        assert!(state.begin());
        assert!(!state.cancel(), "the executor of the running job drops it");
        assert_eq!(state.end(), AfterRun::Cancelled);
    }
}

#[cfg(all(test, wigwag_loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::sync::{AtomicUsize, Mutex};

    /// State that two wakers and a canceller share with the thread that runs the job.
    struct Table {
        state: TaskState,
        /// The number of times that the job is queued, at most once.
        queued: Mutex<usize>,
        /// Units of work for the job.
        work: AtomicUsize,
        done: AtomicUsize,
    }

    impl Table {
        fn wake(&self) {
            self.work.fetch_add(1, Ordering::Relaxed);
            if self.state.wake() {
                self.enqueue();
            }
        }

        fn enqueue(&self) {
            let mut queued = self.queued.lock().unwrap();
            *queued += 1;
            assert_eq!(*queued, 1, "the job is queued twice");
        }

        /// Runs the job while it is queued.
        fn run(&self) {
            while std::mem::take(&mut *self.queued.lock().unwrap()) == 1 {
                if !self.state.begin() {
                    return;
                }
                self.done.store(self.work.load(Ordering::Relaxed), Ordering::Relaxed);
                if self.state.end() == AfterRun::Again {
                    self.enqueue();
                }
            }
        }
    }

    fn table() -> Arc<Table> {
        Arc::new(Table {
            state: TaskState::asleep(),
            queued: Mutex::new(0),
            work: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
        })
    }

    #[test]
    fn loom_no_wake_is_lost_and_no_job_runs_twice_at_once() {
        loom::model(|| {
            let table = table();
            let others: Vec<_> = (0..2)
                .map(|_| {
                    let table = table.clone();
                    thread::spawn(move || {
                        table.wake();
                        table.run();
                    })
                })
                .collect();
            others.into_iter().for_each(|other| other.join().unwrap());
            table.run();
            assert_eq!(table.done.load(Ordering::Relaxed), 2);
        });
    }

    #[test]
    fn loom_a_cancelled_job_is_dropped_by_exactly_one_thread() {
        loom::model(|| {
            let table = table();
            let dropped = Arc::new(AtomicUsize::new(0));
            let (other, drops) = (table.clone(), dropped.clone());
            let cancels = thread::spawn(move || {
                if other.state.cancel() {
                    drops.fetch_add(1, Ordering::Relaxed);
                }
            });
            if table.state.wake() && table.state.begin() {
                if table.state.end() == AfterRun::Cancelled {
                    dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            cancels.join().unwrap();
            assert_eq!(dropped.load(Ordering::Relaxed), 1);
        });
    }
}
