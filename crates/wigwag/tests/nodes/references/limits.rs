//! A peer can make a node lend or hold a bounded number of references.

use wigwag::CallErrorKind;
use wigwag::limits::REFERENCES_MAX;

use super::{Badge, MemberRef, Room, member, node, room_at};

fn members(count: u64) -> Vec<Badge> {
    let badge = |_| Badge { number: 0, member: Some(member("one").0) };
    (0..count).map(badge).collect()
}

#[tokio::test]
async fn a_session_is_lent_a_bounded_number_of_references() {
    let (_service, there, url) = room_at("tcp://127.0.0.1:0").await;
    there.join_all(members(REFERENCES_MAX), None).ask().await.unwrap();
    let client = node();
    // This caller reads no references, and so releases none.
    let dynamic = client.dynamic(&url).await.unwrap();
    for _ in 0..2 {
        let answer = dynamic.ask("members", &[0x90]).await.unwrap();
        assert!(answer.len() as u64 > 62 * REFERENCES_MAX);
    }
    there.join_all(members(1), None).ask().await.unwrap();
    let error = dynamic.ask("members", &[0x90]).await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::NotSerializable);
    assert!(error.to_string().contains("as many references"), "{error}");
    // The room of the refused answer is free again, and with the session all of it.
    let other = node();
    let room = other.actor::<Room>(&url).await.unwrap();
    let error = room.members().ask().await.unwrap_err();
    assert_eq!(error.error().kind, CallErrorKind::NotSerializable);
    there.leave_all().ask().await.unwrap();
    there.join_all(members(100), None).ask().await.unwrap();
    assert_eq!(room.members().ask().await.unwrap().len(), 100);
}

/// More references to actors of a peer than it has channels: the others say why they fail.
#[tokio::test]
async fn references_beyond_the_channels_of_the_peer_fail_and_the_others_work() {
    let service = wigwag::Node::with(wigwag::NodeOptions::default().actors_per_peer(50));
    let there = wigwag::Actor::spawn(Room::default());
    service.export("room", &there).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    there.join_all(members(60), None).ask().await.unwrap();
    let client = node();
    let room = client.actor::<Room>(&format!("{bound}/room")).await.unwrap();
    let held: Vec<MemberRef> = room.members().ask().await.unwrap();
    let mut failed = 0;
    for one in &held {
        match one.name().ask().await {
            Ok(name) => assert_eq!(name, "one"),
            Err(error) => {
                assert_eq!(error.error().kind, CallErrorKind::Overloaded, "{error}");
                failed += 1;
            }
        }
    }
    assert_eq!(failed, 11, "the room has a channel too");
    drop(held);
    assert_eq!(room.members().ask().await.unwrap().len(), 60);
}
