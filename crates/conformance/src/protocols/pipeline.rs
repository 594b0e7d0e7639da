//! The promises of push and pull together.

use std::time::Duration;

use tokio::time::timeout;
use wigwag_net::Address;
use wigwag_net::handshake::greet;
use wigwag_net::socket::{Pull, Push, SocketErrorKind};
use wigwag_wire::{ProtocolNumber, ReadBuf};

use crate::payload::{LENGTHS, body, check};
use crate::transport::{listen, read_to_end};
use crate::{TEST_MAX, TestEnv, eventually, pause};

/// The time for which a close that must wait is observed. A longer time finds no more faults.
const STILL: Duration = Duration::from_millis(20);

async fn pulling(env: &TestEnv) -> (Pull, Address) {
    let pull = Pull::new();
    let address = pull.listen(&env.address()).await.expect("listens");
    (pull, address.into())
}

async fn pushing(address: &Address) -> Push {
    let push = Push::new();
    push.dial(&address.to_string()).await.expect("dials");
    push
}

/// Long and short messages in turn, so that copied and shared bodies meet in one write.
pub async fn a_pipeline_keeps_order_and_content(env: &TestEnv) {
    const ROUNDS: usize = 20;
    let (pull, address) = pulling(env).await;
    let push = pushing(&address).await;
    let sending = tokio::spawn(async move {
        for round in 0..ROUNDS {
            for length in LENGTHS {
                push.send(body(round, length)).await.expect("sent");
            }
        }
        push
    });
    for round in 0..ROUNDS {
        for length in LENGTHS {
            check(&pull.recv().await.expect("a message"), round, length);
        }
    }
    let push = sending.await.expect("all sent");
    let sent = push.statistics().counters.sent;
    assert_eq!(sent, pull.statistics().counters.received);
    assert_eq!(sent as usize, ROUNDS * LENGTHS.len());
}

/// Lists of messages, with single ones between them.
pub async fn lists_of_messages_keep_order_and_content(env: &TestEnv) {
    const ROUNDS: usize = 20;
    let (pull, address) = pulling(env).await;
    let push = pushing(&address).await;
    let sending = tokio::spawn(async move {
        for round in 0..ROUNDS {
            let mut list = LENGTHS.iter().map(|length| body(round, *length).into()).collect();
            push.send_many(&mut list).await.expect("sent");
            assert!(list.is_empty());
            push.send(body(round, 1)).await.expect("sent");
        }
        push
    });
    let mut list = Vec::new();
    for round in 0..ROUNDS {
        for length in LENGTHS.into_iter().chain([1]) {
            if list.is_empty() {
                pull.recv_many(&mut list, 5).await.expect("messages");
            }
            check(&list.remove(0), round, length);
        }
    }
    assert!(list.is_empty());
    let _open = sending.await.expect("all sent");
    assert_eq!(pull.statistics().counters.received as usize, ROUNDS * (LENGTHS.len() + 1));
}

/// Each message goes to one of two workers, and both get some.
pub async fn two_workers_share_the_work(env: &TestEnv) {
    const MESSAGES: u32 = 10_000;
    let push = Push::new();
    let address = push.listen(&env.address()).await.expect("listens");
    let mut workers = Vec::new();
    for _ in 0..2 {
        let pull = Pull::new();
        pull.dial(&address.to_string()).await.expect("dials");
        workers.push(pull);
    }
    // Both workers must be connected before the first message is sent.
    eventually(|| push.statistics().pipes_open == 2).await;
    let working: Vec<_> = workers
        .into_iter()
        .map(|pull| {
            tokio::spawn(async move {
                let mut done = Vec::new();
                loop {
                    let work = pull.recv().await.expect("work");
                    if work.is_empty() {
                        // The socket stays open: without a peer the next end could not be sent.
                        return (done, pull);
                    }
                    done.push(u32::from_be_bytes(work[..].try_into().expect("a number")));
                }
            })
        })
        .collect();
    for number in 0..MESSAGES {
        push.send(number.to_be_bytes()).await.expect("sent");
    }
    // One end mark for each: the workers take turns, since both are idle by then or equally busy.
    let (mut done, mut open) = (Vec::new(), Vec::new());
    for worker in working {
        while !worker.is_finished() {
            push.send("").await.expect("sent");
            pause().await;
        }
        let (part, pull) = worker.await.expect("worked");
        assert!(!part.is_empty() && part.is_sorted());
        done.extend(part);
        open.push(pull);
    }
    done.sort_unstable();
    assert!(done.into_iter().eq(0..MESSAGES), "each exactly once");
}

