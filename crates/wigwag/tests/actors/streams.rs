//! Streams as answers of handlers: order, credit, and exactly one end.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use wigwag::{
    Actor, CallErrorKind, Interface, Local, Node, Streaming, Yield, call::NotSent, lifecycle::Alive,
};

/// Produces streams of numbers in several ways.
#[derive(Default)]
struct Counter {
    kept: Vec<Yield<u64>>,
    other: Option<CounterRef>,
}

#[wigwag::actor]
impl Counter {
    /// Sends from a task, while the actor goes on.
    pub fn ticks(&mut self, count: u64, mut items: Yield<u64>) {
        tokio::spawn(async move {
            for number in 0..count {
                if items.send(number).await.is_err() {
                    return;
                }
            }
            items.finish();
        });
    }

    /// Sends from inside the handler; reports the number of items sent and whether the consumer
    /// stayed to the end.
    pub async fn ticks_inside(
        &mut self,
        count: u64,
        mut items: Yield<u64>,
        sent: Local<Arc<AtomicU64>>,
        ended: Local<oneshot::Sender<bool>>,
    ) {
        let mut is_wanted = true;
        for number in 0..count {
            is_wanted = items.send(number).await.is_ok();
            if !is_wanted {
                break;
            }
            sent.fetch_add(1, Ordering::SeqCst);
        }
        let _ = ended.0.send(is_wanted);
        items.finish();
    }

    /// Keeps the sending half; nothing is sent yet.
    pub fn keep(&mut self, items: Yield<u64>) {
        self.kept.push(items);
    }

    /// Sends to all kept streams, and returns how many took the item.
    pub fn send_kept(&mut self, number: u64) -> u64 {
        self.kept.iter_mut().map(|items| u64::from(items.try_send(number).is_ok())).sum()
    }

    pub fn lose_kept(&mut self) {
        self.kept.clear();
    }

    pub fn fail_kept(&mut self) {
        self.kept.drain(..).for_each(|items| items.fail(5, "no more numbers"));
    }

    pub fn panic_after(&self, count: u64, mut items: Yield<u64>) {
        for number in 0..count {
            items.try_send(number).unwrap();
        }
        panic!("on purpose");
    }

    /// Waits until the consumer is gone.
    pub async fn watch(&mut self, mut items: Yield<u64>, gone: Local<oneshot::Sender<()>>) {
        items.send(1).await.unwrap();
        items.closed().await;
        assert!(!items.is_wanted() && items.credit() == 0);
        assert_eq!(items.try_send(2), Err(NotSent::Unwanted(2)));
        let _ = gone.0.send(());
    }

    pub fn set_other(&mut self, other: CounterRef) {
        self.other = Some(other);
    }

    /// The sum of a stream of another actor, or the error that ends the stream.
    pub async fn sum_other(&mut self, count: u64) -> Result<u64, String> {
        let mut items = self.other.as_ref().unwrap().ticks(count);
        let mut sum = 0;
        while let Some(item) = items.next().await {
            sum += item.map_err(|error| format!("{:?}", error.kind))?;
        }
        Ok(sum)
    }

    pub fn number(&self) -> u64 {
        self.kept.len() as u64
    }
}

fn counter() -> CounterRef {
    Counter::default().spawn()
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), work).await.unwrap()
}

type Numbers = Streaming<Counter, u64>;

/// All items, and the error that ended the stream, if any.
async fn all(items: &mut Numbers) -> (Vec<u64>, Option<CallErrorKind>) {
    let mut numbers = Vec::new();
    while let Some(item) = within(items.next()).await {
        match item {
            Ok(number) => numbers.push(number),
            Err(error) => {
                assert!(within(items.next()).await.is_none(), "an error is told once");
                return (numbers, Some(error.kind));
            }
        }
    }
    assert!(within(items.next()).await.is_none());
    (numbers, None)
}

/// Sends the call of a stream whose items are taken later.
async fn begin(items: &mut Numbers) {
    let poll = poll_fn(|context| Poll::Ready(items.poll_next(context).is_pending())).await;
    assert!(poll, "nothing was sent yet");
}

