//! Inspecting live actors: idle, busy, stuck, suspended, failing, ended.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use wigwag::{
    Actor, ActorOptions, Handle, Life, Local, Reason,
    lifecycle::{Activity, Alive, Inspection},
    supervise::{Child, ChildState, Strategy, Supervisor},
};

/// Longer than any actor here needs that is able to answer.
const LONG: Duration = Duration::from_secs(10);

/// Tolerance for the age of a mailbox.
const EXACT: Duration = Duration::from_millis(20);

#[derive(Default)]
struct Sink {
    total: u64,
    /// The summary panics.
    is_shy: bool,
}

#[wigwag::actor(life)]
impl Sink {
    pub fn add(&mut self, amount: u64) -> u64 {
        self.total += amount;
        self.total
    }

    pub fn hide(&mut self) {
        self.is_shy = true;
    }

    pub fn fail(&mut self, number: u64) {
        panic!("on purpose: {number}");
    }

    pub fn hold(&mut self, begun: Local<Sender<()>>, go: Local<Receiver<()>>) {
        begun.0.send(()).unwrap();
        go.0.recv().unwrap();
    }
}

impl Life for Sink {
    fn summary(&self) -> String {
        assert!(!self.is_shy, "on purpose");
        format!("{} in all", self.total)
    }
}

struct Plain;

#[wigwag::actor]
impl Plain {
    pub fn nothing(&self) {}
}

