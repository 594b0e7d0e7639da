//! Values that actors publish to sub sockets.

use wigwag::sp::Sub;

use super::*;

async fn sub_at(address: &Address, topic: &'static str) -> Sub {
    let sub = Sub::new();
    sub.subscribe(topic).unwrap();
    in_time(PATIENCE, async { sub.dial(&address.to_string()).await }).await.unwrap();
    sub
}

/// Publishes until a subscriber is there, and returns with its first value read.
async fn until_followed(node: &Node, desk: &DeskRef, sub: &Sub) {
    let before = node.sp_client_statistics().published;
    until(async || {
        assert_eq!(desk.announce("first".into(), Vec::new()).ask().await.unwrap(), None);
        node.sp_client_statistics().published > before
    })
    .await;
    let first = in_time(PATIENCE, async { sub.recv().await }).await.unwrap();
    assert!(first.ends_with(b"/first []"), "{first:?}");
}

#[tokio::test]
async fn a_subscriber_gets_what_its_topics_begin() {
    let (node, bound, desk) = desk_at("tcp://127.0.0.1:0").await;
    let sub = sub_at(&bound, "desk/").await;
    until_followed(&node, &desk, &sub).await;
    sub.unsubscribe("desk/").unwrap();
    sub.subscribe("desk/news/").unwrap();
    for (topic, number) in [("weather", 1), ("news/a", 2), ("news", 3), ("news/b", 4)] {
        assert_eq!(desk.announce(topic.into(), vec![number]).ask().await.unwrap(), None);
    }
    for expected in ["desk/news/a [2]", "desk/news/b [4]"] {
        assert_eq!(in_time(PATIENCE, async { sub.recv().await }).await.unwrap(), expected);
    }
}

/// Under each name, through each node, and no longer when it is withdrawn.
#[tokio::test]
async fn an_actor_publishes_through_every_export() {
    let (one, bound, desk) = desk_at("tcp://127.0.0.1:0").await;
    let other = Node::new();
    other.export("table", &desk).unwrap();
    other.export("chair", &desk).unwrap();
    let other_bound = other.listen("tcp://127.0.0.1:0").await.unwrap();
    let desk_sub = sub_at(&bound, "desk/").await;
    until_followed(&one, &desk, &desk_sub).await;
    let table_sub = sub_at(&other_bound, "table/").await;
    until_followed(&other, &desk, &table_sub).await;
    let all_sub = sub_at(&other_bound, "").await;
    until(async || {
        desk.announce("poll".into(), Vec::new()).ask().await.unwrap();
        all_sub.try_recv().is_ok()
    })
    .await;
    assert!(one.withdraw("desk"));
    assert!(other.withdraw("chair"));
    assert_eq!(desk.announce("last".into(), vec![9]).ask().await.unwrap(), None);
    let rest = async |sub: &Sub| {
        let mut rest = Vec::new();
        loop {
            let line = in_time(PATIENCE, async { sub.recv().await }).await.unwrap();
            if line.ends_with(b"/last [9]") {
                rest.push(line);
                return rest;
            }
        }
    };
    assert_eq!(rest(&table_sub).await, ["table/last [9]"]);
    assert_eq!(rest(&all_sub).await, ["table/last [9]"]);
    while let Ok(line) = desk_sub.try_recv() {
        assert!(!line.ends_with(b"/last [9]"), "{line:?}");
    }
}

#[tokio::test]
async fn a_topic_is_checked_although_nobody_follows_and_a_value_when_somebody_does() {
    let (node, bound, desk) = desk_at("tcp://127.0.0.1:0").await;
    let alone = Desk::default().spawn();
    for desk in [&desk, &alone] {
        let error = desk.announce("two words".into(), Vec::new()).ask().await.unwrap();
        assert!(error.unwrap().contains("1 to 255 bytes"));
        let long = vec![1; 600_000];
        assert_eq!(desk.announce("long".into(), long).ask().await.unwrap(), None);
    }
    let sub = sub_at(&bound, "desk/").await;
    until_followed(&node, &desk, &sub).await;
    let error = desk.announce("long".into(), vec![1; 600_000]).ask().await.unwrap().unwrap();
    assert!(error.contains("at most 1048576 are published"), "{error}");
    assert_eq!(alone.announce("long".into(), vec![1; 600_000]).ask().await.unwrap(), None);
}

/// The other one gets everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_that_does_not_read_loses_values_and_no_other_one_does() {
    const VALUES: usize = 600;
    let (node, bound, desk) = desk_at("tcp://127.0.0.1:0").await;
    let quick = sub_at(&bound, "desk/").await;
    until_followed(&node, &desk, &quick).await;
    let mut silent = hostile::Raw::dial(&bound, hostile::SUB).await;
    until(async || node.sp_client_statistics().connections == 2).await;
    for number in 0..VALUES {
        let topic = format!("n{number}");
        desk.shout(topic.clone(), 100_000).ask().await.unwrap();
        let line = in_time(PATIENCE, async { quick.recv().await }).await.unwrap();
        assert!(line.starts_with(format!("desk/{topic} ").as_bytes()));
    }
    assert!(node.sp_client_statistics().published_dropped > 0, "60 MB fit no queue");
    silent.is_open().await;
}
