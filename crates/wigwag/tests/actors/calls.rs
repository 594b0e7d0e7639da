//! Calls beyond tell and ask: delayed answers, answers given by others, waiting beside the mailbox,
//! visits, and circles.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use wigwag::limits::ASK_WAIT_MAX;
use wigwag::{Actor, CallErrorKind, Local, Node, Reason, Responder, This, lifecycle::Alive};

/// Answers later, or lets another desk answer.
#[derive(Default)]
struct Desk {
    waiting: Vec<Responder<u64>>,
    other: Option<DeskRef>,
    served: u64,
    noted: Vec<u64>,
}

#[wigwag::actor]
impl Desk {
    pub fn set_other(&mut self, other: DeskRef) {
        self.other = Some(other);
    }

    pub fn wait(&mut self, number: u64, answer: Responder<u64>) {
        let _ = number;
        self.waiting.push(answer);
    }

    /// Answers the waiting calls, the last one first, and returns how many are still wanted.
    pub fn serve(&mut self) -> u64 {
        let mut wanted = 0;
        while let Some(answer) = self.waiting.pop() {
            wanted += u64::from(answer.is_wanted());
            self.served += 1;
            answer.send(self.served);
        }
        wanted
    }

    pub fn lose(&mut self) {
        self.waiting.clear();
    }

    pub fn refuse(&mut self) {
        for answer in self.waiting.drain(..) {
            answer.fail(7, "no more today");
        }
    }

    /// Passes the responder on; the other desk gives the answer.
    pub fn forward(&mut self, number: u64, answer: Responder<u64>) {
        let other = self.other.as_ref().unwrap();
        other.take_over(number, Local(answer)).try_tell().unwrap();
    }

    pub fn take_over(&mut self, number: u64, answer: Local<Responder<u64>>) {
        answer.0.send(number + 1);
    }

    pub fn number(&self) -> u64 {
        self.served
    }

    /// Asks the other desk while this one goes on with its mail.
    pub fn ask_beside(&mut self, this: &This<Self>, number: u64, answer: Responder<u64>) {
        let other = self.other.clone().unwrap();
        let asked = async move { other.wait(number).ask().await.unwrap() };
        this.later(asked, move |desk, value| {
            desk.served += 100;
            answer.send(value);
        });
    }

    /// Asks the other desk and handles nothing else meanwhile.
    pub async fn ask_there(&mut self, hops: u64) -> u64 {
        if hops == 0 {
            return 0;
        }
        let other = self.other.clone().unwrap();
        match other.ask_there(hops - 1).ask().await {
            Ok(number) => number + 1,
            Err(error) if error.error().kind == CallErrorKind::CallCycle => 1000,
            Err(_) => 2000,
        }
    }

    /// Waits until the gate opens.
    pub async fn hold(&mut self, gate: Local<oneshot::Receiver<()>>) {
        gate.0.await.unwrap();
    }

    pub fn note(&mut self, number: u64) -> u64 {
        self.noted.push(number);
        number
    }

    /// Notes before and after the gate whether its answer is wanted.
    pub async fn look(
        &mut self,
        begun: Local<oneshot::Sender<()>>,
        gate: Local<oneshot::Receiver<()>>,
        answer: Responder<u64>,
    ) {
        self.noted.push(u64::from(answer.is_wanted()));
        begun.0.send(()).unwrap();
        gate.0.await.unwrap();
        self.noted.push(u64::from(answer.is_wanted()));
        answer.send(0);
    }

    pub fn panic(&self) {
        panic!("on purpose");
    }
}

fn desk() -> DeskRef {
    Desk::default().spawn()
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), work).await.unwrap()
}

#[tokio::test]
async fn an_answer_may_be_owed() {
    let desk = desk();
    let asks: Vec<_> = (0..5).map(|number| desk.wait(number).try_ask().unwrap()).collect();
    desk.wait(9).tell().await.unwrap();
    assert_eq!(desk.number().ask().await.unwrap(), 0, "it serves others meanwhile");
    assert_eq!(desk.serve().ask().await.unwrap(), 5, "nobody waits for what was told");
    for (ask, served) in asks.into_iter().zip([6, 5, 4, 3, 2]) {
        assert_eq!(ask.await.unwrap(), served);
    }
    let gone = desk.wait(1).try_ask().unwrap();
    let lost = desk.wait(2).try_ask().unwrap();
    assert_eq!(desk.number().ask().await.unwrap(), 6);
    drop(gone);
    assert_eq!(desk.serve().ask().await.unwrap(), 1, "one asker has gone away");
    assert_eq!(lost.await.unwrap(), 7);
    for (end, kind) in [
        (desk.lose(), CallErrorKind::ReplyDropped),
        (desk.refuse(), CallErrorKind::Application(0x8007)),
    ] {
        let asked = desk.wait(3).try_ask().unwrap();
        end.tell().await.unwrap();
        assert_eq!(asked.await.unwrap_err().kind, kind);
    }
    let asked = desk.wait(4).try_ask().unwrap();
    desk.handle().unwrap().stop();
    let kind = within(asked).await.unwrap_err().kind;
    assert!(matches!(kind, CallErrorKind::ReplyDropped | CallErrorKind::ActorStopped));
}

