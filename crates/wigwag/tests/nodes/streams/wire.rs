//! Streams with a peer that is written by hand: what a node sends, and what it does not accept.

use wigwag_link::frame::{Frame, kind};
use wigwag_link::limits::ITEM_WINDOW_UNITS;
use wigwag_link::{Code, Identity, features};
use wigwag_testkit::raw;

use super::*;

const OFFERED: u64 = features::STREAMS | features::CANCELLING;

/// A node with a reference to the source of a hand-written peer.
async fn attached_to(offered: u64) -> (Node, SourceRef, raw::Raw) {
    let (listener, address) = raw::listen().await;
    let peer = async {
        let mut peer = raw::arrival(&listener).await;
        peer.accept(Identity { offered, ..raw::identity() }).await;
        peer.attached(100).await;
        peer
    };
    let node = Node::new();
    let address = format!("{address}/source");
    let (source, peer) =
        in_time(PATIENCE, async { tokio::join!(node.actor::<Source>(&address), peer) }).await;
    (node, source.unwrap(), peer)
}

/// A peer that has been asked for a stream: its slot and generation, and the first limit.
async fn asked(peer: &mut raw::Raw) -> (u64, u64, u64) {
    loop {
        let seen = in_time(PATIENCE, peer.frame()).await.unwrap();
        if let Frame::AskItems { limit, slot, generation, .. } = seen.frame() {
            return (slot, generation, limit);
        }
    }
}

/// The code with which the node closes.
async fn closed(peer: &mut raw::Raw) -> Code {
    in_time(PATIENCE, peer.closed()).await.unwrap().0
}

#[tokio::test]
async fn a_peer_without_the_feature_is_sent_no_ask_for_a_stream() {
    let (_node, source, _peer) = attached_to(features::CANCELLING).await;
    let mut items = source.numbers(1);
    let error = next(&mut items).await.unwrap().unwrap_err();
    assert_eq!(error.kind, CallErrorKind::NotSerializable);
    assert!(error.to_string().contains("knows no streams"), "{error}");
    assert!(next(&mut items).await.is_none());
}

#[tokio::test]
async fn credit_is_renewed_at_half_a_window() {
    let (_node, source, mut peer) = attached_to(OFFERED).await;
    let mut items = source.numbers(1).ahead(10);
    begin(&mut items).await;
    let (slot, generation, limit) = asked(&mut peer).await;
    assert_eq!(limit, 10);
    let item = Frame::Item { slot, generation, side: 1, value: &[7] };
    peer.tell(&[item; 10]).await;
    let mut limits = Vec::new();
    for read in 1..=10_u64 {
        assert_eq!(next(&mut items).await.unwrap().unwrap(), 7);
        if read % 5 == 0 {
            let seen = in_time(PATIENCE, peer.until(kind::ITEM_CREDIT)).await;
            let Frame::ItemCredit { limit, .. } = seen.frame() else { unreachable!() };
            limits.push(limit);
        }
    }
    assert_eq!(limits, [15, 20]);
    peer.tell(&[Frame::Reply { slot, generation, value: &[0xC0] }]).await;
    assert!(next(&mut items).await.is_none());
}

#[tokio::test]
async fn an_item_beyond_the_credit_ends_the_session() {
    let (_node, source, mut peer) = attached_to(OFFERED).await;
    let mut items = source.numbers(1);
    begin(&mut items).await;
    let (slot, generation, limit) = asked(&mut peer).await;
    assert_eq!(limit, ITEM_WINDOW_UNITS);
    let item = Frame::Item { slot, generation, side: 1, value: &[7] };
    for _ in 0..limit / 64 {
        peer.tell(&[item; 64]).await;
    }
    // All of them were accepted, and one more is not.
    peer.tell(&[Frame::Ping { id: 1, next_ms: 1000 }]).await;
    in_time(PATIENCE, peer.until(kind::PONG)).await;
    peer.tell(&[item]).await;
    assert_eq!(closed(&mut peer).await, Code::CREDIT_EXCEEDED);
    for _ in 0..limit {
        assert_eq!(next(&mut items).await.unwrap().unwrap(), 7);
    }
    assert_eq!(count(&mut items, 0).await, (0, Some(CallErrorKind::Unknown)));
}

