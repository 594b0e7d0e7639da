//! The start and end of actors, the notices of their end, and the outcome of their waiting calls.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Waker};
use std::time::Duration;

use wigwag::{
    Actor, ActorOptions, CallErrorKind, Handle, Life, Local, Reason, This, WhenFull,
    lifecycle::{Alive, Down, Exit, Monitor},
};

use crate::wakes::Wakes;

/// Reports its own events.
struct Witness {
    says: Sender<String>,
    fails_to_start: bool,
    ignores_exits: bool,
}

impl Witness {
    fn new() -> (Witness, Receiver<String>) {
        let (says, heard) = channel();
        (Witness { says, fails_to_start: false, ignores_exits: false }, heard)
    }

    fn say(&self, what: impl Into<String>) {
        // The receiver is gone at the end of a test.
        let _ = self.says.send(what.into());
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.say("dropped");
    }
}

#[wigwag::actor(life)]
impl Witness {
    pub fn say_number(&mut self, number: u64) -> u64 {
        self.say(number.to_string());
        number
    }

    /// Blocks its thread until the test opens the gate.
    pub fn block(&self, until: Local<Gate>) {
        self.say("blocks");
        until.0.wait();
    }

    pub async fn wait_for_ever(&self) {
        self.say("waits");
        pending().await
    }

    pub fn panic(&self, text: &str) {
        panic!("{text}");
    }

    pub fn stop_itself(&self, this: &This<Self>, why: String) {
        this.stop(Reason::failed(why));
    }
}

impl Life for Witness {
    async fn started(&mut self, _: &This<Witness>) -> Result<(), Reason> {
        tokio::task::yield_now().await;
        if self.fails_to_start { Err(Reason::failed("no luck")) } else { Ok(()) }
    }

    async fn stopped(&mut self, _: &This<Witness>, reason: &Reason) {
        tokio::task::yield_now().await;
        self.say(format!("stopped, {reason}"));
    }

    fn exited(&mut self, _: &This<Witness>, exit: Exit) -> Result<(), Reason> {
        self.say(format!("exit, {}", exit.reason));
        match self.ignores_exits || exit.reason.is_wanted() {
            true => Ok(()),
            false => Err(Reason::Linked(Arc::new(exit.reason))),
        }
    }
}

/// Shut while the test holds the other end.
#[derive(Clone)]
struct Gate(Arc<std::sync::Mutex<Receiver<()>>>);

impl Gate {
    fn new() -> (Sender<()>, Gate) {
        let (opens, gate) = channel();
        (opens, Gate(Arc::new(std::sync::Mutex::new(gate))))
    }

    fn wait(&self) {
        let _ = self.0.lock().unwrap().recv();
    }
}

#[test]
#[should_panic(expected = "an actor needs a tokio runtime here, or `ActorOptions::own_thread`")]
fn an_actor_that_is_spawned_outside_a_runtime_says_what_it_needs() {
    let (witness, _heard) = Witness::new();
    witness.spawn();
}

/// Watches others and reports their ends.
struct Watcher {
    says: Sender<(Monitor, u64, Reason)>,
}

#[wigwag::actor(life)]
impl Watcher {
    pub fn monitor(&mut self, this: &This<Self>, actor: Local<Handle>) -> Local<Monitor> {
        Local(this.monitor(&actor.0).unwrap())
    }

    pub fn demonitor(&mut self, this: &This<Self>, actor: Local<Handle>, watching: Local<Monitor>) {
        this.demonitor(watching.0, &actor.0);
    }

    /// The notice is in the mailbox already when the monitor is taken back.
    pub fn monitor_in_vain(&mut self, this: &This<Self>, ended: Local<Handle>) {
        let monitor = this.monitor(&ended.0).unwrap();
        this.demonitor(monitor, &ended.0);
    }

    pub fn link(&self, this: &This<Self>, actor: Local<Handle>) {
        this.link(&actor.0).unwrap();
    }

    pub fn unlink(&self, this: &This<Self>, actor: Local<Handle>) {
        this.unlink(&actor.0);
    }

    pub fn link_and_unlink(&self, this: &This<Self>, actor: Local<Handle>) {
        this.link(&actor.0).unwrap();
        this.unlink(&actor.0);
    }

    pub fn nothing(&self) {}
}

