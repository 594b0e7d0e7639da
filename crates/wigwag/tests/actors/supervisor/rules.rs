//! Restart rules: the children that are restarted, those that are forgotten, and the failures that
//! count.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use wigwag::{
    Actor, Local, Reason,
    lifecycle::Alive,
    supervise::{
        Child, ChildState, Restart, Shutdown, Strategy, Supervisor, SupervisorError, SupervisorRef,
    },
};

use super::starts::states;
use super::{Journal, Unit, child, ended, failing, panics, settle_drops, settled, unit};

async fn names(tree: &SupervisorRef) -> Vec<String> {
    tree.children().await.unwrap().iter().map(|child| child.name.to_string()).collect()
}

/// supervisor_SUITE: temporary_bystander. A temporary child that is ended because a sibling failed
/// is not restarted with the others: it is forgotten.
#[tokio::test(start_paused = true)]
async fn a_temporary_child_that_goes_with_its_group_is_forgotten() {
    for (strategy, failing, left) in [
        (Strategy::OneForAll, "a", &["a", "d"][..]),
        (Strategy::RestForOne, "a", &["a", "d"]),
        (Strategy::RestForOne, "d", &["a", "b", "c", "d"]),
        (Strategy::OneForAll, "d", &["a", "d"]),
    ] {
        let journal = Journal::default();
        let tree = Supervisor::new(strategy)
            .child(unit(&journal, "a"))
            .child(unit(&journal, "b").restart(Restart::Temporary))
            .child(unit(&journal, "c").restart(Restart::Temporary))
            .child(unit(&journal, "d"))
            .start()
            .await
            .unwrap();
        panics(&child(&tree, failing).await).await;
        settle_drops().await;
        settled(&tree).await;
        assert_eq!(names(&tree).await, left, "{strategy:?} after {failing}");
        let again = usize::from(!left.contains(&"b"));
        assert_eq!((journal.count("+b"), journal.count("~b")), (1, again), "{strategy:?}");
        assert_eq!(child(&tree, "d").await.handled().ask().await.unwrap(), 1);
    }
}

/// supervisor_SUITE: temporary_bystander, for a child that ends by itself while others are ended
/// because of a failure: those behind it are restarted all the same.
#[tokio::test(start_paused = true)]
async fn a_temporary_child_may_end_while_its_siblings_do() {
    let journal = Journal::default();
    let tree = Supervisor::new(Strategy::RestForOne)
        .child(unit(&journal, "a").restart(Restart::Temporary))
        .child(unit(&journal, "b"))
        .child(unit(&journal, "c").shutdown(Shutdown::Within(Duration::from_secs(2))))
        .start()
        .await
        .unwrap();
    let (first, last) = (child(&tree, "a").await, child(&tree, "c").await);
    last.hang().try_tell().unwrap();
    settle_drops().await;
    panics(&child(&tree, "b").await).await;
    settle_drops().await;
    assert_eq!(states(&tree).await[2], ChildState::Stopping);
    first.end(Local(Reason::Normal)).tell().await.unwrap();
    settle_drops().await;
    settled(&tree).await;
    assert_eq!(names(&tree).await, ["b", "c"]);
    assert_eq!(child(&tree, "b").await.handled().ask().await.unwrap(), 1);
    assert_eq!(child(&tree, "c").await.handled().ask().await.unwrap(), 1);
}

/// supervisor_SUITE: multiple_restarts. Two children fail at once, again and again: both are
/// restarted until the limit is reached.
#[tokio::test(start_paused = true)]
async fn a_child_is_started_again_as_often_as_is_borne() {
    let journal = Journal::default();
    let tree = Supervisor::new(Strategy::OneForOne)
        .intensity(100, Duration::from_secs(3600))
        .child(unit(&journal, "a"))
        .child(unit(&journal, "b"))
        .start()
        .await
        .unwrap();
    for round in 0..50 {
        let [first, second] = [child(&tree, "a").await, child(&tree, "b").await];
        if round % 2 == 0 {
            first.handle().unwrap().kill();
            second.panic().try_tell().unwrap();
        } else {
            first.panic().try_tell().unwrap();
            second.end(Local(Reason::Normal)).try_tell().unwrap();
        }
        settle_drops().await;
        settled(&tree).await;
        assert_eq!(child(&tree, "a").await.handled().ask().await.unwrap(), 1);
        assert_eq!(child(&tree, "b").await.handled().ask().await.unwrap(), 1);
    }
    let restarts: Vec<_> = tree.children().await.unwrap().iter().map(|one| one.restarts).collect();
    assert_eq!(restarts, [50, 50]);
    panics(&child(&tree, "a").await).await;
    assert_eq!(ended(&tree.handle().unwrap()).await, Reason::RestartsExceeded);
}

