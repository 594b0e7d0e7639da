//! Ending a system: in order, within the limits of the plan, whatever its actors do.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use wigwag::{
    Actor, CallErrorKind, Handle, Life, Reason, This,
    lifecycle::Alive,
    supervise::{Child, StopPlan, Strategy, Supervisor},
    testing,
};

#[derive(Clone, Default)]
struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

struct Unit {
    name: &'static str,
    journal: Journal,
    next: Option<UnitRef>,
}

#[wigwag::actor(life)]
impl Unit {
    pub fn work(&mut self, number: u32) {
        self.journal.note(format!("{} {number}", self.name));
    }

    /// Tells itself again, for ever.
    pub fn again(&mut self, this: &This<Self>) {
        let _ = this.reference().again().try_tell();
    }

    pub async fn hang(&mut self) {
        std::future::pending().await
    }

    pub fn block(&mut self, milliseconds: u64) {
        std::thread::sleep(Duration::from_millis(milliseconds));
    }

    pub fn panic(&mut self) {
        panic!("on purpose");
    }

    pub fn drop_answer(&mut self, answer: wigwag::Responder<u32>) {
        drop(answer);
    }

    pub async fn ask_itself(&mut self, this: &This<Self>) -> bool {
        this.reference().drop_answer().ask().await.is_err()
    }

    pub fn meet(&mut self, next: UnitRef) {
        self.next = Some(next);
    }

    /// Asks the next unit, which asks the next; true when one of the asks was refused.
    pub async fn ask_on(&mut self, hops: u32) -> bool {
        let Some(next) = self.next.clone() else { return false };
        hops > 0 && next.ask_on(hops - 1).ask().await.unwrap_or(true)
    }
}

impl Life for Unit {
    async fn stopped(&mut self, _this: &This<Self>, _reason: &Reason) {
        self.journal.note(format!("-{}", self.name));
    }
}

fn unit(name: &'static str, journal: &Journal) -> UnitRef {
    Unit { name, journal: journal.clone(), next: None }.spawn()
}

fn handle(unit: &UnitRef) -> Handle {
    unit.handle().unwrap()
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn stages_end_in_their_order_and_a_drained_one_handles_what_waits() {
    testing::seeds(0..200, |_| three_stages_end());
}

async fn three_stages_end() {
    let journal = Journal::default();
    let units = ["door", "worker", "storage"].map(|name| unit(name, &journal));
    for number in 0..3 {
        for unit in &units {
            unit.work(number).try_tell().unwrap();
        }
    }
    let [door, worker, storage] = units.each_ref().map(handle);
    let plan = StopPlan::new()
        .stop("doors", ms(10), [door])
        .drain("workers", ms(10), [worker])
        .stop("storage", ms(10), [storage]);
    let stopped = plan.run().await;
    let stages: Vec<&str> = stopped.iter().map(|stopped| &*stopped.stage).collect();
    assert_eq!(stages, ["doors", "workers", "storage"]);
    assert!(stopped.iter().all(|one| !one.was_killed && one.reason == Reason::Shutdown));
    let all = journal.all();
    let ends: Vec<&String> = all.iter().filter(|what| what.starts_with('-')).collect();
    assert_eq!(ends, ["-door", "-worker", "-storage"]);
    let worked = all.iter().filter(|what| what.starts_with("worker")).count();
    assert_eq!(worked, 3, "it was drained");
}

#[tokio::test(start_paused = true)]
async fn an_actor_that_does_not_end_in_time_is_killed_and_later_stages_have_their_own_time() {
    let journal = Journal::default();
    let (stuck, good, late) =
        (unit("stuck", &journal), unit("good", &journal), unit("late", &journal));
    let asked = [stuck.hang().ask().sent().await.unwrap(), late.hang().ask().sent().await.unwrap()];
    tokio::task::yield_now().await;
    let begun = Instant::now();
    let plan = StopPlan::new().stop("first", ms(300), [handle(&stuck), handle(&good)]).drain(
        "second",
        ms(200),
        [handle(&late)],
    );
    let stopped = plan.run().await;
    assert_eq!(begun.elapsed(), ms(500));
    let killed: Vec<bool> = stopped.iter().map(|one| one.was_killed).collect();
    assert_eq!(killed, [true, false, true]);
    assert_eq!(stopped[0].reason, Reason::Killed);
    assert_eq!(stopped[1].reason, Reason::Shutdown);
    assert!(stopped[0].to_string().ends_with("did not end in time"), "{}", stopped[0]);
    for asked in asked {
        assert_eq!(asked.await.unwrap_err().kind, CallErrorKind::ActorStopped);
    }
    assert_eq!(journal.all(), ["-good"]);
}

#[tokio::test(start_paused = true)]
async fn one_that_has_ended_before_keeps_its_reason_and_a_tree_ends_the_last_first() {
    let journal = Journal::default();
    let failed = unit("failed", &journal);
    failed.panic().tell().await.unwrap();
    handle(&failed).ended().await;
    let child = |name: &'static str| {
        let journal = journal.clone();
        Child::new(name, move || Unit { name, journal: journal.clone(), next: None })
    };
    let tree = Supervisor::new(Strategy::OneForOne).child(child("a")).child(child("b"));
    let tree = tree.start().await.unwrap();
    let plan = StopPlan::new().stop("all", ms(100), [handle(&failed), tree.handle().unwrap()]);
    let stopped = plan.run().await;
    assert_eq!(stopped[0].reason, Reason::Panicked("on purpose".into()));
    assert!(!stopped[0].was_killed && !stopped[1].was_killed);
    assert_eq!(journal.all(), ["-b", "-a"]);
}

