//! The loops that a newcomer writes first: they end, and they use no more memory than a careful
//! program would.
//!
//! The service is a process of its own, so that the memory of each side is measured separately.
//! `WIGWAG_NIGHTLY` makes the loops longer.
#![allow(clippy::unwrap_used, reason = "tests and their helpers fail by panicking")]

use std::future::{Future, pending};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::MutexGuard;
use tokio::time::timeout;
use wigwag::{Actor, CallErrorKind, Interface, Node, lifecycle::Alive};
use wigwag_testkit::child::{self, Child};
use wigwag_testkit::memory::Memory;

use crate::alone;

/// No test comes near this limit; it only turns a hang into an error.
const PATIENCE: Duration = Duration::from_secs(120);

fn tells() -> u64 {
    match std::env::var_os("WIGWAG_NIGHTLY") {
        Some(_) => 20_000_000,
        None => 5_000_000,
    }
}

#[derive(Default)]
struct Counter {
    total: u64,
}

#[wigwag::actor]
impl Counter {
    pub fn add(&mut self, amount: u64) {
        self.total += amount;
    }

    /// Returns the total and resets it to zero.
    pub fn take(&mut self) -> u64 {
        std::mem::take(&mut self.total)
    }
}

/// An actor whose handlers are slow.
#[derive(Default)]
struct Slow {
    total: u64,
}

#[wigwag::actor]
impl Slow {
    pub fn add(&mut self, amount: u64) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(100) {
            std::hint::spin_loop();
        }
        self.total += amount;
    }

    pub fn take(&mut self) -> u64 {
        std::mem::take(&mut self.total)
    }
}

/// An actor whose first handler never ends.
struct Stuck;

#[wigwag::actor]
impl Stuck {
    pub async fn add(&mut self, amount: u64) -> u64 {
        pending::<()>().await;
        amount
    }
}

struct Echo;

#[wigwag::actor]
impl Echo {
    pub fn echo(&self, number: u64) -> u64 {
        number
    }
}

/// The body of the child.
#[test]
fn child_service() {
    let Some(role) = child::role() else { return };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let _node = runtime.block_on(async {
        let node = Node::new();
        node.export("counter", &Counter::default().spawn()).unwrap();
        node.export("slow", &Slow::default().spawn()).unwrap();
        node.export("stuck", &Stuck.spawn()).unwrap();
        node.export("echo", &Echo.spawn()).unwrap();
        let bound = node.listen(&role).await.unwrap();
        child::say(&bound.to_string());
        node
    });
    child::wait_for_parent();
    runtime.shutdown_background();
}

/// A service in a process of its own, a node in this one, and the memory of both.
struct Pair {
    node: Node,
    service: Child,
    memory: [Memory; 2],
    socket: Option<PathBuf>,
    _alone: MutexGuard<'static, ()>,
}

impl Pair {
    async fn over(transport: &str) -> Pair {
        let alone = alone().await;
        let path = std::env::temp_dir().join(format!("wigwag-naive-{}.sock", std::process::id()));
        let (address, socket) = match transport {
            "ipc" => (format!("ipc://{}", path.display()), Some(path)),
            _ => ("tcp://127.0.0.1:0".to_owned(), None),
        };
        let service = Child::start("naive::child_service", &address);
        Pair {
            node: Node::new(),
            memory: [Memory::of_self(), Memory::of(service.pid())],
            service,
            socket,
            _alone: alone,
        }
    }

    async fn actor<I: Interface>(&self, name: &str) -> I::Ref {
        let address = format!("{}/{name}", self.service.said);
        self.node.actor::<I>(&address).await.unwrap()
    }

    fn check_memory(&self) {
        let [ours, theirs] = &self.memory;
        ours.check("the sender");
        theirs.check("the service");
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // The service is killed, so its socket file is left behind.
        if let Some(path) = &self.socket {
            let _ = std::fs::remove_file(path);
        }
    }
}

async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    let outcome = timeout(PATIENCE, future).await;
    outcome.unwrap_or_else(|_| panic!("{what} does not come to an end"))
}

/// The loop under test.
async fn count(counter: &CounterRef, tells: u64) {
    for _ in 0..tells {
        counter.add(1).tell().await.unwrap();
    }
    assert_eq!(counter.take().ask().await.unwrap(), tells);
}

async fn count_in_turns(counter: CounterRef, tells: u64) {
    let counting = wigwag::spawn(async move { count(&counter, tells).await });
    counting.await.unwrap();
}

#[tokio::test]
async fn tells_to_an_actor_of_this_process() {
    let _alone = alone().await;
    let memory = Memory::of_self();
    let counter = Counter::default().spawn();
    soon("the loop", count(&counter, tells())).await;
    soon("the task", count_in_turns(counter, tells())).await;
    memory.check("this process");
}