#[tokio::test]
async fn items_come_in_order_and_end() {
    let counter = counter();
    for count in [0, 1, 2, 64, 65, 5000] {
        let mut items = counter.ticks(count);
        assert_eq!(all(&mut items).await, ((0..count).collect(), None));
        let mut items = counter.ticks(count).ahead(1);
        assert_eq!(all(&mut items).await, ((0..count).collect(), None));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_threads_change_nothing_of_the_order() {
    let counter = counter();
    for ahead in [1, 2, 64] {
        let mut items = counter.ticks(20_000).ahead(ahead);
        assert_eq!(all(&mut items).await, ((0..20_000).collect(), None));
    }
}

#[tokio::test]
async fn a_producer_is_no_further_ahead_than_its_caller_says() {
    for ahead in [1, 7, 64] {
        let (sent, (ended, _ends)) = (Arc::new(AtomicU64::new(0)), oneshot::channel());
        let counter = counter();
        let mut items = counter.ticks_inside(1000, Local(sent.clone()), Local(ended));
        if ahead != 64 {
            items = items.ahead(ahead);
        }
        for taken in 1..=40 {
            assert_eq!(within(items.next()).await.unwrap().unwrap(), taken - 1);
            // The producer runs until it has to wait for credit.
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            let sent = sent.load(Ordering::SeqCst);
            assert!(sent <= taken + ahead as u64, "{sent} sent, {taken} taken");
            assert!(taken > 1 || sent >= ahead as u64, "it uses its credit");
        }
    }
}

#[tokio::test]
async fn a_producer_may_be_kept_and_credit_is_seen() {
    let counter = counter();
    let mut items = counter.keep().ahead(2);
    begin(&mut items).await;
    assert_eq!(counter.send_kept(1).ask().await.unwrap(), 1);
    assert_eq!(counter.send_kept(2).ask().await.unwrap(), 1);
    assert_eq!(counter.send_kept(3).ask().await.unwrap(), 0, "two are ahead");
    assert_eq!(items.next().await.unwrap().unwrap(), 1);
    assert_eq!(counter.send_kept(4).ask().await.unwrap(), 1);
    counter.lose_kept().tell().await.unwrap();
    assert_eq!(all(&mut items).await, (vec![2, 4], Some(CallErrorKind::ReplyDropped)));
}

#[tokio::test]
async fn errors_stand_behind_the_items() {
    let counter = counter();
    let mut items = counter.keep();
    begin(&mut items).await;
    counter.send_kept(1).tell().await.unwrap();
    counter.fail_kept().tell().await.unwrap();
    assert_eq!(within(items.next()).await.unwrap().unwrap(), 1);
    let error = within(items.next()).await.unwrap().unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Application(0x8005));
    assert_eq!(error.detail.as_deref(), Some("no more numbers"));
    assert!(items.next().await.is_none());
    // The handler panics after three items, sent while the consumer waits for the first.
    let mut items = counter.panic_after(3);
    assert_eq!(all(&mut items).await, (vec![0, 1, 2], Some(CallErrorKind::Panicked)));
    let mut items = counter.ticks(3);
    assert_eq!(all(&mut items).await, (vec![], Some(CallErrorKind::ActorStopped)));
}

#[tokio::test]
async fn a_stream_ends_with_its_actor() {
    for kill in [true, false] {
        let counter = counter();
        let mut items = counter.keep();
        begin(&mut items).await;
        assert_eq!(counter.send_kept(1).ask().await.unwrap(), 1);
        let handle = counter.handle().unwrap();
        if kill {
            handle.kill()
        } else {
            handle.stop()
        };
        assert_eq!(all(&mut items).await, (vec![1], Some(CallErrorKind::ActorStopped)));
    }
    // The actor is killed while its handler waits for credit, with another call behind it.
    let (sent, (ended, _ends)) = (Arc::new(AtomicU64::new(0)), oneshot::channel());
    let counter = counter();
    let mut items = counter.ticks_inside(1000, Local(sent), Local(ended)).ahead(2);
    assert_eq!(within(items.next()).await.unwrap().unwrap(), 0);
    let mut behind = counter.ticks(3);
    begin(&mut behind).await;
    counter.handle().unwrap().kill();
    let (numbers, end) = all(&mut items).await;
    assert!(numbers.iter().copied().eq(1..=numbers.len() as u64) && numbers.len() <= 3);
    assert_eq!(end, Some(CallErrorKind::ActorStopped));
    assert_eq!(all(&mut behind).await, (vec![], Some(CallErrorKind::ActorStopped)));
}

#[tokio::test]
async fn a_consumer_that_goes_frees_the_producer() {
    let counter = counter();
    let (ended, ends) = oneshot::channel();
    let sent = Arc::new(AtomicU64::new(0));
    let mut items = counter.ticks_inside(1000, Local(sent), Local(ended)).ahead(3);
    assert_eq!(within(items.next()).await.unwrap().unwrap(), 0);
    drop(items);
    assert!(!within(ends).await.unwrap(), "the handler hears of it while it waits");
    let (gone, goes) = oneshot::channel();
    let mut items = counter.watch(Local(gone));
    assert_eq!(within(items.next()).await.unwrap().unwrap(), 1);
    drop(items);
    within(goes).await.unwrap();
    assert_eq!(within(async { counter.number().ask().await.unwrap() }).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_streams_at_once_keep_their_items_apart() {
    let counter = counter();
    let takers = (0..64_u64).map(|number| {
        let mut items = counter.ticks(500 + number).ahead(1 + number as usize);
        tokio::spawn(async move { (number, all(&mut items).await) })
    });
    for taker in takers.collect::<Vec<_>>() {
        let (number, got) = within(taker).await.unwrap();
        assert_eq!(got, ((0..500 + number).collect(), None));
    }
}

#[tokio::test]
async fn a_handler_takes_the_stream_of_another_actor_and_not_its_own() {
    let (first, second) = (counter(), counter());
    first.set_other(second.clone()).ask().await.unwrap();
    assert_eq!(within(async { first.sum_other(200).ask().await.unwrap() }).await, Ok(19_900));
    first.set_other(first.clone()).ask().await.unwrap();
    let refused = within(async { first.sum_other(2).ask().await.unwrap() }).await;
    assert_eq!(refused, Err("CallCycle".into()));
    first.set_other(second).ask().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_an_item_may_be_limited() {
    let counter = counter();
    let limit = Duration::from_millis(200);
    let mut items = counter.keep().timeout(limit);
    begin(&mut items).await;
    for number in 0..5 {
        tokio::time::sleep(limit * 3 / 4).await;
        counter.send_kept(number).tell().await.unwrap();
        assert_eq!(items.next().await.unwrap().unwrap(), number, "each wait has its own limit");
    }
    let begun = tokio::time::Instant::now();
    let error = items.next().await.unwrap().unwrap_err();
    assert_eq!((error.kind, begun.elapsed()), (CallErrorKind::Timeout(limit), limit));
    assert!(items.next().await.is_none());
    assert_eq!(counter.send_kept(9).ask().await.unwrap(), 0, "nobody takes it");
}

#[tokio::test]
async fn a_stream_that_was_not_begun_can_be_taken_back() {
    let counter = counter();
    let message = counter.ticks(7).into_message().unwrap();
    assert!(matches!(message, CounterMessage::Ticks { count: 7 }));
    // After a tell the handler's items have no consumer; an ask made by hand fails, since the reply
    // is a stream.
    counter.call::<u64>(CounterMessage::Keep {}).tell().await.unwrap();
    assert_eq!(counter.send_kept(1).ask().await.unwrap(), 0);
    let asked = counter.call::<u64>(CounterMessage::Keep {}).ask().await;
    assert_eq!(asked.unwrap_err().error().kind, CallErrorKind::BadReply);
    let method = Counter::SCHEMA.methods.iter().find(|method| method.name == "ticks").unwrap();
    assert_eq!((method.arguments.len(), method.reply), (1, "Stream<u64>"));
}

#[tokio::test]
async fn a_stream_of_another_node_is_like_one_of_this_process() {
    let (service, client) = (Node::new(), Node::new());
    let counter = counter();
    service.export("counter", &counter).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Counter>(&format!("{bound}/counter")).await.unwrap();
    for count in [0, 1, 2, 64, 65, 5000] {
        assert_eq!(all(&mut there.ticks(count)).await, ((0..count).collect(), None));
    }
    let mut items = there.keep();
    begin(&mut items).await;
    assert_eq!(within(there.send_kept(4).ask()).await.unwrap(), 1);
    // After a tell the handler's items have no consumer; an ask that wants one value fails.
    there.call::<()>(CounterMessage::Keep {}).tell().await.unwrap();
    let dynamic = client.dynamic(&format!("{bound}/counter")).await.unwrap();
    let refused = within(dynamic.ask("keep", &[0x90])).await.unwrap_err();
    assert_eq!(refused.kind, CallErrorKind::NotSerializable);
    assert_eq!(within(there.send_kept(5).ask()).await.unwrap(), 1);
    assert_eq!(within(items.next()).await.unwrap().unwrap(), 4);
    assert_eq!(within(items.next()).await.unwrap().unwrap(), 5);
    // An argument that stays in its process keeps the call there.
    let (sent, (ended, _)) = (Local(Arc::default()), oneshot::channel());
    let mut items = there.ticks_inside(1, sent, Local(ended));
    assert_eq!(all(&mut items).await, (vec![], Some(CallErrorKind::NotSerializable)));
}

/// An actor whose items have no encoding.
struct Channels;

#[wigwag::actor]
impl Channels {
    pub fn channels(&self, mut items: Yield<Local<oneshot::Sender<()>>>) {
        items.try_send(Local(oneshot::channel().0)).unwrap();
        items.finish();
    }
}

#[tokio::test]
async fn a_stream_of_items_that_stay_does_not_leave_its_process() {
    let (service, client) = (Node::new(), Node::new());
    let channels = Channels.spawn();
    service.export("channels", &channels).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Channels>(&format!("{bound}/channels")).await.unwrap();
    let error = within(there.channels().next()).await.unwrap().unwrap_err();
    assert_eq!(error.kind, CallErrorKind::NotSerializable);
    assert!(within(channels.channels().next()).await.unwrap().is_ok());
}
