//! The options of a socket, a dialer or a listener, and their effects.

use std::time::Duration;

use wigwag_net::socket::{Hops, Pair, Priority, Pull, Push, QueueLength, Rep, SocketErrorKind};
use wigwag_net::{DialOptions, ListenOptions, Redial};

use crate::{TestEnv, eventually};

fn fast() -> Redial {
    Redial::new(Duration::from_millis(1), Duration::from_millis(2)).expect("in order")
}

fn rank(rank: u8) -> Priority {
    Priority::new(rank).expect("1 to 16")
}

/// The peer of the first priority gets all messages while it has room; the other one gets the rest.
pub async fn a_later_priority_is_sent_to_only_when_the_first_is_full(env: &TestEnv) {
    let (first, second, push) = (Pull::new(), Pull::new(), Push::new());
    for (pull, rank) in [(&second, rank(2)), (&first, rank(1))] {
        let env = env.fresh();
        let address = pull.listen(&env.address()).await.expect("listens");
        let options = DialOptions::default().send_priority(rank);
        push.dial_with(&address.to_string(), options).await.expect("dials");
    }
    for number in 0..200_u32 {
        push.send(number.to_be_bytes()).await.expect("sent");
        assert_eq!(first.recv().await.expect("a message").as_ref(), number.to_be_bytes());
    }
    // The first peer does not read, so it is full after some messages.
    let flood = tokio::spawn(async move { while push.send(vec![0; 50_000]).await.is_ok() {} });
    second.recv().await.expect("a message");
    flood.abort();
}

/// The message of the peer with the highest priority is received first, though it arrived last.
pub async fn a_first_priority_is_received_first(env: &TestEnv) {
    const EACH: usize = 20;
    let pull = Pull::new();
    let mut pushers = Vec::new();
    for rank in [rank(16), rank(1)] {
        let push = Push::new();
        let env = env.fresh();
        let options = ListenOptions::default().receive_priority(rank);
        let address = pull.listen_with(&env.address(), options).await.expect("listens");
        push.dial(&address.to_string()).await.expect("dials");
        for _ in 0..EACH {
            push.send(vec![rank.get()]).await.expect("sent");
        }
        pushers.push((push, env));
    }
    eventually(|| pull.statistics().traffic.messages_received == 2 * EACH as u64).await;
    for rank in [1, 16] {
        for _ in 0..EACH {
            assert_eq!(pull.recv().await.expect("a message"), vec![rank]);
        }
    }
}

/// A message is read only when there is a place for it, and no more are accepted than may wait.
pub async fn queues_have_the_length_that_was_set(env: &TestEnv) {
    const SMALL: u64 = 10;
    let one = QueueLength::new(1).expect("in range");
    let (left, right) = (Pair::new(), Pair::new());
    right.set_receive_queue(one);
    let address = right.listen(&env.address()).await.expect("listens");
    left.dial(&address.to_string()).await.expect("dials");
    for _ in 0..SMALL {
        left.send("small").await.expect("sent");
    }
    for taken in 0..SMALL {
        eventually(|| right.statistics().traffic.messages_received == taken + 1).await;
        right.recv().await.expect("a message");
    }
    left.set_send_queue(one);
    let mut accepted = SMALL;
    let full = loop {
        match left.try_send(vec![1; 64 * 1024]) {
            Ok(()) => accepted += 1,
            Err(refused) => {
                let waiting = accepted - left.statistics().traffic.messages_sent;
                assert!(waiting <= 1, "{waiting} wait");
                if left.statistics().traffic.bytes_sent > 16 * 1024 * 1024 || waiting == 1 {
                    break refused;
                }
            }
        }
    };
    assert!(matches!(full.error.kind, SocketErrorKind::Full), "{full}");
}

/// The limit of a dialer or listener goes before that of its socket.
pub async fn each_dialer_and_listener_has_its_own_receive_limit(env: &TestEnv) {
    let (wide, narrow) = (100, 10);
    let (pull, push) = (Pull::new(), Push::new());
    pull.set_receive_limit(50);
    let options = ListenOptions::default().receive_limit(wide);
    let address = pull.listen_with(&env.address(), options).await.expect("listens");
    let dialer = push.dial(&address.to_string()).await.expect("dials");
    push.send(vec![0; 100]).await.expect("sent");
    assert_eq!(pull.recv().await.expect("under the limit").len(), 100);
    dialer.close().await;
    let env = env.fresh();
    let address = push.listen(&env.address()).await.expect("listens");
    let options = DialOptions::default().receive_limit(narrow).redial(fast());
    pull.dial_with(&address.to_string(), options).await.expect("dials");
    push.send(vec![0; 11]).await.expect("sent");
    eventually(|| pull.statistics().pipes_punished == 1).await;
}

