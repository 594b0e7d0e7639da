//! Metrics of a node: what its actors, sessions and listeners have done, as plain numbers.
//!
//! [`Node::metrics`](crate::Node::metrics) takes a snapshot, [`Metrics::to_prometheus`] prints it as
//! a page for Prometheus, and [`Node::peer_metrics`](crate::Node::peer_metrics) fetches the snapshot
//! of another node that [allows it](crate::NodeOptions::observable). `docs/observation.md` says what
//! each number means.
//!
//! ```
//! use wigwag::{Actor, Node};
//!
//! struct Echo;
//!
//! #[wigwag::actor]
//! impl Echo {
//!     pub fn say(&self, word: String) -> String {
//!         word
//!     }
//! }
//!
//! # #[wigwag::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (service, client) = (Node::new(), Node::new());
//! service.export("echo", &Echo.spawn())?;
//! let bound = service.listen("tcp://127.0.0.1:0").await?;
//! let echo = client.actor::<Echo>(&format!("{bound}/echo")).await?;
//! assert_eq!(echo.say("hello".to_owned()).ask().await?, "hello");
//!
//! let metrics = service.metrics();
//! assert_eq!((&*metrics.actors[0].actor, metrics.actors[0].remote_asks), ("echo", 1));
//! assert_eq!(metrics.acceptor.opened, 1);
//! # Ok(()) }
//! ```
// The counters stand where the things happen. This room has the form of a snapshot, the page, and the
// actor that hands a snapshot to other nodes.

pub(crate) mod counters;
pub(crate) mod observer;
mod rows;
mod session_counters;
mod families;
mod page;

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

pub use rows::{
    AcceptorMetrics, ActorMetrics, EndedSessions, LostTells, SessionMetrics, SpClientStatistics,
};
pub use session_counters::SessionStatistics;

use crate::limits::METRICS_ROWS_MAX;

/// A snapshot of a node; see the [module](self) for an example.
///
/// It can be written and read by serde. A field that the writer did not know is zero or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Metrics {
    /// The name of the node, if it has one.
    pub node: Option<String>,
    /// How long the node has been there.
    pub uptime_ms: u64,
    /// The number of exported actors, those without a row of their own included. An actor with two names
    /// counts twice.
    pub actors_exported: u64,
    /// The exported actors in the order of their names, 1,024 at most. A last row without a name is
    /// the sum of all others.
    pub actors: Vec<ActorMetrics>,
    /// The number of open sessions, those without a row of their own included.
    pub sessions_open: u64,
    /// The open sessions in the order of their age, 1,024 at most. A last row with the number 0 is
    /// the sum of all others.
    pub sessions: Vec<SessionMetrics>,
    /// The sessions that have ended.
    pub ended: EndedSessions,
    /// The listeners.
    pub acceptor: AcceptorMetrics,
    /// The SP clients.
    pub sp_clients: SpClientStatistics,
    /// The tells that the whole process has lost.
    pub lost_tells: LostTells,
}

impl Metrics {
    /// Counts and sorts the rows, and sums those beyond the limit.
    pub(crate) fn bounded(mut self) -> Metrics {
        self.actors_exported = self.actors.len() as u64;
        self.sessions_open = self.sessions.len() as u64;
        self.actors.sort_unstable_by(|one, other| one.actor.cmp(&other.actor));
        self.sessions.sort_unstable_by_key(|session| (Reverse(session.age_ms), session.session));
        let others = behind_limit(&mut self.actors);
        self.actors
            .extend(others.into_iter().reduce(ActorMetrics::with).map(ActorMetrics::unnamed));
        let others = behind_limit(&mut self.sessions);
        let sum = others.into_iter().reduce(SessionMetrics::with).map(SessionMetrics::unnamed);
        self.sessions.extend(sum);
        self
    }
}

/// Takes out the rows that are summed: none, or those behind the last that leaves room for the sum.
fn behind_limit<T>(rows: &mut Vec<T>) -> Vec<T> {
    match rows.len() > METRICS_ROWS_MAX {
        true => rows.split_off(METRICS_ROWS_MAX - 1),
        false => Vec::new(),
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    #[test]
    fn sessions_beyond_the_limit_are_one_row_with_the_sum() {
        let others = 11;
        let row = |session: u64| {
            let counters = SessionStatistics { bytes_sent: 10 + session, ..Default::default() };
            let (peer, age_ms) = ("a peer".to_owned(), 10_000 - session);
            SessionMetrics { session, peer, age_ms, channels: 2, counters, ..Default::default() }
        };
        let most = METRICS_ROWS_MAX as u64;
        let sessions: Vec<_> = (1..most + others).rev().map(row).collect();
        let actors = vec![ActorMetrics::default(); 3];
        let metrics = Metrics { actors, sessions, ..Metrics::default() }.bounded();
        assert_eq!(metrics.sessions.len(), METRICS_ROWS_MAX);
        assert_eq!((metrics.sessions_open, metrics.actors_exported), (most - 1 + others, 3));
        let (sum, rows) = metrics.sessions.split_last().expect("there are rows");
        assert!(rows.iter().zip(1..).all(|(row, session)| row.session == session));
        let bytes: u64 = (most..most + others).map(|session| 10 + session).sum();
        assert_eq!((sum.session, sum.channels, sum.counters.bytes_sent), (0, 2 * others, bytes));
        let page = metrics.to_prometheus();
        let labels = r#"{session="others",peer="",name="",identity=""}"#;
        let line = format!("wigwag_session_bytes_sent_total{labels} {bytes}\n");
        assert!(page.contains(&line), "{line}");
        let line = format!("wigwag_sessions {}\n", most - 1 + others);
        assert!(page.contains(&line), "{line}");
    }
}