#[tokio::test]
async fn tells_over_tcp() {
    let pair = Pair::over("tcp").await;
    let counter = pair.actor::<Counter>("counter").await;
    soon("the loop", count(&counter, tells())).await;
    pair.check_memory();
    soon("the task", count_in_turns(counter, tells())).await;
    pair.check_memory();
}

#[tokio::test]
async fn tells_over_ipc() {
    let pair = Pair::over("ipc").await;
    let counter = pair.actor::<Counter>("counter").await;
    soon("the loop", count(&counter, tells())).await;
    pair.check_memory();
    soon("the task", count_in_turns(counter, tells())).await;
    pair.check_memory();
}

/// A thread without a runtime; the node brings its own.
#[test]
fn tells_of_a_plain_thread() {
    let pair = wigwag::block_on(Pair::over("tcp"));
    let address = format!("{}/counter", pair.service.said);
    let counter = pair.node.blocking_actor::<Counter>(&address).unwrap();
    let tells = tells() / 5;
    for _ in 0..tells {
        counter.add(1).blocking_tell().unwrap();
    }
    assert_eq!(counter.take().blocking_ask().unwrap(), tells);
    pair.check_memory();
}

/// Credit delays the sender; answers on the same session are not delayed.
#[tokio::test]
async fn tells_to_a_slow_actor() {
    let pair = Pair::over("tcp").await;
    let slow = pair.actor::<Slow>("slow").await;
    let echo = pair.actor::<Echo>("echo").await;
    let mut telling = wigwag::spawn(async move {
        for _ in 0..50_000 {
            slow.add(1).tell().await.unwrap();
        }
        slow.take().ask().await.unwrap()
    });
    let mut answers = 0;
    let total = soon("the loop", async {
        loop {
            tokio::select! {
                biased;
                total = &mut telling => break total.unwrap(),
                answer = echo.echo(answers).ask() => assert_eq!(answer.unwrap(), answers),
            }
            answers += 1;
        }
    });
    assert_eq!(total.await, 50_000);
    assert!(answers > 100, "{answers} answers beside 5 s of work");
    pair.check_memory();
}

#[tokio::test]
async fn tells_to_an_actor_that_never_returns() {
    let pair = Pair::over("tcp").await;
    let stuck = pair.actor::<Stuck>("stuck").await;
    let echo = pair.actor::<Echo>("echo").await;
    let limit = Duration::from_millis(200);
    let mut sent: u64 = 0;
    let refused = soon("the loop", async {
        loop {
            match stuck.add(sent).timeout(limit).tell().await {
                Ok(()) => sent += 1,
                Err(refused) => break refused,
            }
        }
    });
    let refused = refused.await;
    assert_eq!(refused.error.kind, CallErrorKind::Timeout(limit));
    assert!(matches!(refused.message, StuckMessage::Add { amount } if amount == sent));
    // A window is at most 4 MiB of units of 64 bytes.
    assert!((64..200_000).contains(&sent), "{sent} sent");
    for number in 0..1000 {
        let answer = echo.echo(number).ask();
        assert_eq!(soon("an answer", answer).await.unwrap(), number);
    }
    // The message still cannot be sent.
    let again = stuck.call::<u64>(refused.message).timeout(limit).tell();
    assert!(again.await.is_err());
    pair.check_memory();
}

/// An actor that asks its counterpart at the other node before it answers.
struct Relay {
    other: Arc<OnceLock<RelayRef>>,
}

#[wigwag::actor]
impl Relay {
    pub fn echo(&self, number: u64) -> u64 {
        number
    }

    /// Passes the call back and forth until `hops` is zero, then returns `number`. Returns 0
    /// instead if a call on the way failed with [`CallErrorKind::Overloaded`], or `CallCycle`
    /// within one process.
    pub async fn relay(&mut self, number: u64, hops: u32) -> u64 {
        let Some(hops) = hops.checked_sub(1) else {
            return number;
        };
        let other = self.other.get().unwrap();
        let answer = other.relay(number, hops).ask().await;
        answer.unwrap_or_else(|error| {
            let expected = match other.handle() {
                Ok(_) => CallErrorKind::CallCycle,
                Err(_) => CallErrorKind::Overloaded,
            };
            assert_eq!(error.error().kind, expected);
            0
        })
    }
}

/// Two nodes, each with two relays whose counterpart is the first relay at the other node.
struct Mirror {
    nodes: [Node; 2],
    addresses: [String; 2],
}

impl Mirror {
    async fn new() -> Mirror {
        let nodes = [Node::new(), Node::new()];
        let mut addresses = [const { String::new() }; 2];
        let others = [const { OnceLock::new() }; 2].map(Arc::new);
        for ((node, address), other) in nodes.iter().zip(&mut addresses).zip(&others) {
            for name in ["first", "second"] {
                let other = other.clone();
                node.export(name, &Relay { other }.spawn()).unwrap();
            }
            *address = node.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
        }
        let mirror = Mirror { nodes, addresses };
        for (at, other) in others.iter().enumerate() {
            let first = mirror.across(at, "first").await;
            assert!(other.set(first).is_ok());
        }
        mirror
    }

