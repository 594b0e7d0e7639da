//! How a job stands: whether it waits for its turn, has it, or is over.
//!
//! The state is three marks in a byte, which each step reads and writes at once. So a thread that
//! wakes a job either queues it, or leaves a mark that the thread that runs it sees when the run is
//! over.

use crate::sync::{AtomicU8, Ordering};

/// It is in line, or must be when its run is over.
const WOKEN: u8 = 1;
const RUNNING: u8 = 2;
const DONE: u8 = 4;

/// Where a job stands.
pub(crate) struct TaskState(AtomicU8);

/// The next step for a job whose run is over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AfterRun {
    /// It sleeps until it is woken.
    Sleeps,
    /// It was woken meanwhile: it must be brought in line.
    Again,
    /// It was cancelled meanwhile.
    Cancelled,
}

impl TaskState {
    pub(crate) fn asleep() -> TaskState {
        TaskState(AtomicU8::new(0))
    }

    /// The state of a job that its creator queues.
    pub(crate) fn woken() -> TaskState {
        TaskState(AtomicU8::new(WOKEN))
    }

    /// Wakes it; true when the caller must bring it in line.
    #[inline]
    pub(crate) fn wake(&self) -> bool {
        self.0.fetch_or(WOKEN, Ordering::AcqRel) == 0
    }

    /// It is taken out of the line; false when it was cancelled and must not run.
    #[inline]
    pub(crate) fn begin(&self) -> bool {
        self.0.compare_exchange(WOKEN, RUNNING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// True when whoever wakes it now is the first.
    #[inline]
    pub(crate) fn is_asleep(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// It is woken by whoever runs it at once; false when it does not sleep.
    #[inline]
    pub(crate) fn begin_asleep(&self) -> bool {
        self.0.compare_exchange(0, RUNNING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Its run is over and it has more to do or to wait for.
    #[inline]
    pub(crate) fn end(&self) -> AfterRun {
        match self.0.fetch_and(!RUNNING, Ordering::AcqRel) {
            before if before & DONE != 0 => AfterRun::Cancelled,
            before if before & WOKEN != 0 => AfterRun::Again,
            _ => AfterRun::Sleeps,
        }
    }

    /// It is never run again; true when it does not run now either, so that it may be dropped.
    pub(crate) fn cancel(&self) -> bool {
        self.0.fetch_or(DONE, Ordering::AcqRel) & RUNNING == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_brought_in_line_once_however_often_it_is_woken() {
        let state = TaskState::asleep();
        assert!(state.wake());
        assert!(!state.wake());
        assert!(state.begin());
        assert!(!state.wake(), "whoever runs it sees the mark");
        assert_eq!(state.end(), AfterRun::Again);
        assert!(state.begin());
        assert_eq!(state.end(), AfterRun::Sleeps);
        assert!(state.wake());
    }

    #[test]
    fn a_job_that_its_waker_runs_is_never_in_line() {
        let state = TaskState::asleep();
        assert!(state.is_asleep() && state.begin_asleep());
        assert!(!state.begin_asleep() && !state.wake());
        assert_eq!(state.end(), AfterRun::Again);
        assert!(!state.begin_asleep(), "it is in line now");
        assert!(state.begin());
    }

    #[test]
    fn a_cancelled_job_does_not_run_again() {
        let state = TaskState::woken();
        assert!(state.cancel());
        assert!(!state.begin() && !state.wake());

        let state = TaskState::woken();
        assert!(state.begin());
        assert!(!state.cancel(), "it runs, so who runs it drops it");
        assert_eq!(state.end(), AfterRun::Cancelled);
    }
}

#[cfg(all(test, wigwag_loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::sync::{AtomicUsize, Mutex};

    /// The state that two wakers and a cancelling thread share with the thread that runs the job.
    struct Table {
        state: TaskState,
        /// How often the job lies in line: never twice.
        line: Mutex<usize>,
        /// The work of the job.
        work: AtomicUsize,
        done: AtomicUsize,
    }

    impl Table {
        fn wake(&self) {
            self.work.fetch_add(1, Ordering::Relaxed);
            if self.state.wake() {
                self.bring();
            }
        }

        fn bring(&self) {
            let mut line = self.line.lock().unwrap();
            *line += 1;
            assert_eq!(*line, 1, "in line twice");
        }

        /// Runs it while it is in line.
        fn run(&self) {
            while std::mem::take(&mut *self.line.lock().unwrap()) == 1 {
                if !self.state.begin() {
                    return;
                }
                self.done.store(self.work.load(Ordering::Relaxed), Ordering::Relaxed);
                if self.state.end() == AfterRun::Again {
                    self.bring();
                }
            }
        }
    }

    fn table() -> Arc<Table> {
        Arc::new(Table {
            state: TaskState::asleep(),
            line: Mutex::new(0),
            work: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
        })
    }

    #[test]
    fn loom_no_wake_is_lost_and_none_runs_twice_at_once() {
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
    fn loom_a_cancelled_job_is_dropped_by_exactly_one() {
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
