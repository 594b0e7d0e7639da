//! The sessions of `wigwag ask`, `tell` and `describe` end with the command.
//!
//! A node keeps the session of a disconnected peer for the case that it reconnects. A command never
//! reconnects, so it must end its session, also when the call fails.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;
use wigwag::{
    Actor, Node, Responder,
    session::{SessionChange, SessionEvents},
};
use wigwag_lab::demo::actors::Sum;

use crate::process::run;
use crate::running::Running;

/// An actor that answers late, not at all, or with an error.
#[derive(Default)]
struct Desk {
    waiting: Vec<Responder<u64>>,
    /// Notified of each call that waits.
    called: Arc<Notify>,
}

#[wigwag::actor]
impl Desk {
    /// Answers when `serve` is called.
    pub fn wait(&mut self, answer: Responder<u64>) {
        self.waiting.push(answer);
        self.called.notify_one();
    }

    pub fn serve(&mut self) {
        self.waiting.drain(..).for_each(|answer| answer.send(7));
    }

    /// Drops the answer.
    pub fn lose(&mut self, answer: Responder<u64>) {
        drop(answer);
    }

    pub fn hear(&mut self, words: String) {
        drop(words);
    }

    pub fn refuse(&mut self, answer: Responder<u64>) {
        answer.fail(7, "no more today");
    }
}

/// Far longer than an orderly end takes, and below the minute for which a cut session is kept.
const END_MAX: Duration = Duration::from_secs(20);

/// Number of runs of each command, to detect an end that only sometimes arrives.
const RUNS: usize = 4;

/// The reason why the next session ends.
async fn next_end(events: &mut SessionEvents) -> Arc<str> {
    loop {
        let event = events.next().await.expect("the node lives");
        match event.what {
            SessionChange::Ended { why, .. } => return why,
            SessionChange::Cut { why } => panic!("the command left without a goodbye: {why}"),
            _ => {}
        }
    }
}