impl Life for Watcher {
    fn down(&mut self, _: &This<Watcher>, down: Down) {
        let _ = self.says.send((down.monitor, down.actor.unwrap().number(), down.reason));
    }
}

fn watcher() -> (WatcherRef, Receiver<(Monitor, u64, Reason)>) {
    let (says, heard) = channel();
    (Watcher { says }.spawn(), heard)
}

fn here(handle: &Handle) -> Local<Handle> {
    Local(handle.clone())
}

/// The reports of an actor, once it has ended.
async fn said(handle: &Handle, heard: Receiver<String>) -> (Reason, Vec<String>) {
    let reason = tokio::time::timeout(Duration::from_secs(20), handle.ended()).await.unwrap();
    // The destructor runs after the end, and closes the channel.
    let said = tokio::task::spawn_blocking(move || heard.iter().collect()).await.unwrap();
    (reason, said)
}

#[tokio::test]
async fn stopping_lets_the_call_at_hand_finish_and_refuses_the_rest() {
    let (witness, heard) = Witness::new();
    let (opens, gate) = Gate::new();
    let witness = witness.spawn_with(ActorOptions::default().own_thread());
    let handle = witness.handle().unwrap();
    witness.block(Local(gate)).tell().await.unwrap();
    assert_eq!(heard_first(&heard).await, "blocks");
    let waiting = witness.say_number(1).try_ask().unwrap();
    witness.say_number(2).try_tell().unwrap();
    assert!(handle.stop());
    drop(opens);
    assert_eq!(waiting.await.unwrap_err().kind, CallErrorKind::ActorStopped);
    let (reason, said) = said(&handle, heard).await;
    assert_eq!(reason, Reason::Shutdown);
    assert_eq!(said, ["stopped, it was asked to stop", "dropped"]);
    let refused = witness.say_number(3).try_tell().unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::ActorStopped);
    assert!(!handle.stop() && !handle.kill() && !handle.drain());
}

#[tokio::test]
async fn draining_handles_what_waits_and_lets_nothing_in() {
    let (witness, heard) = Witness::new();
    let (opens, gate) = Gate::new();
    let witness = witness.spawn_with(ActorOptions::default().own_thread());
    let handle = witness.handle().unwrap();
    witness.block(Local(gate)).tell().await.unwrap();
    let waiting = witness.say_number(1).try_ask().unwrap();
    witness.stop_itself("it has drained".into()).try_tell().unwrap();
    witness.say_number(2).try_tell().unwrap();
    assert!(handle.drain());
    drop(opens);
    assert_eq!(waiting.await.unwrap(), 1);
    let refused = witness.say_number(3).ask().await.unwrap_err();
    assert_eq!(refused.error().kind, CallErrorKind::ActorStopped);
    let (reason, said) = said(&handle, heard).await;
    assert_eq!(reason, Reason::failed("it has drained"));
    let end = "stopped, it failed: it has drained";
    assert_eq!(said, ["blocks", "1", end, "dropped"]);
}

#[tokio::test]
async fn tells_of_a_turn_before_it_drained_are_handled() {
    let (witness, heard) = Witness::new();
    let witness = witness.spawn_with(ActorOptions::default().own_thread());
    let turn = wigwag::spawn(async move {
        for number in 1..=3 {
            witness.say_number(number).try_tell().unwrap();
        }
        assert!(witness.handle().unwrap().drain());
        // The turn blocks until the actor, which has a thread of its own, has ended.
        heard.iter().collect::<Vec<_>>()
    });
    let said = tokio::time::timeout(Duration::from_secs(20), turn).await.unwrap().unwrap();
    assert_eq!(said, ["1", "2", "3", "stopped, it was asked to stop", "dropped"]);
}

#[tokio::test]
async fn an_actor_that_drains_and_is_not_stopped_ends_with_the_last_call() {
    let (witness, heard) = Witness::new();
    let witness = witness.spawn();
    for number in 0..3 {
        witness.say_number(number).try_tell().unwrap();
    }
    let handle = witness.handle().unwrap();
    handle.drain();
    let (reason, said) = said(&handle, heard).await;
    assert_eq!(reason, Reason::Shutdown);
    assert_eq!(said, ["0", "1", "2", "stopped, it was asked to stop", "dropped"]);
}

