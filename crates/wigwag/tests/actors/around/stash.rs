//! Stashed calls: they come back in order, before newer ones, and none is lost.

use std::time::Duration;

use wigwag::{
    Actor, AskError, CallErrorKind, Node, Reason, Responder, This,
    lifecycle::Alive,
    supervise::{Child, Strategy, Supervisor},
};

/// The number of calls that an actor may stash.
const ROOM: usize = 1024;

/// Handles calls while it is open, and stashes them until then.
#[derive(Default)]
struct Gate {
    is_open: bool,
    came: Vec<u64>,
    /// Calls that found the stash full.
    refused: u64,
    /// The number of the call that stops the gate.
    stops_at: Option<u64>,
}

#[wigwag::actor]
impl Gate {
    pub fn pass(&mut self, this: &This<Self>, answer: Responder<u64>, number: u64) {
        if self.is_open {
            self.came.push(number);
            if self.stops_at == Some(number) {
                this.stop(Reason::Shutdown);
            }
            return answer.send(number);
        }
        if let Err(full) = this.stash(answer, |me| me.pass(number)) {
            assert_eq!(full.kind, CallErrorKind::Full);
            self.refused += 1;
            let why = full.to_string();
            full.answer.fail(0x8001, &why);
        }
    }

    /// Like `pass`, with a handler that waits.
    pub async fn pass_slowly(&mut self, this: &This<Self>, answer: Responder<u64>, number: u64) {
        tokio::task::yield_now().await;
        if !self.is_open {
            return this.stash(answer, |me| me.pass_slowly(number)).unwrap();
        }
        tokio::task::yield_now().await;
        self.came.push(number);
        answer.send(number);
    }

    /// Handles one call each time that the gate is opened.
    pub fn pass_alone(&mut self, this: &This<Self>, answer: Responder<u64>, number: u64) {
        if !std::mem::take(&mut self.is_open) {
            return this.stash(answer, |me| me.pass_alone(number)).unwrap();
        }
        self.came.push(number);
        answer.send(number);
    }

    pub fn open(&mut self, this: &This<Self>) -> u64 {
        self.is_open = true;
        this.unstash_all() as u64
    }

    pub fn stop_at(&mut self, number: u64) {
        self.stops_at = Some(number);
    }

    pub fn fail(&mut self) {
        panic!("on purpose");
    }

    pub fn refused(&self) -> u64 {
        self.refused
    }

    pub fn came(&self) -> Vec<u64> {
        self.came.clone()
    }
}

#[tokio::test]
async fn stashed_calls_come_before_newer_mail_and_in_order() {
    let gate = Gate::default().spawn();
    let handle = gate.handle().unwrap();
    handle.suspend();
    let mut asked = Vec::new();
    for number in 0..100 {
        asked.push(match number % 3 {
            0 => gate.pass_slowly(number).try_ask().unwrap(),
            _ => gate.pass(number).try_ask().unwrap(),
        });
    }
    gate.pass(100).try_tell().unwrap();
    let opened = gate.open().try_ask().unwrap();
    // These calls are behind the order to open: they find the gate open, and are newer than the
    // stashed ones.
    for number in 101..200 {
        asked.push(gate.pass(number).try_ask().unwrap());
    }
    handle.resume();
    assert_eq!(opened.await.unwrap(), 101);
    for (number, asked) in (0..100).chain(101..200).zip(asked) {
        assert_eq!(asked.await.unwrap(), number);
    }
    assert_eq!(gate.came().ask().await.unwrap(), (0..200).collect::<Vec<_>>());
}

#[tokio::test]
async fn calls_stashed_again_keep_their_order() {
    let gate = Gate::default().spawn();
    let mut asked: Vec<_> =
        (0..20).map(|number| gate.pass_alone(number).try_ask().unwrap()).collect();
    for (number, asked) in (0..20).zip(asked.drain(..)) {
        assert_eq!(gate.open().ask().await.unwrap(), 20 - number);
        assert_eq!(asked.await.unwrap(), number);
    }
    assert_eq!(gate.came().ask().await.unwrap(), (0..20).collect::<Vec<_>>());
}

