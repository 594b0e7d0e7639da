//! The response to unknown peers, other programs, broken nodes and wrong calls, and its cost: an
//! error of the right kind, in time, that names the party at fault and the remedy, without any
//! effect on other peers.
//!
//! The cases form one table. Each row is run against a single shared node, which a healthy client
//! asks all the while.
#![allow(clippy::unwrap_used, reason = "tests and their helpers fail by panicking")]

mod stage;
mod strangers;
mod broken_peers;
mod others;

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use wigwag::{Actor, AskError, CallError, CallErrorKind, Fault, Node, NodeError, NodeOptions};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Code, Identity, Limits, LinkError, write};
use wigwag_net::NetErrorKind;
use wigwag_testkit::child::{self, Child};
use wigwag_testkit::log;
use wigwag_testkit::memory::Memory;
use wigwag_testkit::raw::{
    Raw, arrival, batch, connect, frames, header, hello, identity, listen, opened, pair,
};
use wigwag_wire::{Buffer, Framing, HeaderError, ProtocolNumber};

use broken_peers::broken_peers;
use others::*;
use stage::*;
use strangers::strangers;

impl Stage {
    /// How often a call found no credit on the session with `peer`.
    fn stalls(&self, peer: &str) -> u64 {
        let links = self.node.statistics();
        let link = links.iter().find(|link| &*link.peer == peer);
        link.map_or(0, |link| link.session.credit_stalls)
    }
}

/// The body of the child that is killed.
#[tokio::test]
async fn child_service() {
    if child::role().is_none() {
        return;
    }
    // A cut ends the session, so the remaining side gets its error at once.
    let node = Node::with(NodeOptions::default().keep_sessions(Duration::ZERO));
    node.export("stuck", &Counter::default().spawn()).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    child::say(&bound.to_string());
    tokio::task::spawn_blocking(child::wait_for_parent).await.unwrap();
}

/// The body of the child that dials a thousand times at once, each time as another node.
#[tokio::test]
async fn child_crowd() {
    let Some(address) = child::role() else { return };
    let memory = Memory::of_self();
    let mut asking = JoinSet::new();
    for _ in 0..dials() {
        let address = address.clone();
        asking.spawn(async move {
            let node = Node::new();
            let counter = node.actor::<Counter>(&address).await.unwrap();
            counter.add(0).ask().await.unwrap();
            (node, counter)
        });
    }
    let crowd = asking.join_all().await;
    for (_, counter) in &crowd {
        counter.add(0).ask().await.unwrap();
    }
    memory.check("the crowd");
    child::say(&crowd.len().to_string());
    tokio::task::spawn_blocking(child::wait_for_parent).await.unwrap();
}

/// A thousand dials, or fewer if the process may not open so many files.
fn dials() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3)).unwrap();
    // Some files are open already.
    soft.parse().map_or(1000, |soft: usize| 1000.min(soft - 100))
}

async fn crowd(stage: &Stage) {
    let there = format!("{}/counter", stage.address);
    let started =
        tokio::task::spawn_blocking(move || Child::start("bad_input::child_crowd", &there));
    let crowd = started.await.unwrap();
    let dials: usize = crowd.said.parse().unwrap();
    // The healthy client has one more session.
    assert_eq!(stage.node.statistics().len(), dials + 1, "all are open");
}

fn others() -> Vec<Row> {
    vec![
        row("nobody listens", AT_ONCE, |stage| Box::pin(nobody(stage))),
        row("unknown actor", AT_ONCE, |stage| Box::pin(unknown_actor(stage))),
        row("wrong calls", AT_ONCE, |stage| Box::pin(wrong_calls(stage))),
        row("an unknown frame that may be skipped", AT_ONCE, |stage| {
            Box::pin(unknown_frame_that_may_be_skipped(stage))
        }),
        row("another message type on ipc", AT_ONCE, |stage| Box::pin(ipc_with_another_type(stage))),
        row("silence after OPENED", HANDSHAKE, |stage| Box::pin(silence_after_opened(stage))),
        row("a peer that is killed", AT_ONCE, |stage| Box::pin(killed_peer(stage))),
    ]
}

/// Rows that wait for a time to pass run concurrently, the others one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_input_gets_an_error_in_time_and_hurts_nobody_else() {
    let _alone = crate::alone().await;
    log::collect();
    let stage = Arc::new(Stage::new().await);
    let memory = Memory::of_self();
    let rows = [strangers(), broken_peers(), others()];
    let (slow, quick): (Vec<_>, Vec<_>) =
        rows.into_iter().flatten().partition(|row| row.promise >= HANDSHAKE);
    let mut waiting = JoinSet::new();
    for row in slow {
        let stage = stage.clone();
        waiting.spawn(async move { row.play(&stage).await });
    }
    waiting.join_all().await;
    for row in quick {
        row.play(&stage).await;
    }
    memory.check("the whole table");

    row("1,000 dials at once", HANDSHAKE, |stage| Box::pin(crowd(stage))).play(&stage).await;
    memory.check("the table and 1,000 sessions");
}
