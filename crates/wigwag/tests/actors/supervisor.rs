//! Supervisors: restarts, their order, and their limits. Names in brackets are those of the cases
//! of OTP's `supervisor_SUITE` that a test follows; `docs/otp-cases.md` has all.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use wigwag::{
    Actor, CallErrorKind, Handle, Life, Local, Reason, This,
    lifecycle::Alive,
    supervise::{
        Child, ChildState, Restart, Shutdown, Strategy, Supervisor, SupervisorError, SupervisorRef,
    },
};

mod starts;
mod ends;
mod rules;
mod monitors;
mod links;
mod resources;
mod later;

/// The events, in order: "+a" when `a` starts, "-a" when it stops in good order, "~a" when its
/// state is dropped.
#[derive(Clone, Default)]
struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn count(&self, what: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|noted| *noted == what).count()
    }
}

/// A child that follows its test's instructions.
struct Unit {
    name: &'static str,
    journal: Journal,
    /// The number of successful starts; later ones fail.
    good_starts: Option<usize>,
    /// The start that hangs, counted from 1.
    hangs_at: Option<usize>,
    handled: u32,
}

#[wigwag::actor(life)]
impl Unit {
    pub fn handled(&mut self) -> u32 {
        self.handled += 1;
        self.handled
    }

    pub fn panic(&self) {
        panic!("on purpose");
    }

    pub fn end(&self, this: &This<Self>, reason: Local<Reason>) {
        this.stop(reason.0);
    }

    pub async fn hang(&self) {
        std::future::pending().await
    }
}

impl Life for Unit {
    async fn started(&mut self, _: &This<Unit>) -> Result<(), Reason> {
        let name = self.name;
        self.journal.note(format!("+{name}"));
        let start = self.journal.count(&format!("+{name}"));
        if self.hangs_at.is_some_and(|at| at == start) {
            std::future::pending::<()>().await;
        }
        if self.good_starts.is_some_and(|good| start > good) {
            return Err(Reason::failed("this start fails"));
        }
        Ok(())
    }

    async fn stopped(&mut self, _: &This<Unit>, _: &Reason) {
        self.journal.note(format!("-{}", self.name));
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        self.journal.note(format!("~{}", self.name));
    }
}

fn unit(journal: &Journal, name: &'static str) -> Child {
    let journal = journal.clone();
    Child::new(name, move || Unit {
        name,
        journal: journal.clone(),
        good_starts: None,
        hangs_at: None,
        handled: 0,
    })
}

fn failing(journal: &Journal, name: &'static str, good_starts: usize) -> Child {
    let journal = journal.clone();
    Child::new(name, move || Unit {
        name,
        journal: journal.clone(),
        good_starts: Some(good_starts),
        hangs_at: None,
        handled: 0,
    })
}

fn hanging(journal: &Journal, name: &'static str, hangs_at: usize) -> Child {
    let journal = journal.clone();
    Child::new(name, move || Unit {
        name,
        journal: journal.clone(),
        good_starts: None,
        hangs_at: Some(hangs_at),
        handled: 0,
    })
}

async fn three(strategy: Strategy, journal: &Journal) -> SupervisorRef {
    let tree = ["a", "b", "c"]
        .iter()
        .fold(Supervisor::new(strategy), |tree, name| tree.child(unit(journal, name)));
    let tree = tree.start().await.unwrap();
    assert_eq!(journal.take(), ["+a", "+b", "+c"]);
    tree
}

async fn child(tree: &SupervisorRef, name: &str) -> UnitRef {
    tree.child::<Unit>(name).await.unwrap().unwrap()
}

