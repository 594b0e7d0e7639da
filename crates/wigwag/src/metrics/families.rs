//! The families of the page for Prometheus: names, kinds, meanings, and where their values are.
//!
//! The names are an interface: dashboards and alerts refer to them. `docs/observation.md` lists them,
//! and a test compares that list with this file.

use super::{
    AcceptorMetrics, ActorMetrics, LostTells, Metrics, SessionMetrics, SpClientStatistics,
};

/// Whether values only grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
}

/// A family of the rows of type `R`. Without a value a row has no sample.
pub(super) struct Family<R> {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) help: &'static str,
    pub(super) value: fn(&R) -> Option<f64>,
}

const fn counter<R>(
    name: &'static str,
    help: &'static str,
    value: fn(&R) -> Option<f64>,
) -> Family<R> {
    Family { name, kind: Kind::Counter, help, value }
}

const fn gauge<R>(
    name: &'static str,
    help: &'static str,
    value: fn(&R) -> Option<f64>,
) -> Family<R> {
    Family { name, kind: Kind::Gauge, help, value }
}

fn seconds_of(millis: u64) -> f64 {
    millis as f64 / 1000.0
}

pub(super) const NODE: &[Family<Metrics>] = &[
    gauge("wigwag_uptime_seconds", "How long the node has been there.", |node| {
        Some(seconds_of(node.uptime_ms))
    }),
    gauge("wigwag_actors", "Exported actors, by their names.", |node| {
        Some(node.actors_exported as f64)
    }),
    gauge("wigwag_sessions", "Open sessions.", |node| Some(node.sessions_open as f64)),
];

/// Labels: `actor`, `kind`.
pub(super) const ACTOR: &[Family<ActorMetrics>] = &[
    gauge("wigwag_actor_up", "1 while the exported actor has not ended.", |actor| {
        Some(f64::from(u8::from(!actor.has_ended)))
    }),
    gauge("wigwag_actor_waiting_calls", "Calls that wait in the mailbox.", |actor| {
        Some(actor.waiting as f64)
    }),
    gauge(
        "wigwag_actor_capacity_calls",
        "Calls of local senders that may wait in the mailbox.",
        |actor| Some(actor.capacity as f64),
    ),
    counter(
        "wigwag_actor_taken_calls_total",
        "Calls that the actor has taken to handle, of all callers and of timers.",
        |actor| Some(actor.taken as f64),
    ),
    counter(
        "wigwag_actor_dropped_calls_total",
        "Calls that were dropped for lack of room.",
        |actor| Some(actor.dropped as f64),
    ),
    counter("wigwag_actor_restarts_total", "Restarts by the actor's supervisor.", |actor| {
        Some(actor.restarts as f64)
    }),
    counter(
        "wigwag_actor_remote_tells_total",
        "Tells from other processes whose handlers have ended.",
        |actor| Some(actor.remote_tells as f64),
    ),
    counter(
        "wigwag_actor_remote_asks_total",
        "Asks from other processes whose handlers have ended.",
        |actor| Some(actor.remote_asks as f64),
    ),
];

/// Labels: those of an actor, and `reason`.
pub(super) const REJECTED: Family<u64> = counter(
    "wigwag_actor_rejected_calls_total",
    "Calls from other processes that have failed, by reason.",
    |calls| Some(*calls as f64),
);

/// Labels: `session`, `peer`, `name`, `identity`. The counters of a session are families too:
/// [`SessionStatistics::COUNTERS`](super::SessionStatistics::COUNTERS).
pub(super) const SESSION: &[Family<SessionMetrics>] = &[
    gauge("wigwag_session_connected", "1 while the session has a connection.", |session| {
        Some(f64::from(u8::from(session.cut_for_ms.is_none())))
    }),
    gauge("wigwag_session_age_seconds", "How long the session has been open.", |session| {
        Some(seconds_of(session.age_ms))
    }),
    gauge("wigwag_session_cut_seconds", "How long it has had no connection.", |session| {
        session.cut_for_ms.map(seconds_of)
    }),
    gauge(
        "wigwag_session_rtt_seconds",
        "The shortest round trip over its connection.",
        |session| session.rtt_us.map(|micros| micros as f64 / 1_000_000.0),
    ),
    gauge("wigwag_session_channels", "Channels over which the peer calls actors.", |session| {
        Some(session.channels as f64)
    }),
    gauge(
        "wigwag_session_unacked_frames",
        "Frames that the peer has not acknowledged.",
        |session| Some(session.unacked_frames as f64),
    ),
];

