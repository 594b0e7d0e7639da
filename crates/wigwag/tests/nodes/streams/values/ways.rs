//! The ways of a stream: what is sent arrives, whoever reads it and wherever.

use std::pin::Pin;
use std::task::{Context, Poll};

use super::*;

/// Numbers below a count, of which every second is late.
struct Late {
    next: u64,
    count: u64,
    is_late: bool,
}

fn late(count: u64) -> Late {
    Late { next: 0, count, is_late: false }
}

impl futures_core::Stream for Late {
    type Item = u64;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<u64>> {
        self.is_late = !self.is_late;
        if self.is_late {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.next += 1;
        Poll::Ready((self.next <= self.count).then_some(self.next - 1))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_and_a_task_of_it_read_what_the_caller_sends() {
    let nodes = nodes().await;
    for store in [&nodes.store, &nodes.here] {
        for count in [0, 1, 5_000] {
            let (mut sender, rows) = Items::channel(64);
            let asked = store.count(rows).ask().sent().await.unwrap();
            send(&mut sender, 0, count).await;
            sender.finish();
            assert_eq!(in_time(PATIENCE, asked).await.unwrap(), (count, None));
            let aside = store.count_aside(Items::from_stream(late(count))).ask();
            assert_eq!(in_time(PATIENCE, aside).await.unwrap(), (count, None));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_told_call_has_streams_too_and_the_actor_goes_on() {
    let nodes = nodes().await;
    let (mut sender, rows) = Items::channel(4);
    nodes.store.keep(rows).tell().await.unwrap();
    send(&mut sender, 0, 100).await;
    nodes.store.note(7).tell().await.unwrap();
    in_time(PATIENCE, nodes.store.take(50).ask()).await.unwrap();
    assert_eq!(nodes.store.noted().ask().await.unwrap(), [7]);
    sender.finish();
    assert_eq!(in_time(PATIENCE, nodes.store.finish().ask()).await.unwrap(), (100, true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_streams_are_within_one_argument() {
    let nodes = nodes().await;
    for store in [&nodes.store, &nodes.here] {
        let batch = |count: u64| {
            let rows = Some(Items::from_stream(late(count)));
            Batch { name: count.to_string(), rows }
        };
        let asked = store.count_all([3, 0, 700].map(batch).into()).ask();
        let counted = in_time(PATIENCE, asked).await.unwrap();
        assert_eq!(counted, [3, 0, 700].map(|count: u64| (count.to_string(), (count, None))));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_is_a_stream_and_both_go_on_side_by_side() {
    let nodes = nodes().await;
    for store in [&nodes.store, &nodes.here] {
        let (mut sender, rows) = Items::channel(2);
        let mut increased = in_time(PATIENCE, store.increased(rows).ask()).await.unwrap();
        for number in 0..300 {
            send(&mut sender, number, 1).await;
            let next = in_time(PATIENCE, increased.next()).await;
            assert_eq!(next.unwrap().unwrap(), number + 1);
        }
        sender.finish();
        assert!(in_time(PATIENCE, increased.next()).await.is_none());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn references_are_items() {
    let nodes = nodes().await;
    let (mut sender, members) = Items::channel(100);
    let mut heard = Vec::new();
    for at in 0..20 {
        let (member, events) = member(&at.to_string());
        sender.try_send((at % 2 == 0).then_some(member)).unwrap();
        heard.push(events);
    }
    sender.finish();
    assert_eq!(in_time(PATIENCE, nodes.store.greet(members).ask()).await.unwrap(), 10);
    for (at, mut events) in heard.into_iter().enumerate() {
        let first = crate::references::next(&mut events).await;
        assert_eq!(first.as_deref(), (at % 2 == 0).then_some("hello"), "{at}");
        if first.is_some() {
            assert_eq!(crate::references::next(&mut events).await, None, "nobody holds it");
        }
    }
}

/// The second node reads items and sends them on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_sent_on_to_a_third_node() {
    let (first, second) = (nodes().await, nodes().await);
    let other = first.client.actor::<Store>(&second.address).await.unwrap();
    let asked = first.store.count_at(other, Items::from_stream(late(3_000))).ask();
    assert_eq!(in_time(PATIENCE, asked).await.unwrap(), (3_000, None));
}

/// Actors of two nodes that reach each other only through the node between them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_in_a_call_goes_through_a_relay_and_one_in_a_reply_is_refused() {
    let relay = Node::new();
    relay.export("broker", &Broker::default().spawn()).unwrap();
    let bound = relay.listen("tcp://127.0.0.1:0").await.unwrap();
    let url = format!("{bound}/broker");
    let (first, second) = (Node::new(), Node::new());
    let store = Store::default().spawn();
    let broker = first.actor::<Broker>(&url).await.unwrap();
    broker.offer(store).ask().await.unwrap();
    let broker = second.actor::<Broker>(&url).await.unwrap();
    let store = broker.offered().ask().await.unwrap().unwrap();
    let asked = store.count(Items::from_stream(late(2_000))).ask();
    assert_eq!(in_time(PATIENCE, asked).await.unwrap(), (2_000, None));
    let (mut sender, rows) = Items::channel(2);
    let error = in_time(PATIENCE, store.increased(rows).ask()).await.unwrap_err();
    assert_eq!(error.error().kind, CallErrorKind::NotSerializable);
    // The task of the handler has nobody to send to.
    in_time(PATIENCE, async { while sender.send(0).await.is_ok() {} }).await;
}

/// An actor that gives a reference on.
#[derive(Default)]
struct Broker(Option<StoreRef>);

#[wigwag::actor]
impl Broker {
    pub fn offer(&mut self, store: StoreRef) {
        self.0 = Some(store);
    }

    pub fn offered(&self) -> Option<StoreRef> {
        self.0.clone()
    }
}
