//! The promises of two pair sockets to each other.

use std::sync::Arc;

use wigwag_net::handshake::{greet, send_message};
use wigwag_net::socket::{Pair, SocketErrorKind};
use wigwag_net::{Address, transport};
use wigwag_wire::{ProtocolNumber, ReadBuf};

use crate::payload::{LENGTHS, body, check};
use crate::transport::read_to_end;
use crate::{TestEnv, eventually, pause};

async fn pair(env: &TestEnv) -> (Pair, Pair, Address) {
    let listening = Pair::new();
    let address = listening.listen(&env.address()).await.expect("listens");
    let dialling = Pair::new();
    dialling.dial(&address.to_string()).await.expect("dials");
    (dialling, listening, address.into())
}

/// Thousands of messages each way at once, in order.
pub async fn a_pair_talks_both_ways_at_once(env: &TestEnv) {
    const ROUNDS: usize = 30;
    let (left, right, _) = pair(env).await;
    let talk = |pair: Pair, ours: usize, theirs: usize| async move {
        let pair = Arc::new(pair);
        let sender = pair.clone();
        let sending = tokio::spawn(async move {
            for round in 0..ROUNDS {
                for length in LENGTHS {
                    sender.send(body(ours + round, length)).await.expect("sent");
                }
            }
        });
        for round in 0..ROUNDS {
            for length in LENGTHS {
                check(&pair.recv().await.expect("a message"), theirs + round, length);
            }
        }
        sending.await.expect("all sent");
        pair
    };
    let left = tokio::spawn(talk(left, 0, 1000));
    let right = tokio::spawn(talk(right, 1000, 0));
    let (left, right) = (left.await.expect("left"), right.await.expect("right"));
    assert_eq!(left.statistics().counters.dropped(), 0);
    assert_eq!(right.statistics().counters.dropped(), 0);
}

/// A second dialer is disconnected, and the connected pair is not affected. When the first dialer
/// leaves, the second one, which keeps dialing, gets its place.
pub async fn a_third_peer_is_refused(env: &TestEnv) {
    let (left, right, address) = pair(env).await;
    left.send("one").await.expect("sent");
    assert_eq!(right.recv().await.expect("a message"), "one");
    let third = Pair::new();
    third.dial(&address.to_string()).await.expect("its handshake is right");
    eventually(|| right.statistics().pipes_refused > 0).await;
    right.send("two").await.expect("sent");
    assert_eq!(left.recv().await.expect("a message"), "two");
    left.close().await;
    let waiting = tokio::spawn(async move { (third.recv().await, third) });
    loop {
        // The peer that left may still be connected; then this message is lost, as it should be.
        right.send("three").await.expect("sent");
        if waiting.is_finished() {
            break;
        }
        pause().await;
    }
    let (heard, _third) = waiting.await.expect("no panic");
    assert_eq!(heard.expect("a message"), "three");
}

/// Both ends send until both are full, and read only then: neither waits for the other for ever,
/// and nothing is lost.
pub async fn a_pair_that_is_full_both_ways_recovers(env: &TestEnv) {
    const MANY: u32 = 200_000;
    let (left, right, _) = pair(env).await;
    right_is_connected(&left, &right).await;
    let mut accepted = [0_u32; 2];
    let mut refusals = 0;
    while refusals < 50 {
        refusals += 1;
        for (pair, sent) in [&left, &right].into_iter().zip(&mut accepted) {
            match pair.try_send(body(*sent as usize, 1000)) {
                Ok(()) => (*sent, refusals) = (*sent + 1, 0),
                Err(refused) => assert!(matches!(refused.error.kind, SocketErrorKind::Full)),
            }
            assert!(*sent < MANY, "nothing holds the senders back");
        }
        if refusals > 0 {
            pause().await;
        }
    }
    // In turn, so that neither end can empty its queues while the other does nothing.
    for number in 0..accepted[0].max(accepted[1]) {
        for (pair, sent) in [&right, &left].into_iter().zip(accepted) {
            if number < sent {
                let message = pair.recv().await.expect("a message");
                check(&message, number as usize, 1000);
            }
        }
    }
}

async fn right_is_connected(left: &Pair, right: &Pair) {
    left.send("hello").await.expect("sent");
    assert_eq!(right.recv().await.expect("a message"), "hello");
}

/// The listener is replaced by another one at the same address; the dialer reconnects by itself.
pub async fn a_pair_finds_its_restarted_peer(env: &TestEnv) {
    let (left, right, address) = pair(env).await;
    right_is_connected(&left, &right).await;
    right.close().await;
    let again = Pair::new();
    again.listen(&address.to_string()).await.expect("listens");
    again.send("back again").await.expect("sent to the peer that redials");
    assert_eq!(left.recv().await.expect("a message"), "back again");
    assert_eq!(left.statistics().pipes_opened, 2);
}

/// Raw bytes per RFC sp-pair-01: messages with 0 and 8 hops are received, one with 9 hops is
/// dropped, and reserved bits end the connection.
pub async fn a_peer_that_sets_reserved_bits_is_disconnected(env: &TestEnv) {
    let listening = Pair::new();
    let address = listening.listen(&env.address()).await.expect("listens");
    let mut by_hand = transport::dial(&address).await.expect("a connection");
    greet(&mut by_hand, &mut ReadBuf::new(), ProtocolNumber::PAIR1).await.expect("a partner");
    for message in [b"\0\0\0\0none", b"\0\0\0\x09over", b"\0\0\0\x08last", b"\0\0\x01\0no!!"] {
        send_message(&by_hand, message).await.expect("sent");
    }
    assert_eq!(listening.recv().await.expect("hop 0"), "none");
    assert_eq!(listening.recv().await.expect("hop 8"), "last");
    read_to_end(&mut by_hand).await;
    eventually(|| listening.statistics().pipes_open == 0).await;
    let statistics = listening.statistics();
    assert_eq!(statistics.pipes_punished, 1);
    assert_eq!(statistics.counters.dropped_too_many_hops, 1);
    assert_eq!(statistics.counters.received, 2);
}
