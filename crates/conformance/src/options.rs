//! What can be chosen for a socket, a dialer or a listener, and that it does what it says.

use std::time::Duration;

use wigwag_net::socket::{
    Hops, Pair, Priority, Pub, Pull, Push, QueueLength, Req, SocketErrorKind, Sub,
};
use wigwag_net::{DialOptions, ListenOptions, NetErrorKind, Redial};

use crate::{Room, eventually};

fn fast() -> Redial {
    Redial::new(Duration::from_millis(1), Duration::from_millis(2)).expect("in order")
}

fn rank(rank: u8) -> Priority {
    Priority::new(rank).expect("1 to 16")
}

/// The peer of the first rank gets everything while it has room, the other one what is over.
pub async fn a_later_priority_is_sent_to_only_when_the_first_is_full(room: &Room) {
    let (first, second, push) = (Pull::new(), Pull::new(), Push::new());
    for (pull, rank) in [(&second, rank(2)), (&first, rank(1))] {
        let room = Room::new(room.pattern());
        let address = pull.listen(&room.address()).await.expect("listens");
        let options = DialOptions { send_priority: rank, ..DialOptions::default() };
        push.dial_with(&address.to_string(), options).await.expect("dials");
    }
    for number in 0..200_u32 {
        push.send(number.to_be_bytes().to_vec()).await.expect("sent");
        assert_eq!(first.recv().await.expect("a message").as_ref(), number.to_be_bytes());
    }
    // Nobody reads at the first one: before long the second one hears.
    let flood = tokio::spawn(async move {
        while push.send(vec![0; 50_000]).await.is_ok() {}
    });
    second.recv().await.expect("a message");
    flood.abort();
}

/// What the peer of the first rank has sent is given out first, though it came last.
pub async fn a_first_priority_is_heard_first(room: &Room) {
    const EACH: usize = 20;
    let pull = Pull::new();
    let mut pushers = Vec::new();
    for rank in [rank(16), rank(1)] {
        let push = Push::new();
        let room = Room::new(room.pattern());
        let options = ListenOptions { receive_priority: rank, ..ListenOptions::default() };
        let address = pull.listen_with(&room.address(), options).await.expect("listens");
        push.dial(&address.to_string()).await.expect("dials");
        for _ in 0..EACH {
            push.send(vec![rank.get()]).await.expect("sent");
        }
        pushers.push((push, room));
    }
    eventually(|| pull.statistics().traffic.messages_received == 2 * EACH as u64).await;
    for rank in [1, 16] {
        for _ in 0..EACH {
            assert_eq!(pull.recv().await.expect("a message"), vec![rank]);
        }
    }
}

/// One message waits to be read, one on the way, one to be sent: the queues have that length.
pub async fn queues_have_the_length_that_was_set(room: &Room) {
    let one = QueueLength::new(1).expect("in range");
    let (left, right) = (Pair::new(), Pair::new());
    right.set_receive_queue(one);
    left.set_send_queue(one);
    let address = right.listen(&room.address()).await.expect("listens");
    left.dial(&address.to_string()).await.expect("dials");
    eventually(|| right.statistics().pipes_open == 1).await;
    left.send("read").await.expect("sent");
    eventually(|| right.statistics().traffic.messages_received == 1).await;
    // The peer's queue is full now. What is on the way is the transport's, so we count ours.
    let body = vec![1; 64 * 1024];
    let mut accepted = 0;
    loop {
        match left.try_send(body.clone()) {
            Ok(()) => accepted += 1,
            Err(refused) => {
                assert!(matches!(refused.error.kind, SocketErrorKind::Full));
                let sent = left.statistics().traffic.messages_sent;
                if right.statistics().traffic.messages_received > 1 {
                    panic!("more was read than the queue may hold");
                }
                if accepted + 1 == sent + 1 && stays_full(&left, &body).await {
                    break;
                }
                accepted += u64::from(crate::pause_then(|| left.try_send(body.clone()).is_ok()).await);
            }
        }
    }
    assert_eq!(right.recv().await.expect("a message"), "read");
}
