//! The end of a node that has SP clients.

use std::time::Duration;

use wigwag::NodeError;
use wigwag::sp::{Push, Sub};

use super::*;

#[tokio::test]
async fn a_node_that_closes_answers_what_it_has_begun_and_sends_what_was_published() {
    let (node, bound, desk) = desk_at("tcp://127.0.0.1:0").await;
    let (req, sub) = (req_at(&bound).await, Sub::new());
    sub.subscribe("").unwrap();
    sub.dial(&bound.to_string()).await.unwrap();
    req.send(r#"["desk","hold"]"#).await.unwrap();
    until(async || desk.held().ask().await.unwrap() == 1).await;
    until(async || {
        desk.announce("news".into(), Vec::new()).ask().await.unwrap();
        node.sp_client_statistics().published > 0
    })
    .await;
    let closing = tokio::spawn({
        let node = node.clone();
        async move { node.close(PATIENCE).await }
    });
    until(async || matches!(node.listen("inproc://late").await, Err(NodeError::Closed))).await;
    assert_eq!(in_time(PATIENCE, async { sub.recv().await }).await.unwrap(), "desk/news []");
    assert!(!closing.is_finished());
    desk.release().ask().await.unwrap();
    assert_eq!(in_time(PATIENCE, async { req.recv().await }).await.unwrap(), r#"["ok",0]"#);
    in_time(PATIENCE, closing).await.unwrap();
    assert_eq!(node.sp_client_statistics().connections, 0);
}

#[tokio::test]
async fn a_node_that_closes_hands_over_the_tells_that_have_come() {
    const TELLS: usize = 300;
    let gate = Arc::new(Semaphore::new(0));
    let desk = Desk { gate: Some(gate.clone()), ..Desk::default() };
    let (node, bound, desk) = desk_with("tcp://127.0.0.1:0", desk, NodeOptions::default()).await;
    let (push, req) = (Push::new(), req_at(&bound).await);
    push.dial(&bound.to_string()).await.unwrap();
    for number in 0..TELLS {
        push.send(format!(r#"["desk","pass","{number}"]"#)).await.unwrap();
    }
    push.close().await;
    // Tells that the actor has no room for wait in the socket: the connection has ended.
    until(async || node.sp_client_statistics().tells > 64).await;
    assert!(ask(&req, r#"["desk","nothing"]"#).await.contains("NoSuchMethod"));
    let closing = tokio::spawn(async move { node.close(PATIENCE).await });
    until(async || req.try_send("more").is_err()).await;
    gate.add_permits(TELLS);
    in_time(PATIENCE, closing).await.unwrap();
    assert_eq!(desk.words().ask().await.unwrap().len(), TELLS);
}

#[tokio::test]
async fn a_client_without_an_answer_holds_a_node_that_closes_for_its_time_only() {
    let (node, bound, desk) = desk_at("tcp://127.0.0.1:0").await;
    let req = req_at(&bound).await;
    req.send(r#"["desk","hold"]"#).await.unwrap();
    until(async || desk.held().ask().await.unwrap() == 1).await;
    in_time(PATIENCE, async { node.close(Duration::from_millis(50)).await }).await;
    until(async || node.sp_client_statistics().connections == 0).await;
    until(async || desk.held().ask().await.unwrap() == 0).await;
}

#[tokio::test]
async fn a_node_that_is_dropped_lets_its_clients_go() {
    let (node, bound, desk) = desk_at("tcp://127.0.0.1:0").await;
    let req = req_at(&bound).await;
    req.send(r#"["desk","hold"]"#).await.unwrap();
    until(async || desk.held().ask().await.unwrap() == 1).await;
    drop(node);
    until(async || desk.held().ask().await.unwrap() == 0).await;
}
