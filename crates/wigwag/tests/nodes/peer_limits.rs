//! A node never exceeds the limits that its peer announces.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use wigwag::{Actor, Bytes, CallErrorKind, Node, NodeOptions};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::limits::REVOKES_PENDING_MAX;
use wigwag_link::{Code, Identity, Limits};
use wigwag_testkit::raw;

use crate::held_turn;

/// Every wait ends almost at once; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

struct Clock;

#[wigwag::actor]
impl Clock {
    pub fn tick(&mut self) {}
}

#[tokio::test]
async fn no_more_channels_are_opened_at_once_than_the_peer_bears() {
    const ALL: usize = 7;
    const MOST: usize = 2;
    let (listener, address) = raw::listen().await;
    let node = Arc::new(Node::new());
    let opening: Vec<_> = (0..ALL)
        .map(|at| {
            let (node, address) = (node.clone(), format!("{address}/clock-{at}"));
            tokio::spawn(async move { node.actor::<Clock>(&address).await })
        })
        .collect();
    // This lookup is aborted while it waits, and its channel is given back.
    let fleeting = {
        let (node, address) = (node.clone(), format!("{address}/fleeting"));
        tokio::spawn(async move { node.actor::<Clock>(&address).await })
    };
    let mut peer = raw::arrival(&listener).await;
    let limits = Limits { attach_pending_max: MOST as u64, ..Limits::default() };
    peer.accept(Identity { limits, ..raw::identity() }).await;
    let mut pending = Vec::new();
    for id in 0..ALL as u64 {
        while pending.len() < MOST.min(ALL - id as usize) {
            pending.push(timeout(PATIENCE, peer.until(kind::ATTACH)).await.unwrap());
        }
        if id == 0 {
            fleeting.abort();
        }
        // Frames that were due by now are sent before the answer to this ping.
        peer.tell(&[Frame::Ping { id, next_ms: 1000 }]).await;
        let next = loop {
            let seen = timeout(PATIENCE, peer.frame()).await.unwrap().unwrap();
            if seen.kind == kind::ATTACH || seen.kind == kind::PONG {
                break seen.kind;
            }
        };
        assert_eq!(next, kind::PONG, "{} are not answered", pending.len());
        let Frame::Attach { channel, schema_hash, .. } = pending.remove(0).frame() else {
            unreachable!("it is an ATTACH");
        };
        let limit = 64;
        peer.tell(&[Frame::Attached { channel, limit, schema_hash, codec: 0, reference: &[] }])
            .await;
    }
    for opened in opening {
        timeout(PATIENCE, opened).await.unwrap().unwrap().unwrap();
    }
}

/// The default is 8,192.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_gets_references_to_as_many_actors_as_the_node_allows() {
    for most in [3, 8_500] {
        let service = Node::with(NodeOptions::default().actors_per_peer(most as u64));
        let clocks: Vec<_> = (0..=most).map(|_| Clock.spawn()).collect();
        for (at, clock) in clocks.iter().enumerate() {
            service.export(&format!("clock-{at}"), clock).unwrap();
        }
        let address = service.listen("tcp://127.0.0.1:0").await.unwrap();
        let node = Node::new();
        let mut fetched = Vec::new();
        for at in 0..most {
            fetched.push(node.actor::<Clock>(&format!("{address}/clock-{at}")).await.unwrap());
        }
        let one_more = format!("{address}/clock-{most}");
        let error = node.actor::<Clock>(&one_more).await.map(drop).unwrap_err();
        assert_eq!(error.call_error(), Some(CallErrorKind::Overloaded));
        let limit = format!("{most} references to actors in a session");
        assert!(error.to_string().contains(&limit), "{error}");
        drop(fetched.pop());
        // The channel is free as soon as the peer has handled what was sent on it.
        let again = async {
            while node.actor::<Clock>(&one_more).await.is_err() {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, again).await.unwrap();
    }
}