/// Closing without lingering drops what waits, and each of those messages is counted.
///
/// The peer takes one message and then stops reading. A message longer than all buffers between the
/// two is never written completely, so the messages behind it wait for certain.
pub async fn without_lingering_the_rest_is_dropped_and_counted(env: &TestEnv) {
    /// More than the kernel buffers for a connection: up to 36 MiB for both ends of tcp on Linux.
    const LONG: usize = 64 * 1024 * 1024;
    let (pull, push) = (Pull::new(), Push::new());
    pull.set_receive_queue(QueueLength::new(1).expect("in range"));
    pull.set_receive_limit(LONG);
    push.set_linger(Some(Duration::ZERO));
    let address = pull.listen(&env.address()).await.expect("listens");
    push.dial(&address.to_string()).await.expect("dials");
    push.send("the queue's").await.expect("sent");
    eventually(|| pull.statistics().traffic.messages_received == 1).await;
    push.send("read, and no room for it").await.expect("sent");
    push.send(vec![1; LONG]).await.expect("sent");
    // There is room again once the long message is being written.
    push.send(vec![1; 10_000]).await.expect("sent");
    let mut accepted = 4;
    while push.try_send(vec![1; 10_000]).is_ok() {
        accepted += 1;
    }
    push.close().await;
    let numbers = push.statistics();
    let left = numbers.counters.dropped_unsent;
    // A transport that takes the long message as a whole leaves room for the rest in one write.
    assert!(left + numbers.messages_cut_off > 0, "nothing was left: {numbers:?}");
    assert_eq!(accepted, numbers.traffic.messages_sent + left, "{numbers:?}");
    // Messages that were written to the connection have arrived, except for the truncated one.
    let certain = numbers.traffic.messages_sent - numbers.messages_cut_off;
    assert!(certain > 0, "{numbers:?}");
    for _ in 0..certain {
        pull.recv().await.expect("a message");
    }
}

/// Closing with unlimited lingering waits for a slow peer.
pub async fn lingering_without_a_limit_delivers_everything(env: &TestEnv) {
    let (pull, push) = (Pull::new(), Push::new());
    push.set_linger(None);
    let address = pull.listen(&env.address()).await.expect("listens");
    push.dial(&address.to_string()).await.expect("dials");
    let mut accepted = 0;
    while push.try_send(vec![1; 10_000]).is_ok() {
        accepted += 1;
    }
    let closing = tokio::spawn(async move {
        push.close().await;
        push.statistics()
    });
    for _ in 0..accepted {
        pull.recv().await.expect("a message");
    }
    let numbers = closing.await.expect("closed");
    assert_eq!((numbers.traffic.messages_sent, numbers.counters.dropped()), (accepted, 0));
}

/// Messages that the user never took are counted at the close.
pub async fn untaken_messages_are_counted_at_the_close(env: &TestEnv) {
    let (pull, push) = (Pull::new(), Push::new());
    let address = pull.listen(&env.address()).await.expect("listens");
    push.dial(&address.to_string()).await.expect("dials");
    for _ in 0..3_000 {
        push.send("x").await.expect("sent");
    }
    push.close().await;
    // The queue is full, so the end of the peer has not been read, and the rest is in the read
    // buffer.
    eventually(|| pull.statistics().traffic.messages_received >= 1024).await;
    pull.close().await;
    let numbers = pull.statistics();
    let unread = numbers.counters.dropped_unread + numbers.messages_unread;
    assert_eq!(numbers.counters.dropped_unread, numbers.traffic.messages_received);
    assert!(unread <= 3_000, "{numbers:?}");
    assert!(numbers.messages_unread > 0, "{numbers:?}");
}

