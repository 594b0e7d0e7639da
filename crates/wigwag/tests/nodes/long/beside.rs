//! Messages that are sent while a long one is on its way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wigwag::Node;
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Identity, features};
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::raw::{self, Raw};

use super::{LONGEST, MIB, PATIENCE, Stage, Store, StoreRef, payload};

/// A node with references to two actors of a peer that is written by hand.
async fn with_a_raw_peer() -> (Node, Raw, StoreRef, StoreRef) {
    let (listener, address) = raw::listen().await;
    let node = Node::new();
    let attach = |name: &str| {
        let (node, address) = (node.clone(), format!("{address}/{name}"));
        tokio::spawn(async move { node.actor::<Store>(&address).await })
    };
    let first = attach("store");
    let mut peer = raw::arrival(&listener).await;
    let offered = features::PARTS | features::CANCELLING;
    peer.accept(Identity { offered, ..raw::identity() }).await;
    assert_eq!(peer.attached(1 << 20).await, 0);
    let first = in_time(PATIENCE, first).await.unwrap().unwrap();
    let second = attach("other");
    assert_eq!(peer.attached(1 << 20).await, 1);
    let second = in_time(PATIENCE, second).await.unwrap().unwrap();
    (node, peer, first, second)
}

/// The bytes of the arguments and the head of `put` that a part holds.
fn part_bytes(frame: Frame<'_>) -> usize {
    match frame {
        Frame::Parts { bytes, .. } | Frame::Part { bytes, .. } => bytes.len(),
        _ => 0,
    }
}

/// The peer acknowledges nothing, so the long call stops half way; an ask to another actor is
/// answered nevertheless, and the rest follows when the peer has acknowledged.
#[tokio::test]
async fn asks_to_other_actors_go_between_the_parts_of_a_long_call() {
    let (_node, mut peer, store, other) = with_a_raw_peer().await;
    peer.acknowledges = false;
    store.put(1, payload(LONGEST, 1)).tell().await.unwrap();
    let mut came = 0;
    let (mut parts, mut asks) = (0, 0);
    for round in 0..40_u64 {
        let ask = {
            let other = other.clone();
            tokio::spawn(async move { other.echo(round).ask().await })
        };
        let (slot, generation) = loop {
            let seen = in_time(PATIENCE, peer.frame()).await.unwrap();
            match seen.frame() {
                Frame::Ask { slot, generation, channel: 1, .. } => break (slot, generation),
                Frame::Parts { source, .. } | Frame::Part { source, .. } => {
                    assert_eq!(source, 1, "one more than the channel");
                    came += part_bytes(seen.frame());
                    parts += 1;
                }
                _ => {}
            }
        };
        asks += 1;
        assert!(came < LONGEST, "ask {round} came behind the long call");
        let value = &[round as u8][..];
        peer.tell(&[Frame::Reply { slot, generation, value }]).await;
        assert_eq!(in_time(PATIENCE, ask).await.unwrap().unwrap(), round);
        // From now on, half a mebibyte goes with each round.
        peer.acknowledges = true;
        if came > 2 * MIB + 300_000 * round as usize {
            peer.acknowledges = false;
        }
    }
    assert!(parts > 20 && asks == 40, "{parts} parts, {asks} asks");
    peer.acknowledges = true;
    while came < LONGEST {
        peer.tell(&[]).await;
        came += part_bytes(in_time(PATIENCE, peer.frame()).await.unwrap().frame());
    }
}

/// Without acks, half of the unacked window is all that parts take; short calls have the rest.
#[tokio::test]
async fn the_parts_that_are_not_acknowledged_leave_half_of_the_window_to_others() {
    let (_node, mut peer, store, other) = with_a_raw_peer().await;
    peer.acknowledges = false;
    store.put(1, payload(LONGEST, 1)).tell().await.unwrap();
    let ask = tokio::spawn(async move {
        // Each is 1 KiB: they fill nearly the other half.
        for _ in 0..1500 {
            other.put(2, payload(1000, 2)).tell().await.unwrap();
        }
        other.echo(1).ask().await
    });
    let mut came = 0;
    loop {
        let seen = in_time(PATIENCE, peer.frame()).await.unwrap();
        came += part_bytes(seen.frame());
        if let Frame::Ask { slot, generation, .. } = seen.frame() {
            peer.tell(&[Frame::Reply { slot, generation, value: &[1] }]).await;
            break;
        }
    }
    assert!(came < 2 * MIB + 65_536, "{came} bytes of parts");
    assert_eq!(in_time(PATIENCE, ask).await.unwrap().unwrap(), 1);
}

