//! The counters of a node itself: newcomers, and sessions that have ended. A connection pays for it, not a
//! message.

use std::sync::Mutex;

use wigwag_link::{Code, LinkError};
use wigwag_net::clock;
use wigwag_net::socket::HandshakeFailures;
use wigwag_wire::Time;

use super::{AcceptorMetrics, EndedSessions, SessionStatistics};
use crate::error::NodeError;
use crate::lock::lock;

/// The counters of a node.
pub(crate) struct NodeCounters {
    pub(crate) started_at: Time,
    acceptor: Mutex<(AcceptorMetrics, HandshakeFailures)>,
    ended: Mutex<EndedSessions>,
}

impl NodeCounters {
    pub(crate) fn new() -> NodeCounters {
        let (acceptor, ended) = Default::default();
        NodeCounters { started_at: clock::now(), acceptor, ended }
    }

    /// Counts something of the acceptor.
    pub(crate) fn acceptor(&self, count: impl FnOnce(&mut AcceptorMetrics)) {
        count(&mut lock(&self.acceptor).0);
    }

    /// Counts a connection that came to nothing.
    pub(crate) fn refused(&self, why: &NodeError) {
        let mut guard = lock(&self.acceptor);
        let (acceptor, failures) = &mut *guard;
        let reason = match why {
            NodeError::Net(error) => return failures.count(&error.kind),
            NodeError::Session { error: LinkError::Misbehaved { code, .. }, .. } => match *code {
                Code::TOO_MANY => "too_many",
                Code::SESSION_UNKNOWN => "unknown_session",
                Code::DIAL_TIE | Code::EXISTS => "other_session",
                Code::AUTH_REQUIRED | Code::AUTH_FAILED | Code::TOKEN_BAD => "not_authenticated",
                _ => "protocol",
            },
            NodeError::Closed => "closing",
            _ => "protocol",
        };
        *acceptor.refused.entry(reason.to_owned()).or_default() += 1;
    }

    /// The counters of the listeners, with `handshakes` under way.
    pub(crate) fn acceptor_metrics(&self, handshakes: u64) -> AcceptorMetrics {
        let (mut acceptor, failures) = lock(&self.acceptor).clone();
        acceptor.handshakes = handshakes;
        let failed = failures.by_reason().into_iter().filter(|(_, count)| *count > 0);
        acceptor.refused.extend(failed.map(|(reason, count)| (reason.to_owned(), count)));
        acceptor
    }

    /// Counts a session that has ended.
    pub(crate) fn session_ended(&self, is_closed: bool, counters: &SessionStatistics) {
        let mut ended = lock(&self.ended);
        *(if is_closed { &mut ended.closed } else { &mut ended.lost }) += 1;
        ended.counters.add(counters);
    }

    /// Counts a session that this node gives up.
    pub(crate) fn session_evicted(&self) {
        lock(&self.ended).evicted += 1;
    }

    pub(crate) fn ended_sessions(&self) -> EndedSessions {
        lock(&self.ended).clone()
    }
}
