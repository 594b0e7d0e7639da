//! Fibonacci of 25: an actor for each number starts two actors for the two numbers before it, and
//! adds their answers. Checks the sum, 75,025, and that all 150,049 actors have ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::oneshot;
use wigwag::Actor;

use super::{Alive, run};

/// The recipient of an answer.
enum Parent {
    Actor(FibonacciRef),
    Program(oneshot::Sender<u64>),
}

struct Fibonacci {
    parent: Option<Parent>,
    waiting: u32,
    sum: u64,
    started: Arc<AtomicU64>,
    alive: Alive,
}

impl Fibonacci {
    fn start(parent: Parent, started: &Arc<AtomicU64>, alive: &Alive) -> FibonacciRef {
        started.fetch_add(1, Ordering::Relaxed);
        let (started, alive) = (started.clone(), alive.clone());
        Fibonacci { parent: Some(parent), waiting: 0, sum: 0, started, alive }.spawn()
    }
}

#[wigwag::actor]
impl Fibonacci {
    pub fn request(&mut self, number: u32, me: FibonacciRef) {
        if number <= 2 {
            return self.answer(1);
        }
        self.waiting = 2;
        for before in [number - 1, number - 2] {
            let child = Self::start(Parent::Actor(me.clone()), &self.started, &self.alive);
            child.request(before, child.clone()).try_tell().unwrap();
        }
    }

    pub fn response(&mut self, value: u64) {
        self.sum += value;
        self.waiting -= 1;
        if self.waiting == 0 {
            self.answer(self.sum);
        }
    }

    fn answer(&mut self, value: u64) {
        match self.parent.take() {
            Some(Parent::Actor(parent)) => parent.response(value).try_tell().unwrap(),
            Some(Parent::Program(program)) => program.send(value).unwrap(),
            None => panic!("it has answered already"),
        }
    }
}

#[test]
fn fibonacci() {
    run(async |alive| {
        let started = Arc::new(AtomicU64::new(0));
        let (done, answer) = oneshot::channel();
        let root = Fibonacci::start(Parent::Program(done), &started, &alive);
        root.request(25, root.clone()).tell().await.unwrap();
        drop(root);
        assert_eq!(answer.await.unwrap(), 75_025);
        assert_eq!(started.load(Ordering::Relaxed), 2 * 75_025 - 1);
    });
}