/// A caller that gives up a long ask saves the rest of it, and the peer is told.
#[tokio::test]
async fn a_long_ask_that_is_given_up_within_it_is_not_sent_to_its_end() {
    let (_node, mut peer, store, other) = with_a_raw_peer().await;
    peer.acknowledges = false;
    let given_up = {
        let store = store.clone();
        tokio::spawn(async move { store.swap(1, payload(LONGEST, 1)).ask().await })
    };
    in_time(PATIENCE, peer.until(kind::PARTS)).await;
    given_up.abort();
    in_time(PATIENCE, given_up).await.unwrap_err();
    let dropped = in_time(PATIENCE, peer.until(kind::PARTS_DROP)).await;
    assert_eq!(dropped.frame(), Frame::PartsDrop { source: 1 });
    // The channel and the slot are free again.
    let next = {
        let store = store.clone();
        tokio::spawn(async move { store.echo(3).ask().await })
    };
    peer.acknowledges = true;
    let seen = in_time(PATIENCE, peer.until(kind::ASK)).await;
    let Frame::Ask { slot, generation, .. } = seen.frame() else { unreachable!("an ASK") };
    assert_eq!(slot, 0, "the slot is used again");
    peer.tell(&[Frame::Reply { slot, generation, value: &[3] }]).await;
    assert_eq!(in_time(PATIENCE, next).await.unwrap().unwrap(), 3);
    drop(other);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_forgets_a_long_ask_that_is_given_up_and_grants_its_room_again() {
    let stage = Stage::new().await;
    let other = stage.other().await;
    for round in 0..12_u64 {
        let store = stage.store.clone();
        let asking = tokio::spawn(async move { store.swap(1, payload(LONGEST, 1)).ask().await });
        // The ask is given up at another place each time.
        for _ in 0..round {
            assert_eq!(in_time(PATIENCE, other.echo(round).ask()).await.unwrap(), round);
        }
        asking.abort();
        let _ = in_time(PATIENCE, asking).await;
    }
    let back = in_time(PATIENCE, stage.store.swap(2, payload(LONGEST, 2)).ask()).await.unwrap();
    assert!(back == payload(LONGEST, 2));
    let all = stage.all().await;
    assert!(all.iter().all(|length| *length == LONGEST as u64), "{all:?}");
    assert_eq!(stage.service.statistics().len(), 1, "the session is the first one");
    assert_eq!(stage.client.statistics()[0].session.cuts, 0);
}

/// The last reference to an actor is dropped right behind a long call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reference_that_is_dropped_behind_a_long_call_takes_it_nowhere() {
    let Stage { service, client, store, there } = Stage::new().await;
    store.put(1, payload(LONGEST, 1)).tell().await.unwrap();
    drop(store);
    in_time(PATIENCE, client.flush()).await.unwrap();
    let again = client.actor::<Store>(&format!("{there}/store")).await.unwrap();
    let all = in_time(PATIENCE, again.all().ask()).await.unwrap();
    assert_eq!(all, (vec![LONGEST as u64], 0));
    drop(service);
}

/// Short calls of others do not take the credit that a long call waits for, bit by bit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_call_gets_its_turn_among_many_short_ones_to_the_same_actor() {
    let stage = Stage::new().await;
    let is_over = Arc::new(AtomicBool::new(false));
    let floods: Vec<_> = (0..4)
        .map(|at| {
            let (store, is_over) = (stage.store.clone(), is_over.clone());
            let flood = async move {
                let mut sent = 0_u64;
                while !is_over.load(Ordering::Relaxed) {
                    store.tick().tell().await.unwrap();
                    sent += 1;
                }
                sent
            };
            // In turns and outside.
            if at % 2 == 0 { wigwag::spawn(flood) } else { tokio::spawn(flood) }
        })
        .collect();
    for _ in 0..4 {
        in_time(PATIENCE, stage.store.put(1, payload(LONGEST, 1)).tell()).await.unwrap();
    }
    is_over.store(true, Ordering::Relaxed);
    let mut short = 0;
    for flood in floods {
        short += in_time(PATIENCE, flood).await.unwrap();
    }
    assert_eq!(in_time(PATIENCE, stage.store.ticks().ask()).await.unwrap(), short);
    assert_eq!(stage.all().await, [LONGEST as u64; 4]);
}
