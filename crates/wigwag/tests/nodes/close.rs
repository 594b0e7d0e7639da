//! Orderly and abrupt ends: nodes that are closed or dropped, calls that are dropped, actors that
//! stop.
#![allow(clippy::unwrap_used, reason = "tests and their helpers fail by panicking")]

mod cut;
mod drops;
mod held;
mod listeners;
mod owed;
mod unsent;

use std::future::Future;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::process::Command;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use wigwag::lifecycle::Alive;
use wigwag::{Actor, CallErrorKind, Node, NodeError};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Code, Limits};
use wigwag_testkit::program;
use wigwag_testkit::raw::{Raw, arrival, identity, listen, listen_narrow};

/// No test comes near this limit; it only turns a hang into an error.
const PATIENCE: Duration = Duration::from_secs(20);

/// The time that a node gets to close when it cannot close in good order. On a busy machine the
/// close may take five times as long.
const DEADLINE: Duration = Duration::from_secs(1);

/// Limits of a peer whose session does not end for silence while a test is slow.
fn patient() -> Limits {
    Limits { heartbeat_ms: 30_000, ..Limits::default() }
}

struct Counter {
    total: u64,
    /// The total to wait for, and the sender that is notified when it is reached.
    watched: Option<(u64, oneshot::Sender<()>)>,
}

#[wigwag::actor]
impl Counter {
    pub fn add(&mut self, amount: u64) {
        self.total += amount;
        if self.watched.as_ref().is_some_and(|(at, _)| *at == self.total) {
            let _ = self.watched.take().map(|(_, reached)| reached.send(()));
        }
    }

    pub fn total(&self) -> u64 {
        self.total
    }
}

/// A counter, and a receiver that is notified when its total is `at`.
fn counter_until(at: u64) -> (CounterRef, oneshot::Receiver<()>) {
    let (reached, reaches) = oneshot::channel();
    let watched = Some((at, reached));
    (Counter { total: 0, watched }.spawn(), reaches)
}

/// A node that listens on `address` and exports the counter.
async fn service(counter: &CounterRef, address: &str) -> (Node, String) {
    let node = Node::new();
    node.export("counter", counter).unwrap();
    let bound = node.listen(address).await.unwrap();
    (node, format!("{bound}/counter"))
}

/// A node that has attached to a hand-written peer, which grants `units`.
async fn attached(units: u64, limits: Limits) -> (Node, CounterRef, Raw) {
    attached_at(listen().await, units, limits).await
}

async fn attached_at(
    (listener, address): (TcpListener, String),
    units: u64,
    limits: Limits,
) -> (Node, CounterRef, Raw) {
    let node = Node::new();
    let (counter, raw) = tokio::join!(attach(&node, &address), granting(&listener, units, limits));
    (node, counter, raw)
}

async fn attach(node: &Node, address: &str) -> CounterRef {
    let actor = node.actor::<Counter>(&format!("{address}/counter")).await;
    actor.unwrap()
}

async fn granting(listener: &TcpListener, units: u64, limits: Limits) -> Raw {
    let mut raw = arrival(listener).await;
    raw.accept(wigwag_link::Identity { limits, ..identity() }).await;
    raw.attached(units).await;
    raw
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    let outcome = timeout(PATIENCE, future).await;
    outcome.unwrap_or_else(|_| panic!("{what} does not come to an end"))
}

