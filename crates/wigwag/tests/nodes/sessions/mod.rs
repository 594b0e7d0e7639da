//! Sessions outlive their connections: what is lost, doubled or reordered when those are cut is
//! nothing, and what becomes of calls when the peer is gone is told.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod cuts;
mod claims;
mod silence;
mod ends;
mod changes;

use std::time::Duration;

use wigwag::{Node, NodeOptions};

/// What is waited for comes much earlier; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where nobody listens: the port of discarded bytes, which no test takes.
const NOWHERE: &str = "127.0.0.1:9";

/// A node of that name.
fn node(name: &str) -> Node {
    Node::with(NodeOptions::default().name(name))
}
