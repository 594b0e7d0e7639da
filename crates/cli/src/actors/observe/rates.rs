//! Rates: the growth of counters between two snapshots of one node.

use std::collections::HashMap;

use wigwag::metrics::{ActorMetrics, Metrics, SessionMetrics};

/// The snapshots that rates are computed from; empty for the first one, and for a node that was
/// started anew.
pub(super) struct Rates<'a> {
    seconds: f64,
    actors: HashMap<&'a str, &'a ActorMetrics>,
    sessions: HashMap<u64, &'a SessionMetrics>,
}

impl<'a> Rates<'a> {
    pub(super) fn between(last: Option<&'a Metrics>, now: &Metrics) -> Rates<'a> {
        let last = last.filter(|last| last.uptime_ms < now.uptime_ms);
        let actors = last.iter().flat_map(|last| &last.actors);
        let sessions = last.iter().flat_map(|last| &last.sessions);
        Rates {
            seconds: last.map_or(0.0, |last| (now.uptime_ms - last.uptime_ms) as f64 / 1000.0),
            actors: actors.map(|actor| (&*actor.actor, actor)).collect(),
            sessions: sessions.map(|session| (session.session, session)).collect(),
        }
    }

    /// Calls that an actor takes in a second; `None` if that is not known.
    pub(super) fn calls(&self, now: &ActorMetrics) -> Option<f64> {
        let last = self.actors.get(&*now.actor)?;
        self.rate(last.taken, now.taken)
    }

    /// Bytes that a session receives and sends in a second.
    pub(super) fn bytes(&self, now: &SessionMetrics) -> (Option<f64>, Option<f64>) {
        let Some(last) = self.sessions.get(&now.session) else { return (None, None) };
        let (last, now) = (&last.counters, &now.counters);
        (
            self.rate(last.bytes_received, now.bytes_received),
            self.rate(last.bytes_sent, now.bytes_sent),
        )
    }

    /// A counter that is smaller than before belongs to another actor of that name.
    fn rate(&self, last: u64, now: u64) -> Option<f64> {
        Some(now.checked_sub(last)? as f64 / self.seconds)
    }
}