/// A background dialer dials until its peer listens, and again after the peer has gone.
pub async fn a_dial_in_the_background_waits_for_its_peer(env: &TestEnv) {
    let (address, kept) = env.unused_address();
    let push = Push::new();
    let options = DialOptions::default().in_background(true).redial(fast());
    let dialer = push.dial_with(&address, options).await.expect("it does not wait");
    eventually(|| push.statistics().dials_failed >= 2).await;
    drop(kept);
    for round in 1..=2 {
        let pull = Pull::new();
        pull.listen(&address).await.expect("listens");
        eventually(|| push.statistics().pipes_opened == round).await;
        push.send("at last").await.expect("sent");
        assert_eq!(pull.recv().await.expect("a message"), "at last");
        pull.close().await;
        eventually(|| push.statistics().pipes_closed == round).await;
    }
    assert!(push.statistics().redials >= 2);
    dialer.close().await;
    let given_up = push.statistics().redials;
    let pull = Pull::new();
    pull.listen(&address).await.expect("listens");
    crate::pause().await;
    assert_eq!(push.statistics().redials, given_up);
    assert!(!dialer.is_open() && pull.statistics().pipes_opened == 0);
}

/// One of two listeners is closed: its peers are disconnected, its address is free, and the other
/// listener keeps working.
pub async fn a_listener_is_closed_alone(env: &TestEnv) {
    let pull = Pull::new();
    let other = env.fresh();
    let first = pull.listen(&env.address()).await.expect("listens");
    let second = pull.listen(&other.address()).await.expect("listens");
    let (one, two) = (Push::new(), Push::new());
    one.set_redial(fast());
    one.dial(&first.to_string()).await.expect("dials");
    two.dial(&second.to_string()).await.expect("dials");
    eventually(|| pull.pipes().len() == 2).await;
    first.close().await;
    assert!(!first.is_open() && second.is_open());
    eventually(|| pull.pipes().len() == 1).await;
    let again = Pull::new();
    again.listen(&first.to_string()).await.expect("the address is free");
    eventually(|| one.statistics().pipes_opened == 2).await;
    two.send("still there").await.expect("sent");
    assert_eq!(pull.recv().await.expect("a message"), "still there");
    one.send("elsewhere").await.expect("sent");
    assert_eq!(again.recv().await.expect("a message"), "elsewhere");
    first.close().await;
}

/// Closing a dialer ends its connection for good; its unsent messages go to another peer.
pub async fn a_dialer_is_closed_alone(env: &TestEnv) {
    let (first, second, push) = (Pull::new(), Pull::new(), Push::new());
    let address = first.listen(&env.address()).await.expect("listens");
    let dialer = push.dial(&address.to_string()).await.expect("dials");
    assert_eq!(dialer.address(), address.address());
    dialer.close().await;
    dialer.close().await;
    eventually(|| push.pipes().is_empty()).await;
    let other = env.fresh();
    let address = second.listen(&other.address()).await.expect("listens");
    push.dial(&address.to_string()).await.expect("dials");
    push.send("for the second").await.expect("sent");
    assert_eq!(second.recv().await.expect("a message"), "for the second");
    let error = push.statistics();
    assert_eq!((error.pipes_opened, error.pipes_closed, error.redials), (2, 1, 0));
}

/// A hop limit applies to messages that arrive after it was set.
pub async fn the_hop_limit_can_be_set(env: &TestEnv) {
    let (pair, rep) = (Pair::new(), Rep::new());
    pair.set_hops_max(Hops::try_from(255).expect("in range"));
    rep.set_hops_max(Hops::try_from(1).expect("in range"));
    let address = rep.listen(&env.address()).await.expect("listens");
    let address: wigwag_net::Address = address.into();
    let mut by_hand = wigwag_net::transport::dial(&address).await.expect("a connection");
    let mut input = wigwag_wire::ReadBuf::new();
    let req = wigwag_wire::ProtocolNumber::REQ;
    wigwag_net::handshake::greet(&mut by_hand, &mut input, req).await.expect("a partner");
    for request in [&b"\0\0\0\x07\x80\0\0\x01two hops"[..], b"\x80\0\0\x02one hop"] {
        wigwag_net::handshake::send_message(&by_hand, request).await.expect("sent");
    }
    assert_eq!(rep.recv().await.expect("a request"), "one hop");
    let report = rep.pipes();
    let [pipe] = &report[..] else { panic!("one pipe: {report:?}") };
    assert_eq!(pipe.statistics.dropped.dropped_too_many_hops, 1);
    assert_eq!(rep.statistics().counters.dropped_too_many_hops, 1);
}
