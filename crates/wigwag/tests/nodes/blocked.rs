//! Tells of a task that blocks its thread right after it has sent them.
//!
//! Each test blocks the sender until what it has sent was handled. Only heartbeats would send it
//! otherwise, and they are a minute apart.

use std::future::Future;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use wigwag::limits::WATCHDOG_TICK;
use wigwag::{Actor, Node, NodeOptions};
use wigwag_testkit::ledger::in_time;

/// No test comes near this limit, which is shorter than the interval of heartbeats; it only turns a
/// hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// Rounds in which the tasks may meet on the threads in another way.
const ROUNDS: u64 = 50;

/// Reports what it is told.
struct Bell {
    rung: mpsc::Sender<u64>,
}

#[wigwag::actor]
impl Bell {
    pub fn ring(&mut self, number: u64) -> u64 {
        let _ = self.rung.send(number);
        number
    }

    /// Another actor that reports to the same place.
    pub fn another(&self) -> BellRef {
        Bell { rung: self.rung.clone() }.spawn()
    }
}

fn runtime(threads: usize) -> Runtime {
    let mut builder = match threads {
        0 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    builder.worker_threads(threads.max(1)).enable_all().build().unwrap()
}

fn node() -> Node {
    Node::with(NodeOptions::default().heartbeat(Duration::from_secs(60)))
}

/// Waits for a number without giving the thread to anything else.
fn block_until(number: u64, heard: &mpsc::Receiver<u64>) {
    assert_eq!(heard.recv_timeout(PATIENCE), Ok(number), "nothing has left the blocked thread");
}

/// Runs `sender` on a runtime of so many threads, zero for the current one, with a bell on another
/// runtime.
fn with_bell<F, S>(threads: usize, sender: S)
where
    S: FnOnce(BellRef, mpsc::Receiver<u64>) -> F,
    F: Future<Output = ()>,
{
    let service = runtime(2);
    let (rung, heard) = mpsc::channel();
    let (serving, bound) = service.block_on(async {
        let serving = node();
        serving.export("bell", &Bell { rung }.spawn()).unwrap();
        let bound = serving.listen("tcp://127.0.0.1:0").await.unwrap();
        (serving, bound)
    });
    let client = runtime(threads);
    client.block_on(async {
        let dialing = node();
        let bell = dialing.actor::<Bell>(&format!("{bound}/bell")).await.unwrap();
        in_time(PATIENCE, sender(bell, heard)).await;
        dialing.close(PATIENCE).await;
    });
    drop(serving);
}

async fn ring_in_turns(bell: BellRef, heard: mpsc::Receiver<u64>) {
    let turn = wigwag::spawn(async move {
        for number in 0..ROUNDS {
            bell.ring(number).tell().await.unwrap();
            block_until(number, &heard);
        }
    });
    turn.await.unwrap();
}

async fn ring_in_plain_tasks(bell: BellRef, heard: mpsc::Receiver<u64>) {
    let task = tokio::spawn(async move {
        for number in 0..ROUNDS {
            bell.ring(number).tell().await.unwrap();
            block_until(number, &heard);
            // The next round finds the driver asleep again.
            tokio::task::yield_now().await;
        }
    });
    task.await.unwrap();
}

#[test]
fn a_turn_that_blocks_does_not_hold_back_what_it_has_told() {
    with_bell(2, ring_in_turns);
}

#[test]
fn a_turn_that_blocks_the_only_thread_does_not_hold_back_what_it_has_told() {
    with_bell(0, ring_in_turns);
}

#[test]
fn a_plain_task_that_blocks_does_not_hold_back_what_it_has_told() {
    with_bell(2, ring_in_plain_tasks);
}

#[test]
fn a_plain_task_that_blocks_the_only_thread_does_not_hold_back_what_it_has_told() {
    with_bell(0, ring_in_plain_tasks);
}

/// Rings two bells in turn and blocks, with pauses in which the watchdog forgets the sender. Outside a
/// turn, a call to another actor than the last one wakes the driver.
async fn ring_rarely(bell: BellRef, heard: mpsc::Receiver<u64>) {
    let bells = [bell.another().ask().await.unwrap(), bell];
    for number in 0..6 {
        bells[number as usize % 2].ring(number).tell().await.unwrap();
        block_until(number, &heard);
        tokio::time::sleep(10 * WATCHDOG_TICK).await;
    }
}

#[test]
fn a_turn_that_blocks_after_a_pause_does_not_hold_back_what_it_has_told() {
    with_bell(2, async |bell, heard| wigwag::spawn(ring_rarely(bell, heard)).await.unwrap());
}

#[test]
fn a_plain_task_that_blocks_after_a_pause_does_not_hold_back_what_it_has_told() {
    with_bell(0, async |bell, heard| tokio::spawn(ring_rarely(bell, heard)).await.unwrap());
}

#[test]
fn a_thread_outside_the_runtime_does_not_hold_back_what_it_has_told() {
    with_bell(2, async |bell, heard| {
        let ringing = thread::spawn(move || {
            for number in 0..ROUNDS {
                bell.ring(number).blocking_tell().unwrap();
                block_until(number, &heard);
            }
        });
        tokio::task::spawn_blocking(|| ringing.join().unwrap()).await.unwrap();
    });
}

/// Tells ten numbers of each round, and blocks until all of them have come.
async fn ring_in_runs(bell: BellRef, heard: mpsc::Receiver<u64>) {
    for round in 0..ROUNDS {
        let numbers = round * 10..round * 10 + 10;
        for number in numbers.clone() {
            bell.ring(number).tell().await.unwrap();
        }
        numbers.for_each(|number| block_until(number, &heard));
    }
}

/// Calls that join a run are encoded without the lock of their turn's frames.
#[test]
fn a_turn_that_blocks_in_the_middle_of_a_run_holds_back_no_call_of_it() {
    with_bell(2, async |bell, heard| wigwag::spawn(ring_in_runs(bell, heard)).await.unwrap());
}

#[test]
fn a_plain_task_that_blocks_in_the_middle_of_a_run_holds_back_no_call_of_it() {
    for threads in [0, 2] {
        with_bell(threads, async |bell, heard| {
            tokio::spawn(ring_in_runs(bell, heard)).await.unwrap();
        });
    }
}

#[test]
fn a_thread_outside_the_runtime_that_blocks_in_the_middle_of_a_run_holds_back_no_call_of_it() {
    with_bell(2, async |bell, heard| {
        let ringing = thread::spawn(move || {
            for round in 0..ROUNDS {
                let numbers = round * 10..round * 10 + 10;
                for number in numbers.clone() {
                    bell.ring(number).blocking_tell().unwrap();
                }
                numbers.for_each(|number| block_until(number, &heard));
            }
        });
        tokio::task::spawn_blocking(|| ringing.join().unwrap()).await.unwrap();
    });
}
