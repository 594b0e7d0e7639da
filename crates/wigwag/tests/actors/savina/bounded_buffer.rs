//! Bounded buffer: 40 producers make 1,000 items each, 40 consumers use them up, and a manager
//! between them holds 50 items at most. Checks that each item is consumed once and that the buffer
//! keeps its bound.

use std::collections::VecDeque;

use tokio::sync::oneshot;
use wigwag::{Actor, Local};

use super::{Alive, run};

const PRODUCERS: u64 = 40;
const CONSUMERS: u64 = 40;
const ITEMS: u64 = 1_000;
const BUFFER_ITEMS_MAX: usize = 50;
/// Rounds of arithmetic for an item, at both ends.
const COST: u32 = 25;

/// Uses CPU time.
fn work(mut value: f64) -> f64 {
    for round in 0..COST {
        value = (value.abs() + f64::from(round) + 1.0).ln();
    }
    value
}

struct Producer {
    number: u64,
    made: u64,
    manager: ManagerRef,
    _alive: Alive,
}

#[wigwag::actor]
impl Producer {
    /// Makes an item, or reports that there are no more.
    pub fn produce(&mut self, me: ProducerRef) {
        if self.made == ITEMS {
            return self.manager.ended().try_tell().unwrap();
        }
        let item = self.number * ITEMS + self.made;
        self.made += 1;
        assert!(work(item as f64).is_finite());
        self.manager.made(item, me).try_tell().unwrap();
    }
}

struct Consumer {
    items: Vec<u64>,
    manager: ManagerRef,
    _alive: Alive,
}

#[wigwag::actor]
impl Consumer {
    pub fn consume(&mut self, item: u64, me: ConsumerRef) {
        assert!(work(item as f64).is_finite());
        self.items.push(item);
        self.manager.ready(me).try_tell().unwrap();
    }

    pub fn items(&self) -> Vec<u64> {
        self.items.clone()
    }
}

/// Holds the items and the producers and consumers that wait.
struct Manager {
    items: VecDeque<u64>,
    most: usize,
    producers: Vec<ProducerRef>,
    consumers: Vec<ConsumerRef>,
    ended: u64,
    done: Option<oneshot::Sender<usize>>,
    _alive: Alive,
}

#[wigwag::actor]
impl Manager {
    pub fn start(
        &mut self,
        producers: Vec<ProducerRef>,
        consumers: Vec<ConsumerRef>,
        done: Local<oneshot::Sender<usize>>,
    ) {
        self.consumers = consumers;
        self.done = Some(done.0);
        for producer in producers {
            producer.produce(producer.clone()).try_tell().unwrap();
        }
    }

    pub fn made(&mut self, item: u64, producer: ProducerRef) {
        match self.consumers.pop() {
            Some(consumer) => consumer.consume(item, consumer.clone()).try_tell().unwrap(),
            None => self.items.push_back(item),
        }
        self.most = self.most.max(self.items.len());
        self.producers.push(producer);
        self.order();
    }

    pub fn ready(&mut self, consumer: ConsumerRef) {
        match self.items.pop_front() {
            Some(item) => consumer.consume(item, consumer.clone()).try_tell().unwrap(),
            None => self.consumers.push(consumer),
        }
        self.order();
        self.end();
    }

    pub fn ended(&mut self) {
        self.ended += 1;
        self.order();
        self.end();
    }

    /// Every producer that was asked may answer with an item, so as many places stay free.
    fn order(&mut self) {
        if self.items.len() >= BUFFER_ITEMS_MAX - PRODUCERS as usize {
            return;
        }
        if let Some(producer) = self.producers.pop() {
            producer.produce(producer.clone()).try_tell().unwrap();
        }
    }

    fn end(&mut self) {
        let is_over = self.ended == PRODUCERS && self.consumers.len() as u64 == CONSUMERS;
        if is_over && let Some(done) = self.done.take() {
            // The consumers and the manager hold references to each other.
            self.consumers.clear();
            done.send(self.most).unwrap();
        }
    }
}

#[test]
fn bounded_buffer() {
    run(async |alive| {
        let manager = Manager {
            items: VecDeque::new(),
            most: 0,
            producers: Vec::new(),
            consumers: Vec::new(),
            ended: 0,
            done: None,
            _alive: alive.clone(),
        }
        .spawn();
        let producer = |number| {
            let manager = manager.clone();
            Producer { number, made: 0, manager, _alive: alive.clone() }.spawn()
        };
        let consumer = |_| {
            let manager = manager.clone();
            Consumer { items: Vec::new(), manager, _alive: alive.clone() }.spawn()
        };
        let producers = (0..PRODUCERS).map(producer).collect();
        let consumers: Vec<ConsumerRef> = (0..CONSUMERS).map(consumer).collect();
        let (done, ended) = oneshot::channel();
        manager.start(producers, consumers.clone(), Local(done)).tell().await.unwrap();
        let most = ended.await.unwrap();
        assert!(most <= BUFFER_ITEMS_MAX, "{most} items were in the buffer");

        let mut items = Vec::new();
        for consumer in &consumers {
            items.extend(consumer.items().ask().await.unwrap());
        }
        items.sort_unstable();
        assert!(items.into_iter().eq(0..PRODUCERS * ITEMS));
    });
}
