//! Work that the first thread to arrive does for all others.
//!
//! Any thread with something to write may flush. One thread does the work; the others leave a note
//! that there is more, and go on. The worker checks the note again after releasing the lock, so a
//! note left at the last moment is never lost (`handover_loom.rs` tries every interleaving).

use std::sync::PoisonError;

use crate::sync::{AtomicBool, Mutex, Ordering};

/// The state of the work behind a lock, and the note.
#[derive(Debug)]
pub struct Handover<T> {
    again: AtomicBool,
    work: Mutex<T>,
}

impl<T> Handover<T> {
    /// Creates the work with its initial state.
    pub fn new(state: T) -> Handover<T> {
        Handover { again: AtomicBool::new(false), work: Mutex::new(state) }
    }

    /// Runs `work` once on this thread, after waiting for the thread that is working.
    pub fn run_alone<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // A panic leaves the state as it was between two steps, which is all that is promised.
        let mut state = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut state)
    }

    /// Runs `work` on this thread at least once, after waiting for the thread that is working. Work
    /// that is noted meanwhile is done too, on this thread or on another.
    pub fn run_here(&self, mut work: impl FnMut(&mut T)) {
        self.run_alone(&mut work);
        // A thread that came during the work has left a note and gone on.
        if self.again.fetch_or(false, Ordering::AcqRel) {
            self.run(work);
        }
    }

    /// Ensures that `work` runs at least once after this call began, on this thread or on the
    /// thread that is already working. Never waits.
    pub fn run(&self, mut work: impl FnMut(&mut T)) {
        // AcqRel pairs with the check below; both are read-modify-writes, so one of them sees the
        // other. Either the worker's check finds our note, or our note comes after its check: then
        // its release happened before, and our try_lock succeeds.
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
    fn a_note_left_during_work_of_this_thread_alone_causes_another_run() {
        let handover = Handover::new(0_u32);
        handover.run_here(|runs| {
            *runs += 1;
            if *runs == 1 {
                handover.run(|_| unreachable!("the work is taken"));
            }
        });
        assert_eq!(*handover.work.lock().unwrap(), 2);
    }

    #[test]
    fn a_note_left_during_the_work_causes_another_run() {
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
