//! Work that whoever comes first does for all.
//!
//! Anybody who has something to write may flush. One does the work; the others leave a note that
//! there is more and go on. The worker looks at the note again after it has let go of the work, so
//! a note left at the last moment is never lost (`handover_loom.rs` tries every interleaving).

use std::sync::PoisonError;

use crate::sync::{AtomicBool, Mutex, Ordering};

/// A piece of work, its state, and the note.
#[derive(Debug)]
pub struct Handover<T> {
    again: AtomicBool,
    work: Mutex<T>,
}

impl<T> Handover<T> {
    /// Work that nobody has begun.
    pub fn new(state: T) -> Handover<T> {
        Handover { again: AtomicBool::new(false), work: Mutex::new(state) }
    }

    /// Runs `work` once, by this thread, when nobody else is at it: waits for the one who is.
    pub fn run_alone<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // One that panicked has left it as it was between two steps, which is all that is promised.
        let mut state = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut state)
    }

    /// Has `work` run at least once after this call began, by this thread or by the one that is at
    /// it. Never waits.
    pub fn run(&self, mut work: impl FnMut(&mut T)) {
        // AcqRel, with the look below; both are read-modify-writes, so one of them sees the other.
        // Either the worker's look finds our note, or our note finds the worker's look: then its
        // letting go happened before, and our try_lock succeeds.
        self.again.swap(true, Ordering::AcqRel);
        loop {
            // A worker that panicked leaves the lock poisoned; the connection ends with it.
            let Ok(mut state) = self.work.try_lock() else {
                return;
            };
            while self.again.swap(false, Ordering::AcqRel) {
                work(&mut state);
            }
            drop(state);
            if !self.again.fetch_or(false, Ordering::AcqRel) {
                return;
            }
        }
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_followed_by_a_run_of_the_work() {
        let handover = Handover::new(0_u32);
        handover.run(|runs| *runs += 1);
        handover.run(|runs| *runs += 1);
        assert_eq!(*handover.work.lock().unwrap(), 2);
    }

    #[test]
    fn a_note_left_during_the_work_is_worked_off() {
        let handover = Handover::new(0_u32);
        handover.run(|runs| {
            *runs += 1;
            if *runs == 1 {
                handover.run(|_| unreachable!("the work is taken"));
            }
        });
        assert_eq!(*handover.work.lock().unwrap(), 2);
    }
}

#[cfg(all(test, wigwag_loom))]
#[path = "handover_loom.rs"]
mod handover_loom;
