//! Streams as values with a peer that is written by hand: what a node sends, and what it does not
//! accept.

use wigwag_link::frame::{Frame, kind};
use wigwag_link::limits::ITEM_WINDOW_UNITS;
use wigwag_link::{Code, Identity, features};
use wigwag_testkit::raw;

use super::*;

const OFFERED: u64 = features::STREAM_VALUES | features::CANCELLING;
const COUNT: u64 = 1;
const KEEP: u64 = 4;
const LOSE: u64 = 7;
const WITH_NUMBER: u64 = 10;

/// An array of the stream with this number and of further bytes.
fn arguments(number: u8, more: &[u8]) -> Vec<u8> {
    let count = 0x91 + u8::from(!more.is_empty());
    [&[count, 0xC7, 2, 0x53, 1, number], more].concat()
}

fn item(slot: u64) -> Frame<'static> {
    Frame::Item { slot, generation: 0, side: 0, value: &[7] }
}

fn end(stream: u64, how: u8, code: Code) -> Frame<'static> {
    Frame::ItemEnd { stream, how, code, text: &[] }
}

/// The code with which the node closes.
async fn closed_with(peer: &mut raw::Raw) -> Code {
    in_time(PATIENCE, peer.closed()).await.unwrap().0
}

/// Everything before is read when the answer has come.
async fn synchronize(peer: &mut raw::Raw) {
    peer.tell(&[Frame::Ping { id: 1, next_ms: 1000 }]).await;
    in_time(PATIENCE, peer.until(kind::PONG)).await;
}

/// The stream and the limit of the next ITEM_CREDIT.
async fn credited(peer: &mut raw::Raw) -> (u64, u64) {
    let seen = in_time(PATIENCE, peer.until(kind::ITEM_CREDIT)).await;
    match seen.frame() {
        Frame::ItemCredit { slot, generation: 0, side: 0, limit } => (slot, limit),
        other => panic!("{other:?}"),
    }
}

/// The next ITEM_END: of which stream, how, and with which code.
async fn ended(peer: &mut raw::Raw) -> (u64, u8, Code) {
    let seen = in_time(PATIENCE, peer.until(kind::ITEM_END)).await;
    match seen.frame() {
        Frame::ItemEnd { stream, how, code, .. } => (stream, how, code),
        other => panic!("{other:?}"),
    }
}

/// A peer that calls the store of a node.
async fn caller(offered: u64) -> (Node, StoreRef, raw::Raw) {
    let node = Node::new();
    let store = Store::default().spawn();
    node.export("store", &store).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    let mut peer = raw::Raw::dial(&bound.to_string()).await;
    peer.open(Identity { offered, ..raw::identity() }).await;
    peer.attach(0, "store").await;
    (node, store, peer)
}

async fn tell(peer: &mut raw::Raw, method: u64, arguments: &[u8]) {
    peer.tell(&[Frame::Tell { channel: 0, method, arguments }]).await;
}

