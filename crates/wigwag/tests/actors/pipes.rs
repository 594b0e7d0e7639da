//! Calls through references in answers that have not come yet, within a process: they wait for the
//! answer, as they would wait for room.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::sync::Semaphore;
use wigwag::lifecycle::{Alive, Down};
use wigwag::limits::PIPED_ASKS_MAX;
use wigwag::{Actor, CallErrorKind, Life, Reason, This, Yield};

use crate::wakes::Wakes;

/// Knows others, and says so when it may.
#[derive(Default)]
struct Finder {
    found: Option<NotesRef>,
    gate: Option<Arc<Semaphore>>,
    asked: u64,
}

#[wigwag::actor]
impl Finder {
    pub async fn find(&mut self) -> Option<NotesRef> {
        self.asked += 1;
        if let Some(gate) = &self.gate {
            gate.acquire().await.unwrap().forget();
        }
        self.found.clone()
    }

    pub fn asked(&self) -> u64 {
        self.asked
    }
}

#[derive(Default)]
struct Notes(Vec<u64>);

#[wigwag::actor]
impl Notes {
    pub fn note(&mut self, number: u64) -> usize {
        self.0.push(number);
        self.0.len()
    }

    pub fn all(&self) -> Vec<u64> {
        self.0.clone()
    }

    pub async fn stream(&mut self, mut items: Yield<u64>) {
        for number in &self.0 {
            items.send(*number).await.unwrap();
        }
        items.finish();
    }
}

#[wigwag::actor]
trait Noting {
    fn note(&mut self, number: u64) -> usize;
}

fn gated() -> (FinderRef, NotesRef, Arc<Semaphore>) {
    let (gate, notes) = (Arc::new(Semaphore::new(0)), Notes::default().spawn());
    let (found, kept) = (Some(notes.clone()), Some(gate.clone()));
    (Finder { found, gate: kept, asked: 0 }.spawn(), notes, gate)
}

#[tokio::test]
async fn calls_wait_for_the_answer_and_stay_in_their_order() {
    let (finder, notes, gate) = gated();
    let piped = finder.find().pipe();
    let refused = piped.note(0).try_tell().unwrap_err();
    assert_eq!((refused.error.kind, refused.message.number()), (CallErrorKind::Full, 0));
    let telling = piped.clone();
    let told = tokio::spawn(async move {
        for number in 0..100 {
            telling.note(number).tell().await.unwrap();
        }
        telling.note(100).ask().await.unwrap()
    });
    tokio::task::yield_now().await;
    assert!(notes.all().ask().await.unwrap().is_empty());
    gate.add_permits(1);
    assert_eq!(told.await.unwrap(), 101);
    assert!(notes.all().ask().await.unwrap().into_iter().eq(0..=100));
    piped.note(101).try_tell().unwrap();
    assert_eq!(finder.asked().ask().await.unwrap(), 1, "one ask for all of them");
}

/// Reads the argument of a call that came back.
trait Number {
    fn number(&self) -> u64;
}

impl Number for NotesMessage {
    fn number(&self) -> u64 {
        match self {
            NotesMessage::Note { number } => *number,
            _ => u64::MAX,
        }
    }
}

#[tokio::test]
async fn many_callers_wait_for_one_answer() {
    let (finder, notes, gate) = gated();
    let piped = finder.find().pipe();
    let asks: Vec<_> = (0..200).map(|number| tokio::spawn(piped.note(number).into_ask())).collect();
    let through = NotingRef::from(&piped);
    let asked_through = tokio::spawn(through.note(200).into_ask());
    let given_up = piped.note(7).timeout(Duration::from_millis(5)).ask().await;
    assert!(given_up.is_err());
    gate.add_permits(1);
    for ask in asks {
        ask.await.unwrap().unwrap();
    }
    asked_through.await.unwrap().unwrap();
    assert_eq!(notes.all().ask().await.unwrap().len(), 201);
}

#[tokio::test]
async fn streams_pipelines_and_threads_go_through_an_answer() {
    let (finder, _notes, gate) = gated();
    let piped = finder.find().pipe();
    assert!(piped.pipeline::<usize, ()>(8).is_err(), "the actor is not known yet");
    gate.add_permits(1);
    let thread = piped.clone();
    let noted = tokio::task::spawn_blocking(move || thread.note(1).blocking_ask()).await.unwrap();
    assert_eq!(noted.unwrap(), 1);
    piped.note(2).tell().sent().await.unwrap();
    let mut items = piped.stream();
    assert_eq!(items.next().await.unwrap().unwrap(), 1);
    assert_eq!(items.next().await.unwrap().unwrap(), 2);
    assert!(items.next().await.is_none());
    let mut pipeline = piped.pipeline(8).unwrap();
    pipeline.push(piped.note(3), ()).await.unwrap();
    assert_eq!(pipeline.answer().await.unwrap().1.unwrap(), 3);
    assert_eq!(piped.note(4).receipt().await.unwrap().await, wigwag::DeliveryStatus::Delivered);
}

