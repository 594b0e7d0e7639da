use std::future::Future;
use std::io::IoSlice;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::Instant;
use wigwag_wire::ProtocolNumber;

use crate::Address;
use crate::handshake::greet;
use crate::socket::{LINGER_MAX, Pair0, Pull, Push};
use crate::transport::{self, Connection, ListenOptions};

use super::*;

/// Listens at `name`, and returns the connection of one peer that dialled it.
async fn peer_of(name: &str, number: ProtocolNumber, dial: impl Future<Output = ()>) -> Connection {
    let address = Address::new("inproc", name);
    let listener = transport::listen(&address, ListenOptions::default()).await.unwrap();
    let accepting = async {
        let mut peer = listener.accept().await.unwrap();
        greet(&mut peer, &mut ReadBuf::new(), number).await.unwrap();
        peer
    };
    tokio::join!(accepting, dial).0
}

/// Closes a push socket whose peer reads nothing and never closes, and returns the time it
/// took.
async fn close_beside_a_silent_peer(name: &str, linger: Option<Duration>, send: bool) -> Duration {
    let push = Push::new();
    push.set_linger(linger);
    let address = format!("inproc://{name}");
    let dial = async { drop(push.dial(&address).await.unwrap()) };
    let _peer = peer_of(name, ProtocolNumber::PULL, dial).await;
    if send {
        push.send("word").await.unwrap();
    }
    let begun = Instant::now();
    push.close().await;
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_never_closes_holds_the_close_for_the_linger_time() {
    let three = Duration::from_secs(3);
    for (linger, held) in [(Some(three), three), (None, LINGER_MAX)] {
        let time = close_beside_a_silent_peer("finish-late", linger, true).await;
        // The runtime's timer has a resolution of milliseconds.
        assert!(time >= held && time < held + Duration::from_millis(2), "{time:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn messages_that_a_peer_does_not_read_are_dropped_after_the_linger_time() {
    let push = Push::new();
    let three = Duration::from_secs(3);
    push.set_linger(Some(three));
    let dial = async { drop(push.dial("inproc://finish-unwritten").await.unwrap()) };
    let _peer = peer_of("finish-unwritten", ProtocolNumber::PULL, dial).await;
    let body = bytes::Bytes::from(vec![7; 100_000]);
    // The pipe waits for the peer's direction and for the queue, and no more comes in.
    while tokio::time::timeout(three, push.send(body.clone())).await.is_ok() {}
    let begun = Instant::now();
    let closed = tokio::time::timeout(2 * three, push.close()).await;
    assert!(closed.is_ok() && begun.elapsed() >= three, "{:?}", begun.elapsed());
    assert!(push.statistics().messages_cut_off > 0, "{:?}", push.statistics());
}

#[tokio::test(start_paused = true)]
async fn without_linger_time_or_messages_sent_a_pipe_closes_at_once() {
    let three = Some(Duration::from_secs(3));
    for (linger, send) in [(Some(Duration::ZERO), true), (three, false), (None, false)] {
        let time = close_beside_a_silent_peer("finish-at-once", linger, send).await;
        assert_eq!(time, Duration::ZERO, "{linger:?} {send}");
    }
}

/// Sends one message from a push socket that is closed at once to a pull socket that accepts
/// 1 KiB, and returns how many refusals the push socket has seen.
async fn push_and_close(address: &str, push_listens: bool, bytes: usize) -> u64 {
    let (push, pull) = (Push::new(), Pull::new());
    pull.set_receive_limit(1024);
    if push_listens {
        let at = push.listen(address).await.unwrap();
        pull.dial(&at.to_string()).await.unwrap();
    } else {
        let at = pull.listen(address).await.unwrap();
        push.dial(&at.to_string()).await.unwrap();
    }
    push.send(vec![7; bytes]).await.unwrap();
    if bytes <= 1024 {
        assert_eq!(pull.recv().await.unwrap().len(), bytes);
        let ((), ()) = tokio::join!(push.close(), pull.close());
    } else {
        push.close().await;
        assert_eq!(pull.statistics().pipes_punished, 1);
    }
    push.statistics().pipes_refused_by_length
}

#[tokio::test]
async fn a_socket_that_is_closed_behind_a_message_learns_that_it_was_too_long() {
    let ipc =
        format!("ipc://{}/wigwag-too-long-{}", std::env::temp_dir().display(), std::process::id());
    for push_listens in [false, true] {
        for (address, long) in [("tcp://127.0.0.1:0", 1025), (&*ipc, 1 << 20)] {
            let times = push_and_close(address, push_listens, long).await;
            assert_eq!(times, 1, "{address} {push_listens}");
            let times = push_and_close(address, push_listens, 1024).await;
            assert_eq!(times, 0, "{address} {push_listens}");
        }
    }
}

#[tokio::test]
async fn messages_after_the_close_are_counted_as_unread() {
    let pair = Pair0::new();
    let dial = async { drop(pair.dial("inproc://finish-unread").await.unwrap()) };
    let mut peer = peer_of("finish-unread", ProtocolNumber::PAIR0, dial).await;
    pair.send("word").await.unwrap();
    let talk = async {
        let mut sent = Vec::new();
        peer.reader.read_to_end(&mut sent).await.unwrap();
        assert_eq!(sent, b"\0\0\0\0\0\0\0\x04word");
        let late = b"\0\0\0\0\0\0\0\x04late\0\0\0\0\0\0\0\x04half";
        peer.outlet.try_write(&[IoSlice::new(&late[..late.len() - 1])]).unwrap();
        peer.outlet.close();
    };
    tokio::join!(pair.close(), talk);
    assert_eq!(pair.statistics().messages_unread, 1);
}
