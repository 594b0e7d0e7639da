//! Ten programs of the Savina benchmark suite (S. Imam and V. Sarkar, 2014), written as a user
//! would write them, at the suite's own sizes, with mailboxes of the default size. These tests do
//! not measure time: they check that each program comes to its result and leaves no actor behind.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ping_pong;
mod counting;
mod fork_join;
mod thread_ring;
mod dictionary;
mod banking;
mod bounded_buffer;
mod sieve;
mod big;
mod fibonacci;

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

/// Far longer than any program takes; it only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// A token that every actor of a program holds, so that the program sees when the last actor is
/// gone.
type Alive = mpsc::Sender<Infallible>;

/// Runs a program on two threads. The program and all its actors must end.
fn run<F: Future<Output = ()>>(program: impl FnOnce(Alive) -> F) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(async {
        let (alive, mut actors) = mpsc::channel(1);
        timeout(PATIENCE, program(alive)).await.expect("the program comes to its end");
        let last = timeout(PATIENCE, actors.recv()).await.expect("every actor ends");
        assert!(last.is_none());
    });
}

/// Pseudorandom numbers, equal in each run: the generator of Knuth's MMIX.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}
