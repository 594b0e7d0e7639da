//! Calls to a local actor: room in the mailbox, order, replies, limits, and ends.
//!
//! Time is virtual: the runtime jumps to the next timer when no task can run. So deadlines are
//! exact, no time is spent sleeping, and a test in which every task waits for ever ends at once, as
//! a failure.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use wigwag::{Actor, ActorOptions, AskError, CallErrorKind, block_on};

const SECOND: Duration = Duration::from_secs(1);

/// Runs a test in virtual time, on this thread alone.
fn story(story: impl Future<Output = ()>) {
    const END: Duration = Duration::from_secs(3600);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().unwrap();
    let ended = runtime.block_on(async { tokio::time::timeout(END, story).await });
    ended.expect("nobody waits for ever");
}

/// Records its calls, and waits at a gate where a test wants it to.
#[derive(Default)]
struct Scribe {
    notes: Vec<u32>,
    gate: Arc<Gate>,
    at_end: Option<oneshot::Sender<Vec<u32>>>,
}

/// Lets a handler report that it has begun, and holds it until the test opens the gate.
#[derive(Default)]
struct Gate {
    reached: Notify,
    open: Notify,
}

#[wigwag::actor]
impl Scribe {
    pub fn note(&mut self, number: u32) {
        self.notes.push(number);
    }

    pub fn notes(&self) -> Vec<u32> {
        self.notes.clone()
    }

    /// Waits at the gate.
    pub async fn stand(&mut self) -> u32 {
        self.gate.reached.notify_one();
        self.gate.open.notified().await;
        7
    }

    pub fn panic(&mut self) {
        panic!("on purpose");
    }

    pub async fn panic_later(&mut self) {
        tokio::task::yield_now().await;
        panic!("on purpose");
    }

    /// Makes blocking calls in a turn, where they are refused.
    pub fn block(&mut self, other: ScribeRef) -> bool {
        let told = other.note(1).blocking_tell().unwrap_err();
        let asked = other.notes().blocking_ask().unwrap_err();
        told.error.kind == CallErrorKind::BlockingInTurn
            && asked.error().kind == CallErrorKind::BlockingInTurn
            && matches!(asked.into_message(), Some(ScribeMessage::Notes {}))
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        if let Some(at_end) = self.at_end.take() {
            let _ = at_end.send(std::mem::take(&mut self.notes));
        }
    }
}

/// A scribe with room for `room` calls, and its gate.
fn scribe(room: usize) -> (ScribeRef, Arc<Gate>) {
    let scribe = Scribe::default();
    let gate = scribe.gate.clone();
    (scribe.spawn_with(ActorOptions::default().mailbox_calls(room)), gate)
}

/// A scribe that stands at its gate, with an empty mailbox.
async fn standing_scribe(room: usize) -> (ScribeRef, Arc<Gate>) {
    let (scribe, gate) = scribe(room);
    scribe.stand().tell().await.unwrap();
    gate.reached.notified().await;
    (scribe, gate)
}

/// Polls once a future that is expected to wait.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    let mut context = Context::from_waker(Waker::noop());
    pin!(future).poll(&mut context)
}

fn number(message: &ScribeMessage) -> u32 {
    match message {
        ScribeMessage::Note { number } => *number,
        _ => panic!("another call came back"),
    }
}

#[test]
fn a_full_mailbox_hands_the_message_back_and_it_can_be_sent_again() {
    story(async {
        let (scribe, gate) = standing_scribe(1).await;
        scribe.note(1).try_tell().unwrap();
        let refused = scribe.note(2).try_tell().unwrap_err();
        assert_eq!(refused.error.kind, CallErrorKind::Full);
        assert_eq!(number(&refused.message), 2);
        let refused = scribe.call::<()>(refused.message).try_ask().err().unwrap();
        assert_eq!(refused.error.kind, CallErrorKind::Full);

        gate.open.notify_one();
        scribe.call::<()>(refused.message).tell().await.unwrap();
        assert_eq!(scribe.notes().ask().await.unwrap(), [1, 2]);
    });
}