/// An order to stop that arrives while stashed calls are handled is obeyed before the next of them.
#[tokio::test]
async fn control_mail_goes_before_calls_that_are_handled_again() {
    let gate = Gate::default().spawn();
    gate.stop_at(3).ask().await.unwrap();
    let asked: Vec<_> = (0..10).map(|number| gate.pass(number).try_ask().unwrap()).collect();
    assert_eq!(gate.open().ask().await.unwrap(), 10);
    for (number, asked) in (0..).zip(asked) {
        match asked.await {
            Ok(passed) => assert!(passed == number && number <= 3, "{number} passed"),
            Err(error) => {
                assert!(number > 3, "{number}: {error}");
                assert_eq!(error.kind, CallErrorKind::ActorStopped);
            }
        }
    }
}

#[tokio::test]
async fn there_is_room_for_so_many_and_the_next_one_comes_back() {
    let gate = Gate::default().spawn();
    let mut asked = Vec::new();
    for number in 0..ROOM as u64 {
        asked.push(gate.pass(number).ask().sent().await.unwrap());
    }
    let Err(AskError::Failed(error)) = gate.pass(7).ask().await else { panic!("it was put aside") };
    assert_eq!(error.kind, CallErrorKind::Application(0x8001));
    assert_eq!(gate.refused().ask().await.unwrap(), 1);
    let seen = gate.handle().unwrap().inspect(Duration::from_secs(10)).await;
    assert_eq!((seen.stashed, seen.waiting), (ROOM, 0));
    // A stashed call that its caller has given up is skipped.
    drop(asked.swap_remove(0));
    gate.open().tell().await.unwrap();
    for asked in asked {
        asked.await.unwrap();
    }
    assert_eq!(gate.came().ask().await.unwrap(), (1..ROOM as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn at_the_end_askers_of_what_was_put_aside_hear_so() {
    for ends in [wigwag::Handle::kill, wigwag::Handle::stop, wigwag::Handle::drain] {
        let gate = Gate::default().spawn();
        let handle = gate.handle().unwrap();
        gate.pass(1).tell().await.unwrap();
        let asked = gate.pass(2).ask().sent().await.unwrap();
        assert!(gate.came().ask().await.unwrap().is_empty(), "both are put aside");
        ends(&handle);
        assert_eq!(asked.await.unwrap_err().kind, CallErrorKind::ActorStopped);
    }
}

#[tokio::test]
async fn a_life_that_fails_takes_what_it_put_aside_with_it() {
    let supervisor = Supervisor::new(Strategy::OneForOne).child(Child::new("gate", Gate::default));
    let supervisor = supervisor.start().await.unwrap();
    let gate: GateRef = supervisor.child::<Gate>("gate").await.unwrap().unwrap();
    let asked = gate.pass(1).ask().sent().await.unwrap();
    gate.fail().ask().await.unwrap_err();
    assert_eq!(asked.await.unwrap_err().kind, CallErrorKind::ActorStopped);
    assert_eq!(gate.open().ask().await.unwrap(), 0);
    assert_eq!(gate.pass(2).ask().await.unwrap(), 2);
}

#[tokio::test]
async fn askers_of_another_process_are_kept_too() {
    let gate = Gate::default().spawn();
    let (service, client) = (Node::new(), Node::new());
    service.export("gate", &gate).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Gate>(&format!("{bound}/gate")).await.unwrap();
    let first = there.pass(1).ask().sent().await.unwrap();
    let second = there.pass_slowly(2).ask().sent().await.unwrap();
    assert!(there.came().ask().await.unwrap().is_empty());
    assert_eq!(gate.open().ask().await.unwrap(), 2);
    assert_eq!((first.await.unwrap(), second.await.unwrap()), (1, 2));
    // The end of the actor fails its stashed calls.
    let gate = Gate::default().spawn();
    service.export("other", &gate).unwrap();
    let there = client.actor::<Gate>(&format!("{bound}/other")).await.unwrap();
    let first = there.pass(1).ask().sent().await.unwrap();
    assert!(there.came().ask().await.unwrap().is_empty());
    gate.handle().unwrap().stop();
    assert_eq!(first.await.unwrap_err().kind, CallErrorKind::ActorStopped);
}
