//! Order, and many streams at once.

use super::*;

const MANY: u64 = 100_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_items_come_in_order_from_a_task_and_from_a_handler() {
    let nodes = nodes().await;
    assert_eq!(count(&mut nodes.source.numbers(MANY), 0).await, (MANY, None));
    assert_eq!(count(&mut nodes.source.inside(MANY), 0).await, (MANY, None));
    for few in [0, 1, 2, 63, 64, 65] {
        assert_eq!(count(&mut nodes.source.numbers(few), 0).await, (few, None));
        assert_eq!(count(&mut nodes.source.inside(few), 0).await, (few, None));
    }
}

/// Driver, producer and consumer take turns on one thread.
#[tokio::test]
async fn items_come_in_order_on_one_thread() {
    let nodes = nodes().await;
    assert_eq!(count(&mut nodes.source.numbers(10_000), 0).await, (10_000, None));
    assert_eq!(count(&mut nodes.source.inside(10_000), 0).await, (10_000, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_stay_in_order_while_their_producer_moves_to_another_thread() {
    let nodes = nodes().await;
    for _ in 0..200 {
        assert_eq!(count(&mut nodes.source.moving(16), 0).await, (16, None));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_another_thread_ends_within_the_turn_ends_behind_its_items() {
    let nodes = nodes().await;
    let ends = [None, Some(CallErrorKind::Application(0x8005)), Some(CallErrorKind::ReplyDropped)];
    for _ in 0..20 {
        for (way, end) in (0..).zip(ends) {
            let mut items = nodes.source.leaving(16, way);
            assert_eq!(count(&mut items, 0).await, (16, end), "{way}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_streams_at_once_each_have_their_items() {
    let nodes = nodes().await;
    let mut streams: Vec<Numbers> = (0..1000).map(|_| nodes.source.numbers(300)).collect();
    begin_all(&nodes, &mut streams).await;
    let counts = streams
        .into_iter()
        .map(|mut items| tokio::spawn(async move { count(&mut items, 0).await }));
    for counted in counts.collect::<Vec<_>>() {
        assert_eq!(counted.await.unwrap(), (300, None));
    }
}

/// A stream in each direction over one session, both for as long as the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ends_send_streams_at_once() {
    let nodes = nodes().await;
    nodes.client.export("source", &Source::default().spawn()).unwrap();
    let bound = nodes.client.listen("tcp://127.0.0.1:0").await.unwrap();
    let other = nodes.service.actor::<Source>(&format!("{bound}/source")).await.unwrap();
    let [there, back] = [nodes.source.clone(), other]
        .map(|source| tokio::spawn(async move { count(&mut source.numbers(MANY), 0).await }));
    assert_eq!((there.await.unwrap(), back.await.unwrap()), ((MANY, None), (MANY, None)));
}

/// A handler that reads a stream of another node, and answers with its sum.
struct Adder(SourceRef);

#[wigwag::actor]
impl Adder {
    pub async fn sum(&mut self, count: u64) -> u64 {
        let (mut items, mut sum) = (self.0.numbers(count), 0);
        while let Some(item) = items.next().await {
            sum += item.unwrap();
        }
        sum
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_reads_a_stream_of_another_node() {
    let nodes = nodes().await;
    let adder = Adder(nodes.source.clone()).spawn();
    let sum = in_time(PATIENCE, adder.sum(10_000).ask()).await.unwrap();
    assert_eq!(sum, 9_999 * 10_000 / 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_may_be_references_to_actors() {
    let nodes = nodes().await;
    let mut members = nodes.source.members(10);
    for at in 0..10 {
        let member = next(&mut members).await.unwrap().unwrap();
        assert_eq!(member.is_some(), at % 2 == 0);
        if let Some(member) = member {
            let name = in_time(PATIENCE, member.name().ask()).await.unwrap();
            assert_eq!(name, at.to_string());
        }
    }
    assert!(next(&mut members).await.is_none());
}
