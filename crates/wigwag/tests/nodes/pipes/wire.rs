//! Pipes with a peer that is written by hand: what a node refuses, and what it holds.

use std::sync::Arc;

use tokio::sync::Semaphore;
use wigwag::limits::PIPES_PENDING_MAX;
use wigwag::{CallErrorKind, Node};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Code, Identity, features};
use wigwag_testkit::raw;

use super::{Desk, DeskRef, PATIENCE, gated, put};

const OFFERED: u64 = features::PIPES | features::REFERENCES | features::CANCELLING;

/// Methods of the desk.
const FIND: u64 = 4;
const FIND_LATER: u64 = 6;
const NOTE: u64 = 7;
/// Their arguments.
const NOBODY: &[u8] = b"\x91\xA6nobody";
const SECOND: &[u8] = b"\x91\xA6second";
const LINE: &[u8] = b"\x91\xA4line";

/// A peer with channel 0 to a gated desk, which has a second desk on it.
async fn peer_of(offered: u64) -> (Node, DeskRef, Arc<Semaphore>, raw::Raw) {
    let (first, gate) = gated();
    let second = put(&first, "second").await;
    let service = Node::new();
    service.export("desk", &first).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let mut peer = raw::Raw::dial(&bound.to_string()).await;
    peer.open(Identity { offered, ..raw::identity() }).await;
    peer.attach(0, "desk").await;
    (service, second, gate, peer)
}

fn target(slot: u32, generation: u32) -> Vec<u8> {
    [slot.to_le_bytes(), generation.to_le_bytes()].concat()
}

/// Attaches a channel to the actor of an answer. The code of a refusal.
async fn attach(peer: &mut raw::Raw, channel: u64, target: &[u8]) -> Option<Code> {
    peer.tell(&[Frame::Attach { channel, how: 3, target, schema_hash: 0, codec: 0 }]).await;
    loop {
        let seen = tokio::time::timeout(PATIENCE, peer.frame()).await.unwrap().unwrap();
        match seen.frame() {
            Frame::Attached { reference, .. } => {
                assert!(reference.is_empty(), "the actor is not known yet");
                return None;
            }
            Frame::Detached { code, .. } => return Some(code),
            _ => {}
        }
    }
}

fn ask(channel: u64, slot: u64, method: u64, arguments: &[u8]) -> Frame<'_> {
    Frame::Ask { channel, slot, generation: 1, method, arguments }
}

/// The code with which an ask fails; 0 if it is answered.
async fn answer(peer: &mut raw::Raw, wanted: u64) -> Code {
    loop {
        let seen = tokio::time::timeout(PATIENCE, peer.frame()).await.unwrap().unwrap();
        match seen.frame() {
            Frame::Reply { slot, .. } if slot == wanted => return Code::OK,
            Frame::Error { slot, code, .. } if slot == wanted => return code,
            _ => {}
        }
    }
}

#[tokio::test]
async fn targets_that_no_answer_can_lead_to_are_refused() {
    let (_service, _second, _gate, mut peer) = peer_of(OFFERED).await;
    peer.tell(&[ask(0, 5, FIND, NOBODY)]).await;
    assert_eq!(answer(&mut peer, 5).await, Code::OK);
    let refused: [(&str, Vec<u8>); 6] = [
        ("an ask that is answered", target(5, 1)),
        ("a generation before it", target(5, 0)),
        ("a slot beyond slots_max", target(u32::MAX, 0)),
        ("no slot", Vec::new()),
        ("a slot without its generation", vec![5, 0, 0, 0]),
        ("one byte more", [target(5, 2), vec![0]].concat()),
    ];
    for (what, target) in refused {
        assert_eq!(attach(&mut peer, 1, &target).await, Some(Code::NO_SUCH_ACTOR), "{what}");
        peer.tell(&[Frame::Detach { channel: 1 }]).await;
    }
    assert_eq!(attach(&mut peer, 1, &target(5, 2)).await, None);
    assert_eq!(
        attach(&mut peer, 2, &target(5, 2)).await,
        Some(Code::NO_SUCH_ACTOR),
        "a second one"
    );
    // The session goes on.
    peer.tell(&[ask(0, 6, FIND, SECOND)]).await;
    assert_eq!(answer(&mut peer, 6).await, Code::OK);
}

