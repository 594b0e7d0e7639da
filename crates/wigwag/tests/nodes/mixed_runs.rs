//! Calls of several methods in turn, which form mixed runs: their order, their credit, and what
//! becomes of those that are not understood, not delivered, or not known to the peer.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::time::timeout;
use wigwag::limits::WATCHDOG_TICK;
use wigwag::{Actor, Node};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Code, Identity, features};
use wigwag_testkit::raw::{Raw, arrival, identity, listen};
use wigwag_wire::call::Calls;
use wigwag_wire::{Decode, Reader};

use crate::held_turn;

/// No test comes near this limit; it only turns a hang into an error.
const PATIENCE: Duration = Duration::from_secs(20);

const RUNS: u64 = features::RUNS | features::MIXED_RUNS;

async fn soon<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.expect("in time")
}

/// Checks that its calls, of whichever method, arrive once and in order.
#[derive(Default)]
struct Log {
    next: u64,
    /// The methods and numbers of the calls.
    taken: Arc<Mutex<Vec<(u8, u64)>>>,
}

impl Log {
    fn take(&mut self, method: u8, number: u64) {
        assert_eq!(number, self.next, "method {method}");
        self.next += 1;
        self.taken.lock().unwrap().push((method, number));
    }
}

#[wigwag::actor]
impl Log {
    pub fn one(&mut self, number: u64) {
        self.take(1, number);
    }

    pub fn two(&mut self, number: u64, _more: i32) -> u64 {
        self.take(2, number);
        number
    }

    pub fn text(&mut self, number: u64, _text: String) {
        self.take(3, number);
    }

    pub async fn later(&mut self, number: u64) -> u64 {
        tokio::task::yield_now().await;
        self.take(4, number);
        number
    }

    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn again(&mut self, number: u64) -> u64 {
        self.take(6, number);
        number
    }
}

/// Two nodes, and a reference to the log of the first one.
async fn log_of_another_node() -> (Node, Node, LogRef) {
    let (service, client) = (Node::new(), Node::new());
    service.export("log", &Log::default().spawn()).unwrap();
    let address = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let log = client.actor::<Log>(&format!("{address}/log")).await.unwrap();
    (service, client, log)
}

/// The method of call `number`, so that runs of every kind follow each other: in turn, a few times
/// in a row, often in a row, and one between two others.
fn method(number: u64) -> u64 {
    match number / 500 % 5 {
        0 => number % 2,
        1 => number / 3 % 2,
        2 => u64::from(number.is_multiple_of(40)),
        3 => number / 60 % 2,
        _ => number % 3,
    }
}

