//! The watch of the driver, after a sender outside a turn has woken it to write.
//!
//! The runtime queues a task that was woken by another task behind that one, on its thread, where
//! no other thread takes it. A task that sends and then blocks its thread delays the driver.

use std::sync::Weak;

use super::{Due, Lateness, Watch, Watched, watch};
use crate::session::Session;
use crate::sync::{AtomicBool, Ordering};

/// Whether the watchdog looks at the wakes of a session's driver.
#[derive(Default)]
pub(crate) struct WakeWatch {
    is_on: AtomicBool,
}

/// The wakes of a session's driver.
struct WatchedWakes {
    session: Weak<Session>,
    /// By the number of the wake.
    lateness: Lateness,
}

impl Session {
    /// Announces to the watchdog that this thread has just woken the driver, so that the watchdog
    /// writes if the driver does not.
    pub(crate) fn watch_wake(&self) {
        // AcqRel pairs with the swap below: either this swap comes after it and begins a watch, or
        // the watchdog sees the wake that precedes this call.
        if self.wake_watch.is_on.swap(true, Ordering::AcqRel) || !self.may_watchdog_write() {
            return;
        }
        let (wakes, _) = self.connection().flusher.wakes();
        let watched = WatchedWakes { session: self.me.clone(), lateness: Lateness::since(wakes) };
        if !watch(watched) {
            self.wake_watch.is_on.store(false, Ordering::Release);
        }
    }
}

impl Watched for WatchedWakes {
    fn check(&mut self) -> Watch {
        let Some(session) = self.session.upgrade() else { return Watch::Over };
        let wakes = || session.connection().flusher.wakes();
        match self.lateness.tick(wakes()) {
            Due::Nothing => {}
            Due::End => {
                session.wake_watch.is_on.swap(false, Ordering::AcqRel);
                let (_, is_unanswered) = wakes();
                // A sender that wakes the driver now begins a watch of its own.
                if !is_unanswered || session.wake_watch.is_on.swap(true, Ordering::AcqRel) {
                    return Watch::Over;
                }
            }
            Due::Publish => session.flush_for_other(),
        }
        Watch::On
    }
}
