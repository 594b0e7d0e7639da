//! The metrics of a node: each counter is moved by what it counts.

mod actors;
mod sessions;
mod newcomers;
mod page;
mod peers;
mod events;

use std::time::Duration;

use tokio::time::sleep;
use wigwag::Node;
use wigwag::metrics::{ActorMetrics, Metrics, SessionMetrics};

use super::sessions::PATIENCE;

/// Waits until a snapshot of the node is as it should be. Some counters move a moment after the answer
/// to the call that they count.
async fn until(node: &Node, is_right: impl Fn(&Metrics) -> bool) -> Metrics {
    let looking = async {
        loop {
            let metrics = node.metrics();
            if is_right(&metrics) {
                return metrics;
            }
            sleep(Duration::from_millis(1)).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE / 6, looking).await;
    found.unwrap_or_else(|_| panic!("the counters do not come: {:#?}", node.metrics()))
}

/// The row of an actor.
fn actor<'a>(metrics: &'a Metrics, name: &str) -> &'a ActorMetrics {
    metrics.actors.iter().find(|row| row.actor == name).unwrap()
}

/// The row of the only session.
fn session(metrics: &Metrics) -> &SessionMetrics {
    assert_eq!(metrics.sessions.len(), 1, "{metrics:?}");
    &metrics.sessions[0]
}
