//! Events of the sessions of a node.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::broadcast::{self, error::RecvError};

use crate::limits::EVENTS_MAX;

/// Something has happened to a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionEvent {
    /// The address of the peer.
    pub peer: Arc<str>,
    /// The event.
    pub what: SessionChange,
}

/// The kinds of session events.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionChange {
    /// It has begun.
    Opened,
    /// The connection was lost. Messages that are sent meanwhile wait.
    Cut {
        /// The observed reason.
        why: Arc<str>,
    },
    /// It goes on over another connection; nothing is lost.
    Resumed {
        /// How long it had none.
        after: Duration,
        /// Frames that go out once more.
        repeated: u64,
    },
    /// At the peer's address listens another node or another program. The session waits for its own
    /// peer to come back.
    PeerChanged {
        /// The node or program that was found there.
        found: Arc<str>,
    },
    /// It is over.
    Ended {
        /// Why.
        why: Arc<str>,
        /// The outcomes of the tells, one entry for each called actor; see [`Delivery`]. The
        /// outcomes of asks are returned to their callers.
        deliveries: Arc<[Delivery]>,
    },
}

/// The outcomes of the calls to one actor in a session that has ended, in the order in which the
/// calls were sent: first those that were handled, then those with an unknown outcome, then those
/// that never arrived. The three numbers add up to all calls that were sent since the reference was
/// fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery {
    /// The actor's address.
    pub target: Arc<str>,
    /// Calls that certainly were handled.
    pub delivered: u64,
    /// Calls behind them that were handled or not.
    pub unknown: u64,
    /// Calls at the end that certainly were not handled: it is safe to send them again.
    pub not_delivered: u64,
}

/// The events of a node from [`Node::session_events`](crate::Node::session_events) on.
pub struct SessionEvents {
    receiver: broadcast::Receiver<SessionEvent>,
    missed: u64,
}

/// Where a node's events go out. The places for those that wait are a hundred kilobytes, so they are
/// made when somebody listens.
#[derive(Clone, Default)]
pub(crate) struct Announcer(Arc<OnceLock<broadcast::Sender<SessionEvent>>>);

impl Announcer {
    /// Tells those who listen, if there are any.
    pub(crate) fn announce(&self, peer: &Arc<str>, what: SessionChange) {
        if let Some(sender) = self.0.get() {
            // The last of them may have gone away.
            let _ = sender.send(SessionEvent { peer: peer.clone(), what });
        }
    }
}

impl SessionEvents {
    pub(crate) fn of(announcer: &Announcer) -> SessionEvents {
        let sender = announcer.0.get_or_init(|| broadcast::Sender::new(EVENTS_MAX));
        SessionEvents { receiver: sender.subscribe(), missed: 0 }
    }

    /// Returns the next event; `None` when the node is gone. A receiver that does not keep up
    /// misses the oldest events.
    ///
    /// # Cancellation
    /// Dropped while it waits, it has taken nothing.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        loop {
            match self.receiver.recv().await {
                Ok(event) => return Some(event),
                Err(RecvError::Lagged(missed)) => self.missed += missed,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Events that were missed because 1,024 newer ones had come.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}
