//! Lost tells: each is counted once, and reported to subscribers.
//!
//! A binary of its own: losses are counted and reported for the whole process, and a subscriber
//! holds the latest thousand only, so a flood of lost tells in another test would make a test here
//! miss its own.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::borrow::Cow;
use std::time::Duration;

use tokio::sync::{Mutex, oneshot};
use tokio::time::timeout;
use wigwag::{
    Actor, ActorOptions, Handle, Local, Responder, This, WhenFull,
    dead_letters::{DeadLetterEvent, DeadLetters, Loss, dead_letters, losses},
    lifecycle::Alive,
};

/// Runs one test at a time: see above.
static ALONE: Mutex<()> = Mutex::const_new(());

struct Sink;

#[wigwag::actor]
impl Sink {
    pub fn first(&self) {}

    pub fn second(&self, number: u64) -> u64 {
        number
    }

    /// Stashes the call for ever.
    pub fn aside(&mut self, this: &This<Self>, answer: Responder<u64>) {
        this.stash(answer, |me| me.aside()).unwrap();
    }

    /// Waits until the gate opens.
    pub async fn hold(&mut self, gate: Local<oneshot::Receiver<()>>) {
        gate.0.await.unwrap();
    }
}

/// The next `count` losses of one actor, in order.
async fn lost(letters: &mut DeadLetters, of: &Handle, count: usize) -> Vec<(Loss, &'static str)> {
    let mut lost = Vec::new();
    while lost.len() < count {
        match timeout(Duration::from_secs(10), letters.next()).await.unwrap() {
            DeadLetterEvent::Letter(letter) if letter.number == of.number() => {
                assert_eq!(letter.actor, "Sink");
                let Cow::Borrowed(method) = letter.method else { panic!("{letter:?}") };
                lost.push((letter.loss, method));
            }
            DeadLetterEvent::Letter(_) => {}
            DeadLetterEvent::Missed(count) => panic!("{count} missed"),
        }
    }
    lost
}

#[tokio::test]
async fn calls_waiting_at_the_end_are_lost_and_later_ones_refused() {
    let _alone = ALONE.lock().await;
    let mut letters = dead_letters();
    let before = losses();
    let sink = Sink.spawn();
    let handle = sink.handle().unwrap();
    handle.suspend();
    sink.first().try_tell().unwrap();
    let asked = sink.second(1).try_ask().unwrap();
    sink.second(2).try_tell().unwrap();
    handle.kill();
    assert!(asked.await.is_err(), "who asks hears so himself");
    sink.first().try_tell().unwrap_err();
    assert!(sink.second(3).try_ask().is_err());
    sink.second(4).tell().await.unwrap_err();
    let lost = lost(&mut letters, &handle, 4).await;
    let (ended, refused) = (Loss::Ended, Loss::Refused);
    let expected = [(ended, "first"), (ended, "second"), (refused, "first"), (refused, "second")];
    assert_eq!(lost, expected);
    let after = losses();
    assert!(after.ended >= before.ended + 2 && after.refused >= before.refused + 2);
}

#[tokio::test]
async fn tells_of_a_turn_to_an_ended_actor_are_lost() {
    let _alone = ALONE.lock().await;
    let mut letters = dead_letters();
    let sink = Sink.spawn();
    let handle = sink.handle().unwrap();
    let told = wigwag::spawn(async move {
        for _ in 0..10 {
            sink.first().try_tell().unwrap();
        }
        sink.handle().unwrap().kill();
    });
    told.await.unwrap();
    assert_eq!(lost(&mut letters, &handle, 10).await, [(Loss::Ended, "first"); 10]);
}

#[tokio::test]
async fn urgent_tells_are_lost_at_the_end_and_refused_after_it() {
    let _alone = ALONE.lock().await;
    for kills in [false, true] {
        let mut letters = dead_letters();
        let sink = Sink.spawn();
        let handle = sink.handle().unwrap();
        handle.suspend();
        sink.first().urgent().try_tell().unwrap();
        let asked = sink.second(1).urgent().try_ask().unwrap();
        if kills {
            handle.kill()
        } else {
            handle.stop()
        };
        assert!(asked.await.is_err(), "its asker hears of it");
        sink.second(2).urgent().try_tell().unwrap_err();
        let lost = lost(&mut letters, &handle, 2).await;
        assert_eq!(lost, [(Loss::Ended, "first"), (Loss::Refused, "second")]);
    }
}

#[tokio::test]
async fn tells_that_were_put_aside_are_lost_at_the_end_and_asks_are_not() {
    let _alone = ALONE.lock().await;
    for ends in [Handle::kill, Handle::stop, Handle::drain] {
        let mut letters = dead_letters();
        let sink = Sink.spawn();
        let handle = sink.handle().unwrap();
        sink.aside().tell().await.unwrap();
        let asked = sink.aside().ask().sent().await.unwrap();
        assert_eq!(sink.second(1).ask().await.unwrap(), 1, "both are put aside");
        ends(&handle);
        assert!(asked.await.is_err(), "its asker hears of it");
        sink.first().tell().await.unwrap_err();
        let lost = lost(&mut letters, &handle, 2).await;
        assert_eq!(lost, [(Loss::Ended, "aside"), (Loss::Refused, "first")]);
    }
}

/// The tells around the asks are handled, so only the tell after the end is lost.
#[tokio::test]
async fn an_ask_that_was_given_up_before_its_turn_is_no_lost_tell() {
    let _alone = ALONE.lock().await;
    let mut letters = dead_letters();
    let sink = Sink.spawn();
    let handle = sink.handle().unwrap();
    let (open, gate) = oneshot::channel();
    let holds = sink.hold(Local(gate)).try_ask().unwrap();
    for number in 0..100 {
        drop(sink.second(number).try_ask().unwrap());
        sink.first().tell().await.unwrap();
    }
    open.send(()).unwrap();
    holds.await.unwrap();
    assert_eq!(sink.second(7).ask().await.unwrap(), 7);
    handle.kill();
    sink.first().tell().await.unwrap_err();
    assert_eq!(lost(&mut letters, &handle, 1).await, [(Loss::Refused, "first")]);
}

#[tokio::test]
async fn a_full_mailbox_that_drops_says_what_it_dropped() {
    let _alone = ALONE.lock().await;
    for (rule, method) in [(WhenFull::DropOldest, "first"), (WhenFull::DropNewest, "second")] {
        let mut letters = dead_letters();
        let sink = Sink.spawn_with(ActorOptions::default().mailbox_calls(2).when_full(rule));
        let handle = sink.handle().unwrap();
        handle.suspend();
        sink.first().try_tell().unwrap();
        sink.first().try_tell().unwrap();
        sink.second(1).try_tell().unwrap();
        assert_eq!(lost(&mut letters, &handle, 1).await, [(Loss::NoRoom, method)]);
    }
}

#[tokio::test]
async fn a_slow_subscriber_learns_how_many_dead_letters_it_missed() {
    let _alone = ALONE.lock().await;
    let sink = Sink.spawn();
    sink.handle().unwrap().kill();
    let mut letters = dead_letters();
    for _ in 0..1_500 {
        sink.first().try_tell().unwrap_err();
    }
    // Other tests may have lost some too.
    let DeadLetterEvent::Missed(missed) = letters.next().await else { panic!("none were missed") };
    assert!(missed >= 1_500 - 1_024, "{missed}");
    assert!(matches!(letters.next().await, DeadLetterEvent::Letter(_)));
}