#[tokio::test]
async fn items_of_no_stream_and_behind_the_end_end_the_session() {
    type Wrong = fn(u64, u64) -> Vec<Frame<'static>>;
    let cases: [(&str, Wrong); 6] = [
        ("another slot", |slot, generation| {
            vec![Frame::Item { slot: slot + 1, generation, side: 1, value: &[7] }]
        }),
        ("another generation", |slot, generation| {
            vec![Frame::Item { slot, generation: generation + 1, side: 1, value: &[7] }]
        }),
        ("the side of the asker", |slot, generation| {
            vec![Frame::Item { slot, generation, side: 0, value: &[7] }]
        }),
        ("behind the end", |slot, generation| {
            vec![
                Frame::Reply { slot, generation, value: &[0xC0] },
                Frame::Item { slot, generation, side: 1, value: &[7] },
            ]
        }),
        ("two ends", |slot, generation| {
            vec![
                Frame::Reply { slot, generation, value: &[0xC0] },
                Frame::Reply { slot, generation, value: &[0xC0] },
            ]
        }),
        ("a slot beyond 32 bits", |_, generation| {
            vec![Frame::Item { slot: 1 << 32, generation, side: 1, value: &[7] }]
        }),
    ];
    for (what, wrong) in cases {
        let (_node, source, mut peer) = attached_to(OFFERED).await;
        let mut items = source.numbers(1);
        begin(&mut items).await;
        let (slot, generation, _) = asked(&mut peer).await;
        peer.tell(&wrong(slot, generation)).await;
        assert_eq!(closed(&mut peer).await, Code::PROTOCOL, "{what}");
        drop(items);
    }
}

/// An ask without items wanted has no stream.
#[tokio::test]
async fn an_item_in_answer_to_an_ordinary_ask_ends_the_session() {
    let (_node, source, mut peer) = attached_to(OFFERED).await;
    let answer = source.begun().ask().sent().await.unwrap();
    let seen = in_time(PATIENCE, peer.until(kind::ASK)).await;
    let Frame::Ask { slot, generation, .. } = seen.frame() else { unreachable!() };
    peer.tell(&[Frame::Item { slot, generation, side: 1, value: &[7] }]).await;
    assert_eq!(closed(&mut peer).await, Code::PROTOCOL);
    drop(answer);
}

/// Until the end of the stream the peer may use the credit that it had.
#[tokio::test]
async fn items_for_a_reader_that_has_left_are_taken_within_the_credit() {
    let (_node, source, mut peer) = attached_to(OFFERED).await;
    let mut items = source.numbers(1).ahead(5);
    begin(&mut items).await;
    let (slot, generation, _) = asked(&mut peer).await;
    let item = Frame::Item { slot, generation, side: 1, value: &[7] };
    peer.tell(&[item; 2]).await;
    assert_eq!(next(&mut items).await.unwrap().unwrap(), 7);
    drop(items);
    in_time(PATIENCE, peer.until(kind::CANCEL)).await;
    peer.tell(&[item; 3]).await;
    let (code, text, data) = (Code::CANCELLED, &b""[..], &b""[..]);
    let error = Frame::Error { slot, generation, code, text, data };
    peer.tell(&[error, Frame::Ping { id: 1, next_ms: 1000 }]).await;
    in_time(PATIENCE, peer.until(kind::PONG)).await;
    // The slot is free again, with its next generation.
    let mut items = source.numbers(1).ahead(1);
    begin(&mut items).await;
    assert_eq!(asked(&mut peer).await, (slot, generation + 1, 1));
    let item = Frame::Item { slot, generation: generation + 1, side: 1, value: &[8] };
    peer.tell(&[item]).await;
    assert_eq!(next(&mut items).await.unwrap().unwrap(), 8);
}

/// A reader in another language that asks a node.
async fn asking(offered: u64) -> (Node, Arc<Produced>, raw::Raw) {
    let node = Node::new();
    let source = Source::default();
    let produced = source.produced.clone();
    node.export("source", &source.spawn()).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    let mut peer = raw::Raw::dial(&bound.to_string()).await;
    peer.open(Identity { offered, ..raw::identity() }).await;
    peer.attach(0, "source").await;
    (node, produced, peer)
}