/// Tells `count` numbers; now and then a call is long, or its caller waits for the answer.
async fn tell_all(log: LogRef, first: u64, count: u64) {
    for number in first..first + count {
        match (number % 1009, method(number)) {
            (1000, _) => log.text(number, "x".repeat(100)).tell().await.unwrap(),
            (1001, _) => log.later(number).tell().await.unwrap(),
            (1002, _) => assert_eq!(log.two(number, 1).ask().await.unwrap(), number),
            (_, 0) => log.one(number).tell().await.unwrap(),
            (_, 1) => log.two(number, -1).tell().await.unwrap(),
            _ => log.text(number, String::new()).tell().await.unwrap(),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_several_methods_arrive_once_and_in_order_from_every_kind_of_sender() {
    let (_service, _client, log) = log_of_another_node().await;
    let mut next = 0;
    for _ in 0..4 {
        wigwag::spawn(tell_all(log.clone(), next, 5000)).await.unwrap();
        tokio::spawn(tell_all(log.clone(), next + 5000, 5000)).await.unwrap();
        let (log, runtime) = (log.clone(), tokio::runtime::Handle::current());
        let thread = move || runtime.block_on(tell_all(log, next + 10_000, 5000));
        tokio::task::spawn_blocking(thread).await.unwrap();
        next += 15_000;
    }
    assert_eq!(log.next().ask().await.unwrap(), next);
}

#[tokio::test]
async fn asks_of_several_methods_in_a_pipeline_are_answered_in_order() {
    let (_service, _client, log) = log_of_another_node().await;
    let asks = async move {
        let mut asks = log.pipeline(200).unwrap();
        let mut answers = 0;
        for number in 0..2000 {
            while asks.is_full() {
                let (asked, reply) = asks.answer().await.unwrap();
                assert_eq!((asked, reply.unwrap()), (answers, answers));
                answers += 1;
            }
            let call = match method(number) {
                0 => log.two(number, 3),
                1 => log.again(number),
                _ => log.later(number),
            };
            asks.push(call, number).await.unwrap();
        }
        while let Some((asked, reply)) = asks.answer().await {
            assert_eq!((asked, reply.unwrap()), (answers, answers));
            answers += 1;
        }
        answers
    };
    assert_eq!(soon(wigwag::spawn(asks)).await.unwrap(), 2000);
}

/// A node that has attached to a log of a hand-written peer with these features, which grants
/// `units`.
async fn attached(offered: u64, units: u64) -> (Node, LogRef, Raw) {
    let ((listener, address), node) = (listen().await, Node::new());
    let dial = format!("{address}/log");
    let accept = async {
        let mut raw = arrival(&listener).await;
        raw.accept(Identity { offered, ..identity() }).await;
        raw.attached(units).await;
        raw
    };
    let (log, raw) = tokio::join!(node.actor::<Log>(&dial), accept);
    (node, log.unwrap(), raw)
}

/// Tells of two methods in turn within one poll, until `count` were sent or one is refused.
async fn tell_in_turn(log: LogRef, count: u64) -> u64 {
    tell_by(log, count, in_turn).await
}

/// Which of two methods a call has.
type Pattern = fn(u64) -> u64;

fn in_turn(number: u64) -> u64 {
    number % 2
}

async fn tell_by(log: LogRef, count: u64, pattern: Pattern) -> u64 {
    wigwag::spawn(async move {
        let tell = |number: &u64| match pattern(*number) {
            0 => log.one(*number).try_tell(),
            _ => log.two(*number, 5).try_tell(),
        };
        (0..count).take_while(|number| tell(number).is_ok()).count() as u64
    })
    .await
    .unwrap()
}

/// The kinds of the calls that arrive, and the number of calls in each, until `count` calls have
/// come. Each call has its method.
async fn kinds(peer: &mut Raw, count: u64, pattern: Pattern) -> Vec<(u8, u64)> {
    let (mut kinds, mut next) = (Vec::new(), 0);
    while next < count {
        let seen = soon(peer.frame()).await.expect("the connection is open");
        if !matches!(seen.kind, kind::TELL | kind::TELLS | kind::MIXED_TELLS) {
            continue;
        }
        let (encoded, first) = (seen.encoded(), next);
        for call in Calls::new(&encoded) {
            assert_eq!(u64::from(call.method), 1 + pattern(next), "call {next}");
            let mut reader = Reader::new(call.arguments);
            assert_eq!(reader.u8(), Ok(0x91 + pattern(next) as u8), "an array");
            assert_eq!(u64::decode(&mut reader), Ok(next));
            next += 1;
        }
        kinds.push((seen.kind, next - first));
    }
    assert_eq!(next, count);
    kinds
}

/// Tries until a task has sent the calls within a tick of the watchdog, which writes what a task that was
/// suspended for longer has sent so far, in the middle of a run.
const TRIES_MAX: usize = 50;

/// The kinds of `count` calls that a task has sent in one go.
async fn kinds_of_one_go(count: u64, pattern: Pattern) -> Vec<(u8, u64)> {
    for _ in 0..TRIES_MAX {
        let (_node, log, mut peer) = attached(RUNS, 10_000).await;
        let begun = Instant::now();
        assert_eq!(tell_by(log, count, pattern).await, count);
        let is_one_go = begun.elapsed() < WATCHDOG_TICK;
        let kinds = kinds(&mut peer, count, pattern).await;
        if is_one_go {
            return kinds;
        }
    }
    panic!("no task has sent {count} calls within {WATCHDOG_TICK:?}");
}

#[tokio::test]
async fn calls_of_two_methods_in_turn_form_a_mixed_run() {
    let expected = [
        (kind::TELL, 1),
        (kind::TELL, 1),
        (kind::MIXED_TELLS, 256),
        (kind::MIXED_TELLS, 256),
        (kind::MIXED_TELLS, 86),
    ];
    assert_eq!(kinds_of_one_go(600, in_turn).await, expected);
}

/// The caller adds the calls by itself, and so is the first to see that one method goes on.
#[tokio::test]
async fn a_run_of_one_method_follows_when_one_method_goes_on() {
    let pattern: Pattern = |number| if (100..300).contains(&number) { 1 } else { number % 2 };
    let kinds = kinds_of_one_go(400, pattern).await;
    // The last call before has the method that goes on.
    let first = [(kind::TELL, 1), (kind::TELL, 1), (kind::MIXED_TELLS, 97 + 32)];
    assert_eq!(kinds[..3], first);
    assert_eq!(kinds[3], (kind::TELLS, 300 - 131));
    assert_eq!(kinds[4..], [(kind::TELL, 1), (kind::TELL, 1), (kind::MIXED_TELLS, 98)]);
}

#[tokio::test]
async fn a_peer_of_an_earlier_release_is_sent_no_mixed_run() {
    for offered in [features::RUNS, features::MIXED_RUNS, 0] {
        let (_node, log, mut peer) = attached(offered, 10_000).await;
        assert_eq!(tell_in_turn(log, 50).await, 50);
        assert_eq!(kinds(&mut peer, 50, in_turn).await, [(kind::TELL, 1); 50]);
    }
}

#[tokio::test]
async fn calls_of_a_mixed_run_use_one_unit_each_and_no_more_than_there_are() {
    for units in [1, 2, 3, 17, 300, 1000] {
        let (_node, log, mut peer) = attached(RUNS, units).await;
        assert_eq!(tell_in_turn(log.clone(), 2000).await, units);
        kinds(&mut peer, units, in_turn).await;
        let credit = Frame::Credit { channel: 0, limit: units + 40, handled: 0 };
        let telling = tokio::spawn(async move {
            // Until the credit has arrived.
            log.one(0).tell().await.unwrap();
            log.two(1, 0).tell().await.unwrap();
            2 + tell_in_turn(log, 2000).await
        });
        peer.tell(&[credit]).await;
        assert_eq!(soon(telling).await.unwrap(), 40, "{units} units before");
    }
}

/// A task sends tells within one poll, and the session ends before that poll does.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_of_a_mixed_run_that_were_not_sent_are_counted_as_not_delivered() {
    const CALLS: u64 = 100;
    held_turn::is_not_delivered(CALLS, async || {
        let (node, log, peer) = attached(RUNS, 1 << 20).await;
        let send = move || {
            for number in 0..CALLS {
                match number % 2 {
                    0 => log.one(number).try_tell().unwrap(),
                    _ => log.two(number, 1).try_tell().unwrap(),
                }
            }
        };
        (node, peer, Box::new(send) as held_turn::Send)
    })
    .await;
}

/// A hand-written peer that has attached to a log, and the calls that the log takes.
async fn attached_peer(offered: u64) -> (Node, Raw, Arc<Mutex<Vec<(u8, u64)>>>) {
    let (node, log) = (Node::new(), Log::default());
    let taken = log.taken.clone();
    node.export("log", &log.spawn()).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    let mut peer = Raw::dial(&bound.to_string()).await;
    peer.open(Identity { offered, ..identity() }).await;
    peer.attach(0, "log").await;
    (node, peer, taken)
}

async fn outcomes(peer: &mut Raw, count: usize) -> Vec<(u64, Result<Vec<u8>, Code>)> {
    let mut outcomes = Vec::new();
    while outcomes.len() < count {
        let seen = soon(peer.frame()).await.expect("the session goes on");
        outcomes.extend(seen.outcomes());
    }
    outcomes.sort_by_key(|(slot, _)| *slot);
    outcomes
}

#[tokio::test]
async fn each_call_of_a_mixed_run_is_answered_as_if_it_had_come_alone() {
    let (_node, mut peer, taken) = attached_peer(RUNS).await;
    let items: [&[u8]; 10] = [
        &[1, 0x91, 0],
        &[2, 0x92, 1, 5],
        // No such method, in one byte and in ten.
        &[100, 0x90],
        &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0x90],
        // Arguments of another type, and too few.
        &[1, 0x91, 0xA1, b'x'],
        &[2, 0x91, 2],
        &[4, 0x91, 2],
        &[2, 0x92, 3, 5],
        &[3, 0x92, 4, 0xA1, b'x'],
        &[2, 0x92, 5, 5],
    ];
    peer.ask_mixed(0, &items).await;
    let none = Ok(vec![0xC0]);
    let number = |number: u8| Ok(vec![number]);
    let expected = [
        none.clone(),
        number(1),
        Err(Code::NO_SUCH_METHOD),
        Err(Code::NO_SUCH_METHOD),
        Err(Code::BAD_ARGUMENTS),
        Err(Code::BAD_ARGUMENTS),
        number(2),
        number(3),
        none,
        number(5),
    ];
    let expected: Vec<_> = (0..).zip(expected).collect();
    assert_eq!(outcomes(&mut peer, 10).await, expected);
    assert_eq!(*taken.lock().unwrap(), [(1, 0), (2, 1), (4, 2), (2, 3), (3, 4), (2, 5)]);
}

#[tokio::test]
async fn tells_of_a_mixed_run_that_are_not_understood_leave_the_others_alone() {
    let (node, mut peer, taken) = attached_peer(RUNS).await;
    let items: [&[u8]; 7] = [
        &[1, 0x91, 0],
        &[100, 0x90],
        &[4, 0x91, 1],
        &[2, 0x91, 2],
        &[2, 0x92, 2, 5],
        &[1, 0x91, 3],
        &[3, 0x92, 4, 0xA1, b'x'],
    ];
    peer.tell_mixed(0, &items).await;
    peer.ask_all(0, 5, &[&[0x90]]).await;
    assert_eq!(outcomes(&mut peer, 1).await, [(0, Ok(vec![5]))]);
    assert_eq!(*taken.lock().unwrap(), [(1, 0), (4, 1), (2, 2), (1, 3), (3, 4)]);
    assert_eq!(node.statistics()[0].session.tells_undeliverable, 2);
}

/// Without the feature a mixed run is a frame of unknown type.
#[tokio::test]
async fn a_mixed_run_of_a_peer_that_has_not_offered_it_ends_the_session() {
    let (_node, mut peer, taken) = attached_peer(features::RUNS).await;
    peer.tell_mixed(0, &[&[1, 0x91, 0], &[1, 0x91, 1]]).await;
    let seen = soon(peer.until(kind::CLOSE)).await;
    let Frame::Close { code, .. } = seen.frame() else { panic!("{seen:?}") };
    assert_eq!(code, Code::UNKNOWN_FRAME);
    assert!(taken.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_mixed_run_beyond_the_credit_ends_the_session() {
    let (_node, mut peer, _) = attached_peer(RUNS).await;
    let items = [&[1, 0x91, 0xC0][..]; 256];
    for _ in 0..2 {
        peer.tell_mixed(0, &items[..]).await;
    }
    let seen = soon(peer.until(kind::CLOSE)).await;
    let Frame::Close { code, .. } = seen.frame() else { panic!("{seen:?}") };
    assert_eq!(code, Code::CREDIT_EXCEEDED);
}

/// A later version of the actor: its methods are in another order, and there is one more.
mod later {
    use super::Log as Taken;

    pub(super) struct Log(pub(super) Taken);

    #[wigwag::actor]
    impl Log {
        pub fn first(&self) {}

        pub fn text(&mut self, number: u64, _text: String) {
            self.0.take(3, number);
        }

        pub fn two(&mut self, _more: i32, number: u64) -> u64 {
            self.0.take(2, number);
            number
        }

        pub async fn later(&mut self, number: u64) -> u64 {
            self.0.take(4, number);
            number
        }

        pub fn one(&mut self, number: u64) {
            self.0.take(1, number);
        }

        pub fn next(&self) -> u64 {
            self.0.next
        }
    }
}

/// Methods have other numbers there, so the caller adds no call to a run by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_several_methods_reach_another_version_of_the_actor_in_order() {
    let (service, client, inner) = (Node::new(), Node::new(), Log::default());
    let taken = inner.taken.clone();
    service.export("log", &later::Log(inner).spawn()).unwrap();
    let address = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let log = client.actor::<Log>(&format!("{address}/log")).await.unwrap();
    wigwag::spawn(tell_all(log.clone(), 0, 5000)).await.unwrap();
    assert_eq!(log.next().ask().await.unwrap(), 5000);
    let methods = taken.lock().unwrap().iter().filter(|(method, _)| *method == 1).count();
    assert!((1000..4000).contains(&methods), "{methods} calls of the first method");
}
