//! Calls through an answer arrive, whoever drops the reference, and nothing is held afterwards.

use wigwag::lifecycle::Alive;
use wigwag::{Actor, ActorOptions, CallErrorKind};
use wigwag_testkit::ledger::in_time;

use super::{Desk, PATIENCE, client_of, gated, put, served};

#[tokio::test]
async fn calls_are_handled_whose_reference_is_dropped_before_the_answer() {
    let (first, gate) = gated();
    let second = put(&first, "second").await;
    let (_service, url) = served(&first).await;
    let (_client, desk) = client_of(&url).await;
    // This many calls have room without an answer.
    for line in 0..50 {
        desk.find_later("second".to_owned()).pipe().note(&line.to_string()).tell().await.unwrap();
    }
    gate.add_permits(50);
    desk.note("sync").ask().await.unwrap();
    tokio::time::timeout(PATIENCE, async {
        while second.lines().ask().await.unwrap().len() < 50 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn an_actor_ends_when_the_last_reference_to_it_was_piped_and_dropped() {
    let (first, gate) = gated();
    let second = put(&first, "second").await;
    let (_service, url) = served(&first).await;
    let (_client, desk) = client_of(&url).await;
    let ended = second.handle().unwrap();
    drop(second);
    let piped = desk.find_later("second".to_owned()).pipe();
    let unused = desk.find_later("second".to_owned()).pipe();
    gate.add_permits(2);
    assert_eq!(piped.note("x").ask().await.unwrap(), 1);
    first.remove("second").ask().await.unwrap();
    assert_eq!(piped.note("x").ask().await.unwrap(), 2, "the channel keeps it alive");
    drop(piped);
    drop(unused);
    tokio::time::timeout(PATIENCE, ended.ended()).await.unwrap();
}

/// The service relays to an actor of the client, in a runtime that outlives the one of the first actor.
#[tokio::test]
async fn a_channel_through_an_answer_outlives_the_actor_that_has_answered() {
    let first = Desk::default().spawn_with(ActorOptions::default().own_thread());
    let (_service, url) = served(&first).await;
    let (_client, there) = client_of(&url).await;
    put(&there, "own").await;
    let piped = there.find("own").pipe();
    assert_eq!(piped.note("x").ask().await.unwrap(), 1);
    let handle = first.handle().unwrap();
    handle.stop();
    handle.ended().await;
    let second = tokio::time::timeout(PATIENCE, piped.note("y").ask()).await;
    assert_eq!(second.expect("an answer").unwrap(), 2);
}

#[tokio::test]
async fn a_piped_reference_is_told_of_the_end_of_its_actor() {
    let first = Desk::default().spawn();
    let second = put(&first, "second").await;
    let (_service, url) = served(&first).await;
    let (_client, desk) = client_of(&url).await;
    let piped = desk.find("second").pipe();
    piped.note("x").ask().await.unwrap();
    second.handle().unwrap().kill();
    tokio::time::timeout(PATIENCE, async {
        loop {
            if let Err(error) = piped.note("x").ask().await {
                assert_eq!(error.into_error().kind, CallErrorKind::ActorStopped);
                break;
            }
        }
    })
    .await
    .unwrap();
}

/// The client asks itself through the service, and answers with the service's own actor: neither
/// side keeps what it was sent because the other one does.
#[tokio::test]
async fn an_actor_of_the_node_that_relays_is_let_go_with_the_references_of_the_client() {
    let first = Desk::default().spawn();
    let (service, url) = served(&first).await;
    let (client, there) = client_of(&url).await;
    let own = put(&there, "own").await;
    own.put("first", there.clone()).ask().await.unwrap();
    let found = there.find("own").pipe().find("first").ask().await.unwrap().unwrap();
    assert_eq!(found.note("here").ask().await.unwrap(), 1);
    // Through it and an answer: the service knows its own actor.
    assert!(
        there.find("own").pipe().find("first").pipe().find("nobody").ask().await.unwrap().is_none()
    );
    first.remove("own").ask().await.unwrap();
    drop((found, there, own));
    in_time(PATIENCE, async {
        for node in [&service, &client] {
            while !node.held_actors()[0].held.actors.is_empty() {
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
}