#[tokio::test]
async fn an_ask_that_nobody_waits_for_any_more_is_not_begun() {
    let (finder, _notes, gate) = gated();
    let first = finder.find().pipe();
    let second = finder.find().pipe();
    let asked = tokio::spawn(async move { first.note(1).ask().await.unwrap() });
    tokio::task::yield_now().await;
    drop(second);
    gate.add_permits(2);
    assert_eq!(asked.await.unwrap(), 1);
    assert_eq!(finder.asked().ask().await.unwrap(), 1);
}

/// Asks through an answer of its own.
struct Selfish(Option<SelfishRef>, Option<Reason>);

#[wigwag::actor(life)]
impl Selfish {
    pub fn know(&mut self, own: SelfishRef) {
        self.0 = Some(own);
    }

    pub fn next(&self) -> SelfishRef {
        self.0.clone().unwrap()
    }

    pub async fn ask_itself(&mut self) -> Option<bool> {
        let error = self.next().next().pipe().next().ask().await.err()?;
        Some(error.error().kind == CallErrorKind::CallCycle)
    }

    pub fn watch(&mut self, this: &This<Self>) {
        let unknown = self.next().next().pipe();
        this.monitor_ref(&unknown).unwrap();
    }

    pub fn heard(&self) -> bool {
        matches!(self.1, Some(Reason::Unreachable(_)))
    }

    pub fn forget(&mut self) {
        self.0 = None;
    }
}

impl Life for Selfish {
    fn down(&mut self, _: &This<Selfish>, down: Down) {
        self.1 = Some(down.reason);
    }
}

#[tokio::test]
async fn a_call_that_would_wait_for_itself_is_refused_through_an_answer_too() {
    let selfish = Selfish(None, None).spawn();
    selfish.know(selfish.clone()).ask().await.unwrap();
    assert_eq!(selfish.ask_itself().ask().await.unwrap(), Some(true));
    selfish.watch().ask().await.unwrap();
    assert!(selfish.heard().ask().await.unwrap(), "an unknown actor cannot be watched");
    selfish.forget().ask().await.unwrap();
}

#[tokio::test]
async fn the_end_of_the_actor_that_was_asked_fails_what_waits() {
    let (finder, _notes, _gate) = gated();
    let piped = finder.find().pipe();
    let behind = tokio::spawn(piped.note(1).into_ask());
    tokio::task::yield_now().await;
    finder.handle().unwrap().kill();
    let error = behind.await.unwrap().unwrap_err().into_error();
    assert!(
        matches!(error.kind, CallErrorKind::ActorStopped | CallErrorKind::ReplyDropped),
        "{error}"
    );
    let again = piped.note(1).ask().await.unwrap_err().into_error();
    assert_eq!(again.kind, error.kind, "it stays failed");
}

/// Knows one of its kind.
#[derive(Default)]
struct Knower(Option<KnowerRef>);

#[wigwag::actor]
impl Knower {
    pub fn know(&mut self, other: KnowerRef) {
        self.0 = Some(other);
    }

    pub fn known(&self) -> Option<KnowerRef> {
        self.0.clone()
    }
}

/// The last answer holds the reference that waits for it, or another one that does.
#[tokio::test]
async fn an_answer_that_leads_to_itself_fails_what_goes_through_it() {
    for is_behind_another in [false, true] {
        let [first, second] = [(); 2].map(|()| Knower::default().spawn());
        first.know(second.clone()).ask().await.unwrap();
        let piped = first.known().pipe();
        // It is asked for when the answer before it has been looked at.
        let circle = piped.known().pipe();
        let mut knows = circle.clone();
        if is_behind_another {
            let between = Knower(Some(circle.clone())).spawn();
            knows = between.known().pipe();
        }
        second.know(knows).ask().await.unwrap();
        for _ in 0..2 {
            let error = circle.known().ask().await.unwrap_err().into_error();
            assert_eq!(error.kind, CallErrorKind::NoSuchActor, "{error}");
            assert!(error.to_string().contains("leads to itself"), "{error}");
        }
    }
}

/// The ask is sent through an answer that leads to the answer to this ask.
#[tokio::test]
async fn an_ask_that_would_wait_for_its_own_answer_fails_what_goes_through_it() {
    for asks_between in 0..3 {
        let first = Knower::default().spawn();
        first.handle().unwrap().suspend();
        let piped = first.known().pipe();
        let mut circle = piped.known().pipe();
        for _ in 0..asks_between {
            circle = circle.known().pipe();
        }
        let known = circle.clone();
        first.visit(|knower: &mut Knower| knower.0 = Some(known)).await.unwrap();
        first.handle().unwrap().resume();
        for reference in [&circle, &piped, &circle] {
            let error = reference.known().ask().await.unwrap_err().into_error();
            assert_eq!(error.kind, CallErrorKind::NoSuchActor, "{error}");
            assert!(error.to_string().contains("leads to itself"), "{error}");
        }
    }
}

