//! The rows of a snapshot.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wigwag_actor::{ActorCounters, Losses};

use super::SessionStatistics;

/// An exported actor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ActorMetrics {
    /// The name under which it is exported. Under two names, an actor has two rows with the same
    /// counters.
    pub actor: String,
    /// The name of its type.
    pub kind: String,
    /// It has ended, and its name can be used again.
    pub has_ended: bool,
    /// Calls that wait in its mailbox.
    pub waiting: u64,
    /// Calls of local senders that may wait there.
    pub capacity: u64,
    /// Calls that it has taken to handle, of all callers and of timers.
    pub taken: u64,
    /// Calls that were dropped for lack of room.
    pub dropped: u64,
    /// How often its supervisor has restarted it.
    pub restarts: u64,
    /// Tells from other processes whose handlers have ended.
    pub remote_tells: u64,
    /// Asks from other processes whose handlers have ended.
    pub remote_asks: u64,
    /// Calls from other processes that have failed, by reason.
    pub rejected: BTreeMap<String, u64>,
}

impl ActorMetrics {
    pub(crate) fn new(actor: &str, kind: &str, counters: ActorCounters) -> ActorMetrics {
        let rejected = counters.rejected.into_iter();
        ActorMetrics {
            actor: actor.to_owned(),
            kind: kind.to_owned(),
            has_ended: counters.has_ended,
            waiting: counters.waiting,
            capacity: counters.capacity,
            taken: counters.taken,
            dropped: counters.dropped,
            restarts: counters.restarts,
            remote_tells: counters.remote_tells,
            remote_asks: counters.remote_asks,
            rejected: rejected.map(|(reason, calls)| (reason.to_owned(), calls)).collect(),
        }
    }

    /// Calls from other processes that have failed, for all reasons.
    pub fn rejected_calls(&self) -> u64 {
        self.rejected.values().sum()
    }

    /// The sum of two rows.
    pub(super) fn with(mut self, other: ActorMetrics) -> ActorMetrics {
        self.has_ended &= other.has_ended;
        self.waiting += other.waiting;
        self.capacity += other.capacity;
        self.taken += other.taken;
        self.dropped += other.dropped;
        self.restarts += other.restarts;
        self.remote_tells += other.remote_tells;
        self.remote_asks += other.remote_asks;
        for (reason, calls) in other.rejected {
            *self.rejected.entry(reason).or_default() += calls;
        }
        self
    }

    pub(super) fn unnamed(self) -> ActorMetrics {
        ActorMetrics { actor: String::new(), kind: String::new(), ..self }
    }
}

/// An open session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SessionMetrics {
    /// A number that no other session of the process has.
    pub session: u64,
    /// The address of the peer.
    pub peer: String,
    /// The name of the peer, if it has one.
    pub name: Option<String>,
    /// The identity that the peer has proved, if any.
    pub identity: Option<String>,
    /// This node has dialed, not the peer.
    pub dialed: bool,
    /// How long the session has been open.
    pub age_ms: u64,
    /// How long it has had no connection; `None` while it has one.
    pub cut_for_ms: Option<u64>,
    /// The shortest round trip over its connection, once one was measured.
    pub rtt_us: Option<u64>,
    /// Channels over which the peer calls actors of this node.
    pub channels: u64,
    /// Frames that the peer has not acknowledged.
    pub unacked_frames: u64,
    /// The counters of the session.
    pub counters: SessionStatistics,
}

impl SessionMetrics {
    /// The sum of two rows.
    pub(super) fn with(mut self, other: SessionMetrics) -> SessionMetrics {
        self.channels += other.channels;
        self.unacked_frames += other.unacked_frames;
        self.counters.add(&other.counters);
        self
    }

    pub(super) fn unnamed(self) -> SessionMetrics {
        let SessionMetrics { channels, unacked_frames, counters, .. } = self;
        SessionMetrics { channels, unacked_frames, counters, ..SessionMetrics::default() }
    }
}

/// The sessions that have ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EndedSessions {
    /// Those that one of the two nodes has closed in good order.
    pub closed: u64,
    /// Those that were lost, or given up.
    pub lost: u64,
    /// Those among them that this node has given up to make room, or because nothing came over them.
    pub evicted: u64,
    /// The counters of all of them together.
    pub counters: SessionStatistics,
}

/// The listeners of a node together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AcceptorMetrics {
    /// Connections that were accepted.
    pub accepted: u64,
    /// Connections that could not be accepted, for example for want of descriptors.
    pub accepts_failed: u64,
    /// Connections in their handshake.
    pub handshakes: u64,
    /// Sessions that peers have opened.
    pub opened: u64,
    /// Connections with which dialers have resumed their sessions.
    pub resumed: u64,
    /// Connections of SP clients.
    pub sp_clients: u64,
    /// Connections that came to nothing, by reason.
    pub refused: BTreeMap<String, u64>,
}

/// Counters of a node for its SP clients, since its start. [`Node::sp_client_statistics`] returns
/// them.
///
/// [`Node::sp_client_statistics`]: crate::Node::sp_client_statistics
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SpClientStatistics {
    /// Connections that are open now.
    pub connections: usize,
    /// Requests and surveys, also those that were answered with an error.
    pub requests: u64,
    /// Messages of push sockets.
    pub tells: u64,
    /// Tells among them that came to nothing: malformed, for an actor or a method that is not there,
    /// or with wrong arguments.
    pub rejected_tells: u64,
    /// Values that actors have published while somebody followed.
    pub published: u64,
    /// Values that a subscriber has lost because it reads too slowly, or was gone, each for each
    /// subscriber.
    pub published_dropped: u64,
}

/// Tells that the process has lost, by the way they were lost; see
/// [`Losses`](crate::dead_letters::Losses).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LostTells {
    /// The actor had ended or was closing.
    pub refused: u64,
    /// The actor ended before they were handled.
    pub ended: u64,
    /// They were dropped for lack of room.
    pub no_room: u64,
    /// They came from another process, and the actor did not understand them.
    pub not_understood: u64,
    /// An actor of another process did not understand them.
    pub rejected: u64,
}

impl From<Losses> for LostTells {
    fn from(losses: Losses) -> LostTells {
        let Losses { refused, ended, no_room, not_understood, rejected, .. } = losses;
        LostTells { refused, ended, no_room, not_understood, rejected }
    }
}
