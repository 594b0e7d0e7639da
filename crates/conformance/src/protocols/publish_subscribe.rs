//! The promises of pub and sub together.

use wigwag_net::Address;
use wigwag_net::socket::{Pub, SocketErrorKind, Sub};

use crate::payload::{body, check};
use crate::{TestEnv, eventually, pause};

async fn publishing(env: &TestEnv) -> (Pub, Address) {
    let publisher = Pub::new();
    let address = publisher.listen(&env.address()).await.expect("listens");
    (publisher, address.into())
}

async fn subscribed(publisher: &Pub, address: &Address, topics: &[&'static str]) -> Sub {
    let known = publisher.statistics().pipes_open;
    let sub = Sub::new();
    for topic in topics {
        sub.subscribe(*topic).expect("subscribed");
    }
    sub.dial(&address.to_string()).await.expect("dials");
    eventually(|| publisher.statistics().pipes_open > known).await;
    sub
}

/// Each subscriber receives the messages that begin with one of its topics, once and in order.
pub async fn each_subscriber_receives_its_topics(env: &TestEnv) {
    let (publisher, address) = publishing(env).await;
    let all = subscribed(&publisher, &address, &[""]).await;
    let wind = subscribed(&publisher, &address, &["wind", "wind/north"]).await;
    for word in ["wind/north 3", "rain", "window", "win"] {
        publisher.send(word).await.expect("sent");
    }
    for word in ["wind/north 3", "rain", "window", "win"] {
        assert_eq!(all.recv().await.expect("a word"), word);
    }
    for word in ["wind/north 3", "window"] {
        assert_eq!(wind.recv().await.expect("a word"), word);
    }
    eventually(|| wind.statistics().counters.filtered == 2).await;
    assert!(matches!(wind.try_recv().expect_err("no more").kind, SocketErrorKind::Empty));
}

/// After unsubscribing a topic its messages do not arrive; unsubscribing an unknown topic is an
/// error.
pub async fn a_topic_can_be_taken_back(env: &TestEnv) {
    let (publisher, address) = publishing(env).await;
    let sub = subscribed(&publisher, &address, &["a", "b"]).await;
    sub.unsubscribe("a").expect("was subscribed");
    let again = sub.unsubscribe("a").expect_err("was taken back");
    assert!(matches!(again.kind, SocketErrorKind::NoSuchTopic), "{again}");
    publisher.send("a1").await.expect("sent");
    publisher.send("b1").await.expect("sent");
    assert_eq!(sub.recv().await.expect("a message"), "b1");
}

/// A subscriber that does not read loses messages, which the publisher counts; one that reads does
/// not.
pub async fn a_slow_subscriber_loses_alone(env: &TestEnv) {
    const LENGTH: usize = 10_000;
    let (publisher, address) = publishing(env).await;
    let slow = subscribed(&publisher, &address, &[""]).await;
    let fast = subscribed(&publisher, &address, &[""]).await;
    let mut sent = 0;
    while publisher.statistics().counters.dropped_peer_slow == 0 {
        publisher.send(body(sent, LENGTH)).await.expect("sent");
        check(&fast.recv().await.expect("a message"), sent, LENGTH);
        sent += 1;
        assert!(sent < 100_000, "nothing bounds what waits for the slow one");
    }
    // The slow subscriber has a prefix without a gap.
    check(&slow.recv().await.expect("a message"), 0, LENGTH);
    check(&slow.recv().await.expect("a message"), 1, LENGTH);
    assert_eq!(slow.statistics().counters.dropped(), 0);
}

/// A publisher that sends more than its queue holds, without letting another task run, loses
/// nothing that the connections take: it writes before its queue overflows.
pub async fn a_publisher_that_does_not_pause_loses_nothing(env: &TestEnv) {
    // 280 KiB: 24 more than the queue holds.
    const MESSAGES: usize = 140;
    const LENGTH: usize = 2048;
    let (publisher, address) = publishing(env).await;
    let subs = [
        subscribed(&publisher, &address, &[""]).await,
        subscribed(&publisher, &address, &[""]).await,
    ];
    for number in 0..MESSAGES {
        publisher.try_send(body(number, LENGTH)).expect("sent");
    }
    assert_eq!(publisher.statistics().counters.dropped_peer_slow, 0);
    for sub in &subs {
        for number in 0..MESSAGES {
            check(&sub.recv().await.expect("a message"), number, LENGTH);
        }
    }
}

/// Without subscribers a message is discarded, which is no error.
pub async fn publishing_without_subscribers_is_no_error(env: &TestEnv) {
    let (publisher, address) = publishing(env).await;
    publisher.send("unheard").await.expect("sent");
    let sub = subscribed(&publisher, &address, &[""]).await;
    publisher.send("heard").await.expect("sent");
    assert_eq!(sub.recv().await.expect("a message"), "heard");
    pause().await;
    assert_eq!(publisher.statistics().counters.sent, 2);
}
