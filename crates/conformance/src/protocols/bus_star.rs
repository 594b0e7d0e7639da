//! The promises of bus and star.

use wigwag_net::socket::{Bus, Pair0, SocketErrorKind, Star};

use crate::{TestEnv, eventually, pause};

/// A bus socket receives the messages of all sockets that it is connected to, and forwards none.
pub async fn a_bus_reaches_its_neighbours_only(env: &TestEnv) {
    let middle = Bus::new();
    let address = middle.listen(&env.address()).await.expect("listens");
    let (left, right) = (Bus::new(), Bus::new());
    for bus in [&left, &right] {
        bus.dial(&address.to_string()).await.expect("dials");
    }
    eventually(|| middle.statistics().pipes_open == 2).await;
    left.send("from the left").await.expect("sent");
    assert_eq!(middle.recv().await.expect("a message"), "from the left");
    middle.send("from the middle").await.expect("sent");
    for bus in [&left, &right] {
        assert_eq!(bus.recv().await.expect("a message"), "from the middle");
    }
    for bus in [&left, &middle, &right] {
        assert!(matches!(bus.try_recv().expect_err("no more").kind, SocketErrorKind::Empty));
    }
}

/// In a star, the socket in the middle forwards a message to all peers but its origin.
pub async fn a_star_reaches_all_sockets(env: &TestEnv) {
    let middle = Star::new();
    let address = middle.listen(&env.address()).await.expect("listens");
    let ends = [Star::new(), Star::new(), Star::new()];
    for end in &ends {
        end.dial(&address.to_string()).await.expect("dials");
    }
    eventually(|| middle.statistics().pipes_open == 3).await;
    ends[0].send("hello").await.expect("sent");
    assert_eq!(middle.recv().await.expect("a message"), "hello");
    for end in &ends[1..] {
        assert_eq!(end.recv().await.expect("a message"), "hello");
    }
    pause().await;
    assert!(matches!(ends[0].try_recv().expect_err("its own").kind, SocketErrorKind::Empty));
}

/// A pair of version 0 exchanges messages both ways with one peer.
pub async fn a_pair_of_version_0_has_one_peer(env: &TestEnv) {
    let listening = Pair0::new();
    let address = listening.listen(&env.address()).await.expect("listens");
    let dialling = Pair0::new();
    dialling.dial(&address.to_string()).await.expect("dials");
    dialling.send("there").await.expect("sent");
    assert_eq!(listening.recv().await.expect("a message"), "there");
    listening.send("and back").await.expect("sent");
    assert_eq!(dialling.recv().await.expect("a message"), "and back");
    let third = Pair0::new();
    third.dial(&address.to_string()).await.expect("the handshake is done");
    eventually(|| listening.statistics().pipes_refused > 0).await;
    dialling.send("still here").await.expect("sent");
    assert_eq!(listening.recv().await.expect("a message"), "still here");
}