/// The code of the error of an ask from this slot.
async fn refused(peer: &mut raw::Raw, slot: u64, method: u64, arguments: &[u8]) -> Code {
    peer.tell(&[Frame::Ask { channel: 0, slot, generation: 1, method, arguments }]).await;
    let seen = in_time(PATIENCE, peer.until(kind::ERROR)).await;
    match seen.frame() {
        Frame::Error { slot: of, code, .. } if of == slot => code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_reader_opens_a_stream_with_credit_and_renews_it() {
    let (_node, store, mut peer) = caller(OFFERED).await;
    tell(&mut peer, KEEP, &arguments(100, &[])).await;
    assert_eq!(credited(&mut peer).await, (100, ITEM_WINDOW_UNITS));
    let numbers: Vec<[u8; 1]> = (0..100).map(|number| [number]).collect();
    let item = |value| Frame::Item { slot: 100, generation: 0, side: 0, value };
    let items: Vec<_> = numbers.iter().map(|number| item(number)).collect();
    peer.tell(&items).await;
    in_time(PATIENCE, store.take(100).ask()).await.unwrap();
    peer.tell(&[end(100, 0, Code::OK)]).await;
    assert_eq!(in_time(PATIENCE, store.finish().ask()).await.unwrap(), (100, true));
    // The number is free again, as far as the reader knows.
    tell(&mut peer, KEEP, &arguments(100, &[])).await;
    assert_eq!(credited(&mut peer).await, (100, ITEM_WINDOW_UNITS));
}

#[tokio::test]
async fn items_and_ends_of_no_stream_end_the_session() {
    let wrong_items = |slot, generation| Frame::Item { slot, generation, side: 0, value: &[7] };
    let cases: [(&str, Vec<Frame<'static>>); 10] = [
        ("another stream", vec![item(6)]),
        ("a generation", vec![wrong_items(5, 1)]),
        ("behind the end", vec![end(5, 0, Code::OK), item(5)]),
        ("two ends", vec![end(5, 0, Code::OK), end(5, 0, Code::OK)]),
        ("an error behind the end", vec![end(5, 0, Code::OK), end(5, 0, Code::CANCELLED)]),
        ("the end of another stream", vec![end(6, 0, Code::OK)]),
        ("an unknown kind of end", vec![end(5, 3, Code::OK)]),
        ("a reader of a stream that was not sent leaves", vec![end(0, 1, Code::CANCELLED)]),
        ("a stream that was not sent is refused", vec![end(0, 2, Code::CANCELLED)]),
        ("an unknown side", vec![Frame::Item { slot: 5, generation: 0, side: 2, value: &[7] }]),
    ];
    for (what, frames) in cases {
        let (_node, _store, mut peer) = caller(OFFERED).await;
        tell(&mut peer, KEEP, &arguments(5, &[])).await;
        assert_eq!(credited(&mut peer).await.0, 5);
        peer.tell(&frames).await;
        assert_eq!(closed_with(&mut peer).await, Code::PROTOCOL, "{what}");
    }
    // Before the handler has it.
    let (_node, store, mut peer) = caller(OFFERED).await;
    store.handle().unwrap().suspend();
    tell(&mut peer, KEEP, &arguments(5, &[])).await;
    peer.tell(&[item(5)]).await;
    assert_eq!(closed_with(&mut peer).await, Code::PROTOCOL);
}

#[tokio::test]
async fn an_item_beyond_the_credit_ends_the_session() {
    let (_node, store, mut peer) = caller(OFFERED).await;
    tell(&mut peer, KEEP, &arguments(5, &[])).await;
    let (_, limit) = credited(&mut peer).await;
    for _ in 0..limit / 64 {
        peer.tell(&[item(5); 64]).await;
    }
    synchronize(&mut peer).await;
    peer.tell(&[item(5)]).await;
    assert_eq!(closed_with(&mut peer).await, Code::CREDIT_EXCEEDED);
    drop(store);
}

/// Until its sender has ended it, a stream whose reader has left may use the credit that it had.
#[tokio::test]
async fn items_for_a_reader_that_has_left_are_taken_until_the_end_and_within_the_credit() {
    for is_beyond in [false, true] {
        let (_node, store, mut peer) = caller(OFFERED).await;
        tell(&mut peer, KEEP, &arguments(5, &[])).await;
        let (_, limit) = credited(&mut peer).await;
        peer.tell(&[item(5); 64]).await;
        synchronize(&mut peer).await;
        tell(&mut peer, LOSE, &[0x90]).await;
        assert_eq!(ended(&mut peer).await, (5, 1, Code::CANCELLED));
        for _ in 1..limit / 64 {
            peer.tell(&[item(5); 64]).await;
        }
        synchronize(&mut peer).await;
        if is_beyond {
            peer.tell(&[item(5)]).await;
            assert_eq!(closed_with(&mut peer).await, Code::CREDIT_EXCEEDED);
            continue;
        }
        peer.tell(&[end(5, 0, Code::CANCELLED)]).await;
        synchronize(&mut peer).await;
        peer.tell(&[item(5)]).await;
        assert_eq!(closed_with(&mut peer).await, Code::PROTOCOL);
        drop(store);
    }
}

#[tokio::test]
async fn a_stream_whose_number_is_in_use_is_refused_and_the_other_goes_on() {
    let (_node, store, mut peer) = caller(OFFERED).await;
    tell(&mut peer, KEEP, &arguments(5, &[])).await;
    assert_eq!(credited(&mut peer).await.0, 5);
    assert_eq!(refused(&mut peer, 0, COUNT, &arguments(5, &[])).await, Code::BAD_ARGUMENTS);
    let first = Frame::Item { slot: 5, generation: 0, side: 0, value: &[0] };
    peer.tell(&[first, end(5, 0, Code::OK)]).await;
    assert_eq!(in_time(PATIENCE, store.finish().ask()).await.unwrap(), (1, true));
}

#[tokio::test]
async fn streams_that_reach_no_handler_are_refused_with_the_reason() {
    let (_node, store, mut peer) = caller(OFFERED).await;
    // A method that there is not, and an argument that is wrong, of tells and of asks.
    tell(&mut peer, 99, &arguments(1, &[])).await;
    assert_eq!(ended(&mut peer).await, (1, 2, Code::NO_SUCH_METHOD));
    assert_eq!(refused(&mut peer, 0, 99, &arguments(2, &[])).await, Code::NO_SUCH_METHOD);
    tell(&mut peer, COUNT, &[0x91, 0x91, 0xC7, 2, 0x53, 1, 3]).await;
    assert_eq!(ended(&mut peer).await, (2, 2, Code::NO_SUCH_METHOD));
    assert_eq!(ended(&mut peer).await, (3, 2, Code::BAD_ARGUMENTS));
    // It was opened before the wrong argument was read.
    tell(&mut peer, WITH_NUMBER, &arguments(4, &[0xC0])).await;
    assert_eq!(ended(&mut peer).await, (4, 1, Code::CANCELLED));
    peer.tell(&[end(4, 0, Code::CANCELLED)]).await;
    // An actor that has stopped.
    store.handle().unwrap().stop();
    in_time(PATIENCE, peer.until(kind::DETACHED)).await;
    tell(&mut peer, KEEP, &arguments(6, &[])).await;
    assert_eq!(ended(&mut peer).await, (6, 2, Code::ACTOR_STOPPED));
    let (channel, how, target, schema_hash, codec) = (1, 0, &b"nobody"[..], 0, 0);
    peer.tell(&[Frame::Attach { channel, how, target, schema_hash, codec }]).await;
    peer.tell(&[Frame::Tell { channel: 1, method: KEEP, arguments: &arguments(7, &[]) }]).await;
    assert_eq!(ended(&mut peer).await, (7, 2, Code::NO_SUCH_ACTOR));
}

#[tokio::test]
async fn without_the_feature_a_stream_is_no_argument_and_its_frames_are_unknown() {
    let (_node, _store, mut peer) = caller(features::CANCELLING).await;
    assert_eq!(refused(&mut peer, 0, COUNT, &arguments(5, &[])).await, Code::BAD_ARGUMENTS);
    peer.tell(&[end(5, 0, Code::OK)]).await;
    assert_eq!(closed_with(&mut peer).await, Code::UNKNOWN_FRAME);
    for frame in [item(5), Frame::ItemCredit { slot: 5, generation: 0, side: 0, limit: 1 }] {
        let (_node, _store, mut peer) = caller(features::CANCELLING).await;
        peer.tell(&[frame]).await;
        assert_eq!(closed_with(&mut peer).await, Code::UNKNOWN_FRAME);
    }
}

/// A peer whose store a node calls.
async fn called(offered: u64) -> (Node, StoreRef, raw::Raw) {
    let (listener, address) = raw::listen().await;
    let peer = async {
        let mut peer = raw::arrival(&listener).await;
        peer.accept(Identity { offered, ..raw::identity() }).await;
        peer.attached(100).await;
        peer
    };
    let node = Node::new();
    let address = format!("{address}/store");
    let (store, peer) =
        in_time(PATIENCE, async { tokio::join!(node.actor::<Store>(&address), peer) }).await;
    (node, store.unwrap(), peer)
}

#[tokio::test]
async fn a_peer_without_the_feature_is_sent_no_stream() {
    let (_node, store, mut peer) = called(features::CANCELLING).await;
    let (sender, rows) = Items::channel(4);
    let refused = store.keep(rows).tell().await.unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::NotSerializable);
    assert!(refused.error.to_string().contains("knows no streams as arguments"), "{refused}");
    assert!(sender.is_wanted(), "the stream is still in the message");
    store.note(7).tell().await.unwrap();
    let seen = in_time(PATIENCE, peer.until(kind::TELL)).await;
    assert!(matches!(seen.frame(), Frame::Tell { arguments: [0x91, 7], .. }), "{seen:?}");
}

/// The number of the stream in a TELL of one.
async fn sent(peer: &mut raw::Raw) -> u64 {
    let seen = in_time(PATIENCE, peer.until(kind::TELL)).await;
    match seen.frame() {
        Frame::Tell { arguments: [0x91, 0xC7, 2, 0x53, 1, number], .. } => (*number).into(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_node_sends_items_within_the_limit_and_then_the_end() {
    let (_node, store, mut peer) = called(OFFERED).await;
    let (mut sender, rows) = Items::channel(16);
    (0..10).for_each(|number| sender.try_send(number).unwrap());
    store.keep(rows).tell().await.unwrap();
    sender.finish();
    let slot = sent(&mut peer).await;
    let credit = |slot, limit| Frame::ItemCredit { slot, generation: 0, side: 0, limit };
    // A limit of another stream means nothing.
    peer.tell(&[credit(slot + 1, 100), credit(slot, 4)]).await;
    let mut items = Vec::new();
    loop {
        let seen = in_time(PATIENCE, peer.frame()).await.unwrap();
        match seen.frame() {
            Frame::Item { slot: of, generation: 0, side: 0, value } => {
                assert_eq!(of, slot);
                items.extend(value.to_vec());
                if items.len() == 4 {
                    // A lower limit means nothing either.
                    peer.tell(&[credit(slot, 2)]).await;
                    synchronize(&mut peer).await;
                    peer.tell(&[credit(slot, 100)]).await;
                }
            }
            Frame::ItemEnd { stream, how: 0, code: Code::OK, .. } => {
                assert_eq!(stream, slot);
                break;
            }
            other => assert!(!matches!(other, Frame::ItemEnd { .. }), "{other:?}"),
        }
    }
    assert_eq!(items, (0..10).collect::<Vec<u8>>());
}

#[tokio::test]
async fn a_sender_ends_a_stream_whose_reader_leaves_and_not_one_that_is_refused() {
    let (_node, store, mut peer) = called(OFFERED).await;
    for (how, code) in [(1, Code::CANCELLED), (2, Code::BAD_ARGUMENTS)] {
        let (mut sender, rows) = Items::channel(16);
        store.keep(rows).tell().await.unwrap();
        let slot = sent(&mut peer).await;
        if how == 1 {
            peer.tell(&[Frame::ItemCredit { slot, generation: 0, side: 0, limit: 5 }]).await;
        }
        peer.tell(&[end(slot, how, code)]).await;
        assert_eq!(closed(&mut sender).await, CallErrorKind::from_code(code.0));
        // Again, and credit that was on its way: ignored.
        peer.tell(&[
            Frame::ItemCredit { slot, generation: 0, side: 0, limit: 10 },
            end(slot, how, code),
        ])
        .await;
        if how == 1 {
            assert_eq!(ended(&mut peer).await, (slot, 0, Code::CANCELLED));
        }
    }
    // The end of a third stream comes behind: there was none of the second.
    let (sender, rows) = Items::channel(16);
    store.keep(rows).tell().await.unwrap();
    sender.fail(3, "so");
    let slot = sent(&mut peer).await;
    peer.tell(&[Frame::ItemCredit { slot, generation: 0, side: 0, limit: 5 }]).await;
    assert_eq!(ended(&mut peer).await, (slot, 0, Code(0x8003)));
}