#[tokio::test]
async fn an_asker_elsewhere_is_owed_an_answer_in_the_same_way() {
    let (service, client) = (Node::new(), Node::new());
    let (first, second) = (desk(), desk());
    first.set_other(second).ask().await.unwrap();
    service.export("desk", &first).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Desk>(&format!("{bound}/desk")).await.unwrap();
    let asks: Vec<_> = (0..40).map(|number| there.wait(number).try_ask().unwrap()).collect();
    let forwarded = within(async { there.forward(41).ask().await.unwrap() }).await;
    assert_eq!(forwarded, 42);
    assert_eq!(first.serve().ask().await.unwrap(), 40);
    for (ask, served) in asks.into_iter().zip((1..=40).rev()) {
        assert_eq!(within(ask).await.unwrap(), served);
    }
    let refused = there.take_over(1, lost_answer(&first).await).try_tell().unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::NotSerializable);
}

/// A responder whose call nobody waits for.
async fn lost_answer(desk: &DeskRef) -> Local<Responder<u64>> {
    desk.wait(0).tell().await.unwrap();
    // A visit overtakes waiting calls, so the call must have been handled before it.
    desk.number().ask().await.unwrap();
    Local(desk.visit(|desk| desk.waiting.pop().unwrap()).await.unwrap())
}

#[tokio::test]
async fn asking_beside_the_mailbox_holds_nobody_up() {
    let (first, second) = (desk(), desk());
    first.set_other(second.clone()).ask().await.unwrap();
    let asks: Vec<_> = (0..50).map(|number| first.ask_beside(number).try_ask().unwrap()).collect();
    assert_eq!(within(async { first.number().ask().await.unwrap() }).await, 0);
    let mut served = 0;
    while served < 50 {
        served += within(async { second.serve().ask().await.unwrap() }).await;
        tokio::task::yield_now().await;
    }
    let mut values = Vec::new();
    for ask in asks {
        values.push(within(ask).await.unwrap());
    }
    values.sort_unstable();
    assert!(values.into_iter().eq(1..=50));
    assert_eq!(first.number().ask().await.unwrap(), 5000, "each changed the state");
}