#[tokio::test]
async fn without_the_feature_no_answer_leads_to_a_channel() {
    for offered in [features::REFERENCES, features::PIPES] {
        let (_service, _second, _gate, mut peer) = peer_of(offered).await;
        assert_eq!(attach(&mut peer, 1, &target(5, 1)).await, Some(Code::NO_SUCH_ACTOR));
    }
}

#[tokio::test]
async fn an_ask_without_a_reference_ends_the_channel_that_waits_for_it() {
    for (method, arguments) in [(NOTE, LINE), (FIND, NOBODY), (99, &[0x90][..]), (0, &[0x90][..])] {
        let (_service, _second, _gate, mut peer) = peer_of(OFFERED).await;
        assert_eq!(attach(&mut peer, 1, &target(5, 1)).await, None);
        peer.tell(&[Frame::Need { channel: 1, limit_wanted: 100, units: 0 }]).await;
        tokio::time::timeout(PATIENCE, peer.until(kind::CREDIT)).await.unwrap();
        let held = [ask(1, 6, NOTE, LINE), ask(0, 5, method, arguments)];
        peer.tell(&held).await;
        let code = match method {
            99 => Code::NO_SUCH_METHOD,
            _ => Code::NO_SUCH_ACTOR,
        };
        // In either order: the answer may come before the calls are published.
        let seen = tokio::time::timeout(PATIENCE, peer.until(kind::ERROR)).await.unwrap();
        let failed = match seen.frame() {
            Frame::Error { slot: 6, code, .. } => code,
            // The error of the ask itself.
            _ => {
                match tokio::time::timeout(PATIENCE, peer.until(kind::ERROR)).await.unwrap().frame()
                {
                    Frame::Error { slot: 6, code, .. } => code,
                    other => panic!("{other:?}"),
                }
            }
        };
        assert_eq!(failed, code, "method {method}");
        let seen = tokio::time::timeout(PATIENCE, peer.until(kind::DETACHED)).await.unwrap();
        let Frame::Detached { channel: 1, code: why, reason, .. } = seen.frame() else { panic!() };
        assert_eq!((why, reason[0]), (code, 9));
        // Until the peer closes it, calls fail with the same code, those beyond the first credit too.
        peer.tell(&[ask(1, 8, NOTE, LINE)]).await;
        assert_eq!(answer(&mut peer, 8).await, code);
        peer.tell(&[Frame::Tell { channel: 1, method: NOTE, arguments: LINE }; 70]).await;
        peer.tell(&[ask(1, 7, NOTE, LINE)]).await;
        assert_eq!(answer(&mut peer, 7).await, code);
    }
}

#[tokio::test]
async fn calls_beyond_the_credit_of_a_channel_that_waits_end_the_session() {
    let (_service, _second, _gate, mut peer) = peer_of(OFFERED).await;
    assert_eq!(attach(&mut peer, 1, &target(5, 1)).await, None);
    let tell = Frame::Tell { channel: 1, method: NOTE, arguments: LINE };
    peer.tell(&[tell; 64]).await;
    peer.tell(&[ask(0, 6, FIND, SECOND)]).await;
    assert_eq!(answer(&mut peer, 6).await, Code::OK);
    peer.tell(&[tell]).await;
    let closed = tokio::time::timeout(PATIENCE, peer.closed()).await.unwrap().unwrap();
    assert_eq!(closed.0, Code::CREDIT_EXCEEDED);
}

/// Beyond the limit a channel is refused; one that is given up before it was used makes room.
#[tokio::test]
async fn a_session_has_a_bounded_number_of_channels_that_wait() {
    let (_service, _second, _gate, mut peer) = peer_of(OFFERED).await;
    for slot in 0..PIPES_PENDING_MAX as u32 {
        assert_eq!(attach(&mut peer, 1 + u64::from(slot), &target(slot, 0)).await, None, "{slot}");
    }
    assert_eq!(attach(&mut peer, 2_000, &target(2_000, 0)).await, Some(Code::OVERLOADED));
    peer.tell(&[Frame::Detach { channel: 7 }]).await;
    peer.until(kind::DETACHED).await;
    assert_eq!(attach(&mut peer, 2_001, &target(2_000, 0)).await, None);
    assert_eq!(attach(&mut peer, 2_002, &target(2_002, 0)).await, Some(Code::OVERLOADED));
}

