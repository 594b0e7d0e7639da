//! One set of calls, made to a local actor and to one behind each transport.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use wigwag::{Actor, CallErrorKind, Node};

struct Counter {
    total: u64,
    next: u64,
}

#[wigwag::actor]
impl Counter {
    /// Adds `amount`; the calls of one sender are numbered.
    pub fn add(&mut self, amount: u64, number: u64) {
        assert_eq!(self.next, number, "order");
        self.next += 1;
        self.total += amount;
    }

    /// Returns the total and resets it to zero.
    pub fn get_and_reset(&mut self) -> u64 {
        self.next = 0;
        std::mem::take(&mut self.total)
    }

    /// Never answers.
    pub async fn never(&self) {
        std::future::pending().await
    }

    /// Answers the sum asynchronously.
    pub async fn sum(&self, a: i64, b: i64) -> i64 {
        tokio::task::yield_now().await;
        a.wrapping_add(b)
    }
}

fn counter() -> Counter {
    Counter { total: 0, next: 0 }
}

async fn counts(counter: &CounterRef) {
    for number in 0..50_000 {
        counter.add(2, number).tell().await.unwrap();
    }
    let total = counter.get_and_reset().timeout(Duration::from_secs(20)).ask().await.unwrap();
    assert_eq!(total, 100_000);
    assert_eq!(counter.sum(i64::MAX, 1).ask().await.unwrap(), i64::MIN);
}

async fn over(address: &str) {
    let service = Node::new();
    let actor = counter().spawn();
    service.export("counter", &actor).unwrap();
    let bound = service.listen(address).await.unwrap();
    let client = Node::new();
    let there = client.actor::<Counter>(&format!("{bound}/counter")).await.unwrap();
    counts(&there).await;
    wigwag::spawn({
        let there = there.clone();
        async move { counts(&there).await }
    })
    .await
    .unwrap();
    let report = client.close(Duration::from_secs(5)).await;
    assert!(report.is_clean(), "{report:?}");
    let error = there.add(1, 0).tell().await.unwrap_err();
    assert_eq!(error.error.kind, CallErrorKind::NotDelivered);
}

#[tokio::test]
async fn a_counter_here() {
    counts(&counter().spawn()).await;
}

#[tokio::test]
async fn a_counter_over_tcp() {
    over("tcp://127.0.0.1:0").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_counter_over_tcp_on_two_workers() {
    over("tcp://127.0.0.1:0").await;
}

#[tokio::test]
async fn a_counter_over_ipc() {
    let path = std::env::temp_dir().join(format!("wigwag-remote-{}.sock", std::process::id()));
    over(&format!("ipc://{}", path.display())).await;
}

#[tokio::test]
async fn a_counter_over_shared_memory() {
    let path = std::env::temp_dir().join(format!("wigwag-remote-{}.shm", std::process::id()));
    over(&format!("shm://{}", path.display())).await;
}

#[tokio::test]
async fn a_counter_over_inproc() {
    over("inproc://remote-counter").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_asker_may_look_for_its_answer_or_sleep() {
    let service = Node::new();
    let actor = counter().spawn();
    service.export("counter", &actor).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let client = Node::new();
    for limit in [Duration::ZERO, Duration::from_micros(100), Duration::from_secs(60)] {
        client.watch_answers(limit);
        let there = client.actor::<Counter>(&format!("{bound}/counter")).await.unwrap();
        for number in 0..200 {
            assert_eq!(there.sum(number, 1).ask().await.unwrap(), number + 1);
        }
        let asks = (0..20).map(|number| {
            let there = there.clone();
            tokio::spawn(async move { there.sum(number, 2).ask().await.unwrap() })
        });
        for (number, answer) in asks.enumerate() {
            assert_eq!(answer.await.unwrap(), number as i64 + 2);
        }
        // A time limit also holds while the asker spins.
        let stuck = format!("stuck{}", limit.as_micros());
        service.export(&stuck, &counter().spawn()).unwrap();
        let stuck = client.actor::<Counter>(&format!("{bound}/{stuck}")).await.unwrap();
        let late = stuck.never().timeout(Duration::from_millis(50)).ask().await.unwrap_err();
        assert!(matches!(late.error().kind, CallErrorKind::Timeout(_)));
    }
}

#[tokio::test]
async fn a_reference_can_be_fetched_by_another_task_and_nothing_happens_before() {
    let (service, client) = (Node::new(), Node::new());
    service.export("counter", &counter().spawn()).unwrap();
    let bound = service.listen("inproc://fetched").await.unwrap();
    let fetch = client.actor::<Counter>(&format!("{bound}/counter"));
    tokio::task::yield_now().await;
    assert!(client.statistics().is_empty(), "nobody has polled it");
    let there = tokio::spawn(fetch).await.unwrap().unwrap();
    assert_eq!(there.sum(1, 2).ask().await.unwrap(), 3);
}
