//! The actor that hands snapshots to other nodes.
//!
//! A node that is observable spawns it when a peer first asks. Its name has a slash, so no actor can
//! be exported under it, and a node that is not observable answers that there is no such actor.
//!
//! A snapshot travels as JSON: so two releases with other counters understand each other, and SP
//! clients read it as well.

use std::sync::Weak;

use wigwag_macros::actor;

use super::Metrics;

/// The name of the actor.
pub(crate) const OBSERVER: &str = "/metrics";

/// A node, as seen by its observer.
pub(crate) trait MetricsSource: Send + Sync {
    /// Takes a snapshot.
    fn metrics(&self) -> Metrics;
}

/// Hands out snapshots of its node.
pub(crate) struct Observer {
    pub(crate) source: Weak<dyn MetricsSource>,
}

/// Hands out snapshots of its node.
#[actor]
impl Observer {
    /// A snapshot as a JSON document; empty if the node has gone.
    pub fn snapshot(&self) -> String {
        let metrics = self.source.upgrade().map(|source| source.metrics());
        metrics.and_then(|metrics| serde_json::to_string(&metrics).ok()).unwrap_or_default()
    }
}
