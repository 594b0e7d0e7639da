//! Connections that are cut in the middle of long messages, and sessions that end there.

use std::sync::atomic::Ordering;

use wigwag::session::{Delivery, SessionChange};
use wigwag::{Actor, AskError, CallErrorKind, DeliveryStatus, Node, NodeOptions};
use wigwag_link::frame::kind;
use wigwag_link::{Identity, features};
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::raw;
use wigwag_testkit::relay::{Fault, Relay};

use super::{MIB, PATIENCE, Store, StoreRef, payload};

/// Long and short calls and asks, whose answers are checked.
async fn send(store: StoreRef, rounds: u64) -> Vec<u64> {
    let mut sent = Vec::new();
    for round in 0..rounds {
        store.note(round).tell().await.unwrap();
        store.note(round + 1).tell().await.unwrap();
        let length = 100_000 + 300_000 * (round as usize % 7);
        store.put(1, payload(length, 1)).tell().await.unwrap();
        sent.extend([round, round + 1, length as u64]);
        if round % 4 == 0 {
            let back = store.swap(2, payload(MIB, 2)).timeout(PATIENCE).ask().await.unwrap();
            assert!(back == payload(MIB, 2));
            sent.push(MIB as u64);
        }
    }
    sent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_messages_are_neither_lost_nor_doubled_nor_reordered_over_cuts() {
    let [dialer, listener] =
        ["dialer", "listener"].map(|name| Node::with(NodeOptions::default().name(name)));
    listener.export("store", &Store::default().spawn()).unwrap();
    let bound = listener.listen("tcp://127.0.0.1:0").await.unwrap();
    let relay = Relay::to(&bound.to_string()).await;
    let there = format!("{}/store", relay.address);
    let store = dialer.actor::<Store>(&there).await.unwrap();
    let cuts = || dialer.statistics()[0].session.resumes;
    let storm = async {
        for round in 0_usize.. {
            // Each cut comes within a message or close to its end.
            let before = relay.bytes();
            while relay.bytes() < before + 700_000 {
                tokio::task::yield_now().await;
            }
            let connections = || relay.seen.connections.load(Ordering::SeqCst);
            let struck = connections();
            relay.strike([Fault::Tear, Fault::End, Fault::Reset][round % 3]);
            while connections() == struck {
                tokio::task::yield_now().await;
            }
        }
    };
    let mut expected = Vec::new();
    let sent = async {
        while cuts() <= 12 {
            expected.extend(in_time(PATIENCE, send(store.clone(), 20)).await);
        }
    };
    tokio::select! {
        () = sent => {}
        () = storm => {}
    }
    let inside = relay.seen.inside.load(Ordering::SeqCst);
    eprintln!("{} cuts, {inside} connections broken inside a message", cuts());
    let (all, wrong) = in_time(PATIENCE, store.all().timeout(PATIENCE).ask()).await.unwrap();
    assert_eq!((all.len(), wrong), (expected.len(), 0));
    assert!(all == expected, "lost, doubled or reordered");
}

/// The peer has some parts of a long call and never the last one: the call was certainly not
/// handled, and everybody is told so.
#[tokio::test]
async fn a_long_message_whose_session_ends_within_it_is_not_delivered() {
    let (listener, address) = raw::listen().await;
    let node = Node::with(NodeOptions::default().keep_sessions(std::time::Duration::ZERO));
    let mut events = node.session_events();
    let attaching = {
        let (node, address) = (node.clone(), format!("{address}/store"));
        tokio::spawn(async move { node.actor::<Store>(&address).await })
    };
    let mut peer = raw::arrival(&listener).await;
    peer.accept(Identity { offered: features::PARTS, ..raw::identity() }).await;
    peer.attached(1 << 20).await;
    let store = in_time(PATIENCE, attaching).await.unwrap().unwrap();
    store.put(1, payload(4 * MIB, 1)).tell().await.unwrap();
    let receipt = {
        let store = store.clone();
        // Behind the first long call; it is sent when that has gone.
        tokio::spawn(async move { store.note(1).tell().await })
    };
    peer.acknowledges = false;
    in_time(PATIENCE, peer.until(kind::PARTS)).await;
    drop(peer);
    let refused = in_time(PATIENCE, receipt).await.unwrap().unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::NotDelivered);
    let ended = loop {
        let event = in_time(PATIENCE, events.next()).await.unwrap();
        if let SessionChange::Ended { deliveries, .. } = event.what {
            break deliveries;
        }
    };
    let [Delivery { unknown: 0, not_delivered: 1, .. }] = &ended[..] else {
        panic!("{ended:?}");
    };
}

#[tokio::test]
async fn a_long_ask_whose_session_ends_is_unknown_only_if_its_last_part_was_written() {
    for is_whole in [false, true] {
        let (listener, address) = raw::listen().await;
        let node = Node::with(NodeOptions::default().keep_sessions(std::time::Duration::ZERO));
        let attaching = {
            let (node, address) = (node.clone(), format!("{address}/store"));
            tokio::spawn(async move { node.actor::<Store>(&address).await })
        };
        let mut peer = raw::arrival(&listener).await;
        peer.accept(Identity { offered: features::PARTS, ..raw::identity() }).await;
        peer.attached(1 << 20).await;
        let store = in_time(PATIENCE, attaching).await.unwrap().unwrap();
        // The last part is not acknowledged, so the second message stops there.
        let length = if is_whole { 100_000 } else { 4 * MIB };
        let ask = {
            let store = store.clone();
            tokio::spawn(async move { store.swap(1, payload(length, 1)).ask().await })
        };
        let receipt = {
            let store = store.clone();
            tokio::spawn(async move {
                // Its caller waits behind the ask.
                let receipt = store.put(1, payload(70_000, 1)).receipt().await;
                match receipt {
                    Ok(receipt) => receipt.await,
                    Err(_) => DeliveryStatus::NotDelivered,
                }
            })
        };
        let mut left = length;
        while left > if is_whole { 0 } else { 4 * MIB - 60_000 } {
            let seen = in_time(PATIENCE, peer.frame()).await.unwrap();
            if let kind::PARTS | kind::PART = seen.kind {
                left = left.saturating_sub(32_000);
                if left > 0 {
                    peer.tell(&[]).await;
                }
            }
        }
        drop(peer);
        let error = in_time(PATIENCE, ask).await.unwrap().unwrap_err();
        let expected = if is_whole { CallErrorKind::Unknown } else { CallErrorKind::NotDelivered };
        assert!(matches!(error, AskError::Failed(_)), "{error}");
        assert_eq!(error.into_error().kind, expected);
        in_time(PATIENCE, receipt).await.unwrap();
    }
}