#[test]
fn one_sender_is_heard_in_its_order_however_small_the_mailbox() {
    story(async {
        for room in [1, 3, 64, 65, 1024] {
            let (scribe, _) = scribe(room);
            for number in 0..500 {
                scribe.note(number).tell().await.unwrap();
            }
            let expected: Vec<u32> = (0..500).collect();
            assert_eq!(scribe.notes().ask().await.unwrap(), expected, "room {room}");
        }
    });
}

#[test]
fn senders_that_wait_get_in_first_come_first_served() {
    story(async {
        let (scribe, gate) = standing_scribe(1).await;
        scribe.note(0).try_tell().unwrap();
        let senders: Vec<_> = (1..=20)
            .map(|number| {
                let scribe = scribe.clone();
                let parked = Arc::new(AtomicBool::new(false));
                let flag = parked.clone();
                let task = tokio::spawn(async move {
                    let mut tell = scribe.note(number).tell();
                    std::future::poll_fn(|context| {
                        let poll = pin!(&mut tell).poll(context);
                        flag.store(true, Ordering::Relaxed);
                        poll
                    })
                    .await
                });
                (task, parked)
            })
            .collect();
        // One round of the scheduler polls each task once, in the order in which they were spawned.
        tokio::task::yield_now().await;
        assert!(senders.iter().all(|(_, parked)| parked.load(Ordering::Relaxed)));
        gate.open.notify_one();
        for (sender, _) in senders {
            sender.await.unwrap().unwrap();
        }
        let expected: Vec<u32> = (0..=20).collect();
        assert_eq!(scribe.notes().ask().await.unwrap(), expected);
    });
}

#[test]
fn many_asks_may_be_outstanding_and_each_gets_its_own_answer() {
    story(async {
        let (scribe, gate) = standing_scribe(8).await;
        let first = scribe.notes().try_ask().unwrap();
        scribe.note(5).try_tell().unwrap();
        let second = scribe.notes().ask().sent().await.unwrap();
        let stand = scribe.stand().try_ask().unwrap();
        gate.open.notify_one();
        gate.open.notify_one();
        assert_eq!(second.await.unwrap(), [5]);
        assert_eq!(first.await.unwrap(), [0; 0]);
        gate.open.notify_one();
        assert_eq!(stand.await.unwrap(), 7);
    });
}

#[test]
fn the_next_call_waits_for_an_async_handler() {
    story(async {
        let (scribe, gate) = standing_scribe(8).await;
        let mut notes = scribe.notes().try_ask().unwrap();
        tokio::task::yield_now().await;
        assert!(poll_once(&mut notes).is_pending());
        gate.open.notify_one();
        assert_eq!(notes.await.unwrap(), [0; 0]);
    });
}

#[test]
fn a_reply_of_another_type_is_an_error_and_not_a_panic() {
    story(async {
        let (scribe, _) = scribe(8);
        let message = scribe.notes().into_message();
        let error = scribe.call::<String>(message).ask().await.unwrap_err();
        assert_eq!(error.error().kind, CallErrorKind::BadReply);
        assert_eq!(scribe.notes().ask().await.unwrap(), [0; 0]);
    });
}

#[test]
fn a_panic_is_told_to_its_asker_and_stops_the_actor_for_the_others() {
    story(async {
        for later in [false, true] {
            let (scribe, gate) = standing_scribe(8).await;
            let call = if later { scribe.panic_later() } else { scribe.panic() };
            let panicked = call.try_ask().unwrap();
            let behind = scribe.notes().try_ask().unwrap();
            gate.open.notify_one();
            let panicked = panicked.await.unwrap_err();
            assert_eq!(panicked.kind, CallErrorKind::Panicked);
            assert_eq!(panicked.detail, None, "nobody has said more");
            assert_eq!(behind.await.unwrap_err().kind, CallErrorKind::ActorStopped);

            let asked = scribe.notes().ask().await.unwrap_err();
            assert_eq!(asked.error().kind, CallErrorKind::ActorStopped);
            assert!(matches!(asked.into_message(), Some(ScribeMessage::Notes {})));
            let told = scribe.note(3).tell().await.unwrap_err();
            assert_eq!(told.error.kind, CallErrorKind::ActorStopped);
            assert_eq!(number(&told.message), 3);
            assert!(scribe.note(3).try_tell().is_err());
        }
    });
}