#[tokio::test]
async fn killing_drops_a_handler_that_waits() {
    let (witness, heard) = Witness::new();
    let witness = witness.spawn();
    let handle = witness.handle().unwrap();
    let [at_hand, behind] =
        [witness.wait_for_ever(), witness.wait_for_ever()].map(|call| call.try_ask().unwrap());
    assert_eq!(heard_first(&heard).await, "waits");
    assert!(handle.kill());
    assert_eq!(at_hand.await.unwrap_err().kind, CallErrorKind::ActorStopped);
    assert_eq!(behind.await.unwrap_err().kind, CallErrorKind::ActorStopped);
    let (reason, said) = said(&handle, heard).await;
    assert_eq!((reason, said), (Reason::Killed, vec!["dropped".to_owned()]));
}

/// The first report, awaited without blocking the runtime.
async fn heard_first(heard: &Receiver<String>) -> String {
    loop {
        match heard.try_recv() {
            Ok(word) => return word,
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn killing_an_actor_that_is_stuck_in_a_handler_frees_all_askers() {
    let (witness, heard) = Witness::new();
    let (opens, gate) = Gate::new();
    let witness = witness.spawn_with(ActorOptions::default().own_thread());
    let handle = witness.handle().unwrap();
    witness.block(Local(gate)).tell().await.unwrap();
    assert_eq!(heard_first(&heard).await, "blocks");
    let waiting = witness.say_number(1).try_ask().unwrap();
    assert!(handle.kill());
    assert_eq!(waiting.await.unwrap_err().kind, CallErrorKind::ActorStopped);
    assert_eq!(handle.reason(), Some(Reason::Killed));
    assert!(heard.try_recv().is_err(), "its thread is in the handler still");
    drop(opens);
    let (_, said) = said(&handle, heard).await;
    assert_eq!(said, ["dropped"]);
}

/// Counts the ticks that reach it.
struct Meter(u64);

#[wigwag::actor]
impl Meter {
    pub fn tick(&mut self) {
        self.0 += 1;
    }
}

/// On drop, tells its actor and reports whether the actor had ended by then, and the error of the
/// tell.
struct Last(MeterRef, Sender<(bool, Option<CallErrorKind>)>);

impl Drop for Last {
    fn drop(&mut self) {
        let is_ended = self.0.handle().unwrap().is_ended();
        let told = self.0.tick().try_tell();
        self.1.send((is_ended, told.err().map(|refused| refused.error.kind))).unwrap();
    }
}

#[tokio::test]
async fn a_caller_that_sees_the_end_is_refused() {
    let meter = Meter(0).spawn();
    let (says, heard) = channel();
    // A visit that was not handled is dropped at the moment of the end.
    let last = Last(meter.clone(), says);
    let mut visit = pin!(meter.visit(move |_| drop(last)));
    assert!(visit.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    meter.handle().unwrap().kill();
    assert_eq!(heard.recv(), Ok((true, Some(CallErrorKind::ActorStopped))));
    assert_eq!(visit.await.unwrap_err().kind, CallErrorKind::ActorStopped);
}

#[tokio::test]
async fn a_start_that_fails_leaves_nothing_behind() {
    let (mut witness, heard) = Witness::new();
    witness.fails_to_start = true;
    let failed = witness.start().await.map(|_| ());
    assert_eq!(failed, Err(Reason::failed("no luck")));
    assert_eq!(heard.recv(), Ok("dropped".into()));

    let (mut witness, _heard) = Witness::new();
    witness.fails_to_start = true;
    let witness = witness.spawn();
    let asked = witness.say_number(1).ask().await.unwrap_err();
    assert_eq!(asked.error().kind, CallErrorKind::ActorStopped);
    assert_eq!(witness.handle().unwrap().reason(), Some(Reason::failed("no luck")));
}

#[tokio::test]
async fn a_panic_is_a_reason_and_the_state_is_dropped_once() {
    let (witness, heard) = Witness::new();
    let witness = witness.spawn();
    let handle = witness.handle().unwrap();
    let asked = witness.panic("on purpose").ask().await.unwrap_err();
    assert_eq!(asked.error().kind, CallErrorKind::Panicked);
    let (reason, said) = said(&handle, heard).await;
    assert_eq!(reason, Reason::Panicked("on purpose".into()));
    assert_eq!(said, ["dropped"]);
}

/// The caller runs on one thread and the actor on another, so the caller may go on before the actor
/// has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_asker_whose_call_panicked_finds_the_mailbox_shut() {
    for _ in 0..300 {
        let witness = Witness::new().0.spawn();
        // A run of several calls takes another path than a single one.
        witness.say_number(1).try_tell().unwrap();
        let asked = witness.panic("on purpose").ask().await.unwrap_err();
        assert_eq!(asked.error().kind, CallErrorKind::Panicked);
        let refused = witness.say_number(2).try_tell().unwrap_err();
        assert_eq!(refused.error.kind, CallErrorKind::ActorStopped);
    }
}

#[tokio::test]
async fn an_actor_without_references_is_done() {
    let (witness, heard) = Witness::new();
    let witness = witness.spawn();
    let handle = witness.handle().unwrap();
    witness.say_number(7).try_tell().unwrap();
    drop(witness);
    let (reason, said) = said(&handle, heard).await;
    assert_eq!(reason, Reason::Normal);
    assert_eq!(said, ["7", "stopped, it was done", "dropped"]);
}

#[tokio::test]
async fn a_monitor_hears_once_why_an_actor_ended() {
    let (watcher, heard) = watcher();
    let (witness, _said) = Witness::new();
    let witness = witness.spawn();
    let handle = witness.handle().unwrap();
    let first = watcher.monitor(here(&handle)).ask().await.unwrap().0;
    let second = watcher.monitor(here(&handle)).ask().await.unwrap().0;
    let taken_back = watcher.monitor(here(&handle)).ask().await.unwrap();
    watcher.demonitor(here(&handle), taken_back).ask().await.unwrap();
    witness.stop_itself("enough".into()).tell().await.unwrap();
    let reason = handle.ended().await;
    assert_eq!(reason, Reason::failed("enough"));
    // A monitor of an actor that has ended reports that actor's reason.
    let late = watcher.monitor(here(&handle)).ask().await.unwrap().0;
    watcher.monitor_in_vain(here(&handle)).ask().await.unwrap();
    watcher.nothing().ask().await.unwrap();
    drop(watcher);
    let downs = tokio::task::spawn_blocking(move || heard.iter().collect::<Vec<_>>());
    let expected = [first, second, late].map(|monitor| (monitor, handle.number(), reason.clone()));
    assert_eq!(downs.await.unwrap(), expected);
}

#[tokio::test]
async fn links_spread_an_end_that_nobody_wanted() {
    for (wanted, unlinked) in [(true, false), (false, true), (false, false)] {
        let (watcher, _heard) = watcher();
        let (witness, heard) = Witness::new();
        let witness = witness.spawn();
        let (ours, theirs) = (watcher.handle().unwrap(), witness.handle().unwrap());
        for _ in 0..2 {
            watcher.link(here(&theirs)).ask().await.unwrap();
        }
        if unlinked {
            watcher.unlink(here(&theirs)).ask().await.unwrap();
        }
        let reason = if wanted { Reason::Normal } else { Reason::failed("at the watcher") };
        ours.stop_with(reason.clone());
        assert_eq!(ours.ended().await, reason);
        if wanted || unlinked {
            assert_eq!(witness.say_number(1).ask().await.unwrap(), 1);
            theirs.stop();
        }
        let (ended, said) = said(&theirs, heard).await;
        match (wanted, unlinked) {
            (true, _) => assert_eq!(said[0], "exit, it was done"),
            (false, true) => assert_eq!(said[0], "1"),
            (false, false) => assert_eq!(ended, Reason::Linked(Arc::new(reason))),
        }
    }
}

/// Neither the end of the other one nor an exit that was told before and is not handled yet.
#[tokio::test]
async fn an_actor_that_has_removed_a_link_hears_nothing_of_it() {
    let (watcher, _heard) = watcher();
    let (witness, _heard) = Witness::new();
    let witness = witness.spawn();
    let theirs = witness.handle().unwrap();
    watcher.link(here(&theirs)).ask().await.unwrap();
    watcher.unlink(here(&theirs)).ask().await.unwrap();
    theirs.stop_with(Reason::failed("at the witness"));
    theirs.ended().await;
    watcher.link_and_unlink(here(&theirs)).ask().await.unwrap();
    watcher.nothing().ask().await.expect("it lives");
}

#[tokio::test]
async fn an_actor_that_ignores_exits_goes_on() {
    let (watcher, _heard) = watcher();
    let (mut witness, heard) = Witness::new();
    witness.ignores_exits = true;
    let witness = witness.spawn();
    watcher.link(here(&witness.handle().unwrap())).ask().await.unwrap();
    watcher.handle().unwrap().kill();
    assert_eq!(heard_first(&heard).await, "exit, it was killed");
    assert_eq!(witness.say_number(1).ask().await.unwrap(), 1);
}

#[tokio::test]
async fn a_suspended_actor_hears_control_mail_alone() {
    let (witness, heard) = Witness::new();
    let witness = witness.spawn();
    let handle = witness.handle().unwrap();
    assert!(handle.suspend());
    for number in 0..5 {
        witness.say_number(number).try_tell().unwrap();
    }
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    assert!(heard.try_recv().is_err());
    assert_eq!(handle.waiting(), 5);
    handle.resume();
    assert_eq!(witness.say_number(5).ask().await.unwrap(), 5);
    assert!(heard.try_iter().eq((0..=5).map(|number| number.to_string())));
    handle.suspend();
    handle.stop();
    assert_eq!(handle.ended().await, Reason::Shutdown);
}

#[tokio::test]
async fn a_full_mailbox_does_what_was_chosen() {
    for (rule, handled, refused) in [
        (WhenFull::Wait, &[0, 1, 2, 3][..], 0),
        (WhenFull::Refuse, &[0, 1, 2, 3][..], 2),
        (WhenFull::DropNewest, &[0, 1, 2, 3][..], 0),
        (WhenFull::DropOldest, &[2, 3, 4, 5][..], 0),
    ] {
        let (witness, heard) = Witness::new();
        let options = ActorOptions::default().mailbox_calls(4).when_full(rule);
        let witness = witness.spawn_with(options);
        let handle = witness.handle().unwrap();
        handle.suspend();
        let asks: Vec<_> = (0..6).map(|number| witness.say_number(number).try_ask()).collect();
        assert_eq!(
            asks.iter().filter(|ask| ask.is_err()).count(),
            if rule == WhenFull::Wait { 2 } else { refused },
            "{rule:?}"
        );
        let told = tokio::time::timeout(Duration::from_millis(50), witness.say_number(9).tell());
        match (rule, told.await) {
            (WhenFull::Wait, outcome) => assert!(outcome.is_err(), "it waits"),
            (WhenFull::Refuse, outcome) => {
                assert_eq!(outcome.unwrap().unwrap_err().error.kind, CallErrorKind::Full);
            }
            (_, outcome) => outcome.unwrap().unwrap(),
        }
        handle.resume();
        let (mut answers, mut lost) = (Vec::new(), 0);
        for ask in asks.into_iter().flatten() {
            match ask.await {
                Ok(number) => answers.push(number),
                Err(error) => {
                    assert_eq!(error.kind, CallErrorKind::Overloaded);
                    lost += 1;
                }
            }
        }
        let drops = matches!(rule, WhenFull::DropNewest | WhenFull::DropOldest);
        // The tell found no room either: the newest is dropped, or the oldest of the asks.
        let answered = if rule == WhenFull::DropOldest { &handled[1..] } else { handled };
        assert_eq!(answers, answered, "{rule:?}");
        assert_eq!(handle.dropped(), if drops { 3 } else { 0 }, "{rule:?}");
        assert_eq!(lost, if drops { 6 - answered.len() } else { 0 }, "{rule:?}");
        drop(heard);
    }
}

/// More than an actor may have monitors.
#[tokio::test]
async fn each_of_any_number_of_tasks_that_wait_for_an_end_is_woken_by_it_alone() {
    const TASKS: usize = 70_000;
    let (witness, _heard) = Witness::new();
    let handle = witness.spawn().handle().unwrap();
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(wakes.clone());
    let mut context = Context::from_waker(&waker);
    let mut waiting: Vec<_> = (0..TASKS).map(|_| Box::pin(handle.ended())).collect();
    assert!(waiting.iter_mut().all(|task| task.as_mut().poll(&mut context).is_pending()));
    assert_eq!(wakes.count(), 0, "a task is woken before the end");
    handle.kill();
    handle.ended().await;
    assert_eq!(wakes.count(), TASKS as u64);
    assert!(waiting.iter_mut().all(|task| task.as_mut().poll(&mut context).is_ready()));
}
