//! Cancelling jobs whose end wakes other jobs.
//!
//! A job that is dropped may hold the last reference to an actor, which is woken by that, and cancelled
//! in turn where the scheduler is closed. Actors may form a chain of any length, so each job is
//! cancelled after the one that has woken it, and not within it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use super::job::Runnable;

thread_local! {
    /// The jobs that are cancelled next, while this thread cancels one.
    static NEXT: RefCell<Option<VecDeque<Arc<dyn Runnable>>>> = const { RefCell::new(None) };
}

/// Cancels a job, at once or after the one that this thread is cancelling.
pub(super) fn cancel(job: Arc<dyn Runnable>) {
    let waits = NEXT.with_borrow_mut(|next| match next {
        Some(jobs) => {
            jobs.push_back(job.clone());
            true
        }
        None => {
            *next = Some(VecDeque::new());
            false
        }
    });
    let mut current = Some(job).filter(|_| !waits);
    while let Some(job) = current {
        // No panic comes out of it.
        job.cancel();
        drop(job);
        current = NEXT.with_borrow_mut(|next| {
            let job = next.as_mut().and_then(VecDeque::pop_front);
            if job.is_none() {
                *next = None;
            }
            job
        });
    }
}
