//! A host that closes its node while it is called and calls others itself.
//!
//! Each call has an outcome, and one that counts as handled, or as not handled, is so. The node that
//! the host starts next listens at the same address.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use wigwag::{Node, NodeError};

use super::desk::Desk;
use super::site::NAMES;
use super::world::World;
use crate::stage::{Draws, place};

/// Time that the close of a node may take beyond its limit.
const BEYOND: Duration = Duration::from_secs(1);

/// Closes a node after a while, and sets `is_over` then.
pub(super) async fn close(world: &World, node: &Node, draws: &mut Draws, is_over: Arc<AtomicBool>) {
    sleep(draws.pause(100, 1500)).await;
    let limit = draws.pause(0, 8000);
    let begun = Instant::now();
    let report = node.close(limit).await;
    if begun.elapsed() > limit + BEYOND {
        let took = begun.elapsed();
        world.wrong(format!("a node was closed within {took:?} instead of {limit:?}: {report:?}"));
    }
    is_closed(world, node).await;
    is_over.store(true, Ordering::SeqCst);
}

/// Notes what a closed node still does.
async fn is_closed(world: &World, node: &Node) {
    let fetched = node.actor::<Desk>(&place(NAMES[0], "desk")).await;
    if !matches!(fetched, Err(NodeError::Closed)) {
        world.wrong(format!("a closed node has fetched {fetched:?}"));
    }
    let sessions = node.metrics().sessions;
    if !sessions.is_empty() {
        world.wrong(format!("a closed node has sessions: {sessions:?}"));
    }
}