#[test]
fn a_sender_that_waits_for_room_hears_that_the_actor_has_stopped() {
    story(async {
        let (scribe, gate) = standing_scribe(1).await;
        scribe.panic().try_tell().unwrap();
        let mut told = scribe.note(1).tell();
        assert!(poll_once(&mut told).is_pending());
        let mut asked = scribe.notes().ask();
        assert!(poll_once(&mut asked).is_pending());
        // Room appears when the actor takes the panicking call out, and then the actor ends: either
        // call may get in first, and both must complete.
        gate.open.notify_one();
        let _ = told.await;
        assert!(asked.await.is_err());
    });
}

#[test]
fn an_asks_limit_is_met_to_the_tick() {
    story(async {
        let (scribe, _gate) = standing_scribe(1).await;
        let start = Instant::now();
        let late = scribe.notes().timeout(3 * SECOND).ask().await.unwrap_err();
        assert_eq!(start.elapsed(), 3 * SECOND);
        assert_eq!(late.error().kind, CallErrorKind::Timeout(3 * SECOND));
        assert!(matches!(late, AskError::Failed(_)), "the request was sent");

        // The mailbox is full now: the limit covers the wait for room as well, and the request
        // returns.
        let late = scribe.notes().timeout(2 * SECOND).ask().await.unwrap_err();
        assert_eq!(start.elapsed(), 5 * SECOND);
        assert!(matches!(late.into_message(), Some(ScribeMessage::Notes {})));
    });
}

#[test]
fn a_tells_limit_is_met_to_the_tick_and_the_message_returns() {
    story(async {
        let (scribe, gate) = standing_scribe(1).await;
        scribe.note(1).try_tell().unwrap();
        let start = Instant::now();
        let late = scribe.note(2).timeout(SECOND).tell().await.unwrap_err();
        assert_eq!(start.elapsed(), SECOND);
        assert_eq!(late.error.kind, CallErrorKind::Timeout(SECOND));
        assert_eq!(number(&late.message), 2);

        // The call that timed out left the queue, so the next one is in front.
        gate.open.notify_one();
        scribe.note(3).timeout(SECOND).tell().await.unwrap();
        assert_eq!(scribe.notes().ask().await.unwrap(), [1, 3]);
        assert_eq!(start.elapsed(), SECOND);
    });
}

#[test]
fn a_waiting_tell_that_is_dropped_is_not_sent_and_holds_up_nobody() {
    story(async {
        let (scribe, gate) = standing_scribe(1).await;
        scribe.note(1).try_tell().unwrap();
        let mut dropped = scribe.note(2).tell();
        assert!(poll_once(&mut dropped).is_pending());
        let mut behind = scribe.note(3).tell();
        assert!(poll_once(&mut behind).is_pending());
        drop(dropped);
        gate.open.notify_one();
        behind.await.unwrap();
        assert_eq!(scribe.notes().ask().await.unwrap(), [1, 3]);
    });
}

#[test]
fn the_sender_in_front_hands_its_wake_on_when_it_is_dropped_after_it() {
    story(async {
        let (scribe, gate) = standing_scribe(1).await;
        let taken_out = scribe.notes().try_ask().unwrap();
        let mut front = scribe.note(2).tell();
        assert!(poll_once(&mut front).is_pending());
        let behind = tokio::spawn({
            let scribe = scribe.clone();
            async move { scribe.note(3).tell().await.is_ok() }
        });
        tokio::task::yield_now().await;
        // The actor takes the ask out and wakes the sender in front, which is never polled.
        gate.open.notify_one();
        taken_out.await.unwrap();
        assert!(!behind.is_finished());
        assert!(scribe.note(9).try_tell().is_err(), "nobody overtakes");
        drop(front);
        assert!(behind.await.unwrap());
        assert_eq!(scribe.notes().ask().await.unwrap(), [3]);
    });
}