/// All faults at once: panics, blocked threads, endless work, dropped answers, asks of oneself and
/// in a circle, children that never start; and the system ends meanwhile.
#[test]
fn a_system_full_of_faults_ends_in_time_and_leaves_nothing() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let journal = Journal::default();
    let left = Arc::downgrade(&journal.0);
    let begun = std::time::Instant::now();
    runtime.block_on(async {
        let units: Vec<UnitRef> = (0..700).map(|_| unit("unit", &journal)).collect();
        let last = unit("last", &journal);
        let ring = unit("ring", &journal);
        ring.meet(last.clone()).tell().await.unwrap();
        last.meet(ring.clone()).tell().await.unwrap();
        let mut asked = Vec::new();
        for (number, unit) in units.iter().enumerate() {
            match number % 7 {
                0 => unit.again().tell().await.unwrap(),
                1 => unit.panic().tell().await.unwrap(),
                2 if number < 21 => unit.block(50).tell().await.unwrap(),
                3 => unit.hang().tell().await.unwrap(),
                4 => unit.work(1).tell().await.unwrap(),
                5 => asked.push(tokio::spawn({
                    let unit = unit.clone();
                    async move { unit.drop_answer().ask().await.is_err() }
                })),
                _ => asked.push(tokio::spawn({
                    let unit = unit.clone();
                    async move { unit.ask_itself().ask().await.unwrap_or(true) }
                })),
            }
        }
        let never = Supervisor::new(Strategy::OneForOne)
            .child(Child::new("never", || -> Unit { panic!("it never starts") }));
        assert!(never.start().await.is_err());
        let first = ring.clone();
        let circle = tokio::spawn(async move { first.ask_on(3).ask().await });

        let plan = StopPlan::new()
            .drain("drained", ms(300), units[..350].iter().map(handle))
            .stop("stopped", ms(300), units[350..].iter().map(handle))
            .stop("last", ms(100), [handle(&last), handle(&ring)]);
        let stopped = plan.run().await;
        assert_eq!(stopped.len(), 702);
        assert!(stopped.iter().all(|one| one.actor.is_ended()));
        let panicked =
            stopped.iter().filter(|one| matches!(one.reason, Reason::Panicked(_))).count();
        assert!(panicked >= 50, "{panicked} of 100 had their turn");
        for asked in asked {
            assert!(asked.await.unwrap(), "each asker hears an error");
        }
        assert!(circle.await.unwrap().unwrap_or(true), "a circle of asks has no answer");
    });
    assert!(begun.elapsed() < ms(5 * 700), "{:?}", begun.elapsed());
    drop(runtime);
    drop(journal);
    assert_eq!(left.strong_count(), 0, "a state is left");
}