#[tokio::test]
async fn one_revoke_more_than_may_be_unanswered_ends_the_session() {
    let (listener, address) = raw::listen().await;
    let node = Node::new();
    let dialing = {
        let (node, address) = (node.clone(), format!("{address}/clock"));
        tokio::spawn(async move { node.actor::<Clock>(&address).await })
    };
    let mut peer = raw::arrival(&listener).await;
    peer.accept(raw::identity()).await;
    let channel = peer.attached(64).await;
    let _clock = timeout(PATIENCE, dialing).await.unwrap().unwrap().unwrap();
    let revoke = Frame::Revoke { channel, limit_wanted: 8 };
    let mut revokes = vec![revoke; REVOKES_PENDING_MAX as usize];
    peer.tell(&revokes).await;
    for _ in &revokes {
        let seen = timeout(PATIENCE, peer.until(kind::REVOKED)).await.unwrap();
        assert_eq!(seen.frame(), Frame::Revoked { channel, limit: 8 });
    }
    revokes.push(revoke);
    peer.tell(&revokes).await;
    let closed = timeout(PATIENCE, peer.closed()).await.unwrap();
    assert_eq!(closed.unwrap().0, Code::LIMIT_EXCEEDED);
}

/// A describe costs a unit of credit like any call, and returns it.
#[tokio::test]
async fn describe_gives_its_credit_back() {
    const ROUNDS: u64 = 1000;
    let node = Node::new();
    node.export("clock", &Clock.spawn()).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    let mut peer = raw::Raw::dial(&bound.to_string()).await;
    peer.open(raw::identity()).await;
    peer.attach(0, "clock").await;
    let mut limit = Limits::default().initial_units;
    for generation in 0..ROUNDS {
        while limit <= generation {
            let seen = timeout(PATIENCE, peer.until(kind::CREDIT)).await.unwrap();
            let Frame::Credit { limit: told, .. } = seen.frame() else { unreachable!() };
            limit = limit.max(told);
        }
        let arguments = &[0x90];
        peer.tell(&[Frame::Ask { channel: 0, slot: 0, generation, method: 0, arguments }]).await;
        timeout(PATIENCE, peer.until(kind::REPLY)).await.unwrap();
    }
    assert!(limit > ROUNDS);
}

/// A sender that waits because the peer acknowledges nothing continues when the peer does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ack_wakes_the_sender_that_waits_for_it() {
    let (listener, address) = raw::listen().await;
    let node = Arc::new(Node::new());
    let dialing = {
        let (node, address) = (node.clone(), format!("{address}/store"));
        tokio::spawn(async move { node.actor::<Store>(&address).await.unwrap() })
    };
    let mut peer = raw::arrival(&listener).await;
    peer.accept(raw::identity()).await;
    peer.attached(1 << 40).await;
    let store = timeout(PATIENCE, dialing).await.unwrap().unwrap();
    peer.acknowledges = false;
    let telling = tokio::spawn(async move {
        let mut told = 0_u64;
        while store.put(vec![0_u8; 20_000].into()).try_tell().is_ok() {
            told += 1;
        }
        // This tell waits: only an ack wakes it.
        store.put(vec![0_u8; 20_000].into()).tell().await.map(|()| told + 1)
    });
    let mut tells = 0;
    // A heartbeat is due after the last tell, when nothing more is sent.
    while timeout(PATIENCE, peer.frame()).await.unwrap().unwrap().kind != kind::PING || tells < 200
    {
        tells += 1;
    }
    assert!(!telling.is_finished());
    peer.acknowledges = true;
    peer.tell(&[Frame::Pong { id: 1 }]).await;
    let told = timeout(PATIENCE, telling).await.unwrap().unwrap().unwrap();
    assert!(told > 200, "{told} tells of 20,000 bytes");
}

/// A task sends tells within one poll, and the session ends before that poll does.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tells_that_a_turn_held_back_when_the_session_ended_are_counted_as_not_delivered() {
    const TELLS: u64 = 10;
    held_turn::is_not_delivered(TELLS, async || {
        let ((listener, address), node) = (raw::listen().await, Node::new());
        let dial = format!("{address}/clock");
        let accept = async {
            let mut peer = raw::arrival(&listener).await;
            peer.accept(raw::identity()).await;
            peer.attached(1 << 20).await;
            peer
        };
        let (clock, peer) = tokio::join!(node.actor::<Clock>(&dial), accept);
        let clock = clock.unwrap();
        let send = move || (0..TELLS).for_each(|_| clock.tick().try_tell().unwrap());
        (node, peer, Box::new(send) as held_turn::Send)
    })
    .await;
}

struct Store;

#[wigwag::actor]
impl Store {
    pub fn put(&mut self, _bytes: Bytes) {}
}
