//! Waiting for the peer's acknowledgement.

use std::sync::Arc;

use super::Session;
use crate::sync::Ordering;

/// A caller that waits for an acknowledgement.
struct Flushing<'a>(&'a Session);

impl Drop for Flushing<'_> {
    fn drop(&mut self) {
        self.0.flushing.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Session {
    /// Waits until the peer has acknowledged all frames before number `mark`.
    ///
    /// # Errors
    /// The reason why the session has ended before, once its outcome was announced.
    pub(crate) async fn acknowledged_up_to(&self, mark: u64) -> Result<(), Arc<str>> {
        // The reader looks at the count after it has taken an ack under the lock of the send half,
        // which is taken below after the count is set: either it sees the count, or the loop its
        // ack.
        self.flushing.fetch_add(1, Ordering::Relaxed);
        let _flushing = Flushing(self);
        loop {
            let progress = self.progress.notified();
            {
                let sending = self.sending();
                match &sending.ended {
                    None if sending.sender.outbox.acked() >= mark => return Ok(()),
                    Some(ended) if sending.is_announced => return Err(ended.why.clone()),
                    _ => {}
                }
            }
            progress.await;
        }
    }

    /// True if a caller waits for an acknowledgement.
    pub(crate) fn is_flushing(&self) -> bool {
        self.flushing.load(Ordering::Relaxed) > 0
    }
}
