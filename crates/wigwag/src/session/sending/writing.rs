//! Writing the output of a session: now, at the end of a turn, or by the driver.

use std::time::Duration;

use tokio::runtime::Handle;
use wigwag_actor::turn;

use crate::session::Session;
use crate::session::connection::DrivenSession;

impl Session {
    /// Writes all waiting output on the calling thread.
    pub(crate) fn flush(&self) {
        let connection = self.connection();
        connection.flusher.flush(&DrivenSession { session: self, connection: &connection });
    }

    /// Writes all waiting output, and waits up to `limit` for the socket to accept it. True if
    /// nothing is left.
    pub(crate) fn flush_blocking(&self, limit: Duration) -> bool {
        let connection = self.connection().clone();
        connection
            .flusher
            .flush_blocking(&DrivenSession { session: self, connection: &connection }, limit)
    }

    /// Writes the ask of a caller that waits for its answer: at once if it is alone. One of many is
    /// left to the driver, behind the tasks that are runnable now, together with what they send.
    pub(crate) fn flush_ask(&self) {
        if self.asks.are_several_taken() {
            self.wake_driver();
        } else {
            self.flush();
        }
    }

    /// Writes what a turn has sent, unless turns of other actors follow on this thread, or the driver
    /// is about to run behind the tasks that are runnable now: then the driver writes what all of
    /// them send.
    pub(crate) fn flush_turn(&self) {
        if turn::is_followed() || self.connection().flusher.is_driver_queued() {
            self.wake_driver();
        } else {
            self.flush();
        }
    }

    /// True if the driver runs soon, to write.
    pub(crate) fn is_driver_due(&self) -> bool {
        self.connection().flusher.is_driver_due()
    }

    /// Wakes the driver to write the waiting output.
    pub(crate) fn wake_driver(&self) {
        if self.connection().flusher.wake_driver() {
            self.watch_wake();
        }
    }

    /// True if the watchdog's thread may write.
    pub(crate) fn may_watchdog_write(&self) -> bool {
        self.connection().writes_on_any_thread
    }

    /// Writes what a blocked thread has left, on a thread outside the runtime.
    #[cold]
    pub(crate) fn flush_for_other(&self) {
        // The clock is the runtime's.
        let _entered = self.runtime.as_ref().map(Handle::enter);
        self.flush();
    }

    /// True if a turn may add a segment of items to the outbox.
    #[cold]
    pub(crate) fn has_room_for_items(&self) -> bool {
        let sending = self.sending();
        sending.ended.is_none() && sending.sender.outbox.has_room_for_calls()
    }
}
