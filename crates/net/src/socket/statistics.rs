//! Statistics of a socket and of each of its pipes.
//!
//! Everything that is discarded has a counter here or in the protocol's [`Counters`].
//! `docs/options.md` explains each counter.

use wigwag_sp::{Counters, DropReason};
use wigwag_wire::HeaderError;

use crate::error::NetErrorKind;

/// Statistics of a socket since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// The counters of the protocol: messages, and drops by reason.
    pub counters: Counters,
    /// The traffic of all connections.
    pub traffic: Traffic,
    /// Connections that are open now.
    pub pipes_open: u64,
    /// Connections that were opened in total.
    pub pipes_opened: u64,
    /// Connections that were opened and have ended, for any reason.
    pub pipes_closed: u64,
    /// Connections that the protocol refused: a second peer of a pair.
    pub pipes_refused: u64,
    /// Connections that the [watcher](crate::socket::PipeWatcher) refused.
    pub pipes_turned_away: u64,
    /// Connections that were closed because the peer broke a rule; the message that did so is
    /// counted only here.
    pub pipes_punished: u64,
    /// Connections that the peer ended right after a long message, from the second in a row on, or
    /// that it reset when the socket closed after one: its receive limit is probably smaller
    /// ([`PipeEnd::Refused`](crate::socket::PipeEnd::Refused)).
    pub pipes_refused_by_length: u64,
    /// Accepted connections whose SP header was wrong or not in time, for all reasons.
    pub handshakes_failed: u64,
    /// The failed handshakes by reason.
    pub handshakes: HandshakeFailures,
    /// Dials after the first one of each dialer, successful or not.
    pub redials: u64,
    /// Background dials that failed.
    pub dials_failed: u64,
    /// Accepts that the operating system refused.
    pub accepts_failed: u64,
    /// Messages that were being written when their connection ended; whether they arrived is
    /// unknown.
    pub messages_cut_off: u64,
    /// Messages that had been read but not processed, for lack of room, when their connection
    /// ended.
    pub messages_unread: u64,
}

/// The traffic of one connection or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Messages handed to the connection for writing.
    pub messages_sent: u64,
    /// Their bytes: protocol header and body, without the framing.
    pub bytes_sent: u64,
    /// Messages read from the connection, including those that were dropped afterwards.
    pub messages_received: u64,
    /// Their bytes: protocol header and body, without the framing.
    pub bytes_received: u64,
}

impl Traffic {
    pub(crate) fn add(&mut self, more: Traffic) {
        self.messages_sent += more.messages_sent;
        self.bytes_sent += more.bytes_sent;
        self.messages_received += more.messages_received;
        self.bytes_received += more.bytes_received;
    }
}

/// Why accepted connections did not become pipes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandshakeFailures {
    /// An SP peer with a protocol that this socket cannot talk to.
    pub wrong_protocol: u64,
    /// No SP peer: other bytes, or another version.
    pub not_sp: u64,
    /// The header was not complete in time.
    pub timed_out: u64,
    /// The header was not complete when a newer connection needed the place.
    pub evicted: u64,
    /// The peer left before its header was complete.
    pub closed: u64,
    /// The handshake of TLS has failed.
    pub tls: u64,
    /// An error of the operating system.
    pub system: u64,
}

impl HandshakeFailures {
    /// Counts a handshake that has failed.
    pub fn count(&mut self, kind: &NetErrorKind) {
        let counter = match kind {
            NetErrorKind::Header(HeaderError::WrongProtocol { .. }) => &mut self.wrong_protocol,
            NetErrorKind::Header(_) => &mut self.not_sp,
            #[cfg(feature = "ws")]
            NetErrorKind::WebSocket(_) => &mut self.not_sp,
            NetErrorKind::TimedOut(_) => &mut self.timed_out,
            NetErrorKind::Evicted => &mut self.evicted,
            NetErrorKind::Closed { .. } => &mut self.closed,
            #[cfg(feature = "tls")]
            NetErrorKind::Tls(_) => &mut self.tls,
            _ => &mut self.system,
        };
        *counter += 1;
    }

    /// Each reason by its name, with its count.
    pub fn by_reason(&self) -> [(&'static str, u64); 7] {
        let HandshakeFailures { wrong_protocol, not_sp, timed_out, evicted, closed, tls, system } =
            *self;
        [
            ("wrong_protocol", wrong_protocol),
            ("not_sp", not_sp),
            ("timed_out", timed_out),
            ("evicted", evicted),
            ("closed", closed),
            ("tls", tls),
            ("system", system),
        ]
    }
}

/// Statistics of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PipeStatistics {
    /// The traffic of the connection.
    pub traffic: Traffic,
    /// Messages of this peer that were dropped, by reason; of the other counters only `filtered` is
    /// used. Messages that could not be sent to it are counted by the socket.
    pub dropped: Counters,
}

impl PipeStatistics {
    /// Counts a dropped message of this peer; true if it is the first for that reason.
    pub(crate) fn drop_one(&mut self, reason: DropReason) -> bool {
        let before = self.dropped.dropped_for(reason);
        self.dropped.drop_one(reason);
        before == 0
    }
}
