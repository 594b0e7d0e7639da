//! The end of a supervisor, with children that end by themselves meanwhile.

use std::time::Duration;

use tokio::time::Instant;
use wigwag::{
    Actor, CallErrorKind, Handle, Life, Local, Reason, This,
    lifecycle::Alive,
    supervise::{Child, Restart, Shutdown, Strategy, Supervisor, SupervisorRef},
    testing,
};

use super::{Journal, Unit, child, ended, hanging, panics, settle_drops, settled, unit};

const SECOND: Duration = Duration::from_secs(1);

async fn stopped(tree: &SupervisorRef) -> Duration {
    let (handle, begun) = (tree.handle().unwrap(), Instant::now());
    handle.stop();
    assert_eq!(ended(&handle).await, Reason::Shutdown);
    begun.elapsed()
}

async fn with(children: impl IntoIterator<Item = Child>) -> (SupervisorRef, Vec<Handle>) {
    let tree = Supervisor::new(Strategy::OneForOne).start().await.unwrap();
    let mut handles = Vec::new();
    for child in children {
        handles.push(tree.start_child(child).await.unwrap());
    }
    (tree, handles)
}

/// supervisor_SUITE: sup_stop_timeout_dynamic. Children that were added at run time have as much
/// time to stop as the first ones: one stops, one hangs and is killed.
#[tokio::test(start_paused = true)]
async fn an_added_child_that_does_not_stop_is_killed_in_its_time() {
    let journal = Journal::default();
    let children = ["a", "b"].map(|name| {
        unit(&journal, name).restart(Restart::Temporary).shutdown(Shutdown::Within(SECOND))
    });
    let (tree, handles) = with(children).await;
    let asker = child(&tree, "b").await;
    let hangs = asker.hang().try_ask().unwrap();
    settle_drops().await;
    assert_eq!(stopped(&tree).await, SECOND);
    assert_eq!(hangs.await.unwrap_err().kind, CallErrorKind::ActorStopped);
    let reasons: Vec<_> = handles.iter().map(|handle| handle.reason().unwrap()).collect();
    assert_eq!(reasons, [Reason::Shutdown, Reason::Killed]);
}

/// supervisor_SUITE: sup_stop_brutal_kill_dynamic.
#[tokio::test(start_paused = true)]
async fn added_children_may_be_killed_at_once() {
    let journal = Journal::default();
    let names = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    let children = names
        .map(|name| unit(&journal, name).restart(Restart::Temporary).shutdown(Shutdown::AtOnce));
    let (tree, handles) = with(children).await;
    journal.take();
    assert_eq!(stopped(&tree).await, Duration::ZERO);
    settle_drops().await;
    assert!(handles.iter().all(|handle| handle.reason() == Some(Reason::Killed)));
    let mut dropped = journal.take();
    dropped.sort();
    assert_eq!(dropped, names.map(|name| format!("~{name}")), "none was asked to stop");
}

/// The restart rules and reasons; the test tries every pair.
const RULES: [Restart; 3] = [Restart::Permanent, Restart::Transient, Restart::Temporary];

fn ends() -> [Reason; 3] {
    [Reason::Normal, Reason::Shutdown, Reason::failed("another")]
}

/// supervisor_SUITE: sup_stop_race. While the last child takes its time, the others end by
/// themselves, for any reason: none is restarted, each keeps its reason, and the supervisor ends as
/// usual.
#[tokio::test(start_paused = true)]
async fn children_may_end_by_themselves_while_their_supervisor_ends() {
    let journal = Journal::default();
    let pairs: Vec<_> = RULES.into_iter().flat_map(|rule| ends().map(|end| (rule, end))).collect();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let children =
        names.iter().zip(&pairs).map(|(name, (rule, _))| unit(&journal, name).restart(*rule));
    let last = unit(&journal, "z").shutdown(Shutdown::Within(2 * SECOND));
    let (tree, handles) = with(children.chain([last])).await;
    let mut units = Vec::new();
    for name in names {
        units.push(child(&tree, name).await);
    }
    let hangs = child(&tree, "z").await.hang().try_tell();
    assert!(hangs.is_ok());
    settle_drops().await;
    let stopping = tokio::spawn(async move { stopped(&tree).await });
    tokio::time::sleep(SECOND).await;
    for (unit, (_, end)) in units.iter().zip(&pairs) {
        unit.end(Local(end.clone())).tell().await.unwrap();
    }
    assert_eq!(stopping.await.unwrap(), 2 * SECOND);
    for (handle, (rule, end)) in handles.iter().zip(&pairs) {
        assert_eq!(handle.reason().as_ref(), Some(end), "{rule:?}");
    }
    assert!(names.iter().all(|name| journal.count(&format!("+{name}")) == 1));
}

/// Takes time when it is asked to stop, and then may panic.
struct Slow {
    takes: Duration,
    panics: bool,
}

#[wigwag::actor(life)]
impl Slow {
    pub fn nothing(&self) {}
}

