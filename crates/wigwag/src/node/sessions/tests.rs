//! A table of the sessions of hand-written peers: which of them count, and which give way.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::time::timeout;
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Identity, features};
use wigwag_net::clock;
use wigwag_testkit::raw::{Raw, identity};

use super::*;
use crate::Node;
use crate::session::tests::session_with;

const PATIENCE: Duration = Duration::from_secs(20);

/// A node that peers open sessions with.
struct Stage {
    node: Node,
    address: String,
}

impl Stage {
    async fn new() -> Stage {
        let node = Node::new();
        let address = node.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
        Stage { node, address }
    }

    /// A session over which nothing has arrived.
    async fn silent(&self) -> (Arc<Session>, Raw) {
        let who = Identity { offered: features::RESUME, ..identity() };
        let mut peer = Raw::dial(&self.address).await;
        peer.open(who).await;
        let session = timeout(PATIENCE, session_with(&self.node, who.incarnation)).await.unwrap();
        assert!(session.is_silent());
        (session, peer)
    }

    async fn living(&self) -> (Arc<Session>, Raw) {
        let (session, mut peer) = self.silent().await;
        peer.tell(&[Frame::Ping { id: 1, next_ms: 60_000 }]).await;
        timeout(PATIENCE, peer.until(kind::PONG)).await.unwrap();
        assert!(!session.is_silent());
        (session, peer)
    }

    /// A session that has lost its connection, later than any cut before.
    async fn cut(&self) -> Arc<Session> {
        let (session, peer) = self.living().await;
        drop(peer);
        let cut = async {
            loop {
                match session.cut_since() {
                    Some(since) if clock::now() > since => return,
                    _ => tokio::task::yield_now().await,
                }
            }
        };
        timeout(PATIENCE, cut).await.unwrap();
        session
    }
}

fn host(last: u8) -> Source {
    Source::Host(Ipv4Addr::new(192, 0, 2, last).into())
}

/// The sessions that give way to one that is opened beside `opening` others; `None` if it is refused.
fn evicted(table: &mut SessionTable, from: &Source, opening: usize) -> Option<Vec<Arc<Session>>> {
    let mut evicted = Vec::new();
    table.reserve_place(from, opening, &mut evicted).ok().map(|()| evicted)
}

fn are_the_same(one: &[Arc<Session>], other: &[&Arc<Session>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other))
}

#[tokio::test]
async fn the_sessions_of_a_source_count_until_they_are_removed() {
    let (session, _peer) = Stage::new().await.living().await;
    let mut table = SessionTable::default();
    for _ in 0..SESSIONS_PER_SOURCE_MAX {
        table.add(&session, Some(host(1)));
    }
    assert!(evicted(&mut table, &host(1), 0).is_none());
    assert!(evicted(&mut table, &host(2), 0).unwrap().is_empty());
    assert!(table.remove(&session));
    assert!(evicted(&mut table, &host(1), 0).unwrap().is_empty());
    while table.remove(&session) {}
    assert!(table.counts.is_empty(), "a source without sessions takes no room");
}

#[tokio::test]
async fn sessions_that_are_being_opened_count_for_the_node() {
    let mut table = SessionTable::default();
    assert!(evicted(&mut table, &host(1), SESSIONS_MAX - 1).unwrap().is_empty());
    assert!(evicted(&mut table, &host(1), SESSIONS_MAX).is_none());
    let cut = Stage::new().await.cut().await;
    table.add(&cut, Some(host(2)));
    assert!(are_the_same(&evicted(&mut table, &host(1), SESSIONS_MAX - 1).unwrap(), &[&cut]));
}

#[tokio::test]
async fn the_oldest_silent_session_gives_way_and_none_that_has_spoken() {
    let stage = Stage::new().await;
    let (spoken, _peer) = stage.living().await;
    let (silent, _silent_peer) = stage.silent().await;
    let (newer, _newer_peer) = stage.silent().await;
    let mut table = SessionTable::default();
    table.add(&silent, Some(host(1)));
    for _ in 1..SILENT_SESSIONS_MAX {
        table.add(&spoken, Some(host(1)));
    }
    assert!(evicted(&mut table, &host(1), 0).unwrap().is_empty(), "one is silent");
    for _ in 1..SILENT_SESSIONS_MAX {
        table.add(&newer, Some(host(1)));
    }
    assert!(are_the_same(&evicted(&mut table, &host(1), 0).unwrap(), &[&silent]));
    let mut table = SessionTable::default();
    for session in [&spoken, &silent, &newer] {
        table.add(session, Some(host(1)));
    }
    for session in [&silent, &newer] {
        assert!(Arc::ptr_eq(&table.evict_silent().unwrap(), session));
    }
    assert!(table.evict_silent().is_none());
    assert!(table.remove(&spoken));
}

#[tokio::test]
async fn the_session_that_has_been_cut_for_longest_gives_way() {
    let stage = Stage::new().await;
    let (dialed, longest) = (stage.cut().await, stage.cut().await);
    let (later, (living, _peer)) = (stage.cut().await, stage.living().await);
    let mut table = SessionTable::default();
    // As if this node had dialed it.
    table.add(&dialed, None);
    for session in [&later, &longest] {
        table.add(session, Some(host(1)));
    }
    for _ in 2..SESSIONS_PER_SOURCE_MAX {
        table.add(&living, Some(host(1)));
    }
    assert!(evicted(&mut table, &host(2), 0).unwrap().is_empty());
    assert!(are_the_same(&evicted(&mut table, &host(1), 0).unwrap(), &[&longest]));
    table.add(&longest, Some(host(2)));
    for session in [&longest, &later] {
        assert!(Arc::ptr_eq(&table.evict_longest_cut().unwrap(), session));
    }
    assert!(table.evict_longest_cut().is_none());
}