fn ask(slot: u64, limit: u64, method: u64, arguments: &[u8]) -> Frame<'_> {
    Frame::AskItems { limit, channel: 0, slot, generation: 1, method, arguments }
}

/// The items until the completion of the ask in the slot, and that completion.
async fn answer(peer: &mut raw::Raw, wanted: u64) -> (Vec<Vec<u8>>, Result<Vec<u8>, Code>) {
    let mut items = Vec::new();
    loop {
        let seen = in_time(PATIENCE, peer.frame()).await.unwrap();
        match seen.frame() {
            Frame::Item { slot, side: 1, value, .. } if slot == wanted => {
                items.push(value.to_vec())
            }
            Frame::Reply { slot, value, .. } if slot == wanted => {
                return (items, Ok(value.to_vec()));
            }
            Frame::Error { slot, code, .. } if slot == wanted => return (items, Err(code)),
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_node_sends_items_within_the_limit_and_then_the_end() {
    let (_node, produced, mut peer) = asking(OFFERED).await;
    peer.tell(&[ask(3, 4, 1, &[0x91, 6])]).await;
    produced.until(|it| it.sent() == 4).await;
    // A lower limit, and one of another stream, mean nothing.
    let credit = |slot, limit| Frame::ItemCredit { slot, generation: 1, side: 1, limit };
    peer.tell(&[credit(3, 2), credit(4, 100), Frame::Ping { id: 1, next_ms: 1000 }]).await;
    let mut items = 0;
    loop {
        let seen = in_time(PATIENCE, peer.frame()).await.unwrap();
        match seen.frame() {
            Frame::Item { .. } => items += 1,
            Frame::Pong { .. } => break,
            _ => {}
        }
    }
    assert_eq!(produced.sent(), 4);
    peer.tell(&[credit(3, 100)]).await;
    let (rest, end) = answer(&mut peer, 3).await;
    assert_eq!((items + rest.len(), end), (6, Ok(vec![0xC0])));
    assert_eq!(rest.last(), Some(&vec![5]));
}

#[tokio::test]
async fn without_the_feature_an_ask_with_items_wanted_is_not_understood() {
    // A reader without *cancelling* could not leave.
    for offered in [features::CANCELLING, features::STREAMS] {
        let (_node, _, mut peer) = asking(offered).await;
        peer.tell(&[ask(0, 10, 1, &[0x91, 6])]).await;
        assert_eq!(answer(&mut peer, 0).await, (vec![], Err(Code::BAD_ARGUMENTS)));
        peer.tell(&[Frame::ItemCredit { slot: 0, generation: 1, side: 1, limit: 10 }]).await;
        assert_eq!(closed(&mut peer).await, Code::UNKNOWN_FRAME);
    }
}

/// A method that answers with one value does so; one that answers with a stream needs a reader.
#[tokio::test]
async fn items_wanted_and_methods_that_have_none() {
    let (_node, _, mut peer) = asking(OFFERED).await;
    let begun = 10;
    peer.tell(&[ask(0, 10, begun, &[0x90])]).await;
    assert_eq!(answer(&mut peer, 0).await, (vec![], Ok(vec![0])));
    let (channel, slot, generation) = (0, 1, 1);
    peer.tell(&[Frame::Ask { channel, slot, generation, method: 1, arguments: &[0x91, 6] }]).await;
    let (items, end) = answer(&mut peer, 1).await;
    assert_eq!((items.len(), end), (0, Err(Code(CallErrorKind::NotSerializable.code()))));
}

/// CANCEL releases a producer that waits for credit, and the ask is answered once.
#[tokio::test]
async fn a_cancelled_stream_is_answered_once() {
    let (_node, produced, mut peer) = asking(OFFERED).await;
    peer.tell(&[ask(0, 2, 1, &[0x91, 6])]).await;
    produced.until(|it| it.sent() == 2).await;
    peer.tell(&[Frame::Cancel { slot: 0, generation: 1 }]).await;
    let (items, end) = answer(&mut peer, 0).await;
    assert_eq!(items.len(), 2);
    assert_eq!(end, Err(Code(CallErrorKind::ReplyDropped.code())));
    assert_eq!(produced.unwanted.load(Ordering::SeqCst), 1);
}