impl Life for Slow {
    async fn stopped(&mut self, _: &This<Slow>, _: &Reason) {
        tokio::time::sleep(self.takes).await;
        assert!(!self.panics, "at the end");
    }
}

fn slow(name: &str, takes: Duration, panics: bool) -> Child {
    Child::new(name, move || Slow { takes, panics }).shutdown(Shutdown::Within(2 * SECOND))
}

/// supervisor_SUITE: sup_stop_non_shutdown_exit_dynamic. A child that fails when it is asked to
/// stop is not restarted, whatever its rule, and the supervisor ends.
#[tokio::test(start_paused = true)]
async fn a_child_that_fails_at_its_end_stays_ended() {
    for rule in RULES {
        let children = ["a", "b"].map(|name| slow(name, Duration::ZERO, name == "b").restart(rule));
        let (tree, handles) = with(children).await;
        assert_eq!(stopped(&tree).await, Duration::ZERO);
        let reasons: Vec<_> = handles.iter().map(|handle| handle.reason().unwrap()).collect();
        assert_eq!(reasons, [Reason::Shutdown, Reason::Panicked("at the end".into())]);
    }
}

/// supervisor_SUITE: sup_stop_infinity. The supervisor waits for the child however long it takes.
#[tokio::test(start_paused = true)]
async fn a_child_may_have_all_the_time_to_stop() {
    let patient = slow("a", 15 * SECOND, false).shutdown(Shutdown::Patient);
    let (tree, handles) = with([patient]).await;
    assert_eq!(stopped(&tree).await, 15 * SECOND, "three times what is usual");
    assert_eq!(handles[0].reason(), Some(Reason::Shutdown));
}

/// supervisor_SUITE: simple_one_for_one_shutdown. The end takes as long as the children that stop
/// within their time, and no longer than the limit of a child that does not.
#[tokio::test(start_paused = true)]
async fn an_end_takes_the_time_that_its_children_have() {
    let children = [("a", 1), ("b", 1), ("c", 5)];
    let (tree, handles) =
        with(children.map(|(name, takes)| slow(name, takes * SECOND, false))).await;
    assert_eq!(stopped(&tree).await, 4 * SECOND);
    let reasons: Vec<_> = handles.iter().map(|handle| handle.reason().unwrap()).collect();
    assert_eq!(reasons, [Reason::Shutdown, Reason::Shutdown, Reason::Killed]);
}

/// supervisor_SUITE: order_of_children. Children whose names are in no particular order are started
/// in the order given, and ended in the opposite one, both after a sibling's failure and at the
/// supervisor's end.
#[tokio::test(start_paused = true)]
async fn children_end_in_the_opposite_order_whatever_their_names() {
    let journal = Journal::default();
    let names = ["ch7", "ch3", "ch10", "ch2", "ch5"];
    let tree = names
        .iter()
        .fold(Supervisor::new(Strategy::RestForOne), |tree, name| tree.child(unit(&journal, name)));
    let tree = tree.start().await.unwrap();
    assert_eq!(journal.take(), names.map(|name| format!("+{name}")));
    panics(&child(&tree, "ch10").await).await;
    settle_drops().await;
    settled(&tree).await;
    let group = ["~ch10", "-ch5", "~ch5", "-ch2", "~ch2", "+ch10", "+ch2", "+ch5"];
    assert_eq!(journal.take(), group);
    stopped(&tree).await;
    let order: Vec<_> = journal.take().into_iter().filter(|word| word.starts_with('-')).collect();
    assert_eq!(order, ["-ch5", "-ch2", "-ch10", "-ch3", "-ch7"]);
}

/// supervisor_SUITE: hanging_restart_loop. The end of a supervisor does not wait for a start that
/// hangs longer than that child has to stop.
#[tokio::test(start_paused = true)]
async fn a_start_that_hangs_does_not_hold_up_the_end() {
    let journal = Journal::default();
    let hangs = hanging(&journal, "a", 2).start_within(3600 * SECOND).shutdown(Shutdown::AtOnce);
    let (tree, handles) = with([hangs]).await;
    panics(&child(&tree, "a").await).await;
    settle_drops().await;
    assert_eq!(stopped(&tree).await, Duration::ZERO);
    settle_drops().await;
    assert!(handles[0].is_ended());
    assert_eq!((journal.count("+a"), journal.count("~a")), (2, 2));
}

/// Uses the field, which the other tests check.
const _: fn(&Unit) -> u32 = |unit| unit.handled;

/// A seeded order found this: the supervisor learnt of the end before the child's task had reported
/// it to others.
#[test]
fn a_child_whose_end_was_awaited_has_ended_in_every_order() {
    testing::seeds(0..50, |_| async {
        for rule in [Restart::Permanent, Restart::Temporary] {
            let journal = Journal::default();
            let (tree, handles) = with([unit(&journal, "a").restart(rule)]).await;
            tree.terminate_child("a").await.unwrap();
            assert_eq!(handles[0].reason(), Some(Reason::Shutdown), "{rule:?}");
        }
    });
}