/// Inspects the actor until it is idle: its last call has been answered, but its turn may still
/// run.
async fn idle(actor: &Handle) -> Inspection {
    let looks = async {
        loop {
            let seen = actor.inspect(LONG).await;
            if seen.activity == Activity::Idle {
                return seen;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, looks).await.expect("the actor falls idle")
}

#[tokio::test]
async fn an_idle_actor_says_what_it_is_like() {
    let sink = Sink::default().spawn();
    assert_eq!(sink.add(5).ask().await.unwrap(), 5);
    let seen = idle(&sink.handle().unwrap()).await;
    assert_eq!((&*seen.actor, seen.waiting, seen.dropped), ("Sink", 0, 0));
    assert_eq!(seen.summary.as_deref(), Some("5 in all"));
    assert!(seen.answered_in.is_some() && seen.failures.is_empty() && seen.restarts == 0);
    let plain = Plain.spawn();
    assert_eq!(idle(&plain.handle().unwrap()).await.summary.as_deref(), Some("Plain"));
}

#[tokio::test]
async fn a_summary_that_panics_is_not_said_and_the_actor_goes_on() {
    let sink = Sink::default().spawn();
    sink.hide().ask().await.unwrap();
    assert_eq!(sink.handle().unwrap().inspect(LONG).await.summary, None);
    assert_eq!(sink.add(1).ask().await.unwrap(), 1);
}

#[tokio::test]
async fn a_stuck_actor_does_not_hold_up_an_inspection_and_no_requests_pile_up() {
    let sink = Sink::default().spawn_with(ActorOptions::default().own_thread());
    let handle = sink.handle().unwrap();
    let ((begins, begun), (goes, go)) = (channel(), channel());
    sink.hold(Local(begins), Local(go)).try_tell().unwrap();
    begun.recv().unwrap();
    sink.add(1).try_tell().unwrap();
    sink.add(1).urgent().try_tell().unwrap();
    for _ in 0..10 {
        let seen = handle.inspect(Duration::from_millis(1)).await;
        assert_eq!((seen.activity, seen.waiting), (Activity::Busy, 2));
        assert_eq!((seen.summary, seen.answered_in), (None, None));
    }
    assert!(handle.inspect(Duration::ZERO).await.waiting_for.is_some());
    goes.send(()).unwrap();
    sink.add(0).ask().await.unwrap();
    assert_eq!(idle(&handle).await.summary.as_deref(), Some("2 in all"));
}

/// Holds for ordinary calls and for urgent ones.
#[tokio::test]
async fn the_age_of_a_mailbox_is_that_of_the_call_that_waits_longest() {
    for is_urgent in [false, true] {
        let sink = Sink::default().spawn_with(ActorOptions::default().own_thread());
        let handle = sink.handle().unwrap();
        let ((begins, begun), (goes, go)) = (channel(), channel());
        sink.hold(Local(begins), Local(go)).try_tell().unwrap();
        begun.recv().unwrap();
        assert_eq!(handle.inspect(Duration::ZERO).await.waiting_for, None);
        let before = Instant::now();
        match is_urgent {
            true => sink.add(1).urgent().try_tell().unwrap(),
            false => sink.add(1).try_tell().unwrap(),
        }
        let after = Instant::now();
        let mut last = Duration::ZERO;
        while last < 5 * EXACT {
            let at_least = after.elapsed();
            let seen = handle.inspect(Duration::from_millis(1)).await;
            let age = seen.waiting_for.unwrap();
            assert!(age + EXACT >= at_least && age <= before.elapsed() + EXACT, "{age:?}");
            assert!(age >= last, "{age:?}, and before {last:?}");
            last = age;
            // Younger calls do not lower the age.
            sink.add(1).try_tell().unwrap();
        }
        goes.send(()).unwrap();
        sink.add(0).ask().await.unwrap();
        let seen = idle(&handle).await;
        assert_eq!((seen.waiting, seen.waiting_for), (0, None));
    }
}

#[tokio::test]
async fn a_suspended_actor_answers_and_one_that_has_ended_says_why() {
    let sink = Sink::default().spawn();
    let handle = sink.handle().unwrap();
    handle.suspend();
    sink.add(1).try_tell().unwrap();
    // The actor obeys the order to suspend by the end of the first inspection.
    handle.inspect(LONG).await;
    let seen = handle.inspect(LONG).await;
    assert_eq!((seen.activity, seen.waiting), (Activity::Suspended, 1));
    assert_eq!(seen.summary.as_deref(), Some("0 in all"));
    handle.resume();
    sink.add(1).ask().await.unwrap();
    assert_eq!(idle(&handle).await.waiting, 0);
    handle.kill();
    let seen = handle.inspect(LONG).await;
    assert_eq!((seen.activity, seen.summary), (Activity::Ended(Reason::Killed), None));
}

/// The next life handles calls: the order to suspend was given to the life before it.
#[tokio::test]
async fn a_child_that_ended_while_it_was_suspended_is_started_again_unsuspended() {
    let supervisor = Supervisor::new(Strategy::OneForOne).child(Child::new("sink", Sink::default));
    let supervisor = supervisor.start().await.unwrap();
    let sink: SinkRef = supervisor.child::<Sink>("sink").await.unwrap().unwrap();
    let handle = sink.handle().unwrap();
    handle.suspend();
    handle.inspect(LONG).await;
    assert_eq!(handle.inspect(LONG).await.activity, Activity::Suspended);
    let waits = sink.add(1).try_ask().unwrap();
    handle.stop();
    assert_eq!(waits.await.unwrap(), 1, "the next life handles what waited");
    let seen = idle(&handle).await;
    assert_eq!((seen.restarts, seen.summary.as_deref()), (1, Some("1 in all")));
    assert_eq!(supervisor.children().await.unwrap()[0].state, ChildState::Running);
}

#[tokio::test]
async fn the_failures_of_a_supervised_actor_are_remembered() {
    let began = SystemTime::now();
    let supervisor = Supervisor::new(Strategy::OneForOne)
        .intensity(100, LONG)
        .child(Child::new("sink", Sink::default))
        .start()
        .await
        .unwrap();
    let sink: SinkRef = supervisor.child::<Sink>("sink").await.unwrap().unwrap();
    for number in 0..10 {
        sink.fail(number).ask().await.unwrap_err();
    }
    sink.handle().unwrap().suspend();
    sink.handle().unwrap().inspect(LONG).await;
    sink.handle().unwrap().resume();
    sink.add(1).ask().await.unwrap();
    let seen = sink.handle().unwrap().inspect(LONG).await;
    assert_eq!(seen.restarts, 10);
    let reasons: Vec<_> = seen.failures.iter().map(|failure| failure.reason.to_string()).collect();
    let expected = (2..10).map(|number| format!("it panicked: on purpose: {number}"));
    assert_eq!(reasons, expected.collect::<Vec<_>>());
    assert!(seen.failures.is_sorted_by_key(|failure| failure.at));
    assert!(seen.failures[0].at >= began);
}
