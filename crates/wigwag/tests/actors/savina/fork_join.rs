//! Fork-join throughput: 60 actors get 10,000 messages each, in round-robin order, and do a little
//! arithmetic for each. Checks that each has handled all of its own, in order.

use wigwag::Actor;

use super::{Alive, run};

const ACTORS: usize = 60;
const MESSAGES: u32 = 10_000;

struct Worker {
    handled: u32,
    value: f64,
    _alive: Alive,
}

#[wigwag::actor]
impl Worker {
    pub fn process(&mut self, number: u32) {
        assert_eq!(number, self.handled, "order");
        self.handled += 1;
        let sine = (37.2_f64 + f64::from(number)).sin();
        self.value += sine * sine;
    }

    pub fn result(&self) -> (u32, f64) {
        (self.handled, self.value)
    }
}

#[test]
fn fork_join_throughput() {
    run(async |alive| {
        let worker = || Worker { handled: 0, value: 0.0, _alive: alive.clone() }.spawn();
        let workers: Vec<WorkerRef> = (0..ACTORS).map(|_| worker()).collect();
        let fork = workers.clone();
        let forked = wigwag::spawn(async move {
            for number in 0..MESSAGES {
                for worker in &fork {
                    worker.process(number).tell().await.unwrap();
                }
            }
        });
        forked.await.unwrap();
        let mut values = Vec::new();
        for worker in &workers {
            let (handled, value) = worker.result().ask().await.unwrap();
            assert_eq!(handled, MESSAGES);
            values.push(value);
        }
        // The mean of a squared sine is one half.
        assert!((values[0] / f64::from(MESSAGES) - 0.5).abs() < 0.01, "{}", values[0]);
        assert!(values.iter().all(|value| value.to_bits() == values[0].to_bits()));
    });
}