/// However often it looks, and also where one answer leads to another one.
#[tokio::test]
async fn a_caller_has_one_place_among_those_that_wait_for_an_answer() {
    for gives_up in [false, true] {
        let (finder, notes, gate) = gated();
        let piped = finder.find().pipe();
        let before = Finder { found: Some(piped), gate: None, asked: 0 }.spawn();
        let behind = before.find().pipe();
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(wakes.clone());
        let mut told = pin!(Some(behind.note(1).tell()));
        for _ in 0..10 {
            let telling = told.as_mut().as_pin_mut().unwrap();
            assert!(telling.poll(&mut Context::from_waker(&waker)).is_pending());
            // The first answer comes.
            before.asked().ask().await.unwrap();
        }
        if gives_up {
            told.set(None);
        }
        let woken = wakes.count();
        gate.add_permits(1);
        finder.asked().ask().await.unwrap();
        let woken = wakes.count() - woken;
        assert_eq!(woken, u64::from(!gives_up));
        if let Some(telling) = told.as_mut().as_pin_mut() {
            telling.await.unwrap();
        }
        assert_eq!(notes.all().ask().await.unwrap().len(), usize::from(!gives_up));
    }
}

/// The answer to the last of the asks that may wait in a chain, of which the first is to `first`.
fn longest_chain(first: &KnowerRef) -> KnowerRef {
    (1..PIPED_ASKS_MAX).fold(first.known().pipe(), |longest, _| longest.known().pipe())
}

/// Two actors that know each other, of which the first one is suspended.
async fn pair() -> (KnowerRef, KnowerRef) {
    let [first, second] = [(); 2].map(|()| Knower::default().spawn());
    second.know(first.clone()).ask().await.unwrap();
    first.know(second.clone()).ask().await.unwrap();
    first.handle().unwrap().suspend();
    (first, second)
}

#[tokio::test]
async fn an_ask_behind_as_many_as_may_wait_in_a_chain_fails_alone() {
    let (first, second) = pair().await;
    let longest = longest_chain(&first);
    let longer = longest.known().pipe();
    for reference in [&longer, &longer.known().pipe()] {
        let error = reference.known().ask().await.unwrap_err().into_error();
        assert_eq!(error.kind, CallErrorKind::Overloaded, "{error}");
        assert!(error.to_string().contains(&PIPED_ASKS_MAX.to_string()), "{error}");
    }
    let mut further = longer;
    for _ in 0..20_000 {
        further = further.known().pipe();
    }
    let error = further.known().ask().await.unwrap_err().into_error();
    assert_eq!(error.kind, CallErrorKind::Overloaded);
    drop(further);
    let asked = tokio::spawn(longest.known().into_ask());
    tokio::task::yield_now().await;
    first.handle().unwrap().resume();
    // An even number of steps from the first actor leads back to it.
    assert_eq!(asked.await.unwrap().unwrap().unwrap().handle().ok(), second.handle().ok());
    let next = longest.known().pipe().known().ask().await.unwrap();
    assert_eq!(next.unwrap().handle().ok(), first.handle().ok());
}

/// The second chain leads to the first one by an answer that comes later.
#[tokio::test]
async fn an_answer_that_leads_to_joined_chains_which_are_too_long_fails() {
    let (first, _second) = pair().await;
    let longest = longest_chain(&first);
    let before = Knower(Some(longest)).spawn();
    let joined = before.known().pipe().known().pipe();
    let asked = tokio::spawn(joined.known().into_ask());
    // It is suspended, so the two chains are one now.
    before.known().ask().await.unwrap();
    tokio::task::yield_now().await;
    let leads_there = Knower(Some(joined)).spawn().known().pipe();
    let error = leads_there.known().ask().await.unwrap_err().into_error();
    assert_eq!(error.kind, CallErrorKind::Overloaded, "{error}");
    first.handle().unwrap().resume();
    asked.await.unwrap().unwrap();
}

#[tokio::test]
async fn answers_that_lead_to_answers_are_followed_however_many_there_are() {
    let end = Knower::default().spawn();
    let mut answer = end.clone();
    for _ in 0..20_000 {
        answer = Knower(Some(answer)).spawn().known().pipe();
    }
    answer.know(end.clone()).ask().await.unwrap();
    assert!(end.known().ask().await.unwrap().is_some());
    drop(answer);
}
