//! The counters of a session, and its row in the metrics of a node.

pub(crate) mod tally;

use std::sync::Arc;

use wigwag_actor::Principal;
use wigwag_net::clock;

use super::{SendState, Session};
use crate::metrics::SessionMetrics;
pub use crate::metrics::SessionStatistics;
use crate::sync::Ordering;

/// Statistics of the session with one peer, from [`Node::statistics`](crate::Node::statistics),
/// which has an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PeerStatistics {
    /// The address of the peer.
    pub peer: Arc<str>,
    /// The name of the peer, if it has one; see [`SessionEvent::name`](super::SessionEvent::name).
    pub name: Option<Arc<str>>,
    /// The authenticated identity of the peer.
    pub principal: Principal,
    /// The counters of the session.
    pub session: SessionStatistics,
}

impl SendState {
    /// The counters of the session.
    pub(super) fn statistics(&self) -> SessionStatistics {
        let received = self.sender.received();
        SessionStatistics {
            frames_sent: self.sender.outbox.next_seq(),
            bytes_received: received.bytes,
            batches_received: received.batches,
            frames_received: received.frames,
            ..self.statistics
        }
    }
}

impl Session {
    pub(crate) fn statistics(&self) -> SessionStatistics {
        self.sending().statistics()
    }

    /// The row of the session; `None` when it has ended.
    pub(crate) fn metrics(&self) -> Option<SessionMetrics> {
        let now = clock::now();
        let sending = self.sending();
        if sending.ended.is_some() {
            return None;
        }
        let cut = sending.cut.as_ref().map(|cut| now.since(cut.since));
        Some(SessionMetrics {
            session: self.number,
            peer: self.peer.to_string(),
            name: self.peer_name.as_deref().map(str::to_owned),
            identity: Some(self.principal().to_string()),
            dialed: self.dialed,
            age_ms: now.since(self.started_at).as_millis() as u64,
            cut_for_ms: cut.map(|time| time.as_millis() as u64),
            rtt_us: sending.sender.rtt().map(|time| time.as_micros() as u64),
            channels: self.inbound_channels.load(Ordering::Relaxed),
            unacked_frames: sending.sender.outbox.unacked(),
            counters: sending.statistics(),
        })
    }
}