/// Waits until all children run, or until the supervisor has ended.
async fn settled(tree: &SupervisorRef) {
    let all = async {
        while let Ok(children) = tree.children().await {
            if children.iter().all(|child| child.state == ChildState::Running) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(20), all).await.unwrap();
}

async fn panics(unit: &UnitRef) {
    assert_eq!(unit.panic().ask().await.unwrap_err().error().kind, CallErrorKind::Panicked);
}

async fn ended(handle: &Handle) -> Reason {
    timeout(Duration::from_secs(20), handle.ended()).await.unwrap()
}

/// [sup_start_normal, tree]
#[tokio::test(start_paused = true)]
async fn children_start_in_order_and_stop_in_the_opposite_one() {
    let journal = Journal::default();
    let tree = three(Strategy::OneForOne, &journal).await;
    let names: Vec<_> = tree.children().await.unwrap().iter().map(|one| one.name.clone()).collect();
    assert_eq!(names, ["a".into(), "b".into(), "c".into()] as [Arc<str>; 3]);
    let handle = tree.handle().unwrap();
    handle.stop();
    assert_eq!(ended(&handle).await, Reason::Shutdown);
    assert_eq!(journal.take(), ["-c", "~c", "-b", "~b", "-a", "~a"]);
    assert!(matches!(tree.children().await, Err(SupervisorError::Gone)));
}

#[tokio::test(start_paused = true)]
async fn a_tree_that_nobody_refers_to_ends() {
    let journal = Journal::default();
    let tree = three(Strategy::OneForOne, &journal).await;
    let handle = tree.handle().unwrap();
    drop(tree);
    assert_eq!(ended(&handle).await, Reason::Normal);
    assert_eq!(journal.count("~a"), 1);
}

/// [sup_start_fail, sup_start_error_return]
#[tokio::test(start_paused = true)]
async fn no_orphan_is_left_when_a_start_fails() {
    let journal = Journal::default();
    let tree = Supervisor::new(Strategy::OneForOne)
        .child(unit(&journal, "a"))
        .child(failing(&journal, "b", 0))
        .child(unit(&journal, "c"));
    let reason = tree.start().await.map(|_| ()).unwrap_err();
    assert_eq!(reason, Reason::failed("child `b`: it failed: this start fails"));
    assert_eq!(journal.take(), ["+a", "+b", "~b", "-a", "~a"]);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_never_starts_is_given_up_in_its_time() {
    let journal = Journal::default();
    let limit = Duration::from_secs(7);
    let tree = Supervisor::new(Strategy::OneForOne)
        .child(unit(&journal, "a"))
        .child(hanging(&journal, "b", 1).start_within(limit));
    let begun = Instant::now();
    let reason = tree.start().await.map(|_| ()).unwrap_err();
    assert_eq!(reason, Reason::failed("child `b`: it did not start within 7s"));
    assert_eq!(begun.elapsed(), limit);
    settle_drops().await;
    assert_eq!(journal.count("~b"), 1);
    assert_eq!(journal.count("~a"), 1);
}

/// Yields until all ready tasks have run.
async fn settle_drops() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// [child_adm, child_specs]
#[tokio::test(start_paused = true)]
async fn children_are_added_ended_started_again_and_deleted() {
    let journal = Journal::default();
    let tree = Supervisor::new(Strategy::OneForOne).start().await.unwrap();
    let first = tree.start_child(unit(&journal, "a")).await.unwrap();
    let taken = tree.start_child(unit(&journal, "a")).await;
    assert_eq!(taken, Err(SupervisorError::NameTaken("a".into())));
    assert_eq!(tree.delete_child("a").await, Err(SupervisorError::StillThere("a".into())));
    assert_eq!(tree.restart_child("a").await, Err(SupervisorError::StillThere("a".into())));
    assert_eq!(tree.terminate_child("a").await, Ok(()));
    assert_eq!(tree.terminate_child("a").await, Ok(()), "it has ended");
    assert!(first.is_ended());
    assert_eq!(tree.children().await.unwrap()[0].state, ChildState::Ended);
    let second = tree.restart_child("a").await.unwrap();
    assert!(!second.is_ended());
    assert_eq!(child(&tree, "a").await.handled().ask().await.unwrap(), 1);
    tree.terminate_child("a").await.unwrap();
    assert_eq!(tree.delete_child("a").await, Ok(()));
    for outcome in [tree.terminate_child("a").await, tree.delete_child("a").await] {
        assert_eq!(outcome, Err(SupervisorError::NoSuchChild("a".into())));
    }
    assert!(tree.restart_child("a").await.is_err());
    assert!(tree.children().await.unwrap().is_empty());
    let failed = tree.start_child(failing(&journal, "b", 0)).await.unwrap_err();
    assert_eq!(failed, SupervisorError::StartFailed(Reason::failed("this start fails")));
    assert!(tree.children().await.unwrap().is_empty(), "what did not start is no child");
    assert!(tree.child::<Unit>("b").await.unwrap().is_none());
}

/// [permanent_normal, permanent_shutdown, permanent_abnormal, transient_normal, transient_shutdown,
/// transient_abnormal, temporary_normal, temporary_shutdown, temporary_abnormal,
/// nonsignificant_temporary, nonsignificant_transient]
#[tokio::test(start_paused = true)]
async fn each_rule_starts_again_after_the_ends_that_it_says() {
    let ends = || [Reason::Normal, Reason::Shutdown, Reason::failed("abnormally")];
    for (rule, again) in [
        (Restart::Permanent, [true, true, true]),
        (Restart::Transient, [false, false, true]),
        (Restart::Temporary, [false, false, false]),
    ] {
        for (end, again) in ends().into_iter().zip(again) {
            let journal = Journal::default();
            let tree = Supervisor::new(Strategy::OneForOne)
                .child(unit(&journal, "a").restart(rule))
                .child(unit(&journal, "b"))
                .start()
                .await
                .unwrap();
            let unit = child(&tree, "a").await;
            let handle = unit.handle().unwrap();
            unit.end(Local(end.clone())).tell().await.unwrap();
            if again {
                assert_eq!(unit.handled().ask().await.unwrap(), 1, "{rule:?} after {end}");
                assert!(!handle.is_ended());
                assert_eq!(tree.children().await.unwrap()[0].restarts, 1);
            } else {
                assert_eq!(ended(&handle).await, end, "{rule:?}");
                let children = tree.children().await.unwrap();
                let left = if rule == Restart::Temporary { 1 } else { 2 };
                assert_eq!(children.len(), left, "{rule:?} after {end}");
                assert_eq!(children[0].state == ChildState::Ended, rule == Restart::Transient);
            }
            assert_eq!(child(&tree, "b").await.handled().ask().await.unwrap(), 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn mail_and_address_survive_a_restart_and_the_call_that_failed_does_not() {
    let journal = Journal::default();
    let tree = three(Strategy::OneForOne, &journal).await;
    let unit = child(&tree, "a").await;
    assert_eq!(unit.handled().ask().await.unwrap(), 1);
    let failing = unit.panic().try_ask().unwrap();
    let behind: Vec<_> = (0..200).map(|_| unit.handled().try_ask().unwrap()).collect();
    assert_eq!(failing.await.unwrap_err().kind, CallErrorKind::Panicked);
    for (at, answer) in (1..).zip(behind) {
        assert_eq!(answer.await.unwrap(), at, "a new state, and nothing lost");
    }
    assert_eq!(journal.take(), ["~a", "+a"]);
}

/// [one_for_one, one_for_one_escalation]
#[tokio::test(start_paused = true)]
async fn one_for_one_starts_the_one_that_failed_until_it_fails_too_often() {
    let journal = Journal::default();
    let tree = three(Strategy::OneForOne, &journal).await;
    let handle = tree.handle().unwrap();
    let unit = child(&tree, "b").await;
    for _ in 0..3 {
        panics(&unit).await;
        assert_eq!(unit.handled().ask().await.unwrap(), 1);
        assert_eq!(journal.take(), ["~b", "+b"]);
    }
    tokio::time::advance(Duration::from_millis(5001)).await;
    for _ in 0..3 {
        panics(&unit).await;
    }
    assert_eq!(unit.handled().ask().await.unwrap(), 1);
    panics(&unit).await;
    assert_eq!(ended(&handle).await, Reason::RestartsExceeded);
    settle_drops().await;
    for name in ["~a", "~b", "~c"] {
        assert!(journal.count(name) >= 1, "{name}");
    }
}

/// [one_for_all, rest_for_one]
#[tokio::test(start_paused = true)]
async fn groups_stop_the_last_first_and_start_in_order() {
    for (strategy, expected) in [
        (Strategy::OneForAll, &["~b", "-c", "~c", "-a", "~a", "+a", "+b", "+c"][..]),
        (Strategy::RestForOne, &["~b", "-c", "~c", "+b", "+c"][..]),
    ] {
        let journal = Journal::default();
        let tree = three(strategy, &journal).await;
        let before: Vec<_> =
            tree.children().await.unwrap().iter().map(|c| c.handle.clone()).collect();
        let unit = child(&tree, "b").await;
        panics(&unit).await;
        assert_eq!(unit.handled().ask().await.unwrap(), 1);
        settled(&tree).await;
        assert_eq!(journal.take(), expected, "{strategy:?}");
        let after: Vec<_> =
            tree.children().await.unwrap().iter().map(|c| c.handle.clone()).collect();
        assert_eq!(before, after, "addresses stay");
    }
}

/// [one_for_all_other_child_fails_restart, rest_for_one_other_child_fails_restart,
/// one_for_all_escalation, rest_for_one_escalation]
#[tokio::test(start_paused = true)]
async fn a_sibling_that_fails_while_the_group_starts_counts_and_ends_the_tree() {
    for strategy in [Strategy::OneForAll, Strategy::RestForOne] {
        let journal = Journal::default();
        let tree = Supervisor::new(strategy)
            .child(unit(&journal, "a"))
            .child(failing(&journal, "b", 1))
            .start()
            .await
            .unwrap();
        let handle = tree.handle().unwrap();
        panics(&child(&tree, "a").await).await;
        assert_eq!(ended(&handle).await, Reason::RestartsExceeded);
        // The limit allows the first failure and two of `b`; the third of `b` exceeds it.
        assert_eq!(journal.count("+b"), 4, "{strategy:?}");
        settle_drops().await;
        assert_eq!(journal.count("+a"), journal.count("~a"), "{strategy:?}");
    }
}

/// [sup_stop_timeout, sup_stop_brutal_kill]
#[tokio::test(start_paused = true)]
async fn a_child_that_does_not_stop_is_killed_in_its_time() {
    for (way, took) in [
        (Shutdown::Within(Duration::from_secs(3)), Duration::from_secs(3)),
        (Shutdown::AtOnce, Duration::ZERO),
    ] {
        let journal = Journal::default();
        let tree = Supervisor::new(Strategy::OneForOne)
            .child(unit(&journal, "a"))
            .child(unit(&journal, "b").shutdown(way))
            .start()
            .await
            .unwrap();
        let asker = child(&tree, "b").await;
        let hangs = asker.hang().try_ask().unwrap();
        settle_drops().await;
        let handle = asker.handle().unwrap();
        let begun = Instant::now();
        tree.handle().unwrap().stop();
        assert_eq!(hangs.await.unwrap_err().kind, CallErrorKind::ActorStopped);
        assert_eq!(ended(&tree.handle().unwrap()).await, Reason::Shutdown);
        assert_eq!((begun.elapsed(), handle.reason()), (took, Some(Reason::Killed)), "{way:?}");
        settle_drops().await;
        assert_eq!((journal.count("~a"), journal.count("~b")), (1, 1));
    }
}

/// [hanging_restart_loop, hanging_restart_loop_rest_for_one]: the supervisor answers calls while a
/// child hangs in its start.
#[tokio::test(start_paused = true)]
async fn a_restart_that_hangs_does_not_hold_up_siblings() {
    let journal = Journal::default();
    let limit = Duration::from_secs(4);
    let tree = Supervisor::new(Strategy::OneForOne)
        .child(unit(&journal, "a"))
        .child(hanging(&journal, "b", 2).start_within(limit))
        .start()
        .await
        .unwrap();
    let begun = Instant::now();
    panics(&child(&tree, "b").await).await;
    settle_drops().await;
    let states: Vec<_> = tree.children().await.unwrap().iter().map(|one| one.state).collect();
    assert_eq!(states, [ChildState::Running, ChildState::Starting]);
    let sibling = child(&tree, "a").await;
    panics(&sibling).await;
    assert_eq!(sibling.handled().ask().await.unwrap(), 1);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    settled(&tree).await;
    // The child was killed, so it has another address.
    assert!(begun.elapsed() >= limit);
    assert_eq!(child(&tree, "b").await.handled().ask().await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn pauses_between_restarts_double() {
    let journal = Journal::default();
    let tree = Supervisor::new(Strategy::OneForOne)
        .intensity(10, Duration::from_secs(60))
        .back_off(Duration::from_secs(1), Duration::from_secs(3))
        .child(unit(&journal, "a"))
        .start()
        .await
        .unwrap();
    let unit = child(&tree, "a").await;
    for pause in [1, 2, 3, 3] {
        let begun = Instant::now();
        panics(&unit).await;
        assert_eq!(unit.handled().ask().await.unwrap(), 1, "mail waits for the next life");
        let took = begun.elapsed();
        let pause = Duration::from_secs(pause);
        assert!(took >= pause && took < pause + Duration::from_millis(2), "{took:?}");
    }
}

/// [tree]: when a supervisor gives up, the one above it restarts it.
#[tokio::test(start_paused = true)]
async fn a_failure_that_one_level_cannot_bear_goes_up() {
    let journal = Journal::default();
    let inner = journal.clone();
    let tree = Supervisor::new(Strategy::OneForOne)
        .child(
            Child::new("inner", move || {
                Supervisor::new(Strategy::OneForAll)
                    .intensity(1, Duration::from_secs(5))
                    .child(unit(&inner, "a"))
                    .child(unit(&inner, "b"))
            })
            .shutdown(Shutdown::Patient),
        )
        .start()
        .await
        .unwrap();
    let below = tree.child::<Supervisor>("inner").await.unwrap().unwrap();
    for _ in 0..2 {
        panics(&child(&below, "a").await).await;
        settled(&below).await;
    }
    // The end of the inner supervisor may be known before the outer one has handled it.
    while tree.children().await.unwrap()[0].restarts == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(tree.children().await.unwrap()[0].restarts, 1);
    assert_eq!(child(&below, "a").await.handled().ask().await.unwrap(), 1);
    assert_eq!(journal.count("+a"), 3, "at first, by the inner one, and by the outer one");
    tree.handle().unwrap().stop();
    ended(&tree.handle().unwrap()).await;
    settle_drops().await;
    assert_eq!(journal.count("~a"), 3);
    assert_eq!(journal.count("~b"), journal.count("+b"));
}

/// [child_unlink]: a child that was killed from outside is restarted too.
#[tokio::test(start_paused = true)]
async fn a_child_that_was_killed_is_started_with_another_address() {
    for strategy in [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne] {
        let journal = Journal::default();
        let tree = three(strategy, &journal).await;
        let old = child(&tree, "b").await;
        old.handle().unwrap().kill();
        settle_drops().await;
        settled(&tree).await;
        assert_eq!(
            old.handled().ask().await.unwrap_err().error().kind,
            CallErrorKind::ActorStopped
        );
        let new = child(&tree, "b").await;
        assert_eq!(new.handled().ask().await.unwrap(), 1);
        assert_ne!(new.handle().unwrap(), old.handle().unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn killing_a_supervisor_leaves_no_orphans() {
    let journal = Journal::default();
    let tree = three(Strategy::OneForOne, &journal).await;
    let unit = child(&tree, "b").await;
    tree.handle().unwrap().kill();
    settle_drops().await;
    assert_eq!(unit.handle().unwrap().reason(), Some(Reason::Killed));
    let mut dropped = journal.take();
    dropped.sort();
    assert_eq!(dropped, ["~a", "~b", "~c"]);
}

/// [child_adm_simple, simple_one_for_one, simple_one_for_one_scale_many_temporary_children,
/// scale_start_stop_many_children]: many children of one kind, added at run time.
#[tokio::test]
async fn a_thousand_children_come_and_go() {
    let journal = Journal::default();
    let tree = Supervisor::new(Strategy::OneForOne).start().await.unwrap();
    for number in 0..1000 {
        let journal = journal.clone();
        let make = move || Unit {
            name: "many",
            journal: journal.clone(),
            good_starts: None,
            hangs_at: None,
            handled: 0,
        };
        let child = Child::new(&format!("many {number}"), make).restart(Restart::Temporary);
        tree.start_child(child).await.unwrap();
    }
    assert_eq!(tree.children().await.unwrap().len(), 1000);
    for number in (0..1000).step_by(2) {
        tree.terminate_child(&format!("many {number}")).await.unwrap();
    }
    assert_eq!(tree.children().await.unwrap().len(), 500);
    let handle = tree.handle().unwrap();
    handle.stop();
    assert_eq!(ended(&handle).await, Reason::Shutdown);
    drop(tree);
    assert_eq!(journal.count("-many"), 1000);
}
