//! A reference to an actor of a third node.

use wigwag::{Actor, CallErrorKind, Node, NodeOptions};

use super::{PATIENCE, Room, member, next, node, room_at};

#[tokio::test]
async fn a_reference_to_an_actor_of_a_third_node_goes_direct() {
    // The first client has a member that listens nowhere; the third node has one that can be reached.
    let (_service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let third = node();
    let bound = third.listen("tcp://127.0.0.1:0").await.unwrap();
    let (ann, mut heard) = member("ann");
    third.export("ann", &ann).unwrap();
    drop(ann);
    let client = node();
    let room = client.actor::<Room>(&url).await.unwrap();
    let ann = client.actor::<super::Member>(&format!("{bound}/ann")).await.unwrap();
    assert_eq!(room.join_all(Vec::new(), Some(ann.clone())).ask().await.unwrap(), 1);
    assert_eq!(room.say("direct".to_owned()).timeout(PATIENCE).ask().await.unwrap(), 1);
    assert_eq!(next(&mut heard).await.as_deref(), Some("direct"));
    // Without the node that gave it.
    drop(ann);
    client.close(PATIENCE).await;
    drop(client);
    let other = node();
    let room = other.actor::<Room>(&url).await.unwrap();
    assert_eq!(room.say("still".to_owned()).timeout(PATIENCE).ask().await.unwrap(), 1);
    assert_eq!(next(&mut heard).await.as_deref(), Some("still"));
    // And on to a fourth one.
    let members = room.members().ask().await.unwrap();
    assert_eq!(members[0].name().timeout(PATIENCE).ask().await.unwrap(), "ann");
    third.withdraw("ann");
    room.leave_all().ask().await.unwrap();
    drop(members);
    assert_eq!(next(&mut heard).await, None, "nobody holds it");
}

#[tokio::test]
async fn a_third_node_that_cannot_be_reached_is_an_error_that_says_why() {
    let service = Node::with(NodeOptions::default().dial_references(false));
    let there = Room::default().spawn();
    service.export("room", &there).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let third = node();
    let third_bound = third.listen("tcp://127.0.0.1:0").await.unwrap();
    let (ann, _heard) = member("ann");
    third.export("ann", &ann).unwrap();
    let client = node();
    let room = client.actor::<Room>(&format!("{bound}/room")).await.unwrap();
    let ann = client.actor::<super::Member>(&format!("{third_bound}/ann")).await.unwrap();
    room.join_all(Vec::new(), Some(ann)).ask().await.unwrap();
    let member = there.members().ask().await.unwrap().remove(0);
    let error = member.name().timeout(PATIENCE).ask().await.unwrap_err();
    assert_eq!(error.error().kind, CallErrorKind::NotDelivered);
    assert!(error.to_string().contains("does not dial"), "{error}");
}