#[test]
fn an_ask_that_is_dropped_does_no_harm() {
    story(async {
        let (scribe, gate) = standing_scribe(2).await;
        let mut sent = scribe.stand().ask();
        assert!(poll_once(&mut sent).is_pending());
        scribe.note(1).try_tell().unwrap();
        let mut waiting = scribe.notes().ask();
        assert!(poll_once(&mut waiting).is_pending());
        drop((sent, waiting));
        // The dropped ask is skipped: only the handler that runs needs the gate.
        gate.open.notify_one();
        assert_eq!(scribe.notes().ask().await.unwrap(), [1]);
    });
}

/// Asks or tells its neighbour from inside a handler.
struct Neighbour {
    other: Arc<std::sync::OnceLock<NeighbourRef>>,
}

#[wigwag::actor]
impl Neighbour {
    pub async fn ask_other(&mut self, rounds: u32) -> String {
        let Some(other) = self.other.get().filter(|_| rounds > 0) else {
            return "nobody".into();
        };
        match other.ask_other(rounds - 1).ask().await {
            Ok(said) => said,
            Err(error) => format!("{:?}", error.error().kind),
        }
    }

    pub async fn silent(&mut self) {
        std::future::pending().await
    }

    pub async fn ask_silent(&mut self) -> String {
        let Some(other) = self.other.get() else {
            return "nobody".into();
        };
        match other.silent().ask().await {
            Ok(()) => "answered".into(),
            Err(error) => format!("{:?}", error.error().kind),
        }
    }

    /// Fills the neighbour's mailbox and then waits for room in it.
    pub async fn flood_other(&mut self) -> String {
        let Some(other) = self.other.get() else {
            return "nobody".into();
        };
        // Both handlers have begun when this one continues.
        tokio::task::yield_now().await;
        while other.ask_other(0).try_tell().is_ok() {}
        match other.ask_other(0).tell().await {
            Ok(()) => "told".into(),
            Err(refused) => format!("{:?}", refused.error.kind),
        }
    }
}

fn neighbours() -> [NeighbourRef; 2] {
    let others = [Arc::default(), Arc::default()];
    let options = ActorOptions::default().mailbox_calls(1);
    let [first, second] =
        others.clone().map(|other| Neighbour { other }.spawn_with(options.clone()));
    others[0].set(second.clone()).unwrap();
    others[1].set(first.clone()).unwrap();
    [first, second]
}

#[test]
fn handlers_that_ask_each_other_are_told_at_once() {
    story(async {
        let [first, _second] = neighbours();
        let start = Instant::now();
        // The second actor's ask of the first can never be answered.
        let said = first.ask_other(2).ask().await.unwrap();
        assert_eq!(said, "CallCycle");
        assert_eq!(start.elapsed(), Duration::ZERO);
    });
}

#[test]
fn a_handler_that_gets_no_answer_goes_on_after_five_seconds() {
    story(async {
        let [first, _second] = neighbours();
        let start = Instant::now();
        assert_eq!(first.ask_silent().ask().await.unwrap(), "Overloaded");
        assert_eq!(start.elapsed(), 5 * SECOND);
    });
}

#[test]
fn handlers_that_wait_for_room_at_each_other_end_after_five_seconds() {
    story(async {
        let [first, second] = neighbours();
        let start = Instant::now();
        let (one, two) = (first.flood_other(), second.flood_other());
        let (one, two) = (one.try_ask().unwrap(), two.try_ask().unwrap());
        let said = [one.await.unwrap(), two.await.unwrap()];
        assert!(said.contains(&"Overloaded".to_owned()), "{said:?}");
        assert_eq!(start.elapsed(), 5 * SECOND);
    });
}