/// supervisor_SUITE: sup_flags. The types rule out invalid flags; a supervisor with an intensity of
/// zero ends with the first failure.
#[tokio::test(start_paused = true)]
async fn a_supervisor_that_bears_nothing_ends_with_the_first_failure() {
    let journal = Journal::default();
    let tree = Supervisor::new(Strategy::OneForOne)
        .intensity(0, Duration::ZERO)
        .child(unit(&journal, "a"))
        .start()
        .await
        .unwrap();
    panics(&child(&tree, "a").await).await;
    assert_eq!(ended(&tree.handle().unwrap()).await, Reason::RestartsExceeded);
    assert_eq!(journal.count("+a"), 1);
}

/// supervisor_SUITE: simple_one_for_one, simple_one_for_one_escalation. Added children fail one by
/// one, and their failures add up to the limit; a child that cannot be restarted ends the tree with
/// its siblings.
#[tokio::test(start_paused = true)]
async fn added_children_count_as_the_first_do() {
    let journal = Journal::default();
    let tree = || Supervisor::new(Strategy::OneForOne).intensity(2, Duration::from_secs(3600));
    let first = tree().start().await.unwrap();
    for name in ["a", "b"] {
        first.start_child(unit(&journal, name)).await.unwrap();
    }
    for name in ["a", "b"] {
        panics(&child(&first, name).await).await;
        settled(&first).await;
        assert_eq!(names(&first).await, ["a", "b"]);
    }
    panics(&child(&first, "a").await).await;
    assert_eq!(ended(&first.handle().unwrap()).await, Reason::RestartsExceeded);

    let second = tree().start().await.unwrap();
    second.start_child(failing(&journal, "c", 1)).await.unwrap();
    second.start_child(unit(&journal, "d")).await.unwrap();
    let sibling = child(&second, "d").await.handle().unwrap();
    panics(&child(&second, "c").await).await;
    assert_eq!(ended(&second.handle().unwrap()).await, Reason::RestartsExceeded);
    assert_eq!(ended(&sibling).await, Reason::Shutdown);
    assert_eq!(journal.count("+c"), 3, "the first start and two more");
}

/// Ends a child in one of four ways.
async fn end(tree: &SupervisorRef, name: &str, way: usize) {
    let unit = child(tree, name).await;
    match way {
        0 => drop(unit.handle().unwrap().kill()),
        1 => unit.end(Local(Reason::Normal)).tell().await.unwrap(),
        2 => unit.end(Local(Reason::failed("abnormal"))).tell().await.unwrap(),
        _ => tree.terminate_child(name).await.unwrap(),
    }
    drop(unit);
    settle_drops().await;
    settle_drops().await;
}

/// supervisor_SUITE: do_not_save_child_specs_for_temporary_children,
/// do_not_save_start_parameters_for_temporary_children, simple_one_for_one_corruption. However a
/// temporary child ends, nothing of it is kept: its name is free, and the closure that makes it is
/// dropped, for the first child of that name and for the second. Other children keep their names.
#[tokio::test(start_paused = true)]
async fn nothing_is_kept_of_a_temporary_child() {
    for strategy in [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne] {
        for way in 0..4 {
            let journal = Journal::default();
            let tree = Supervisor::new(strategy)
                .intensity(100, Duration::from_secs(60))
                .start()
                .await
                .unwrap();
            for rule in [Restart::Permanent, Restart::Transient] {
                let name = if rule == Restart::Permanent { "a" } else { "b" };
                tree.start_child(unit(&journal, name).restart(rule)).await.unwrap();
                end(&tree, name, way).await;
                let again = tree.start_child(unit(&journal, name)).await;
                assert_eq!(again, Err(SupervisorError::NameTaken(name.into())));
            }
            let large = Arc::new([0_u8; 50_000]);
            for _ in 0..2 {
                let (kept, made) = (large.clone(), unit_maker(&journal));
                let temporary = Child::new("c", move || made(kept.len()));
                tree.start_child(temporary.restart(Restart::Temporary)).await.unwrap();
                assert_eq!(Arc::strong_count(&large), 2);
                end(&tree, "c", way).await;
                assert_eq!(Arc::strong_count(&large), 1, "{strategy:?}, way {way}");
            }
        }
    }
}

fn unit_maker(journal: &Journal) -> impl Fn(usize) -> Unit + Send + Sync + 'static {
    let journal = journal.clone();
    move |length| Unit {
        name: if length > 0 { "c" } else { "" },
        journal: journal.clone(),
        good_starts: None,
        hangs_at: None,
        handled: 0,
    }
}

