//! Counting: one actor tells another 1,000,000 times to count, and then asks it for the total.
//! Checks that no tell was lost at the small mailbox between them.

use wigwag::Actor;

use super::{Alive, run};

const COUNTS: u64 = 1_000_000;

struct Counter {
    count: u64,
    _alive: Alive,
}

#[wigwag::actor]
impl Counter {
    pub fn increment(&mut self) {
        self.count += 1;
    }

    pub fn count(&self) -> u64 {
        self.count
    }
}

struct Producer {
    counter: CounterRef,
    _alive: Alive,
}

#[wigwag::actor]
impl Producer {
    pub async fn produce(&mut self, messages: u64) -> u64 {
        for _ in 0..messages {
            self.counter.increment().tell().await.unwrap();
        }
        self.counter.count().ask().await.unwrap()
    }
}

#[test]
fn counting() {
    run(async |alive| {
        let counter = Counter { count: 0, _alive: alive.clone() }.spawn();
        let producer = Producer { counter, _alive: alive }.spawn();
        assert_eq!(producer.produce(COUNTS).ask().await.unwrap(), COUNTS);
    });
}