#[test]
fn a_blocking_call_inside_a_handler_is_refused() {
    story(async {
        let (scribe, _) = scribe(8);
        let (other, _) = self::scribe(8);
        assert!(scribe.block(other.clone()).ask().await.unwrap());
        assert_eq!(other.notes().ask().await.unwrap(), [0; 0]);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn threads_call_with_the_blocking_twins() {
    let (scribe, _) = scribe(1);
    let threads = [0, 1000].map(|start| {
        let scribe = scribe.clone();
        thread::spawn(move || {
            for number in start..start + 500 {
                scribe.note(number).blocking_tell().unwrap();
            }
            scribe.notes().blocking_ask().unwrap().len()
        })
    });
    let seen = threads.map(|thread| thread.join().unwrap());
    assert!(seen.iter().all(|&seen| seen >= 500));
    let notes = scribe.notes().ask().await.unwrap();
    assert_eq!(notes.len(), 1000);
    for start in [0, 1000] {
        let of_one = notes.iter().filter(|&&number| number / 1000 == start / 1000);
        assert!(of_one.eq(&(start..start + 500).collect::<Vec<_>>()));
    }
}

#[test]
fn a_threads_limit_gives_the_message_back() {
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.worker_threads(1).build().unwrap();
    let (scribe, _gate) = runtime.block_on(standing_scribe(1));
    let limit = Duration::from_millis(10);

    let late = scribe.notes().timeout(limit).blocking_ask().unwrap_err();
    assert_eq!(late.error().kind, CallErrorKind::Timeout(limit));
    assert!(late.into_message().is_none(), "the request was sent");
    let late = scribe.notes().timeout(limit).blocking_ask().unwrap_err();
    assert!(matches!(late.into_message(), Some(ScribeMessage::Notes {})));
    let late = scribe.note(4).timeout(limit).blocking_tell().unwrap_err();
    assert_eq!(late.error.kind, CallErrorKind::Timeout(limit));
    assert_eq!(number(&late.message), 4);
}

/// Counts the messages of each of its senders, and those out of order.
#[derive(Default)]
struct Turnstile {
    next: [u32; 2],
    overtaken: u32,
}

#[wigwag::actor]
impl Turnstile {
    pub fn pass(&mut self, sender: usize, number: u32) {
        self.overtaken += u32::from(self.next[sender] != number);
        self.next[sender] = number + 1;
    }

    pub fn seen(&self) -> ([u32; 2], u32) {
        (self.next, self.overtaken)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_senders_keep_their_order_through_a_flood() {
    const MESSAGES: u32 = 100_000;
    let turnstile = Turnstile::default().spawn();
    let senders = [0, 1].map(|sender| {
        let turnstile = turnstile.clone();
        tokio::spawn(async move {
            for number in 0..MESSAGES {
                turnstile.pass(sender, number).tell().await.unwrap();
            }
        })
    });
    for sender in senders {
        sender.await.unwrap();
    }
    let seen = turnstile.seen().ask().await.unwrap();
    assert_eq!(seen, ([MESSAGES; 2], 0));
}

#[test]
fn the_actor_ends_with_its_last_reference_after_its_last_call() {
    story(async {
        let (at_end, mut ended) = oneshot::channel();
        let mut scribe = Scribe::default();
        scribe.at_end = Some(at_end);
        let first = scribe.spawn();
        let second = first.clone();
        first.note(1).tell().await.unwrap();
        drop(first);
        assert_eq!(second.notes().ask().await.unwrap(), [1]);
        assert!(ended.try_recv().is_err(), "one reference is left");
        second.note(2).tell().await.unwrap();
        drop(second);
        assert_eq!(ended.await.unwrap(), [1, 2]);
    });
}

#[test]
fn askers_in_other_threads_hear_that_the_actor_went_with_its_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let inside = runtime.enter();
    let (scribe, gate) = scribe(8);
    drop(inside);
    // One run of the mailbox: the actor has taken all three when it stands at its gate.
    let mut standing = scribe.stand().try_ask().unwrap();
    let mut behind = scribe.notes().try_ask().unwrap();
    let mut last = scribe.notes().try_ask().unwrap();
    runtime.block_on(gate.reached.notified());
    drop(runtime);
    for answer in [poll_once(&mut behind), poll_once(&mut last)] {
        let Poll::Ready(Err(error)) = answer else {
            panic!("the asker would wait for ever");
        };
        assert_eq!(error.kind, CallErrorKind::ActorStopped);
    }
    assert!(matches!(poll_once(&mut standing), Poll::Ready(Err(_))));
    let refused = block_on(scribe.note(1).tell()).unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::ActorStopped);
}
