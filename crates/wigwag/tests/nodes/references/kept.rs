//! References that come with each of many calls, and are dropped after each of them.

use wigwag::Interface;
use wigwag::limits::KEPT_ROUTES_MAX;
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Identity, features};
use wigwag_testkit::raw;

use super::*;

/// Ann is greeted so often.
const OFTEN: usize = 1_000;
/// The number of the method.
const GREET: u64 = 6;

#[tokio::test]
async fn an_actor_whose_reference_came_with_many_calls_ends_when_no_more_come() {
    let (_service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let client = node();
    let room = client.actor::<Room>(&url).await.unwrap();
    for _ in 0..3 {
        let (ann, mut heard) = member("ann");
        for _ in 0..OFTEN {
            room.greet(ann.clone()).tell().await.unwrap();
        }
        for _ in 0..OFTEN {
            assert_eq!(next(&mut heard).await.as_deref(), Some("hello"));
        }
        drop(ann);
        assert_eq!(next(&mut heard).await, None, "it has ended");
    }
}

/// The number of kept references is bounded, and more are dropped as they come.
#[tokio::test]
async fn many_actors_whose_references_come_again_are_all_told_and_all_end() {
    let (_service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let client = node();
    let room = client.actor::<Room>(&url).await.unwrap();
    let mut all: Vec<_> = (0..3 * KEPT_ROUTES_MAX).map(|_| member("one")).collect();
    for _ in 0..5 {
        for (one, _) in &all {
            room.greet(one.clone()).ask().await.unwrap();
        }
    }
    for (one, mut heard) in all.drain(..) {
        drop(one);
        for _ in 0..5 {
            assert_eq!(next(&mut heard).await.as_deref(), Some("hello"));
        }
        assert_eq!(next(&mut heard).await, None, "it has ended");
    }
}

/// A peer with channel 0 to a room.
async fn peer() -> (Node, raw::Raw, Identity) {
    let (service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let mut peer = raw::Raw::dial(url.trim_end_matches("/room")).await;
    let offered = features::REFERENCES | features::CANCELLING;
    let identity = Identity { offered, ..raw::identity() };
    peer.open(identity).await;
    peer.attach(0, "room").await;
    (service, peer, identity)
}

/// An array of a reference to a member of this peer.
fn argument(identity: &Identity, number: u128) -> Vec<u8> {
    let mut bytes = vec![0x91, 0xC7, 58, 0x57, 1];
    for number in [identity.node, identity.incarnation, number] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(Member::SCHEMA.hash.to_le_bytes());
    bytes.push(0);
    bytes
}

/// The reference and the times of the next RELEASE.
async fn released(peer: &mut raw::Raw) -> (u128, u64) {
    match tokio::time::timeout(PATIENCE, peer.until(kind::RELEASE)).await.unwrap().frame() {
        Frame::Release { reference, times } => {
            (u128::from_le_bytes(reference.try_into().unwrap()), times)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_reference_that_comes_again_is_attached_to_twice_and_released_as_often_as_it_came() {
    let (_service, mut peer, identity) = peer().await;
    let arguments = argument(&identity, 5);
    let greet = Frame::Tell { channel: 0, method: GREET, arguments: &arguments };
    // It comes once, and is let go at once.
    peer.tell(&[greet]).await;
    let first = peer.attached(1000).await;
    assert_eq!(released(&mut peer).await, (5, 1));
    peer.until(kind::DETACH).await;
    peer.tell(&[Frame::Detached {
        channel: first,
        code: wigwag_link::Code::OK,
        accepted: 1,
        reason: &[],
    }])
    .await;
    // It comes again, and again.
    for _ in 0..100 {
        peer.tell(&[greet]).await;
    }
    peer.attached(1000).await;
    let mut told = 0;
    loop {
        let seen = tokio::time::timeout(PATIENCE, peer.frame()).await.unwrap().unwrap();
        match seen.kind {
            kind::TELL => told += 1,
            kind::TELLS => told += seen.run().items.count(),
            kind::ATTACH => panic!("it is attached to a third time"),
            kind::RELEASE => {
                let times = Frame::Release { reference: &5_u128.to_le_bytes(), times: 100 };
                assert_eq!(seen.frame(), times);
                break;
            }
            _ => {}
        }
    }
    // The first one was not read here.
    assert_eq!(told, 101);
}
