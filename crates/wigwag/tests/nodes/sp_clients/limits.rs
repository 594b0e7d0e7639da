//! Each limit on SP clients is crossed.

use wigwag::limits::{SP_ASKS_MAX, SP_CLIENT_ACTORS_MAX, SP_CLIENT_CALLS_MAX, SP_CLIENTS_MAX};
use wigwag::sp::Push;
use wigwag_net::handshake::{read_header, send_header};
use wigwag_net::transport;
use wigwag_net::transport::Connection;
use wigwag_wire::{ProtocolNumber, ReadBuf};

use super::hostile::{REQ, Raw};
use super::*;

/// Subscribers over inproc, which take no descriptor.
async fn subscriber(address: &Address) -> Connection {
    let mut connection = transport::dial(address).await.unwrap();
    send_header(&connection, ProtocolNumber::SUB).await.unwrap();
    read_header(&mut connection, &mut ReadBuf::new()).await.unwrap();
    connection
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_beyond_1024_evicts_the_oldest() {
    let (node, bound, _desk) = desk_at("inproc://many-clients").await;
    // The node counts a client some time after it has greeted it, and two in any order.
    let mut clients = vec![subscriber(&bound).await];
    until(async || node.sp_client_statistics().connections == 1).await;
    while clients.len() < SP_CLIENTS_MAX {
        clients.push(subscriber(&bound).await);
    }
    until(async || node.sp_client_statistics().connections == SP_CLIENTS_MAX).await;
    let _newcomer = subscriber(&bound).await;
    let mut input = ReadBuf::new();
    let closed = async { clients[0].reader.fill(&mut input).await };
    assert_eq!(in_time(PATIENCE, closed).await.unwrap(), 0);
    until(async || node.sp_client_statistics().connections == SP_CLIENTS_MAX).await;
    let req = req_at(&bound).await;
    assert_eq!(ask(&req, r#"["desk","add",1,2]"#).await, r#"["ok",3]"#);
}

/// 64 connections of 64 asks each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_source_has_half_of_the_asks_and_a_session_goes_on() {
    let (_node, bound, desk) = desk_at("tcp://127.0.0.1:0").await;
    let mut clients = Vec::new();
    for _ in 0..SP_ASKS_MAX / 2 / SP_CLIENT_CALLS_MAX {
        let mut client = Raw::dial(&bound, REQ).await;
        for id in 0..SP_CLIENT_CALLS_MAX as u32 {
            client.request(id, br#"["desk","hold"]"#).await;
        }
        clients.push(client);
    }
    until(async || desk.held().ask().await.unwrap() == SP_ASKS_MAX / 2).await;
    let req = req_at(&bound).await;
    let refused = ask(&req, r#"["desk","add",1,2]"#).await;
    assert!(refused.starts_with(r#"["error","Overloaded","#), "{refused}");
    let peer = Node::new();
    let session = peer.actor::<Desk>(&format!("{bound}/desk")).await.unwrap();
    assert_eq!(session.add(1, 2).ask().await.unwrap(), 3);
    assert_eq!(desk.release().ask().await.unwrap(), SP_ASKS_MAX / 2);
    until(async || ask(&req, r#"["desk","add",1,2]"#).await == r#"["ok",3]"#).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_not_read_are_replaced_by_errors() {
    let (node, bound, _desk) = desk_at("tcp://127.0.0.1:0").await;
    let mut client = Raw::dial(&bound, REQ).await;
    client.header().await;
    for id in 0..64 {
        // As MessagePack, so that the answer has as many bytes: 700,000.
        client.request(id, b"\x93\xa4desk\xa5bytes\xce\x00\x0a\xae\x60").await;
    }
    until(async || node.sp_client_statistics().requests == 64).await;
    let mut refused = 0;
    let mut bytes = 0;
    for _ in 0..64 {
        let message = client.message().await;
        bytes += message.len();
        refused += usize::from(message.windows(10).any(|part| part == b"Overloaded"));
    }
    assert!(refused > 0, "{bytes} bytes of answers waited for a client that did not read");
    assert!(refused < 64, "four MiB are sent");
}

/// The node reads no more than it may hold, and another client tells the same actor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_tells_to_a_stuck_actor_wait_at_their_sender() {
    let gate = Arc::new(Semaphore::new(0));
    let desk = Desk { gate: Some(gate.clone()), ..Desk::default() };
    let (node, bound, desk) = desk_with("tcp://127.0.0.1:0", desk, NodeOptions::default()).await;
    let (flood, other) = (Push::new(), Push::new());
    flood.dial(&bound.to_string()).await.unwrap();
    other.dial(&bound.to_string()).await.unwrap();
    let word = "x".repeat(300_000);
    let flooding = tokio::spawn(async move {
        for _ in 0..100 {
            flood.send(format!(r#"["desk","pass","{word}"]"#)).await.unwrap();
        }
        flood
    });
    // The first is handled; three fill the window; one waits for it.
    until(async || node.sp_client_statistics().tells == 5).await;
    let req = req_at(&bound).await;
    node.export("other", &Desk::default().spawn()).unwrap();
    for _ in 0..100 {
        assert_eq!(ask(&req, r#"["other","add",1,2]"#).await, r#"["ok",3]"#);
    }
    assert_eq!(node.sp_client_statistics().tells, 5);
    other.send(r#"["desk","pass","other"]"#).await.unwrap();
    gate.add_permits(101);
    let _flood = in_time(PATIENCE, flooding).await.unwrap();
    until(async || desk.words().ask().await.unwrap().len() == 101).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_tells_to_a_stuck_actor_wait_at_their_sender() {
    let gate = Arc::new(Semaphore::new(0));
    let desk = Desk { gate: Some(gate.clone()), ..Desk::default() };
    let (node, bound, desk) = desk_with("tcp://127.0.0.1:0", desk, NodeOptions::default()).await;
    let push = Push::new();
    push.dial(&bound.to_string()).await.unwrap();
    let flooding = tokio::spawn(async move {
        for number in 0..5000 {
            push.send(format!(r#"["desk","pass","{number}"]"#)).await.unwrap();
        }
        push
    });
    // The actor and its queue are full; the next tells wait at their sender.
    until(async || node.sp_client_statistics().tells >= 65).await;
    let req = req_at(&bound).await;
    node.export("other", &Desk::default().spawn()).unwrap();
    for _ in 0..100 {
        assert_eq!(ask(&req, r#"["other","add",1,2]"#).await, r#"["ok",3]"#);
    }
    let tells = node.sp_client_statistics().tells;
    assert!(tells <= 2 * SP_CLIENT_CALLS_MAX as u64 + 2, "{tells}");
    gate.add_permits(5000);
    until(async || desk.words().ask().await.unwrap().len() == 5000).await;
    drop(in_time(PATIENCE, flooding).await.unwrap());
}

#[tokio::test]
async fn one_client_may_ask_more_actors_than_it_has_queues_for() {
    let (node, bound, _desk) = desk_at("tcp://127.0.0.1:0").await;
    let req = req_at(&bound).await;
    for _ in 0..2 {
        for number in 0..2 * SP_CLIENT_ACTORS_MAX as u64 {
            let name = format!("desk{number}");
            if node.withdraw(&name) {
                // The second time it is another actor under the old name.
            }
            node.export(&name, &Desk { number, ..Desk::default() }.spawn()).unwrap();
            let answer = ask(&req, &format!(r#"["{name}","number"]"#)).await;
            assert_eq!(answer, format!(r#"["ok",{number}]"#));
        }
    }
}

/// In virtual time.
#[tokio::test(start_paused = true)]
async fn an_ask_that_is_not_answered_ends_after_30_seconds() {
    let (_node, bound, desk) = desk_at("inproc://late-answer").await;
    let req = req_at(&bound).await;
    let begun = tokio::time::Instant::now();
    let answer = req.ask(r#"["desk","hold"]"#).await.unwrap();
    assert!(
        answer.starts_with(br#"["error","DeadlinePassed","no answer within 30s"#),
        "{answer:?}"
    );
    assert_eq!(begun.elapsed().as_secs(), 30);
    assert_eq!(desk.held().ask().await.unwrap(), 0, "the actor is told");
}