/// All in one batch, so that nobody can have read their answers.
#[tokio::test]
async fn more_unanswered_attaches_than_channels_that_may_wait_end_the_session() {
    let (_service, _second, _gate, mut peer) = peer_of(OFFERED).await;
    let targets: Vec<_> = (0..=PIPES_PENDING_MAX as u32).map(|slot| target(slot, 0)).collect();
    let frames: Vec<_> = (1..)
        .zip(&targets)
        .map(|(channel, target)| Frame::Attach {
            channel,
            how: 3,
            target,
            schema_hash: 0,
            codec: 0,
        })
        .collect();
    peer.tell(&frames).await;
    let closed = tokio::time::timeout(PATIENCE, peer.closed()).await.unwrap().unwrap();
    assert_eq!(closed.0, Code::LIMIT_EXCEEDED);
}

/// Two channels of which each waits for an ask on the other one harm nobody else.
#[tokio::test]
async fn channels_that_wait_for_each_other_wait_until_the_session_ends() {
    let (_service, second, gate, mut peer) = peer_of(OFFERED).await;
    for (channel, slot) in [(1, 5), (2, 6)] {
        assert_eq!(attach(&mut peer, channel, &target(slot, 1)).await, None);
    }
    peer.tell(&[ask(1, 6, FIND, SECOND), ask(2, 5, FIND, SECOND)]).await;
    assert_eq!(attach(&mut peer, 3, &target(7, 1)).await, None);
    let tell = Frame::Tell { channel: 3, method: NOTE, arguments: LINE };
    peer.tell(&[tell, ask(0, 7, FIND_LATER, SECOND), ask(3, 8, NOTE, LINE)]).await;
    gate.add_permits(1);
    assert_eq!(answer(&mut peer, 8).await, Code::OK);
    assert_eq!(second.lines().ask().await.unwrap(), ["line"; 2]);
}

#[tokio::test]
async fn calls_of_a_chain_fail_to_its_end() {
    let (_service, second, gate, mut peer) = peer_of(OFFERED).await;
    let most = 500;
    for n in 0..most {
        assert_eq!(attach(&mut peer, 1 + n, &target(5 + n as u32, 1)).await, None);
    }
    peer.tell(&[ask(0, 5, FIND_LATER, NOBODY)]).await;
    for n in 0..most {
        peer.tell(&[ask(1 + n, 6 + n, FIND, NOBODY)]).await;
    }
    gate.add_permits(1);
    assert_eq!(answer(&mut peer, 5 + most).await, Code(CallErrorKind::NoSuchActor.code()));
    assert!(second.lines().ask().await.unwrap().is_empty());
}

/// The peer of an earlier release is asked, and called when it has answered.
#[tokio::test]
async fn a_peer_without_the_feature_is_sent_no_such_attach() {
    let (listener, address) = raw::listen().await;
    let client = Node::new();
    let peer = async {
        let mut peer = raw::arrival(&listener).await;
        let offered = features::REFERENCES | features::CANCELLING;
        peer.accept(Identity { offered, ..raw::identity() }).await;
        peer.attached(100).await;
        peer
    };
    let address = format!("{address}/desk");
    let (desk, mut peer) = tokio::join!(client.actor::<Desk>(&address), peer);
    let piped = desk.unwrap().find("x").pipe();
    let refused = piped.note("x").try_tell().unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::Full);
    let seen = tokio::time::timeout(PATIENCE, peer.until(kind::ASK)).await.unwrap();
    let (slot, generation) = seen.asker();
    peer.tell(&[Frame::Reply { slot, generation, value: &[0xC0] }]).await;
    let error = piped.note("x").ask().await.unwrap_err().into_error();
    assert_eq!(error.kind, CallErrorKind::NoSuchActor, "{error}");
}
