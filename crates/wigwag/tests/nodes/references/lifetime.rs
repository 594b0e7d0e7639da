//! A reference keeps its actor alive as long as somebody holds it, and no longer.

use wigwag::lifecycle::Alive;
use wigwag::{CallErrorKind, Node};

use super::{Badge, Room, RoomRef, member, next, node, room_at};

async fn client_of(url: &str) -> (Node, RoomRef) {
    let client = node();
    let room = client.actor::<Room>(url).await.unwrap();
    (client, room)
}

#[tokio::test]
async fn an_actor_lives_as_long_as_another_process_holds_a_reference() {
    let (_service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let (_client, room) = client_of(&url).await;
    let (ann, mut heard) = member("ann");
    for _ in 0..3 {
        room.join(ann.clone()).ask().await.unwrap();
        assert_eq!(next(&mut heard).await.as_deref(), Some("welcome"));
    }
    drop(ann);
    assert_eq!(room.say("still there".to_owned()).ask().await.unwrap(), 3);
    for _ in 0..3 {
        assert_eq!(next(&mut heard).await.as_deref(), Some("still there"));
    }
    room.leave_all().tell().await.unwrap();
    assert_eq!(next(&mut heard).await, None, "it has ended");
}

#[tokio::test]
async fn actors_held_by_a_peer_are_released_with_its_session() {
    let (service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let (_client, room) = client_of(&url).await;
    let (ann, mut heard) = member("ann");
    room.join(ann).ask().await.unwrap();
    assert_eq!(next(&mut heard).await.as_deref(), Some("welcome"));
    service.close(std::time::Duration::from_secs(5)).await;
    assert_eq!(next(&mut heard).await, None);
}

#[tokio::test]
async fn a_reference_that_is_never_read_is_let_go() {
    let (_service, there, url) = room_at("tcp://127.0.0.1:0").await;
    let (client, room) = client_of(&url).await;
    // The call is to a method that does not exist.
    let (ann, mut heard) = member("ann");
    let other = client.actor::<Strange>(&url).await.unwrap();
    let error = other.join(ann, 7).ask().await.unwrap_err();
    assert_eq!(error.error().kind, CallErrorKind::BadArguments);
    drop(error);
    assert_eq!(next(&mut heard).await, None, "it was not even sent");
    // The call is cancelled before it begins.
    room.sleep().tell().await.unwrap();
    let (bob, mut heard) = member("bob");
    let badge = Badge { number: 1, member: Some(bob) };
    let asked = room.join_all(vec![badge], None).try_ask().unwrap();
    drop(asked);
    let (eve, mut eve_heard) = member("eve");
    room.join(eve).tell().await.unwrap();
    // The actor ends with both calls in its mailbox.
    there.handle().unwrap().kill();
    assert_eq!(next(&mut heard).await, None);
    assert_eq!(next(&mut eve_heard).await, None);
}

#[tokio::test]
async fn references_behind_one_that_leads_nowhere_are_let_go() {
    let (_service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let (client, room) = client_of(&url).await;
    // At home this is a room and no member, so the call is not understood.
    let wrong = client.actor::<super::Member>(&url).await.unwrap();
    let (ann, mut heard) = member("ann");
    let badge = |member| Badge { number: 0, member: Some(member) };
    let error = room.join_all(vec![badge(wrong), badge(ann)], None).ask().await.unwrap_err();
    assert_eq!(error.error().kind, CallErrorKind::BadArguments, "{error}");
    assert!(error.to_string().contains("another interface"), "{error}");
    assert_eq!(next(&mut heard).await, None);
    assert_eq!(room.say("hello".to_owned()).ask().await.unwrap(), 0, "the session goes on");
}

/// An actor with a method of the room that has another argument.
#[derive(Default)]
struct Strange;

#[wigwag::actor]
impl Strange {
    pub fn join(&mut self, member: super::MemberRef, number: u8) -> u64 {
        drop(member);
        number.into()
    }
}
