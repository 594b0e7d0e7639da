//! Tells of push sockets.

use wigwag::sp::Push;

use super::*;

async fn push_at(address: &Address) -> Push {
    let push = Push::new();
    in_time(PATIENCE, async { push.dial(&address.to_string()).await }).await.unwrap();
    push
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tells_of_a_connection_are_handled_in_their_order() {
    let (node, bound, desk) = desk_at("tcp://127.0.0.1:0").await;
    let push = push_at(&bound).await;
    for number in 0..2000 {
        push.send(format!(r#"["desk","write","{number}"]"#)).await.unwrap();
    }
    until(async || desk.words().ask().await.unwrap().len() == 2000).await;
    let expected: Vec<_> = (0..2000).map(|number| number.to_string()).collect();
    assert_eq!(desk.words().ask().await.unwrap(), expected);
    let statistics = node.sp_client_statistics();
    assert_eq!((statistics.tells, statistics.rejected_tells), (2000, 0));
}

/// As the programs do that send one message and end.
#[tokio::test]
async fn calls_sent_before_a_peer_goes_are_handled() {
    let gate = Arc::new(Semaphore::new(0));
    let desk = Desk { gate: Some(gate.clone()), ..Desk::default() };
    let (node, bound, desk) = desk_with("tcp://127.0.0.1:0", desk, NodeOptions::default()).await;
    let push = push_at(&bound).await;
    for number in 0..300 {
        push.send(format!(r#"["desk","pass","{number}"]"#)).await.unwrap();
    }
    push.close().await;
    gate.add_permits(300);
    until(async || node.sp_client_statistics().connections == 0).await;
    assert_eq!(desk.words().ask().await.unwrap().len(), 300);
}

#[tokio::test]
async fn a_tell_that_comes_to_nothing_is_counted_and_the_connection_goes_on() {
    let (node, bound, desk) = desk_at("tcp://127.0.0.1:0").await;
    let push = push_at(&bound).await;
    let bad = [
        &b"hello"[..],
        b"",
        br#"["nobody","write","a"]"#,
        br#"["desk","scribble","a"]"#,
        br#"["desk","write",1]"#,
        // The actor itself finds that these are the wrong arguments.
        b"\x93\xa4desk\xa5write\x01",
        b"\x92\xa4desk\xa5write",
        b"\x93\xa4desk",
    ];
    for message in bad {
        push.send(message).await.unwrap();
    }
    push.send(r#"["desk","write","good"]"#).await.unwrap();
    until(async || desk.words().ask().await.unwrap() == ["good"]).await;
    let statistics = node.sp_client_statistics();
    assert_eq!(statistics.rejected_tells, bad.len() as u64, "{statistics:?}");
    assert_eq!((statistics.tells, statistics.connections), (bad.len() as u64 + 1, 1));
}
