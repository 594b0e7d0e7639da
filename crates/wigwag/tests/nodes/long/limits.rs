//! The limits of long messages, and the errors beyond them.

use wigwag::{Actor, AskError, CallErrorKind, DeliveryStatus, Node, NodeOptions};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Code, Identity, Limits, features};
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::raw::{self, Raw};

use super::{MIB, PATIENCE, Stage, Store, StoreRef, payload};

/// The detail of the error of a call that is too long, which was not sent.
async fn refused(store: &StoreRef, length: usize) -> String {
    let ask = in_time(PATIENCE, store.swap(1, payload(length, 1)).ask()).await.unwrap_err();
    assert!(matches!(ask, AskError::Refused(_)), "{ask}");
    let told = in_time(PATIENCE, store.put(1, payload(length, 1)).tell()).await.unwrap_err();
    assert_eq!(told.error.kind, CallErrorKind::TooLarge);
    let error = ask.into_error();
    assert_eq!(error.kind, CallErrorKind::TooLarge);
    error.detail.unwrap().to_string()
}

/// The caller learns the size, the limit of the other side, and what raises it, of calls and replies,
/// in a turn and outside.
#[tokio::test]
async fn messages_too_long_for_the_receiver_are_refused_with_both_sizes_and_the_option() {
    let [narrow, wide] =
        [100_000, 3 * MIB as u64].map(|most| NodeOptions::default().message_bytes_max(most));
    let stage = Stage::with(narrow, wide).await;
    let calls = async |store: StoreRef| {
        let detail = refused(&store, 110_000).await;
        for part in ["the call has 1100", "accepts 100000", "`NodeOptions::message_bytes_max`"] {
            assert!(detail.contains(part), "{detail}");
        }
        let length = 4 * MIB as u64;
        let reply = in_time(PATIENCE, store.get(1, length).ask()).await.unwrap_err();
        assert!(matches!(reply, AskError::Failed(_)), "{reply}");
        let error = reply.into_error();
        assert_eq!(error.kind, CallErrorKind::TooLarge);
        let detail = error.detail.unwrap();
        for part in ["the reply has 41943", "accepts 3145728", "`NodeOptions::message_bytes_max`"] {
            assert!(detail.contains(part), "{detail}");
        }
        let receipt = store.get(1, length).receipt().await.unwrap();
        assert_eq!(receipt.await, DeliveryStatus::Delivered, "it was handled");
        // Shorter ones pass.
        store.put(1, payload(99_000, 1)).tell().await.unwrap();
        assert!(store.get(2, 3_000_000).ask().await.unwrap() == payload(3_000_000, 2));
    };
    in_time(PATIENCE, calls(stage.store.clone())).await;
    in_time(PATIENCE, wigwag::spawn(calls(stage.store.clone()))).await.unwrap();
    assert_eq!(stage.all().await, [99_000; 2]);
}

/// A node with a reference to an actor of a peer that offers `offered`.
async fn with_a_raw_peer(offered: u64, limits: Limits, units: u64) -> (Node, Raw, StoreRef) {
    let (listener, address) = raw::listen().await;
    let node = Node::new();
    let attaching = {
        let (node, address) = (node.clone(), format!("{address}/store"));
        tokio::spawn(async move { node.actor::<Store>(&address).await })
    };
    let mut peer = raw::arrival(&listener).await;
    peer.accept(Identity { offered, limits, ..raw::identity() }).await;
    peer.attached(units).await;
    let store = in_time(PATIENCE, attaching).await.unwrap().unwrap();
    (node, peer, store)
}

#[tokio::test]
async fn a_peer_of_an_earlier_release_is_sent_no_parts() {
    let (_node, _peer, store) = with_a_raw_peer(0, Limits::default(), 1 << 20).await;
    let detail = refused(&store, 70_000).await;
    assert!(detail.contains("accepts 65536") && detail.contains("later release"), "{detail}");
}

/// A long call says in NEED what it costs, and begins when its units are granted.
#[tokio::test]
async fn a_long_call_asks_for_its_credit_and_waits_for_all_of_it() {
    let (_node, mut peer, store) = with_a_raw_peer(features::PARTS, Limits::default(), 64).await;
    let told = tokio::spawn(async move { store.put(1, payload(MIB, 1)).tell().await });
    let need = in_time(PATIENCE, peer.until(kind::NEED)).await;
    let Frame::Need { channel: 0, limit_wanted, units } = need.frame() else {
        panic!("{need:?}");
    };
    assert_eq!((limit_wanted, units), (16_385, 16_385), "1 MiB and a few bytes");
    peer.tell(&[Frame::Credit { channel: 0, limit: 16_384, handled: 0 }]).await;
    peer.tell(&[Frame::Ping { id: 1, next_ms: 1000 }]).await;
    loop {
        let seen = in_time(PATIENCE, peer.frame()).await.unwrap();
        assert!(!matches!(seen.kind, kind::PARTS), "it is sent with too little credit");
        if seen.kind == kind::PONG {
            break;
        }
    }
    peer.tell(&[Frame::Credit { channel: 0, limit: 16_385, handled: 0 }]).await;
    let parts = in_time(PATIENCE, peer.until(kind::PARTS)).await;
    let Frame::Parts { source: 1, kind: kind::TELL, total, .. } = parts.frame() else {
        panic!("{parts:?}");
    };
    assert!(total > MIB as u64);
    in_time(PATIENCE, told).await.unwrap().unwrap();
}

