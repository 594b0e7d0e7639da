//! Links of a peer that is written by hand: the rules, and the bytes.

use wigwag::lifecycle::Alive;
use wigwag::session::SessionChange;
use wigwag::{Node, NodeOptions, Reason};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::limits::LINKS_MAX;
use wigwag_link::{Code, Identity, features};
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::raw::{self, Raw};

use super::super::PATIENCE;
use super::{Exits, PartnerRef, ended, partner};

const OFFERED: u64 = features::LINKS | features::REFERENCES;

/// A node that accepts links or does not, its actor, and a peer with channel 0 to it.
async fn peer_of(offered: u64, accepts: bool) -> (Node, PartnerRef, Exits, Raw, Vec<u8>) {
    let node = Node::with(NodeOptions::default().accept_links(accepts));
    let (here, exits) = partner(true);
    node.export("partner", &here).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    let mut peer = Raw::dial(&bound.to_string()).await;
    peer.open(Identity { offered, ..raw::identity() }).await;
    let attach = Frame::Attach { channel: 0, how: 0, target: b"partner", schema_hash: 0, codec: 0 };
    peer.tell(&[attach]).await;
    let attached = peer.until(kind::ATTACHED).await;
    let Frame::Attached { reference, .. } = attached.frame() else { panic!() };
    let reference = reference.to_vec();
    (node, here, exits, peer, reference)
}

fn link(channel: u64, link: u64) -> Frame<'static> {
    Frame::Link { channel, link, actor: b"Stranger" }
}

fn unlink(channel: u64, link: u64, reason: &[u8]) -> Frame<'_> {
    Frame::Unlink { channel, link, reason }
}

/// The code with which the node closes the session.
async fn closed(peer: &mut Raw) -> Code {
    let close = in_time(PATIENCE, peer.try_until(kind::CLOSE)).await.unwrap();
    let Frame::Close { code, .. } = close.frame() else { panic!() };
    code
}

#[tokio::test]
async fn attached_says_whether_the_actor_may_be_linked_to() {
    let lengths = [(0, 8), (features::LINKS, 8), (features::REFERENCES, 24), (OFFERED, 25)];
    for (offered, length) in lengths {
        for accepts in [false, true] {
            let (_node, _here, _exits, _peer, reference) = peer_of(offered, accepts).await;
            assert_eq!(reference.len(), length);
            assert_eq!(
                reference.get(24).copied().unwrap_or_default() == 1,
                accepts && length == 25
            );
        }
    }
}

#[tokio::test]
async fn the_end_of_a_linked_actor_is_told_and_an_undone_link_is_not() {
    let (node, here, mut exits, mut peer, _) = peer_of(OFFERED, true).await;
    peer.tell(&[link(0, 1), link(0, 2), link(0, 3)]).await;
    peer.tell(&[unlink(0, 2, b""), unlink(0, 1, b"\x04no disk")]).await;
    let exit = in_time(PATIENCE, exits.recv()).await.unwrap();
    assert_eq!(exit.reason, Reason::Failed("no disk".into()));
    assert!(exit.target.ends_with("/Stranger"), "{}", exit.target);
    // The channel is closed, and with it the third one; a number may be used again.
    peer.tell(&[link(0, 1), Frame::Detach { channel: 0 }]).await;
    peer.until(kind::DETACHED).await;
    let mut events = node.session_events();
    drop(peer);
    let over = async {
        while !matches!(events.next().await.unwrap().what, SessionChange::Ended { .. }) {}
    };
    in_time(PATIENCE, over).await;
    here.handle().unwrap().kill();
    ended(&here).await;
    assert!(exits.try_recv().is_err());
}

#[tokio::test]
async fn a_link_behind_the_end_of_its_actor_is_ignored() {
    let (_node, here, _exits, mut peer, _) = peer_of(OFFERED, true).await;
    here.handle().unwrap().kill();
    ended(&here).await;
    peer.until(kind::DETACHED).await;
    peer.tell(&[link(0, 1), unlink(0, 1, b"\x00")]).await;
    peer.tell(&[Frame::Detach { channel: 0 }]).await;
    peer.tell(&[Frame::Attach { channel: 0, how: 0, target: b"", schema_hash: 0, codec: 0 }]).await;
    peer.until(kind::ATTACHED).await;
}

/// A dialer may send LINK before it has read ATTACHED.
#[tokio::test]
async fn a_link_without_permission_is_ignored() {
    let (_node, here, mut exits, mut peer, _) = peer_of(OFFERED, false).await;
    peer.tell(&[link(0, 1), link(0, 1), unlink(0, 1, b"\x04no"), unlink(0, 7, b"")]).await;
    peer.tell(&[Frame::Detach { channel: 0 }]).await;
    peer.until(kind::DETACHED).await;
    here.handle().unwrap().kill();
    ended(&here).await;
    assert!(exits.try_recv().is_err());
}

#[tokio::test]
async fn links_that_break_a_rule_end_the_session() {
    let rows: [(&str, Vec<Frame<'_>>, Code); 5] = [
        ("a number twice", vec![link(0, 1), link(0, 1)], Code::PROTOCOL),
        ("the end of none", vec![unlink(0, 1, b"")], Code::PROTOCOL),
        ("an end twice", vec![link(0, 1), unlink(0, 1, b""), unlink(0, 1, b"")], Code::PROTOCOL),
        ("no channel", vec![link(7, 1)], Code::PROTOCOL),
        ("no channel to undo", vec![unlink(7, 1, b"")], Code::PROTOCOL),
    ];
    for (what, frames, code) in rows {
        let (_node, _here, mut exits, mut peer, _) = peer_of(OFFERED, true).await;
        peer.tell(&frames).await;
        assert_eq!(closed(&mut peer).await, code, "{what}");
        while let Ok(exit) = exits.try_recv() {
            assert!(matches!(exit.reason, Reason::Unreachable(_)), "{what}: {}", exit.reason);
        }
    }
    for offered in [0, features::LINKS, features::REFERENCES] {
        let (_node, _here, _exits, mut peer, _) = peer_of(offered, true).await;
        peer.tell(&[link(0, 1)]).await;
        assert_eq!(closed(&mut peer).await, Code::UNKNOWN_FRAME);
    }
}

#[tokio::test]
async fn a_session_has_a_bounded_number_of_links() {
    let (_node, _here, mut exits, mut peer, _) = peer_of(OFFERED, true).await;
    let most = LINKS_MAX as u64;
    // Links of a channel that was closed count no more.
    for number in 0..most {
        peer.tell(&[link(0, number)]).await;
    }
    peer.tell(&[Frame::Detach { channel: 0 }]).await;
    let attach = Frame::Attach { channel: 0, how: 0, target: b"partner", schema_hash: 0, codec: 0 };
    peer.tell(&[attach]).await;
    peer.until(kind::ATTACHED).await;
    for number in 0..most {
        peer.tell(&[link(0, number)]).await;
    }
    // A link that is undone makes room for another one.
    peer.tell(&[unlink(0, 0, b""), link(0, most)]).await;
    peer.tell(&[link(0, most + 1)]).await;
    assert_eq!(closed(&mut peer).await, Code::LIMIT_EXCEEDED);
    for _ in 0..most {
        let exit = in_time(PATIENCE, exits.recv()).await.unwrap();
        assert!(matches!(exit.reason, Reason::Unreachable(_)));
    }
    assert!(exits.try_recv().is_err());
}
