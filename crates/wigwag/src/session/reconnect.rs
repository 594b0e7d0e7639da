//! How a session loses a connection and takes the next.

use std::sync::{Arc, PoisonError};
use std::task::Waker;
use std::time::Duration;

use wigwag_link::LinkError;
use wigwag_net::{Connection, clock};

use super::Session;
use crate::events::SessionChange;
use crate::session::connection::SessionConnection;
use crate::sync::Ordering;

impl Session {
    /// A connection is cut. What it did not write whole has not arrived.
    pub(crate) fn connection_lost(&self, lost: &SessionConnection, why: &str) {
        let was_torn = lost.flusher.retire();
        let mut sending = self.sending();
        if sending.epoch != lost.epoch || sending.ended.is_some() {
            return;
        }
        if was_torn {
            sending.sender.outbox.mark_torn();
        }
        sending.cut.get_or_insert(clock::now());
        sending.statistics.cuts += 1;
        drop(sending);
        self.announce(SessionChange::Cut { why: why.into() });
    }

    /// The session goes on over `connection`, whose other end has accepted everything before
    /// `recv_next`. `None` when it is over, or has gone on over a newer connection.
    pub(crate) fn resume_on(
        &self,
        epoch: u64,
        connection: &Connection,
        recv_next: u64,
    ) -> Result<Option<Arc<SessionConnection>>, LinkError> {
        let next = Arc::new(SessionConnection::new(epoch, connection));
        let now = clock::now();
        let mut current = self.connection.write().unwrap_or_else(PoisonError::into_inner);
        let mut sending = self.sending();
        if sending.ended.is_some() || sending.epoch >= epoch {
            return Ok(None);
        }
        let outbox = &sending.sender.outbox;
        let repeated = (outbox.next_seq() - outbox.untaken_frames()).saturating_sub(recv_next);
        let has_room = sending.sender.resume(recv_next, now)?;
        sending.epoch = epoch;
        // Its token has proved it: it is a peer that has heard of the session.
        self.last_received.store(now.as_nanos(), Ordering::Relaxed);
        let cut_at = sending.cut.take();
        sending.statistics.resumes += 1;
        sending.statistics.frames_repeated += repeated;
        let front_wakers = if has_room { sending.front_wakers() } else { Vec::new() };
        *current = next.clone();
        drop(sending);
        drop(current);
        front_wakers.into_iter().for_each(Waker::wake);
        let after = cut_at.map_or(Duration::ZERO, |cut_at| now.since(cut_at));
        self.announce(SessionChange::Resumed { after, repeated });
        Ok(Some(next))
    }
}
