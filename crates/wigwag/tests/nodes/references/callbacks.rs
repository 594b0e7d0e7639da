//! A client hands a reference to a service, and is told over the connection that it has opened.

use wigwag::CallErrorKind;

use super::{Badge, MemberRef, PATIENCE, Room, member, next, node, room_at};

async fn is_called_back(address: &str) {
    let (_service, _, url) = room_at(address).await;
    let client = node();
    let room = client.actor::<Room>(&url).await.unwrap();
    let (ann, mut heard) = member("ann");
    assert_eq!(room.join(ann.clone()).ask().await.unwrap(), 1);
    assert_eq!(next(&mut heard).await.as_deref(), Some("welcome"));
    for n in 0..1_000 {
        room.say(format!("text {n}")).tell().await.unwrap();
    }
    for n in 0..1_000 {
        assert_eq!(next(&mut heard).await, Some(format!("text {n}")));
    }
}

#[tokio::test]
async fn a_client_is_told_over_its_own_connection() {
    is_called_back("tcp://127.0.0.1:0").await;
    is_called_back("inproc://references").await;
    let path = std::env::temp_dir().join(format!("wigwag-references-{}", std::process::id()));
    is_called_back(&format!("ipc://{}", path.display())).await;
}

#[tokio::test]
async fn references_within_other_values_arrive() {
    let (_service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let client = node();
    let room = client.actor::<Room>(&url).await.unwrap();
    let mut all = Vec::new();
    let mut badges = vec![Badge { number: 0, member: None }];
    for number in 1..40 {
        let (one, heard) = member(&number.to_string());
        badges.push(Badge { number, member: Some(one) });
        all.push(heard);
    }
    let (last, heard) = member("last");
    all.push(heard);
    assert_eq!(room.join_all(badges, Some(last)).ask().await.unwrap(), 40);
    assert_eq!(room.say("all".to_owned()).ask().await.unwrap(), 40);
    for heard in &mut all {
        assert_eq!(next(heard).await.as_deref(), Some("all"));
    }
}

async fn names(members: &[MemberRef]) -> Vec<String> {
    let mut names = Vec::new();
    for member in members {
        names.push(member.name().timeout(PATIENCE).ask().await.unwrap());
    }
    names
}

#[tokio::test]
async fn a_reference_that_comes_home_is_the_actor_itself() {
    let (_service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let client = node();
    let room = client.actor::<Room>(&url).await.unwrap();
    let (ann, _heard) = member("ann");
    room.join(ann).ask().await.unwrap();
    let members = room.members().ask().await.unwrap();
    assert_eq!(names(&members).await, ["ann"]);
    assert!(members[0].as_ref().is_local());
}

#[tokio::test]
async fn a_reply_holds_references_to_actors_of_the_service() {
    let (_service, there, url) = room_at("tcp://127.0.0.1:0").await;
    for name in ["ann", "bob", "eve"] {
        let (one, _heard) = member(name);
        there.join(one).ask().await.unwrap();
    }
    let client = node();
    let room = client.actor::<Room>(&url).await.unwrap();
    let members = room.members().ask().await.unwrap();
    assert_eq!(names(&members).await, ["ann", "bob", "eve"]);
    assert!(!members[0].as_ref().is_local());
    // In a pipeline too, and in a turn.
    let room = room.clone();
    let asked = wigwag::spawn(async move {
        let mut replies = room.pipeline(16).unwrap();
        for n in 0..100 {
            replies.push(room.members(), n).await.unwrap();
            if replies.is_full() {
                let (_, members) = replies.answer().await.unwrap();
                assert_eq!(members.unwrap().len(), 3);
            }
        }
        let mut last = Vec::new();
        while let Some((_, members)) = replies.answer().await {
            last = members.unwrap();
        }
        names(&last).await
    });
    assert_eq!(asked.await.unwrap(), ["ann", "bob", "eve"]);
}

/// The reference by name and the one in a reply lead over one channel, so there is an order.
#[tokio::test]
async fn calls_through_a_name_and_through_a_reference_are_in_order() {
    let (service, there, url) = room_at("tcp://127.0.0.1:0").await;
    let (ann, mut heard) = member("ann");
    service.export("ann", &ann).unwrap();
    there.join(ann).ask().await.unwrap();
    assert_eq!(next(&mut heard).await.as_deref(), Some("welcome"));
    let client = node();
    let room = client.actor::<Room>(&url).await.unwrap();
    let by_name = client.actor::<super::Member>(&url.replace("/room", "/ann")).await.unwrap();
    let by_reference = room.members().ask().await.unwrap().remove(0);
    for n in 0..500 {
        by_name.heard(format!("{n} name")).tell().await.unwrap();
        by_reference.heard(format!("{n} reference")).tell().await.unwrap();
    }
    for n in 0..500 {
        assert_eq!(next(&mut heard).await, Some(format!("{n} name")));
        assert_eq!(next(&mut heard).await, Some(format!("{n} reference")));
    }
}

#[tokio::test]
async fn a_reference_that_was_made_up_is_refused() {
    let (_service, _, url) = room_at("tcp://127.0.0.1:0").await;
    let client = node();
    let dynamic = client.dynamic(&url).await.unwrap();
    let mut made_up = vec![0x91, 0xC7, 58, 0x57, 1];
    made_up.extend([7; 57]);
    for arguments in [&[0x91, 0xC0][..], &[0x91, 5], &[0x91, 0xC4, 1, 1], &made_up[..40]] {
        let error = dynamic.ask("join", arguments).await.unwrap_err();
        assert_eq!(error.kind, CallErrorKind::BadArguments, "{error}");
    }
    // Of an unknown node, without an address.
    *made_up.last_mut().unwrap() = 0;
    let room = client.actor::<Room>(&url).await.unwrap();
    let error = dynamic.ask("join", &made_up).await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Panicked, "it cannot be told at once: {error}");
    drop(room);
}