/// A pusher whose peer does not read is refused after a bounded number of messages and gets its
/// message back. When the puller reads, it receives all accepted messages in order.
pub async fn a_pusher_stops_without_a_reader_and_nothing_is_lost(env: &TestEnv) {
    /// Far more than the queues of both ends and all buffers between them can hold.
    const MANY: u32 = 200_000;
    const LENGTH: usize = 1000;
    let (pull, address) = pulling(env).await;
    let push = pushing(&address).await;
    let message = |number: u32| {
        let mut message = vec![0; LENGTH];
        message[..4].copy_from_slice(&number.to_be_bytes());
        message
    };
    let mut accepted = 0;
    let mut refusals = 0;
    // The socket is full for good once it stays full after the connection's task has run.
    while refusals < 50 {
        match push.try_send(message(accepted)) {
            Ok(()) => (accepted, refusals) = (accepted + 1, 0),
            Err(refused) => {
                assert!(matches!(refused.error.kind, SocketErrorKind::Full));
                assert_eq!(refused.message, message(accepted));
                refusals += 1;
                pause().await;
            }
        }
        assert!(accepted < MANY, "nothing holds the pusher back");
    }
    for number in 0..accepted {
        assert_eq!(pull.recv().await.expect("a message"), message(number));
    }
    push.send("and on it goes").await.expect("sent");
    assert_eq!(pull.recv().await.expect("a message"), "and on it goes");
    assert_eq!(pull.statistics().counters.dropped(), 0);
}

/// A push that closes ends its own direction, and keeps the connection until the peer has read to
/// the end and closed as well.
pub async fn a_closing_pusher_waits_until_its_peer_has_read(env: &TestEnv) {
    /// Longer than the test may take, so that the close cannot end for this reason.
    const LINGER: Duration = Duration::from_secs(600);
    let (listener, address) = listen(env).await;
    let push = Push::new();
    push.set_linger(Some(LINGER));
    let dialling = tokio::spawn(async move {
        push.dial(&address.to_string()).await.expect("dials");
        push
    });
    let mut peer = listener.accept().await.expect("a connection");
    greet(&mut peer, &mut ReadBuf::new(), ProtocolNumber::PULL).await.expect("a partner");
    let push = dialling.await.expect("connected");
    push.send("the last").await.expect("sent");
    let mut closing = tokio::spawn(async move { push.close().await });
    assert!(timeout(STILL, &mut closing).await.is_err(), "closed before the peer has read");
    let sent = read_to_end(&mut peer).await;
    assert!(sent.ends_with(b"the last"), "{sent:02x?}");
    assert!(timeout(STILL, &mut closing).await.is_err(), "closed before the peer has");
    peer.outlet.close();
    drop(peer);
    closing.await.expect("closed");
}

/// A thousand sockets dial at once and send one word each, and all words arrive.
pub async fn messages_of_a_thousand_pushers_all_arrive(env: &TestEnv) {
    const PUSHERS: u32 = 1000;
    let (pull, address) = pulling(env).await;
    let pushers: Vec<_> = (0..PUSHERS)
        .map(|number| {
            let address = address.clone();
            tokio::spawn(async move {
                let push = pushing(&address).await;
                // A busy machine may take longer to read than a closing socket waits as a rule. With TLS
                // a connection that closes before loses what is not read.
                push.set_linger(Some(TEST_MAX));
                push.send(number.to_be_bytes()).await.expect("sent");
                push.close().await;
            })
        })
        .collect();
    let mut heard = Vec::new();
    for _ in 0..PUSHERS {
        let word = pull.recv().await.expect("a word");
        heard.push(u32::from_be_bytes(word[..].try_into().expect("a number")));
    }
    for pusher in pushers {
        pusher.await.expect("closed");
    }
    heard.sort_unstable();
    assert!(heard.into_iter().eq(0..PUSHERS));
    assert_eq!(pull.statistics().handshakes_failed, 0);
}

/// The socket is closed right after the last send; the tail is not cut off.
pub async fn accepted_messages_are_written_before_the_close(env: &TestEnv) {
    const MESSAGES: usize = 3000;
    let (pull, address) = pulling(env).await;
    let push = pushing(&address).await;
    let receiving = tokio::spawn(async move {
        for number in 0..MESSAGES {
            check(&pull.recv().await.expect("a message"), number, 500);
        }
    });
    for number in 0..MESSAGES {
        push.send(body(number, 500)).await.expect("sent");
    }
    push.close().await;
    receiving.await.expect("all of it");
    assert_eq!(push.statistics().messages_cut_off, 0);
    let closed = push.try_send("more").expect_err("closed");
    assert!(matches!(closed.error.kind, SocketErrorKind::Closed));
}