/// A peer that has attached channel 0 to an actor which never handles anything.
async fn hostile() -> (Node, Raw) {
    let node = Node::new();
    let store = Store::default().spawn();
    node.export("store", &store).unwrap();
    let address = node.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
    let mut peer = Raw::dial(&address).await;
    peer.open(Identity { offered: features::PARTS, ..raw::identity() }).await;
    peer.attach(0, "store").await;
    (node, peer)
}

async fn closed(mut peer: Raw) -> (Code, String) {
    in_time(PATIENCE, peer.closed()).await.unwrap()
}

fn parts(source: u64, kind: u8, total: u64, bytes: &[u8]) -> Frame<'_> {
    Frame::Parts { source, kind, total, bytes }
}

/// Each misuse of parts by a peer, and the rule that it is told.
#[tokio::test]
async fn a_peer_that_breaks_the_rules_of_parts_is_refused_with_the_rule() {
    const TELL: [u8; 3] = [0, 1, 0x90];
    let row =
        |frames: &[Frame<'static>], code: Code, rule: &'static str| (frames.to_vec(), code, rule);
    let part = Frame::Part { source: 1, bytes: &TELL };
    let begun = parts(1, kind::TELL, 4000, &TELL);
    let rows = [
        row(&[part], Code::PROTOCOL, "has begun"),
        row(&[Frame::PartsDrop { source: 1 }], Code::PROTOCOL, "has begun"),
        row(&[begun, begun], Code::PROTOCOL, "ends before the next"),
        row(&[parts(1, kind::TELL, 4, &TELL), part], Code::PROTOCOL, "its length"),
        row(&[begun, Frame::Part { source: 1, bytes: &[] }], Code::PROTOCOL, "have bytes"),
        row(&[parts(1, kind::TELL, 0, &[])], Code::PROTOCOL, "have bytes"),
        row(&[parts(1, kind::ATTACH, 4000, &TELL)], Code::PROTOCOL, "TELL, ASK"),
        row(&[parts(1, kind::REPLY, 4000, &TELL)], Code::PROTOCOL, "its own source"),
        row(&[parts(0, kind::TELL, 4000, &TELL)], Code::PROTOCOL, "its own source"),
        row(&[parts(0, kind::REPLY, 4000, &TELL)], Code::PROTOCOL, "question that is not open"),
        row(&[parts(1, kind::TELL, 3, &[1, 1, 0x90])], Code::PROTOCOL, "that it names"),
        row(&[parts(2, kind::TELL, 4000, &TELL)], Code::PROTOCOL, "never attached"),
        row(&[parts(1, kind::TELL, 4097, &TELL)], Code::CREDIT_EXCEEDED, "granted"),
        row(&[parts(1, kind::TELL, 17 << 20, &TELL)], Code::LIMIT_EXCEEDED, "message_max"),
        row(&[parts(1, kind::TELL, u64::MAX, &TELL)], Code::LIMIT_EXCEEDED, "message_max"),
        row(
            &[begun, Frame::Tell { channel: 0, method: 1, arguments: &[0x90] }],
            Code::CREDIT_EXCEEDED,
            "granted",
        ),
    ];
    for (frames, code, rule) in rows {
        let (_node, mut peer) = hostile().await;
        // 4,000 bytes are 63 units of 64.
        peer.tell(&[Frame::Tell { channel: 0, method: 9, arguments: &[0x90] }]).await;
        peer.tell(&frames).await;
        let (was, said) = closed(peer).await;
        assert!(was == code && said.contains(rule), "{frames:?}: {was} {said}");
    }
}

#[tokio::test]
async fn a_peer_that_has_not_agreed_on_parts_may_not_send_them() {
    let node = Node::new();
    node.export("store", &Store::default().spawn()).unwrap();
    let address = node.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
    let mut peer = Raw::dial(&address).await;
    peer.open(raw::identity()).await;
    peer.attach(0, "store").await;
    peer.tell(&[parts(1, kind::TELL, 4000, &[0, 1])]).await;
    assert_eq!(closed(peer).await.0, Code::UNKNOWN_FRAME);
}

/// The long calls that a peer begins and never ends take no more than those of four channels, and the
/// fifth waits.
#[tokio::test]
async fn a_peer_that_begins_many_long_calls_gets_room_for_four() {
    let (node, mut peer) = hostile().await;
    let most = 16 * MIB as u64;
    let cost = most / 64;
    for channel in 1..6 {
        peer.attach(channel, "store").await;
    }
    let mut granted = Vec::new();
    for channel in 0..6 {
        peer.tell(&[Frame::Need { channel, limit_wanted: 1 + cost, units: cost }]).await;
        peer.tell(&[Frame::Need { channel, limit_wanted: cost, units: cost }]).await;
    }
    peer.tell(&[Frame::Ping { id: 7, next_ms: 1000 }]).await;
    loop {
        let seen = in_time(PATIENCE, peer.frame()).await.unwrap();
        match seen.frame() {
            Frame::Credit { channel, limit, .. } if limit >= cost => granted.push(channel),
            Frame::Pong { .. } => break,
            _ => {}
        }
    }
    assert_eq!(granted, [0, 1, 2, 3], "each once");
    for channel in granted {
        let part = Frame::Parts { source: channel + 1, kind: kind::TELL, total: most, bytes: &[7] };
        assert!(peer.tell(&[part]).await);
    }
    drop(node);
}