/// Runs a command line against a node with the actor `sum`, and checks that its session ends.
async fn leaves_nothing(words: &[&str], actor: &str, code: i32) {
    let node = Node::new();
    node.export("sum", &Sum.spawn()).expect("the name is free");
    node.export("desk", &Desk::default().spawn()).expect("the name is free");
    let bound = node.listen("tcp://127.0.0.1:0").await.expect("a free port");
    let mut events = node.session_events();
    for _ in 0..RUNS {
        let target = format!("{bound}/{actor}");
        let line: Vec<String> = words.iter().map(|word| word.replace("ACTOR", &target)).collect();
        let running = tokio::task::spawn_blocking(move || run(line.iter().map(String::as_str)));
        let said = running.await.expect("the command ends");
        assert_eq!(said.code, Some(code), "{said:?}");
        let why = timeout(END_MAX, next_end(&mut events)).await.expect("the session ends");
        assert!(why.contains("the peer said goodbye"), "{why}");
        assert!(node.statistics().is_empty(), "{:?}", node.statistics());
    }
    node.close(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_command_that_succeeds_ends_its_session_with_goodbye() {
    for words in [
        &["ask", "ACTOR", "add", "2", "3"][..],
        &["tell", "ACTOR", "add", "2", "3"],
        &["describe", "ACTOR"],
        &["describe", "ACTOR", "--json"],
    ] {
        leaves_nothing(words, "sum", 0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_command_that_fails_ends_its_session_with_goodbye() {
    for (words, actor, code) in [
        (&["ask", "ACTOR", "multiply", "2", "3"][..], "sum", 2),
        (&["tell", "ACTOR", "multiply", "2", "3"], "sum", 2),
        (&["ask", "ACTOR", "add", "2"], "sum", 2),
        (&["tell", "ACTOR", "add", "2"], "sum", 2),
        (&["ask", "ACTOR", "add", "2", "3"], "nobody", 8),
        (&["tell", "ACTOR", "add", "2", "3"], "nobody", 8),
        (&["describe", "ACTOR"], "nobody", 8),
        (&["ask", "ACTOR", "lose"], "desk", 8),
        (&["ask", "ACTOR", "refuse"], "desk", 8),
        (&["ask", "ACTOR", "wait", "--deadline", "0.2"], "desk", 4),
    ] {
        leaves_nothing(words, actor, code).await;
    }
}

/// Relays one connection to `place`. While `deaf` is set, bytes of the dialer are dropped.
fn relay(place: String, deaf: Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("tcp://{}", listener.local_addr().expect("bound"));
    thread::spawn(move || {
        let (dialer, _) = listener.accept().expect("the command dials");
        let node = TcpStream::connect(place).expect("the node listens");
        let twins = (dialer.try_clone().expect("a twin"), node.try_clone().expect("a twin"));
        thread::spawn(move || pass(twins.1, twins.0, &AtomicBool::new(false)));
        pass(dialer, node, &deaf);
    });
    address
}

fn pass(mut from: TcpStream, mut to: TcpStream, deaf: &AtomicBool) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        // The other end may have closed first.
        if !deaf.load(Ordering::SeqCst) && to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Relays one connection to `place`, up to the bytes that hold [`MARK`]. Those are passed on after this
/// time, or, without one, go nowhere with all that follow.
fn late_relay(place: String, late: Option<Duration>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("tcp://{}", listener.local_addr().expect("bound"));
    thread::spawn(move || {
        let (mut dialer, _) = listener.accept().expect("the command dials");
        let mut node = TcpStream::connect(place).expect("the node listens");
        let twins = (dialer.try_clone().expect("a twin"), node.try_clone().expect("a twin"));
        thread::spawn(move || pass(twins.1, twins.0, &AtomicBool::new(false)));
        let (mut bytes, mut is_deaf) = ([0; 4096], false);
        while let Ok(count @ 1..) = dialer.read(&mut bytes) {
            if bytes[..count].windows(MARK.len()).any(|some| some == MARK.as_bytes()) {
                is_deaf = late.is_none();
                thread::sleep(late.unwrap_or_default());
            }
            if !is_deaf && node.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
    });
    address
}

/// The argument of a call that a relay looks for.
const MARK: &str = "the mark of this call";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_tell_waits_for_the_confirmation_of_the_peer_until_its_deadline() {
    let node = Node::new();
    node.export("desk", &Desk::default().spawn()).expect("the name is free");
    let bound = node.listen("tcp://127.0.0.1:0").await.expect("a free port").to_string();
    let place = bound.strip_prefix("tcp://").expect("tcp").to_owned();
    // Longer than a command waits that has its reply.
    let late = late_relay(place.clone(), Some(Duration::from_millis(1500)));
    for (relay, deadline, code) in [(late, "20s", 0), (late_relay(place, None), "700ms", 4)] {
        let target = format!("{relay}/desk");
        let telling = move || run(["tell", &target, "hear", MARK, "--deadline", deadline]);
        let said = tokio::task::spawn_blocking(telling).await.expect("it ends");
        assert_eq!(said.code, Some(code), "{said:?}");
        assert_eq!(said.err.contains("did not confirm the message"), code == 4, "{said:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_peer_that_confirms_nothing_does_not_delay_a_command_that_has_its_reply() {
    let called = Arc::new(Notify::new());
    let desk = Desk { called: called.clone(), ..Desk::default() }.spawn();
    let node = Node::new();
    node.export("desk", &desk).expect("the name is free");
    let bound = node.listen("tcp://127.0.0.1:0").await.expect("a free port").to_string();
    let deaf = Arc::new(AtomicBool::new(false));
    let place = bound.strip_prefix("tcp://").expect("tcp").to_owned();
    let target = format!("{}/desk", relay(place, deaf.clone()));
    let asking = Running::start(&["ask", &target, "wait", "--deadline", "1h"], b"");
    timeout(END_MAX, called.notified()).await.expect("the call arrives");
    deaf.store(true, Ordering::SeqCst);
    desk.serve().tell().await.expect("the desk lives");
    // The command ends within a fraction of its deadline, or the test fails.
    let ended = tokio::task::spawn_blocking(move || asking.end()).await.expect("it ends");
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), "7\n"), "{ended:?}");
}
