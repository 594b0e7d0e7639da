//! Sessions outlive their connections: what is lost, doubled or reordered when those are cut is
//! nothing, and what becomes of calls when the peer is gone is told.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

#[path = "../support/child.rs"]
mod child;
#[path = "../support/relay.rs"]
mod relay;
mod ledger;
mod cuts;

use std::time::Duration;

use wigwag::{Node, NodeOptions};

/// What is waited for comes much earlier; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// A node that gives its peers up soon.
fn node(name: &str) -> Node {
    Node::with(NodeOptions::default().name(name))
}
