//! Waiting for the peer's acknowledgement.

use std::sync::Arc;

use wigwag_actor::CallErrorKind;
use wigwag_link::outbox::{Published, PublishedEnd};

use super::{SendState, Session, SessionEnd};
use crate::sync::Ordering;

/// A caller that waits for an acknowledgement.
struct Flushing<'a>(&'a Session);

impl Drop for Flushing<'_> {
    fn drop(&mut self) {
        self.0.flushing.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Session {
    /// Waits until the peer has acknowledged everything before `end`.
    ///
    /// # Errors
    /// The reason why the session has ended before, once its outcome was announced.
    pub(crate) async fn acknowledged_up_to(&self, end: PublishedEnd) -> Result<(), Arc<str>> {
        self.progressed(|sending| match &sending.ended {
            None => sending.sender.outbox.has_acknowledged(end).then_some(Ok(())),
            Some(ended) => sending.is_announced.then(|| Err(ended.why.clone())),
        })
        .await
    }

    /// Waits until the peer has acknowledged a call.
    ///
    /// # Errors
    /// If the session has ended before: the outcome of the call, and the reason of the end.
    pub(crate) async fn acknowledged_call(
        &self,
        call: Published,
    ) -> Result<(), (CallErrorKind, Arc<str>)> {
        self.progressed(|sending| {
            let outbox = &sending.sender.outbox;
            if outbox.is_acknowledged(call) {
                return Some(Ok(()));
            }
            // The end has settled which frames may have reached the peer.
            let SessionEnd { why, .. } = sending.ended.as_ref()?;
            let kind = match outbox.was_sent(call) {
                true => CallErrorKind::Unknown,
                false => CallErrorKind::NotDelivered,
            };
            Some(Err((kind, why.clone())))
        })
        .await
    }

    /// Waits until the outcome of the calls of a session that has ended was announced.
    pub(crate) async fn end_announced(&self) {
        self.progressed(|sending| sending.is_end_told.then_some(())).await;
    }

    /// Waits until `done` has a result. It is called again after each ack and at the end of the
    /// session.
    async fn progressed<T>(&self, mut done: impl FnMut(&SendState) -> Option<T>) -> T {
        // The reader looks at the count after it has taken an ack under the lock of the send half,
        // which is taken below after the count is set: either it sees the count, or the loop its
        // ack.
        self.flushing.fetch_add(1, Ordering::Relaxed);
        let _flushing = Flushing(self);
        loop {
            let progress = self.progress.notified();
            if let Some(result) = done(&self.sending()) {
                return result;
            }
            progress.await;
        }
    }

    /// True if a caller waits for an acknowledgement.
    pub(crate) fn is_flushing(&self) -> bool {
        self.flushing.load(Ordering::Relaxed) > 0
    }
}
