//! Asks whose callers wait no longer, at an actor of another node.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use wigwag::{Actor, ActorOptions, AskError, CallErrorKind, Node, Responder};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Code, Identity, features};
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::raw;

/// Every wait ends almost at once; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);
const MANY: usize = 4_000;

#[derive(Default)]
struct Worker {
    gate: Arc<Notify>,
    begun: usize,
    kept: Option<Responder<u64>>,
}

#[wigwag::actor]
impl Worker {
    /// Holds the actor until the gate is open.
    pub async fn hold(&mut self) {
        self.gate.notified().await;
    }

    pub fn work(&mut self, number: u64) -> u64 {
        self.begun += 1;
        number
    }

    pub fn begun(&self) -> u64 {
        self.begun as u64
    }

    /// Keeps the question.
    pub fn keep(&mut self, answer: Responder<u64>) {
        self.kept = Some(answer);
    }

    pub fn is_wanted(&self) -> bool {
        self.kept.as_ref().is_some_and(Responder::is_wanted)
    }
}

struct Stage {
    client: Node,
    service: Node,
    gate: Arc<Notify>,
    worker: WorkerRef,
}

impl Stage {
    /// A worker whose mailbox has room for all calls of a test.
    async fn new() -> Stage {
        let (service, client) = (Node::new(), Node::new());
        let worker = Worker::default();
        let gate = worker.gate.clone();
        let options = ActorOptions::default().mailbox_calls(4 * MANY);
        service.export("worker", &worker.spawn_with(options)).unwrap();
        let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
        let worker = client.actor::<Worker>(&format!("{bound}/worker")).await.unwrap();
        Stage { client, service, gate, worker }
    }

    /// Waits until the other node has read what was sent, then lets the worker go on.
    async fn open_gate(&self) {
        in_time(PATIENCE, self.client.flush()).await.unwrap();
        self.gate.notify_one();
    }

    fn cancelled(&self) -> u64 {
        self.service.statistics()[0].session.asks_cancelled
    }
}

/// How the callers of a test give up.
#[derive(Clone, Copy, Debug)]
enum GivenUp {
    Answers,
    Pipeline,
    TimedOut,
}

/// Asks `MANY` times behind a call that holds the worker, and gives all of these asks up. Returns how
/// many were sent: a limit may pass before.
async fn ask_and_give_up(worker: WorkerRef, how: GivenUp) -> u64 {
    match how {
        GivenUp::Answers => {
            let mut answers = Vec::new();
            for number in 0..MANY as u64 {
                answers.push(worker.work(number).ask().sent().await.unwrap());
            }
            MANY as u64
        }
        GivenUp::Pipeline => {
            let mut asks = worker.pipeline::<u64, ()>(MANY).unwrap();
            for number in 0..MANY as u64 {
                asks.push(worker.work(number), ()).await.map_err(|_| "refused").unwrap();
            }
            MANY as u64
        }
        GivenUp::TimedOut => {
            let callers = (0..200).map(|_| {
                let worker = worker.clone();
                tokio::spawn(async move {
                    let mut sent = 0;
                    for number in 0..MANY as u64 / 200 {
                        let limit = Duration::from_millis(1);
                        let failed = worker.work(number).timeout(limit).ask().await.unwrap_err();
                        sent += u64::from(matches!(failed, AskError::Failed(_)));
                        assert_eq!(failed.into_error().kind, CallErrorKind::Timeout(limit));
                    }
                    sent
                })
            });
            let mut sent = 0;
            for caller in callers.collect::<Vec<_>>() {
                sent += caller.await.unwrap();
            }
            sent
        }
    }
}

#[tokio::test]
async fn an_actor_begins_no_ask_that_was_given_up_before_its_turn() {
    for how in [GivenUp::Answers, GivenUp::Pipeline, GivenUp::TimedOut] {
        for is_turn in [false, true] {
            let stage = Stage::new().await;
            let worker = stage.worker.clone();
            let held = worker.hold().ask().sent().await.unwrap();
            let giving_up = ask_and_give_up(stage.worker.clone(), how);
            let sent = match is_turn {
                true => in_time(PATIENCE, wigwag::spawn(giving_up)).await.unwrap(),
                false => in_time(PATIENCE, giving_up).await,
            };
            stage.open_gate().await;
            in_time(PATIENCE, held).await.unwrap();
            let begun = in_time(PATIENCE, worker.begun().ask()).await.unwrap();
            assert!(sent > 0);
            assert_eq!((begun, stage.cancelled()), (0, sent), "{how:?}, {is_turn}");
            // Their slots and places are free again.
            let mut asks = worker.pipeline::<u64, ()>(2 * MANY).unwrap();
            for number in 0..2 * MANY as u64 {
                let pushed = asks.push(worker.work(number), ());
                in_time(PATIENCE, pushed).await.map_err(|_| "refused").unwrap();
            }
            for number in 0..2 * MANY as u64 {
                let (_, answer) = in_time(PATIENCE, asks.answer()).await.unwrap();
                assert_eq!(answer.unwrap(), number);
            }
        }
    }
}