/// supervisor_SUITE: count_children, count_children_supervisor, which_children,
/// which_children_simple_one_for_one. Workers and supervisors are counted and named in the order of
/// their start, each time alike; a terminated child is listed as ended until it is deleted.
#[tokio::test(start_paused = true)]
async fn children_are_counted_and_named() {
    let journal = Journal::default();
    let tree = Supervisor::new(Strategy::OneForOne).start().await.unwrap();
    assert!(tree.children().await.unwrap().is_empty());
    for number in 0..200 {
        let name = format!("child {number}");
        let child = match number % 2 {
            0 => Child::new(&name, || Supervisor::new(Strategy::OneForOne)),
            _ => {
                let made = unit_maker(&journal);
                Child::new(&name, move || made(1))
            }
        };
        tree.start_child(child.restart(Restart::Temporary)).await.unwrap();
    }
    let expected: Vec<_> = (0..200).map(|number| format!("child {number}")).collect();
    assert_eq!(names(&tree).await, expected);
    assert_eq!(names(&tree).await, expected);
    assert!(tree.child::<Supervisor>("child 0").await.unwrap().is_some());
    assert!(tree.child::<Supervisor>("child 1").await.unwrap().is_none());
    for one in tree.children().await.unwrap() {
        one.handle.kill();
    }
    settle_drops().await;
    assert!(tree.children().await.unwrap().is_empty());

    tree.start_child(unit(&journal, "a")).await.unwrap();
    tree.start_child(unit(&journal, "b")).await.unwrap();
    tree.terminate_child("a").await.unwrap();
    assert_eq!(states(&tree).await, [ChildState::Ended, ChildState::Running]);
    tree.delete_child("a").await.unwrap();
    assert_eq!(names(&tree).await, ["b"]);
    assert!(tree.child::<Unit>("a").await.unwrap().is_none());
}

/// supervisor_SUITE: count_restarting_children. Children that wait for their restart are counted as
/// such until they run.
#[tokio::test(start_paused = true)]
async fn children_that_wait_for_their_restart_are_seen() {
    let journal = Journal::default();
    let tree = Supervisor::new(Strategy::OneForOne)
        .back_off(Duration::from_secs(2), Duration::from_secs(2))
        .start()
        .await
        .unwrap();
    for name in ["a", "b", "c"] {
        tree.start_child(unit(&journal, name)).await.unwrap();
    }
    panics(&child(&tree, "a").await).await;
    panics(&child(&tree, "b").await).await;
    settle_drops().await;
    let (waiting, running) = (ChildState::Waiting, ChildState::Running);
    assert_eq!(states(&tree).await, [waiting, waiting, running]);
    tokio::time::sleep(Duration::from_millis(2100)).await;
    assert_eq!(states(&tree).await, [running; 3]);
    for (name, left) in [("c", 2), ("a", 1), ("b", 0)] {
        tree.terminate_child(name).await.unwrap();
        let states = states(&tree).await;
        assert_eq!(states.into_iter().filter(|state| *state == running).count(), left);
    }
}

/// supervisor_SUITE: tree. A restarted tree has the children that it was made with, and not those
/// that were added later.
#[tokio::test(start_paused = true)]
async fn a_tree_that_is_started_again_has_its_first_children_alone() {
    let journal = Journal::default();
    let inner = journal.clone();
    let below = move || {
        Supervisor::new(Strategy::OneForOne)
            .intensity(0, Duration::from_secs(1))
            .child(unit(&inner, "first"))
    };
    let tree = Supervisor::new(Strategy::OneForAll)
        .child(Child::new("one", below.clone()))
        .child(Child::new("two", below))
        .start()
        .await
        .unwrap();
    let mut supervisors = Vec::new();
    for name in ["one", "two"] {
        let below = tree.child::<Supervisor>(name).await.unwrap().unwrap();
        below.start_child(unit(&journal, "added")).await.unwrap();
        assert_eq!(names(&below).await, ["first", "added"]);
        supervisors.push(below);
    }
    panics(&child(&supervisors[0], "added").await).await;
    settle_drops().await;
    settled(&tree).await;
    for below in &supervisors {
        settled(below).await;
        assert_eq!(names(below).await, ["first"]);
    }
}

/// A child that has run longer than the intensity's period has recovered: its pauses begin anew.
/// The pauses themselves do not count as running, however long they are.
#[tokio::test(start_paused = true)]
async fn pauses_between_restarts_begin_anew_after_a_child_has_run_well() {
    const WITHIN: Duration = Duration::from_secs(5);
    let journal = Journal::default();
    let tree = Supervisor::new(Strategy::OneForOne)
        .intensity(3, WITHIN)
        .back_off(Duration::from_secs(3), Duration::from_secs(24))
        .child(unit(&journal, "a"))
        .start()
        .await
        .unwrap();
    let unit = child(&tree, "a").await;
    for (ran, pause) in [(0, 3), (1, 6), (5, 12), (0, 24), (0, 24), (6, 3), (4, 6), (100, 3)] {
        tokio::time::sleep(Duration::from_secs(ran)).await;
        let begun = Instant::now();
        panics(&unit).await;
        assert_eq!(unit.handled().ask().await.unwrap(), 1);
        let took = begun.elapsed();
        let pause = Duration::from_secs(pause);
        assert!(
            took >= pause && took < pause + Duration::from_millis(2),
            "{took:?} after {ran} s, expected {pause:?}"
        );
    }
}
