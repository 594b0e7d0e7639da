//! The promises of a pair with many peers.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use wigwag_net::socket::{Pair, PairMany, SocketErrorKind};

use crate::{TestEnv, eventually};

async fn hub(env: &TestEnv, peers: usize) -> (PairMany, Vec<Pair>) {
    let hub = PairMany::new();
    let address = hub.listen(&env.address()).await.expect("listens").to_string();
    let mut pairs = Vec::new();
    for _ in 0..peers {
        let pair = Pair::new();
        pair.dial(&address).await.expect("dials");
        pairs.push(pair);
    }
    eventually(|| hub.statistics().pipes_open == peers as u64).await;
    (hub, pairs)
}

/// Twenty peers send at once, and each receives the answers to its own messages.
pub async fn each_of_many_peers_is_known_and_answered(env: &TestEnv) {
    let (hub, pairs) = hub(env, 20).await;
    let answering = tokio::spawn(async move {
        for _ in 0..20 * 50 {
            let (peer, said) = hub.recv().await.expect("a message");
            hub.send_to(peer, [b"re ".as_slice(), &said].concat()).await.expect("sent");
        }
        hub
    });
    let talking = pairs.into_iter().enumerate().map(|(who, pair)| {
        tokio::spawn(async move {
            for round in 0..50 {
                let said = format!("{who}/{round}");
                pair.send(said.clone()).await.expect("sent");
                assert_eq!(pair.recv().await.expect("an answer"), format!("re {said}"));
            }
            pair
        })
    });
    let talking: Vec<_> = talking.collect();
    let mut pairs = Vec::new();
    for one in talking {
        pairs.push(one.await.expect("all its answers"));
    }
    let hub = answering.await.expect("no panic");
    // Without a named peer, each of the twenty gets one of twenty messages.
    for _ in 0..20 {
        hub.send("to anybody").await.expect("sent");
    }
    for pair in &pairs {
        assert_eq!(pair.recv().await.expect("a message"), "to anybody");
    }
    assert_eq!(hub.statistics().counters.dropped(), 0);
}

/// One peer does not read, and two senders to it wait, while senders to the other peer do not. When
/// it reads again, both messages arrive.
pub async fn only_senders_to_a_full_peer_wait(env: &TestEnv) {
    let (hub, pairs) = hub(env, 2).await;
    for pair in &pairs {
        pair.send("here").await.expect("sent");
    }
    let (first, _) = hub.recv().await.expect("a message");
    let (second, _) = hub.recv().await.expect("a message");
    assert_ne!(first, second);
    let large = vec![0_u8; 100_000];
    let mut full = 0;
    // The peer's reader takes some messages, so the peer is full only if there is no room for a
    // while.
    let mut waiting = loop {
        let mut sending = Box::pin(hub.send_to(first, large.clone()));
        let patience = std::time::Duration::from_millis(500);
        match tokio::time::timeout(patience, sending.as_mut()).await {
            Ok(sent) => sent.expect("sent"),
            Err(_) => break vec![sending],
        }
        full += 1;
    };
    waiting.push(Box::pin(hub.send_to(first, large.clone())));
    poll_fn(|context| {
        assert!(waiting[1].as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
    for number in 0..100_u8 {
        hub.send_to(second, vec![number]).await.expect("there is room");
    }
    // The numbers do not tell which pair is which: the second one has the messages of one byte.
    let (mut quick, mut slow) = (0, 0);
    for pair in pairs {
        let pair = Arc::new(pair);
        let message = pair.recv().await.expect("a message");
        if message.len() == 1 {
            for number in 1..100 {
                assert_eq!(pair.recv().await.expect("a message"), vec![number]);
                quick += 1;
            }
            continue;
        }
        let reading = tokio::spawn(async move {
            for _ in 1..full + 2 {
                assert_eq!(pair.recv().await.expect("a message").len(), 100_000);
            }
        });
        for sending in waiting.drain(..) {
            sending.await.expect("sent");
        }
        reading.await.expect("all of them");
        slow += 1;
    }
    assert_eq!((quick, slow), (99, 1));
}

/// A call that waits for room at a peer is told that the peer is gone, and so are later calls.
pub async fn a_peer_that_leaves_ends_the_wait_for_it(env: &TestEnv) {
    let (hub, mut pairs) = hub(env, 2).await;
    let leaving = pairs.remove(0);
    leaving.send("here").await.expect("sent");
    let (peer, _) = hub.recv().await.expect("a message");
    let hub = Arc::new(hub);
    let sender = hub.clone();
    let waiting = tokio::spawn(async move {
        loop {
            if let Err(refused) = sender.send_to(peer, vec![0; 100_000]).await {
                return refused;
            }
        }
    });
    eventually(|| hub.try_send_to(peer, "x").is_err()).await;
    leaving.close().await;
    let refused = waiting.await.expect("no panic");
    assert!(matches!(refused.error.kind, SocketErrorKind::PeerGone), "{refused}");
    assert_eq!(refused.message.len(), 100_000);
    let later = hub.send_to(peer, "x").await.expect_err("it is gone");
    assert!(matches!(later.error.kind, SocketErrorKind::PeerGone), "{later}");
    hub.send("to the one that is left").await.expect("sent");
    assert_eq!(pairs[0].recv().await.expect("a message"), "to the one that is left");
}

/// Both ends may have many peers.
pub async fn two_pairs_of_many_talk(env: &TestEnv) {
    let (left, right) = (PairMany::new(), PairMany::new());
    let address = left.listen(&env.address()).await.expect("listens");
    right.dial(&address.to_string()).await.expect("dials");
    right.send("there").await.expect("sent");
    let (peer, said) = left.recv().await.expect("a message");
    assert_eq!(said, "there");
    left.send_to(peer, "and back").await.expect("sent");
    assert_eq!(right.recv().await.expect("a message").1, "and back");
}