    /// A reference of node `at` to a relay at the other node.
    async fn across(&self, at: usize, name: &str) -> RelayRef {
        let address = format!("{}/{name}", self.addresses[1 - at]);
        self.nodes[at].actor::<Relay>(&address).await.unwrap()
    }
}

/// Sends all asks before it awaits the first answer.
async fn ask_all(relay: RelayRef, asks: u64, hops: u32) {
    let mut answers = Vec::new();
    for number in 1..=asks {
        answers.push(relay.relay(number, hops).ask().sent().await.unwrap());
    }
    for (answer, number) in answers.into_iter().zip(1..) {
        assert_eq!(answer.await.unwrap(), number);
    }
}

async fn echo_all(relay: RelayRef, asks: u64) {
    let mut answers = Vec::new();
    for number in 1..=asks {
        answers.push(relay.echo(number).ask().sent().await.unwrap());
    }
    for (answer, number) in answers.into_iter().zip(1..) {
        assert_eq!(answer.await.unwrap(), number);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_with_full_queues_answer_each_other() {
    let _alone = alone().await;
    let memory = Memory::of_self();
    let mirror = Mirror::new().await;
    let [left, right] = [mirror.across(0, "first").await, mirror.across(1, "first").await];
    let left = tokio::spawn(echo_all(left, 20_000));
    let right = tokio::spawn(echo_all(right, 20_000));
    soon("left", left).await.unwrap();
    soon("right", right).await.unwrap();
    memory.check("both nodes");
}

/// The handlers of `second` ask `first` of the node that asked: there is no cycle, but both queues
/// are full all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_with_full_queues_whose_handlers_ask_back_answer_each_other() {
    let _alone = alone().await;
    let memory = Memory::of_self();
    let mirror = Mirror::new().await;
    let [left, right] = [mirror.across(0, "second").await, mirror.across(1, "second").await];
    let left = tokio::spawn(ask_all(left, 20_000, 1));
    let right = tokio::spawn(ask_all(right, 20_000, 1));
    soon("left", left).await.unwrap();
    soon("right", right).await.unwrap();
    memory.check("both nodes");
}

/// `first` asks `first` at the other node, which asks back: all handlers wait until the time limit
/// of a waiting handler is over.
#[tokio::test]
async fn handlers_that_wait_in_a_circle_end_with_an_error() {
    let _alone = alone().await;
    let mirror = Mirror::new().await;
    let first = mirror.across(0, "first").await;
    let answer = soon("the circle", first.relay(7, 3).ask()).await;
    assert_eq!(answer.unwrap(), 0, "somebody was overloaded");
    // No handler is stuck afterwards.
    assert_eq!(soon("the next", first.echo(8).ask()).await.unwrap(), 8);
    let back = mirror.across(1, "first").await;
    assert_eq!(soon("the next", back.relay(9, 0).ask()).await.unwrap(), 9);
}

/// A cycle within one process, which is detected at once.
#[tokio::test(start_paused = true)]
async fn local_handlers_that_wait_in_a_circle_end_with_an_error() {
    let _alone = alone().await;
    let others = [const { OnceLock::new() }; 2].map(Arc::new);
    let [left, right] = others.clone().map(|other| Relay { other }.spawn());
    let [left_other, right_other] = others;
    assert!(left_other.set(right).is_ok() && right_other.set(left.clone()).is_ok());
    let begun = tokio::time::Instant::now();
    assert_eq!(left.relay(7, 3).ask().await.unwrap(), 0);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(left.echo(8).ask().await.unwrap(), 8);
}

/// Any connection may come first, by either address: no side loses a session that is used.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_dial_each_other_at_once_all_get_through() {
    let _alone = alone().await;
    for round in 0..100 {
        let nodes = [Node::new(), Node::new()];
        let mut addresses = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            node.export("echo", &Echo.spawn()).unwrap();
            for address in ["tcp://127.0.0.1:0", &format!("inproc://dial-{round}-{at}")] {
                let bound = node.listen(address).await.unwrap();
                addresses.push((1 - at, format!("{bound}/echo")));
            }
        }
        let mut asking = Vec::new();
        for (dialer, address) in addresses {
            let node = nodes[dialer].clone();
            asking.push(tokio::spawn(async move {
                let echo = node.actor::<Echo>(&address).await.unwrap();
                for number in 0..20 {
                    assert_eq!(echo.echo(number).ask().await.unwrap(), number);
                }
            }));
        }
        for asked in asking {
            let outcome = soon("a round", asked).await;
            assert!(outcome.is_ok(), "in round {round}");
        }
    }
}