#[tokio::test]
async fn tasks_beside_an_actor_end_with_it() {
    let (first, second) = (desk(), desk());
    first.set_other(second.clone()).ask().await.unwrap();
    let asked = first.ask_beside(1).try_ask().unwrap();
    assert_eq!(first.number().ask().await.unwrap(), 0);
    first.handle().unwrap().kill();
    assert!(within(asked).await.is_err());
    // The ask to the other desk is gone: its responder reports that nobody waits.
    let nobody = async {
        loop {
            let wanted =
                second.visit(|desk| desk.waiting.iter().any(Responder::is_wanted)).await.unwrap();
            if !wanted {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    within(nobody).await;
}

#[tokio::test]
async fn circles_of_asks_are_refused_at_once() {
    let desks = [desk(), desk(), desk()];
    for (at, next) in [(0, 1), (1, 2), (2, 0)] {
        desks[at].set_other(desks[next].clone()).ask().await.unwrap();
    }
    let begun = Instant::now();
    assert_eq!(desks[0].ask_there(2).ask().await.unwrap(), 2, "a row is no circle");
    assert_eq!(desks[0].ask_there(9).ask().await.unwrap(), 1002);
    assert_eq!(desks[1].ask_there(9).ask().await.unwrap(), 1002, "and it is over");
    desks[0].set_other(desks[0].clone()).ask().await.unwrap();
    assert_eq!(desks[0].ask_there(1).ask().await.unwrap(), 1000, "itself");
    assert!(begun.elapsed() < Duration::from_secs(5), "before any time limit");
    for desk in &desks {
        desk.handle().unwrap().stop();
    }
}

/// Two actors ask each other at the same moment: at least one ask is refused, and neither waits for
/// ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_that_ask_each_other_at_once_do_not_wait() {
    for _ in 0..200 {
        let desks = [desk(), desk()];
        for (at, next) in [(0, 1), (1, 0)] {
            desks[at].set_other(desks[next].clone()).ask().await.unwrap();
        }
        let asks =
            [desks[0].ask_there(2), desks[1].ask_there(2)].map(|call| call.try_ask().unwrap());
        let mut sum = 0;
        for ask in asks {
            sum += timeout(Duration::from_secs(4), ask).await.unwrap().unwrap();
        }
        assert!(sum < 2000 * 2, "no time limit was needed");
        for desk in &desks {
            desk.handle().unwrap().stop();
        }
    }
}

/// A hundred asks wait behind a handler and fifty of them are given up: the other asks are handled,
/// and so is every tell between them.
#[tokio::test]
async fn an_ask_that_was_given_up_before_its_turn_is_not_handled() {
    let desk = desk();
    let (open, gate) = oneshot::channel();
    let blocked = desk.hold(Local(gate)).try_ask().unwrap();
    let mut kept = Vec::new();
    for number in 0..100 {
        let asked = desk.note(number).try_ask().unwrap();
        if number % 2 == 0 {
            kept.push((number, asked));
        }
        desk.note(1000 + number).tell().await.unwrap();
    }
    open.send(()).unwrap();
    within(blocked).await.unwrap();
    for (number, asked) in kept {
        assert_eq!(within(asked).await.unwrap(), number);
    }
    desk.number().ask().await.unwrap();
    let noted = desk.visit(|desk| std::mem::take(&mut desk.noted)).await.unwrap();
    let expected = (0..100).flat_map(|number| {
        let asked = (number % 2 == 0).then_some(number);
        asked.into_iter().chain([1000 + number])
    });
    assert!(noted.into_iter().eq(expected));
}

#[tokio::test]
async fn a_handler_that_runs_sees_that_its_asker_has_gone() {
    let desk = desk();
    let (begin, begins) = oneshot::channel();
    let (go_on, goes_on) = oneshot::channel();
    let asked = desk.look(Local(begin), Local(goes_on)).try_ask().unwrap();
    within(begins).await.unwrap();
    drop(asked);
    go_on.send(()).unwrap();
    desk.number().ask().await.unwrap();
    let noted = desk.visit(|desk| std::mem::take(&mut desk.noted)).await.unwrap();
    assert_eq!(noted, [1, 0], "it was wanted, then not, and the handler went on");
}

#[tokio::test]
async fn a_visit_sees_and_changes_the_state_before_the_mail_that_waits() {
    let desk = desk();
    let handle = desk.handle().unwrap();
    handle.suspend();
    let waiting = desk.number().try_ask().unwrap();
    let old = desk.visit(|desk| std::mem::replace(&mut desk.served, 7)).await.unwrap();
    handle.resume();
    assert_eq!((old, waiting.await.unwrap()), (0, 7));
    // A failing conversion reports its error and leaves the state unchanged.
    let failed: Result<(), &str> = desk.visit(|_| Err("another version")).await.unwrap();
    assert_eq!(failed, Err("another version"));
    assert_eq!(desk.number().ask().await.unwrap(), 7);
    let panicked = desk.visit(|_| -> () { panic!("on purpose") }).await.unwrap_err();
    assert_eq!(panicked.kind, CallErrorKind::Panicked);
    assert_eq!(handle.ended().await, Reason::Panicked("on purpose".into()));
    assert_eq!(desk.visit(|_| ()).await.unwrap_err().kind, CallErrorKind::ActorStopped);
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_gets_no_answer_ends_by_itself() {
    let desk = Desk::default().spawn();
    let begun = Instant::now();
    let unanswered = desk.wait(1).ask().await.unwrap_err();
    assert_eq!(unanswered.error().kind, CallErrorKind::Timeout(ASK_WAIT_MAX));
    assert_eq!(begun.elapsed().as_secs(), ASK_WAIT_MAX.as_secs());

    let desk = desk.clone();
    let urgent = desk.wait(2).urgent().ask().await.unwrap_err();
    assert_eq!(urgent.error().kind, CallErrorKind::Timeout(ASK_WAIT_MAX));

    let day = Duration::from_secs(86_400);
    timeout(day, desk.wait(3).without_limit().ask()).await.unwrap_err();
}

#[tokio::test]
async fn a_limit_beyond_all_clocks_is_none() {
    let desk = Desk::default().spawn();
    let waits = desk.clone();
    let waiting = std::thread::spawn(move || {
        waits.set_other(waits.clone()).timeout(Duration::MAX).blocking_tell().unwrap();
        waits.wait(1).timeout(Duration::MAX).blocking_ask().unwrap()
    });
    while desk.serve().ask().await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(waiting.join().unwrap(), 1);
}
