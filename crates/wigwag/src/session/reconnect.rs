//! Moves a session from a lost connection to the next one.

use std::sync::{Arc, PoisonError};
use std::task::Waker;
use std::time::Duration;

use wigwag_actor::{Disconnection, NextAttempt};
use wigwag_link::LinkError;
use wigwag_net::{Connection, clock};
use wigwag_wire::Time;

use super::Session;
use crate::events::SessionChange;
use crate::session::connection::SessionConnection;
use crate::sync::Ordering;

/// A cut that lasts: what a caller is told who needs the peer now.
pub(super) struct Cut {
    /// The time of the cut.
    pub(super) since: Time,
    /// Why the last attempt to reconnect has failed; before the first one, how the cut was noticed.
    why: Arc<str>,
    /// The time of the next attempt; `None` during one, and always at the side that is dialed.
    next_attempt: Option<Time>,
}

impl Session {
    /// Handles a cut: frames that the connection did not write whole have not arrived.
    pub(crate) fn connection_lost(&self, lost: &SessionConnection, why: &str) {
        let was_torn = lost.flusher.retire();
        if let Some(mut reading) = self.reading.enter(lost.epoch) {
            reading.dispatcher.connection_lost();
        }
        let mut sending = self.sending();
        if sending.epoch != lost.epoch || sending.ended.is_some() {
            return;
        }
        if was_torn {
            sending.sender.outbox.mark_torn();
        }
        sending.cut.get_or_insert_with(|| Cut {
            since: clock::now(),
            why: why.into(),
            next_attempt: None,
        });
        sending.statistics.cuts += 1;
        drop(sending);
        self.announce(SessionChange::Cut { why: why.into() });
    }

    /// Notes when the dialer will try again; `None` when it begins to.
    pub(crate) fn plan_attempt(&self, at: Option<Time>) {
        if let Some(cut) = &mut self.sending().cut {
            cut.next_attempt = at;
        }
    }

    /// Notes why an attempt to reconnect has failed.
    pub(crate) fn attempt_failed(&self, why: &str) {
        if let Some(cut) = &mut self.sending().cut {
            cut.why = why.into();
        }
    }

    /// The reason that a caller is told while the session has no connection.
    pub(crate) fn disconnection(&self) -> Option<Disconnection> {
        let (sending, now) = (self.sending(), clock::now());
        let cut = sending.cut.as_ref().filter(|_| sending.ended.is_none())?;
        let next_attempt = match cut.next_attempt {
            _ if self.resumption.dialed().is_none() => NextAttempt::ByPeer,
            Some(at) => NextAttempt::In(at.since(now)),
            None => NextAttempt::UnderWay,
        };
        Some(Disconnection { why: cut.why.clone(), since: now.since(cut.since), next_attempt })
    }

    /// Continues the session over `connection`, whose other end has accepted everything before
    /// `recv_next`. `None` if the session is over or continues over a newer connection.
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
        // The peer has proved that it holds the token, so it knows that the session is open.
        self.last_received.store(now.as_nanos(), Ordering::Relaxed);
        let cut = sending.cut.take();
        sending.statistics.resumes += 1;
        sending.statistics.frames_repeated += repeated;
        let front_wakers = if has_room { sending.front_wakers() } else { Vec::new() };
        let producers = if has_room { sending.take_producers() } else { Vec::new() };
        *current = next.clone();
        drop(sending);
        drop(current);
        // The peer has said what it has accepted before the cut.
        self.progress.notify_waiters();
        front_wakers.into_iter().for_each(Waker::wake);
        producers.iter().for_each(|producer| producer.wake());
        let after = cut.map_or(Duration::ZERO, |cut| now.since(cut.since));
        self.announce(SessionChange::Resumed { after, repeated });
        Ok(Some(next))
    }
}