/// A receipt is an ask on the wire; the message is handled whether anyone waits for it or not.
#[tokio::test]
async fn a_message_is_handled_although_its_receipt_was_dropped() {
    let stage = Stage::new().await;
    let worker = stage.worker.clone();
    let held = worker.hold().ask().sent().await.unwrap();
    for number in 0..10 {
        drop(worker.work(number).receipt().await.unwrap());
    }
    stage.open_gate().await;
    in_time(PATIENCE, held).await.unwrap();
    let begun = in_time(PATIENCE, worker.begun().ask()).await.unwrap();
    assert_eq!((begun, stage.cancelled()), (10, 0));
}

#[tokio::test]
async fn a_handler_sees_that_its_caller_in_another_process_waits_no_longer() {
    let stage = Stage::new().await;
    let answer = stage.worker.keep().ask().sent().await.unwrap();
    assert!(in_time(PATIENCE, stage.worker.is_wanted().ask()).await.unwrap());
    drop(answer);
    assert!(!in_time(PATIENCE, stage.worker.is_wanted().ask()).await.unwrap());
}

/// Only an own limit travels, and only the limit of an ask whose answer is awaited at once.
#[tokio::test]
async fn the_time_that_a_caller_has_set_travels_with_its_ask() {
    const LIMIT: Duration = Duration::from_secs(500);
    for offered in [0, features::CANCELLING] {
        let (node, counter, mut peer) = attached_to(offered).await;
        let asks = tokio::spawn(async move {
            drop(counter.begun().timeout(LIMIT).ask().sent().await.unwrap());
            counter.begun().timeout(LIMIT).ask().await.unwrap();
            counter.begun().without_limit().ask().await.unwrap();
            counter.begun().ask().await.unwrap();
            let blocking = move || counter.begun().timeout(LIMIT).blocking_ask().unwrap();
            tokio::task::spawn_blocking(blocking).await.unwrap();
        });
        let mut limits = Vec::new();
        while limits.len() < 5 {
            let seen = in_time(PATIENCE, peer.frame()).await.unwrap();
            let (limit, slot, generation) = match seen.frame() {
                Frame::AskWithin { within_ms, slot, generation, .. } => {
                    (Some(within_ms), slot, generation)
                }
                Frame::Ask { slot, generation, .. } => (None, slot, generation),
                _ => continue,
            };
            limits.push(limit);
            peer.tell(&[Frame::Reply { slot, generation, value: &[7] }]).await;
        }
        in_time(PATIENCE, asks).await.unwrap();
        let own = (offered != 0).then_some(500_000);
        assert_eq!(limits, [None, own, None, None, own]);
        drop(node);
    }
}

/// A node with a reference to the worker of a hand-written peer.
async fn attached_to(offered: u64) -> (Node, WorkerRef, raw::Raw) {
    let (listener, address) = raw::listen().await;
    let peer = async {
        let mut peer = raw::arrival(&listener).await;
        peer.accept(Identity { offered, ..raw::identity() }).await;
        peer.attached(100).await;
        peer
    };
    let node = Node::new();
    let address = format!("{address}/worker");
    let (worker, peer) =
        in_time(PATIENCE, async { tokio::join!(node.actor::<Worker>(&address), peer) }).await;
    (node, worker.unwrap(), peer)
}

/// An earlier release sends CANCEL for a receipt that was dropped, and its message is to be handled.
#[tokio::test]
async fn a_cancel_of_a_peer_without_the_feature_is_ignored() {
    for offered in [0, features::CANCELLING] {
        let node = Node::new();
        let worker = Worker::default();
        let gate = worker.gate.clone();
        let worker = worker.spawn();
        node.export("worker", &worker).unwrap();
        let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
        let mut peer = raw::Raw::dial(&bound.to_string()).await;
        peer.open(Identity { offered, ..raw::identity() }).await;
        peer.attach(0, "worker").await;
        let ask = |slot, method, arguments| {
            let generation = 0;
            Frame::Ask { channel: 0, slot, generation, method, arguments }
        };
        // Of a slot that has not asked yet, then of the ask, then again.
        let cancel = |slot| Frame::Cancel { slot, generation: 0 };
        let hold = ask(0, 1, &[0x90]);
        let work = ask(1, 2, &[0x91, 7]);
        peer.tell(&[hold, cancel(2), work, cancel(1), cancel(1), ask(2, 2, &[0x91, 8])]).await;
        peer.tell(&[Frame::Ping { id: 1, next_ms: 1000 }]).await;
        in_time(PATIENCE, peer.until(kind::PONG)).await;
        gate.notify_one();
        let mut outcomes = Vec::new();
        while outcomes.len() < 3 {
            outcomes.extend(in_time(PATIENCE, peer.frame()).await.unwrap().outcomes());
        }
        outcomes.sort_by_key(|(slot, _)| *slot);
        let is_on = offered & features::CANCELLING != 0;
        let second = if is_on { Err(Code::CANCELLED) } else { Ok(vec![7]) };
        assert_eq!(outcomes, [(0, Ok(vec![0xC0])), (1, second), (2, Ok(vec![8]))]);
        let begun = worker.begun().ask().await.unwrap();
        assert_eq!(begun, if is_on { 1 } else { 2 });
    }
}
