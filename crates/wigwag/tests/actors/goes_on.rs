//! A task that sends many tells and then blocks its thread: the actor runs on another thread.
//!
//! The actor was woken by the task, and a runtime keeps a task that is woken for the thread that
//! woke it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::mpsc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use wigwag::Actor;

/// It only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(10);

/// More tells than a turn gathers before it publishes some, and fewer than a mailbox holds.
const TELLS: u64 = 200;

/// Reports what it is told.
struct Bell(mpsc::Sender<u64>);

#[wigwag::actor]
impl Bell {
    pub fn ring(&mut self, number: u64) {
        let _ = self.0.send(number);
    }
}

/// An actor that sends and then blocks.
struct Blocker {
    bell: BellRef,
    heard: mpsc::Receiver<u64>,
}

#[wigwag::actor]
impl Blocker {
    pub async fn ring(&mut self) -> bool {
        tell_all(&self.bell).await;
        rings(&self.heard)
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

async fn tell_all(bell: &BellRef) {
    for number in 0..TELLS {
        bell.ring(number).tell().await.unwrap();
    }
}

/// True if the bell rings while this thread is blocked.
fn rings(heard: &mpsc::Receiver<u64>) -> bool {
    heard.recv_timeout(PATIENCE) == Ok(0)
}

#[test]
fn an_actor_begins_while_a_task_that_has_told_it_much_blocks_its_thread() {
    runtime().block_on(async {
        let (rung, heard) = mpsc::channel();
        let bell = Bell(rung).spawn();
        let sender = wigwag::spawn(async move {
            tell_all(&bell).await;
            rings(&heard)
        });
        assert!(sender.await.unwrap());
    });
}

#[test]
fn an_actor_begins_while_an_actor_that_has_told_it_much_blocks_its_thread() {
    runtime().block_on(async {
        let (rung, heard) = mpsc::channel();
        let bell = Bell(rung).spawn();
        let blocker = Blocker { bell, heard }.spawn();
        assert!(blocker.ring().ask().await.unwrap());
    });
}
