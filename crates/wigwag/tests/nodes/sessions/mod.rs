//! Sessions outlive their connections: a cut loses, duplicates and reorders nothing, and the
//! outcome of calls is reported when the peer is gone.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub(crate) mod cuts;
mod claims;
mod silence;
pub(crate) mod ends;
mod waits;
mod reconnecting;
mod sent;
mod changes;

use std::time::Duration;

use wigwag::{Node, NodeOptions};

/// Every wait ends much earlier; this only turns a hang into a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// An address without a listener: the discard port, which no test uses.
pub(crate) const NOWHERE: &str = "127.0.0.1:9";

/// A node named `name`.
fn node(name: &str) -> Node {
    Node::with(NodeOptions::default().name(name))
}