/// Labels: `how`.
pub(super) const ENDED: Family<u64> =
    counter("wigwag_ended_sessions_total", "Sessions that have ended.", |count| {
        Some(*count as f64)
    });

pub(super) const EVICTED: &[Family<Metrics>] = &[counter(
    "wigwag_evicted_sessions_total",
    "Sessions that the node has given up to make room, or because nothing came over them.",
    |node| Some(node.ended.evicted as f64),
)];

pub(super) const ACCEPTOR: &[Family<AcceptorMetrics>] = &[
    counter("wigwag_acceptor_connections_total", "Connections that were accepted.", |acceptor| {
        Some(acceptor.accepted as f64)
    }),
    counter(
        "wigwag_acceptor_failures_total",
        "Connections that could not be accepted, for example for want of descriptors.",
        |acceptor| Some(acceptor.accepts_failed as f64),
    ),
    gauge("wigwag_acceptor_handshakes", "Connections in their handshake.", |acceptor| {
        Some(acceptor.handshakes as f64)
    }),
    counter("wigwag_acceptor_sessions_total", "Sessions that peers have opened.", |acceptor| {
        Some(acceptor.opened as f64)
    }),
    counter(
        "wigwag_acceptor_resumes_total",
        "Connections with which dialers have resumed their sessions.",
        |acceptor| Some(acceptor.resumed as f64),
    ),
    counter("wigwag_acceptor_sp_clients_total", "Connections of SP clients.", |acceptor| {
        Some(acceptor.sp_clients as f64)
    }),
];

/// Labels: `reason`.
pub(super) const REFUSED: Family<u64> = counter(
    "wigwag_acceptor_refused_total",
    "Connections that came to nothing, by reason.",
    |count| Some(*count as f64),
);

pub(super) const SP_CLIENTS: &[Family<SpClientStatistics>] = &[
    gauge("wigwag_sp_client_connections", "Connections of SP clients that are open.", |clients| {
        Some(clients.connections as f64)
    }),
    counter(
        "wigwag_sp_client_requests_total",
        "Requests and surveys, also those that were answered with an error.",
        |clients| Some(clients.requests as f64),
    ),
    counter("wigwag_sp_client_tells_total", "Messages of push sockets.", |clients| {
        Some(clients.tells as f64)
    }),
    counter(
        "wigwag_sp_client_rejected_tells_total",
        "Messages of push sockets that came to nothing.",
        |clients| Some(clients.rejected_tells as f64),
    ),
    counter(
        "wigwag_sp_client_published_total",
        "Values that actors have published while somebody followed.",
        |clients| Some(clients.published as f64),
    ),
    counter(
        "wigwag_sp_client_published_dropped_total",
        "Values that a subscriber has lost, each for each subscriber.",
        |clients| Some(clients.published_dropped as f64),
    ),
];

/// Labels: `loss`. These are of the whole process.
pub(super) const LOST_TELLS: Family<u64> =
    counter("wigwag_lost_tells_total", "Tells that the process has lost.", |tells| {
        Some(*tells as f64)
    });

/// The lost tells by the value of their label.
pub(super) fn losses(lost: &LostTells) -> [(&'static str, u64); 5] {
    let LostTells { refused, ended, no_room, not_understood, rejected } = *lost;
    [
        ("refused", refused),
        ("ended", ended),
        ("no_room", no_room),
        ("not_understood", not_understood),
        ("rejected", rejected),
    ]
}