/// Returns the amount of the next TELL.
async fn told(raw: &mut Raw) -> u8 {
    match raw.until(kind::TELL).await.frame() {
        // An array of one small number.
        Frame::Tell { arguments: [0x91, amount], .. } => *amount,
        other => panic!("expected a small amount, got {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn close_delivers_what_was_told_just_before() {
    let ipc = std::env::temp_dir().join(format!("wigwag-close-{}.sock", std::process::id()));
    let ipc = format!("ipc://{}", ipc.display());
    for address in ["tcp://127.0.0.1:0", &ipc, "inproc://close"] {
        let (counter, reaches) = counter_until(100_000);
        let (_service, address) = service(&counter, address).await;
        let client = Node::new();
        let there = client.actor::<Counter>(&address).await.unwrap();
        for _ in 0..100_000 {
            there.add(1).tell().await.unwrap();
        }
        let report = client.close(PATIENCE).await;
        assert!(report.is_clean(), "{report:?}");
        assert_eq!(report.sessions, 1);
        soon(&address, reaches).await.unwrap();
        assert_eq!(counter.total().ask().await.unwrap(), 100_000);
    }
}

#[tokio::test]
async fn close_reports_what_the_peer_never_acknowledged() {
    let (node, counter, mut raw) = attached(100_000, patient()).await;
    raw.acknowledges = false;
    for _ in 0..1000 {
        counter.add(1).tell().await.unwrap();
    }
    let reader = tokio::spawn(async move {
        let last = raw.closed().await;
        (last, raw.received)
    });
    let begun = Instant::now();
    let report = node.close(DEADLINE).await;
    assert!(begun.elapsed() >= DEADLINE && begun.elapsed() < 5 * DEADLINE, "{:?}", begun.elapsed());
    assert_eq!((report.not_delivered, report.unanswered), (0, 0));
    assert_eq!(report.unknown, 1000, "{report:?}");
    let (last, received) = soon("the goodbye", reader).await.unwrap();
    assert_eq!((last.map(|(code, _)| code), received), (Some(Code::BYE), 1002));
}

#[tokio::test]
async fn close_reports_what_a_peer_that_does_not_read_left_with_us() {
    let place = listen_narrow().await;
    let (node, counter, raw) = attached_at(place, u64::MAX, patient()).await;
    let mut sent = 0;
    // Fills the unacked window, which holds more than the sockets' buffers.
    while counter.add(1).try_tell().is_ok() {
        sent += 1;
        if sent % 1000 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let begun = Instant::now();
    let report = node.close(DEADLINE).await;
    assert!(begun.elapsed() >= DEADLINE && begun.elapsed() < 5 * DEADLINE, "{:?}", begun.elapsed());
    let left = report.not_delivered + report.unknown;
    assert!(left == sent && report.not_delivered > 0, "{sent} sent: {report:?}");
    drop(raw);
}

#[tokio::test]
async fn close_ends_as_soon_as_the_last_ask_is_answered() {
    let (node, counter, mut raw) = attached(1000, Limits::default()).await;
    // The task keeps the reference to the end: giving it up would be one more frame to acknowledge.
    let asked = tokio::spawn(async move { (counter.total().ask().await.unwrap(), counter) });
    let ask = raw.until(kind::ASK).await;
    let closing = tokio::spawn(async move { node.close(PATIENCE).await });
    raw.until(kind::DRAIN).await;
    // Everything is acknowledged before the answer is sent: nothing else wakes the closer.
    raw.tell(&[]).await;
    let (slot, generation) = ask.asker();
    raw.tell(&[Frame::Reply { slot, generation, value: &[42] }]).await;
    let begun = Instant::now();
    let report = closing.await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert!(begun.elapsed() < PATIENCE / 4, "{:?}", begun.elapsed());
    assert_eq!(asked.await.unwrap().0, 42);
}

/// The peer's handler is slow: everything is acknowledged long before the answer is sent.
#[tokio::test]
async fn close_waits_for_an_answer_that_comes_long_after_the_acknowledgement() {
    let (node, counter, mut raw) = attached(1000, Limits::default()).await;
    let asked = tokio::spawn(async move { (counter.total().ask().await.unwrap(), counter) });
    let ask = raw.until(kind::ASK).await;
    let closing = tokio::spawn(async move { node.close(PATIENCE).await });
    raw.until(kind::DRAIN).await;
    raw.tell(&[]).await;
    // After it has read the acknowledgement, the session takes one turn per answered ping.
    for id in 0..10 {
        raw.tell(&[Frame::Ping { id, next_ms: 0 }]).await;
        soon("a sign of life", raw.until(kind::PONG)).await;
        assert!(!closing.is_finished(), "closed before the answer came");
    }
    let (slot, generation) = ask.asker();
    raw.tell(&[Frame::Reply { slot, generation, value: &[42] }]).await;
    let report = soon("the close", closing).await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(asked.await.unwrap().0, 42);
}

/// A program may keep the node, for its reports.
#[tokio::test]
async fn a_node_that_is_closed_drops_the_actors_that_it_has_exported() {
    let (counter, _) = counter_until(u64::MAX);
    let (service, _address) = service(&counter, "inproc://exported").await;
    let handle = counter.handle().unwrap();
    drop(counter);
    assert!(!handle.is_ended(), "the export keeps it");
    service.close(DEADLINE).await;
    soon("the end of the actor", handle.ended()).await;
}

/// The second node to close may find the connection unwritable before it has read the goodbye.
#[tokio::test]
async fn a_node_that_closes_next_reads_the_goodbye_of_its_peer() {
    for address in ["inproc://next", "tcp://127.0.0.1:0"] {
        let (counter, _) = counter_until(u64::MAX);
        let (service, address) = service(&counter, address).await;
        let client = Node::new();
        let there = client.actor::<Counter>(&address).await.unwrap();
        there.total().ask().await.unwrap();
        assert!(client.close(PATIENCE).await.is_clean());
        // Without the goodbye, the service would wait for a peer that was cut off to come back.
        soon("the end", service.close(Duration::from_secs(3600))).await;
    }
}

/// An answer that arrived and was not fetched neither delays the close nor counts as missing.
#[tokio::test]
async fn close_does_not_wait_for_an_answer_that_nobody_fetches() {
    let (counter, _) = counter_until(u64::MAX);
    let (_service, address) = service(&counter, "inproc://unfetched").await;
    let node = Node::new();
    let there = node.actor::<Counter>(&address).await.unwrap();
    let unfetched = there.total().ask().sent().await.unwrap();
    there.total().ask().await.unwrap();
    let begun = Instant::now();
    let report = node.close(PATIENCE).await;
    assert!(report.is_clean(), "{report:?}");
    assert!(begun.elapsed() < PATIENCE / 4, "{:?}", begun.elapsed());
    assert_eq!(unfetched.await.unwrap(), 0);
}

#[tokio::test]
async fn an_ask_without_an_answer_is_reported_and_ends_as_unknown() {
    let (node, counter, mut raw) = attached(1000, Limits::default()).await;
    let asked = tokio::spawn(async move { counter.total().ask().await });
    raw.until(kind::ASK).await;
    tokio::spawn(async move {
        while raw.frame().await.is_some() {
            raw.tell(&[]).await;
        }
    });
    let report = node.close(Duration::from_millis(300)).await;
    assert_eq!((report.unanswered, report.unknown), (1, 0), "{report:?}");
    let error = soon("the ask", asked).await.unwrap().unwrap_err();
    assert_eq!(error.error().kind, CallErrorKind::Unknown);
}

#[tokio::test]
async fn after_close_every_call_says_so_and_a_second_close_finds_nothing() {
    let (counter, _) = counter_until(u64::MAX);
    let (_service, address) = service(&counter, "tcp://127.0.0.1:0").await;
    let node = Node::new();
    let there = node.actor::<Counter>(&address).await.unwrap();
    assert!(node.close(PATIENCE).await.is_clean());
    let tell = there.add(1).tell().await.unwrap_err().error;
    let ask = there.total().ask().await.unwrap_err();
    let now = there.add(1).try_tell().unwrap_err().error;
    for error in [&tell, ask.error(), &now] {
        assert_eq!(error.kind, CallErrorKind::NotDelivered);
        assert!(error.to_string().contains("this node was closed"), "{error}");
        assert!(error.to_string().contains(&address), "{error}");
    }
    assert!(ask.into_message().is_some(), "the message comes back");
    assert!(matches!(node.actor::<Counter>(&address).await, Err(NodeError::Closed)));
    assert!(matches!(node.dynamic(&address).await, Err(NodeError::Closed)));
    assert!(matches!(node.listen("inproc://late").await, Err(NodeError::Closed)));
    assert!(matches!(node.export("late", &counter), Err(NodeError::Closed)));
    let begun = Instant::now();
    let again = node.close(PATIENCE).await;
    assert!(again.is_clean(), "{again:?}");
    assert!(begun.elapsed() < PATIENCE / 4);
}

/// A sender that waits for credit gets an error at the end, whichever side causes it.
#[tokio::test]
async fn parked_tells_end_when_the_node_or_the_peer_does() {
    for peer_goes in [true, false] {
        let (node, counter, mut raw) = attached(1, Limits::default()).await;
        counter.add(1).tell().await.unwrap();
        let (parked, mut ended) = mpsc::unbounded_channel();
        for _ in 0..10 {
            let (counter, parked) = (counter.clone(), parked.clone());
            tokio::spawn(async move {
                let error = counter.add(2).tell().await.unwrap_err().error;
                let _ = parked.send(error.kind);
            });
        }
        raw.until(kind::NEED).await;
        if peer_goes {
            drop(raw);
        } else {
            node.close(Duration::from_millis(10)).await;
        }
        for _ in 0..10 {
            let kind = soon("a parked tell", ended.recv()).await.unwrap();
            let fits = matches!(kind, CallErrorKind::NotDelivered | CallErrorKind::Draining);
            assert!(fits, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn a_tell_that_is_dropped_while_it_waits_is_not_sent() {
    let (_node, counter, mut raw) = attached(1, Limits::default()).await;
    counter.add(1).tell().await.unwrap();
    {
        let mut waiting = pin!(counter.add(2).tell());
        assert!(poll_once(waiting.as_mut()).is_pending());
        raw.until(kind::NEED).await;
        assert!(poll_once(waiting.as_mut()).is_pending());
    }
    let credit = Frame::Credit { channel: 0, limit: 10, handled: 0 };
    raw.tell(&[credit]).await;
    soon("a tell with credit", counter.add(3).tell()).await.unwrap();
    let sent = [told(&mut raw).await, told(&mut raw).await];
    assert_eq!(sent, [1, 3]);
}

/// The peer allows one pending ask. The dropped ask keeps its slot until the peer has answered it;
/// only then does the next ask get the slot, with another generation.
#[tokio::test]
async fn a_dropped_ask_is_cancelled_and_keeps_its_slot_until_it_is_answered() {
    let one_slot = Limits { slots_max: 1, ..Limits::default() };
    let (_node, counter, mut raw) = attached(1000, one_slot).await;
    let answer = counter.total().ask().sent().await.unwrap();
    let first = soon("the ask", raw.until(kind::ASK)).await.asker();
    drop(answer);
    let seen = soon("the cancel", raw.until(kind::CANCEL)).await;
    let (slot, generation) = first;
    assert_eq!(seen.frame(), Frame::Cancel { slot, generation });

    let next = tokio::spawn(async move { counter.total().ask().await });
    tokio::task::yield_now().await;
    let cancelled = Frame::Error { slot, generation, code: Code::CANCELLED, text: b"", data: b"" };
    let peer = async {
        // Any frame that is sent before the completion arrives before the answer to this ping.
        raw.tell(&[Frame::Ping { id: 9, next_ms: 0 }]).await;
        let pong = raw.frame().await.unwrap();
        assert_eq!(pong.frame(), Frame::Pong { id: 9 }, "the slot is taken");
        raw.tell(&[cancelled]).await;
        let second = raw.until(kind::ASK).await.asker();
        assert_eq!(second, (slot, generation + 1));
        let (slot, generation) = second;
        raw.tell(&[Frame::Reply { slot, generation, value: &[7] }]).await;
    };
    soon("the second ask", peer).await;
    assert_eq!(next.await.unwrap().unwrap(), 7);
}

/// A lookup of an actor that is dropped leaves no channel behind at the peer.
#[tokio::test]
async fn a_dropped_search_for_an_actor_gives_its_channel_back() {
    let one_channel = Limits { channels_max: 1, ..Limits::default() };
    let (node, counter, mut raw) = attached(1000, one_channel).await;
    let address = counter.as_ref().target().to_string();
    let full = node.actor::<Counter>(&address).await.map(drop).unwrap_err();
    assert_eq!(full.call_error(), Some(CallErrorKind::Overloaded));
    drop(counter);
    raw.until(kind::DETACH).await;
    let detached = Frame::Detached { channel: 0, code: Code::OK, accepted: 0, reason: &[] };
    raw.tell(&[detached]).await;
    for _ in 0..3 {
        // The pong shows that the peer has read everything sent before it.
        raw.tell(&[Frame::Ping { id: 1, next_ms: 0 }]).await;
        raw.until(kind::PONG).await;
        let mut attach = Box::pin(node.actor::<Counter>(&address));
        let seen = soon("the attach", async {
            tokio::select! {
                biased;
                found = &mut attach => panic!("who let it attach? {:?}", found.map(drop)),
                seen = raw.until(kind::ATTACH) => seen,
            }
        });
        seen.await;
        drop(attach);
        raw.until(kind::DETACH).await;
        let attached =
            Frame::Attached { channel: 0, limit: 10, schema_hash: 0, codec: 0, reference: &[] };
        raw.tell(&[attached, detached]).await;
    }
}

struct Mortal;

#[wigwag::actor]
impl Mortal {
    pub fn die(&mut self) {
        panic!("on purpose");
    }

    pub fn name(&self) -> String {
        "mortal".to_owned()
    }
}

struct Heir;

#[wigwag::actor]
impl Heir {
    pub fn die(&mut self) {}

    pub fn name(&self) -> String {
        "heir".to_owned()
    }
}

/// A stopped actor's channel number is reused only when no reference can call by it any more.
#[tokio::test]
async fn a_reference_to_a_stopped_actor_never_reaches_another() {
    let (service, client) = (Node::new(), Node::new());
    let address = service.listen("tcp://127.0.0.1:0").await.unwrap();
    service.export("mortal", &Mortal.spawn()).unwrap();
    service.export("heir", &Heir.spawn()).unwrap();
    let mortal = client.actor::<Mortal>(&format!("{address}/mortal")).await.unwrap();
    let died = mortal.die().ask().await.unwrap_err();
    assert_eq!(died.error().kind, CallErrorKind::Panicked);
    let stopped = soon("word of the end", async {
        loop {
            match mortal.name().ask().await {
                Err(error) if error.error().kind == CallErrorKind::ActorStopped => break error,
                other => assert!(other.is_err(), "{other:?}"),
            }
        }
    });
    stopped.await;
    let heir = client.actor::<Heir>(&format!("{address}/heir")).await.unwrap();
    assert_eq!(heir.name().ask().await.unwrap(), "heir");
    let error = mortal.name().ask().await.unwrap_err();
    assert_eq!(error.error().kind, CallErrorKind::ActorStopped);
    assert!(error.into_message().is_some(), "it was never sent");
    drop(mortal);
    let other = client.actor::<Heir>(&format!("{address}/heir")).await.unwrap();
    assert_eq!(heir.name().ask().await.unwrap(), "heir", "its channel is its own");
    assert_eq!(other.name().ask().await.unwrap(), "heir");
    assert_eq!(client.statistics().len(), 1, "one session throughout");
}

/// Within one turn the credit is there already and no lock is taken, so the ask does not see that
/// the session has ended meanwhile. It still fails with an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ask_in_a_turn_during_which_the_link_ends_has_an_end() {
    let (node, counter, raw) = attached(1000, Limits::default()).await;
    let asked = wigwag::spawn(async move {
        counter.add(1).try_tell().unwrap();
        drop(raw);
        while !node.statistics().is_empty() {
            std::thread::yield_now();
        }
        counter.total().ask().await
    });
    let error = soon("the ask", asked).await.unwrap().unwrap_err();
    let kind = error.error().kind;
    assert!(matches!(kind, CallErrorKind::Unknown | CallErrorKind::NotDelivered), "{kind:?}");
}

async fn run(program: PathBuf, address: String) {
    let ran = tokio::task::spawn_blocking(|| Command::new(program).arg(address).status());
    assert!(ran.await.unwrap().unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn main_ends_only_when_all_has_arrived() {
    // It sends ten thousand tells and returns from `main` at once.
    let program = program::example("farewell");
    for _ in 0..3 {
        let (counter, reaches) = counter_until(10_000);
        let (_service, address) = service(&counter, "tcp://127.0.0.1:0").await;
        run(program.clone(), address).await;
        soon("the last of them", reaches).await.unwrap();
    }
}

/// If the process has exited when the peer writes to it, bytes that the peer has not read yet are
/// lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn main_waits_for_a_peer_that_speaks_first_and_reads_later() {
    let program = program::example("farewell");
    let (listener, address) = listen_narrow().await;
    let peer = async {
        let mut raw = granting(&listener, u64::MAX, Limits::default()).await;
        for id in 0..50 {
            raw.tell(&[Frame::Ping { id, next_ms: 0 }]).await;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        for _ in 0..10_000 {
            assert_eq!(told(&mut raw).await, 1);
        }
        raw.until(kind::DRAIN).await;
        raw.tell(&[]).await;
        assert_eq!(raw.closed().await.map(|(code, _)| code), Some(Code::BYE));
    };
    let both = async { tokio::join!(peer, run(program, format!("{address}/counter"))) };
    soon("the farewell", both).await;
}
