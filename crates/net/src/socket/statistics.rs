//! What a socket and each of its pipes has done, in numbers.
//!
//! Nothing is thrown away in silence: whatever is has a counter here or in the protocol's
//! [`Counters`]. `docs/options.md` says which one counts what.

use wigwag_sp::{Counters, DropReason};
use wigwag_wire::HeaderError;

use crate::error::NetErrorKind;

/// What a socket has done, in numbers since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// What the protocol counts: messages, and each drop by its reason.
    pub counters: Counters,
    /// What went over all connections.
    pub traffic: Traffic,
    /// Connections that are open now.
    pub pipes_open: u64,
    /// Connections that were opened in all.
    pub pipes_opened: u64,
    /// Connections that were open and are not any more, whatever ended them.
    pub pipes_closed: u64,
    /// Connections that the protocol turned away: a second peer of a pair.
    pub pipes_refused: u64,
    /// Connections that the [watcher](super::PipeWatcher) turned away.
    pub pipes_turned_away: u64,
    /// Connections that were closed because the peer broke a rule; the message that did so counts
    /// here and nowhere else.
    pub pipes_punished: u64,
    /// Arrivals whose SP header was wrong or did not come in time, for all reasons.
    pub handshakes_failed: u64,
    /// The same by reason.
    pub handshakes: HandshakeFailures,
    /// Dials after the first one of each dialer, successful or not.
    pub redials: u64,
    /// Dials in the background that failed.
    pub dials_failed: u64,
    /// Accepts that the system refused.
    pub accepts_failed: u64,
    /// Messages that were being written when their connection ended: arrived or not, nobody knows.
    pub messages_cut_off: u64,
    /// Messages that had been read and not looked at, for want of room, when their connection
    /// ended.
    pub messages_unread: u64,
}

/// What went over a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Messages given to the connection to be written.
    pub messages_sent: u64,
    /// Their bytes: protocol header and body, without the framing.
    pub bytes_sent: u64,
    /// Messages read from the connection, those that were dropped then among them.
    pub messages_received: u64,
    /// Their bytes: protocol header and body, without the framing.
    pub bytes_received: u64,
}

impl Traffic {
    pub(super) fn add(&mut self, more: Traffic) {
        self.messages_sent += more.messages_sent;
        self.bytes_sent += more.bytes_sent;
        self.messages_received += more.messages_received;
        self.bytes_received += more.bytes_received;
    }
}

/// Why arrivals did not become pipes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandshakeFailures {
    /// An SP peer of a protocol that this socket cannot talk to.
    pub wrong_protocol: u64,
    /// No SP peer: other bytes, another version.
    pub not_sp: u64,
    /// The header was not whole in time.
    pub timed_out: u64,
    /// The header was not whole when a newer connection needed the place.
    pub evicted: u64,
    /// The peer left before its header was whole.
    pub closed: u64,
    /// An error of the system.
    pub system: u64,
}

impl HandshakeFailures {
    pub(super) fn count(&mut self, kind: &NetErrorKind) {
        let counter = match kind {
            NetErrorKind::Header(HeaderError::WrongProtocol { .. }) => &mut self.wrong_protocol,
            NetErrorKind::Header(_) => &mut self.not_sp,
            NetErrorKind::TimedOut(_) => &mut self.timed_out,
            NetErrorKind::Evicted => &mut self.evicted,
            NetErrorKind::Closed { .. } => &mut self.closed,
            _ => &mut self.system,
        };
        *counter += 1;
    }
}

/// What one connection has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PipeStatistics {
    /// What went over it.
    pub traffic: Traffic,
    /// What came from this peer and was dropped, by reason; of the other counters here only
    /// `filtered` is used. What could not be sent to it counts with the socket.
    pub dropped: Counters,
}

impl PipeStatistics {
    /// Counts a message of this peer that was dropped; true when it is the first for that reason.
    pub(super) fn drop_one(&mut self, reason: DropReason) -> bool {
        let before = self.dropped.dropped_for(reason);
        self.dropped.drop_one(reason);
        before == 0
    }
}
