//! A note that the driver of a connection is wanted, and the driver's waker.
//!
//! Where many tasks send through one connection, nearly every one finds the note there already. That
//! costs it one atomic operation.

use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// The note.
#[derive(Default)]
pub(super) struct Signal {
    raised: AtomicBool,
    sleeper: Mutex<Sleeper>,
}

#[derive(Default)]
struct Sleeper {
    driver: Option<Waker>,
    /// Times that a sleeping driver was woken.
    wakes: u64,
}

impl Signal {
    /// Leaves the note, and wakes the driver if it sleeps. The driver finds
    /// what the caller has sent before when it has taken the note. True if the driver slept.
    pub(super) fn raise(&self) -> bool {
        // The caller who has left this note wakes the driver.
        if self.raised.swap(true, Ordering::SeqCst) {
            return false;
        }
        let mut sleeper = self.sleeper();
        let Some(driver) = sleeper.driver.take() else { return false };
        sleeper.wakes += 1;
        drop(sleeper);
        driver.wake();
        true
    }

    pub(super) fn is_raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    /// How often a sleeping driver was woken, and whether it has not run since the last time.
    pub(super) fn wakes(&self) -> (u64, bool) {
        let sleeper = self.sleeper();
        (sleeper.wakes, sleeper.driver.is_none() && self.is_raised())
    }

    /// Takes the note, or registers the driver's waker for the next one.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<()> {
        if self.raised.swap(false, Ordering::SeqCst) {
            return Poll::Ready(());
        }
        let mut sleeper = self.sleeper();
        if !sleeper.driver.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            sleeper.driver = Some(context.waker().clone());
        }
        // A caller who has come meanwhile may have looked for the waker before it was there.
        if self.raised.swap(false, Ordering::SeqCst) {
            sleeper.driver = None;
            return Poll::Ready(());
        }
        Poll::Pending
    }

    fn sleeper(&self) -> MutexGuard<'_, Sleeper> {
        // The value is consistent between statements, so a panic elsewhere cannot have broken it.
        self.sleeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, wigwag_loom))]
#[path = "signal_loom.rs"]
mod models;

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_notes_wakes_the_driver_and_the_next_poll_takes_them_all() {
        let signal = Signal::default();
        let context = Context::from_waker(Waker::noop());
        assert!(!signal.raise(), "nobody sleeps yet");
        assert!(signal.poll(&context).is_ready());
        assert!(signal.poll(&context).is_pending());
        assert_eq!((signal.raise(), signal.raise()), (true, false));
        assert_eq!(signal.wakes(), (1, true));
        assert!(signal.poll(&context).is_ready());
        assert_eq!((signal.wakes(), signal.is_raised()), ((1, false), false));
        assert!(signal.poll(&context).is_pending());
        assert!(signal.raise());
    }
}
