//! A session with thousands of channels, whose calls go to a different actor each time.

use std::time::Duration;

use tokio::time::timeout;
use wigwag::{Actor, Node, NodeOptions};

/// Enough channels for what a session does where there are very many: it publishes calls before the
/// end of their batch, and prefetches.
const CHANNELS: usize = 9_000;

const ROUNDS: u64 = 20;

#[derive(Default)]
struct Counter {
    told: u64,
    is_in_order: bool,
}

#[wigwag::actor]
impl Counter {
    pub fn count(&mut self, number: u64) {
        self.is_in_order = self.told == number && (self.is_in_order || number == 0);
        self.told += 1;
    }

    pub fn told(&self) -> (u64, bool) {
        (self.told, self.is_in_order)
    }
}

#[derive(Default)]
struct Hall(Vec<CounterRef>);

#[wigwag::actor]
impl Hall {
    pub fn counter(&mut self) -> CounterRef {
        let counter = Counter::default().spawn();
        self.0.push(counter.clone());
        counter
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_to_thousands_of_actors_in_turn_arrive_once_and_in_order() {
    let options = || NodeOptions::default().actors_per_peer(10_000);
    let (service, client) = (Node::with(options()), Node::with(options()));
    service.export("hall", &Hall::default().spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let hall = client.actor::<Hall>(&format!("{bound}/hall")).await.unwrap();
    let mut asks = hall.pipeline(64).unwrap();
    let mut counters = Vec::new();
    for _ in 0..CHANNELS {
        asks.push(hall.counter(), ()).await.unwrap();
        if asks.is_full() {
            counters.push(asks.answer().await.unwrap().1.unwrap());
        }
    }
    while let Some((_, counter)) = asks.answer().await {
        counters.push(counter.unwrap());
    }
    assert_eq!(counters.len(), CHANNELS);
    for round in 0..ROUNDS {
        // Far from one another, and each once: the stride has no factor in common with their number.
        for at in 0..CHANNELS {
            counters[at * 7_919 % CHANNELS].count(round).tell().await.unwrap();
        }
    }
    let heard = async {
        for counter in &counters {
            assert_eq!(counter.told().ask().await.unwrap(), (ROUNDS, true));
        }
    };
    timeout(Duration::from_secs(60), heard).await.expect("all are told");
}
