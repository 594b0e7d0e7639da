//! Children that never start, never restart or never stop, and supervisors that are killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::Instant;
use wigwag::registry::{find_any, register};
use wigwag::{
    Actor, CallErrorKind, Handle, Life, Reason, This,
    lifecycle::Alive,
    supervise::{Child, Shutdown, StopPlan, Strategy, Supervisor, SupervisorError, SupervisorRef},
};

use super::{Guard, SECOND, Tally, kind};

/// The fault of a child.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// The first start never ends.
    NeverStarts,
    /// Each start but the first fails.
    StartsOnce,
    /// The child never stops by itself.
    NeverStops,
    /// The child takes this name in each of its starts.
    Takes(&'static str),
}

pub(super) struct Unit {
    fault: Fault,
    starts: Arc<AtomicU64>,
    _state: Guard,
}

#[wigwag::actor(life)]
impl Unit {
    pub fn plain(&self) {}

    /// Returns the number of the current life.
    pub fn life(&self) -> u64 {
        self.starts.load(Ordering::SeqCst)
    }

    pub fn panic(&self) {
        panic!("on purpose");
    }

    pub fn stop(&self, this: &This<Self>) {
        this.stop(Reason::Normal);
    }
}

impl Life for Unit {
    async fn started(&mut self, this: &This<Unit>) -> Result<(), Reason> {
        let before = self.starts.fetch_add(1, Ordering::SeqCst);
        match self.fault {
            Fault::NeverStarts => std::future::pending().await,
            Fault::StartsOnce if before > 0 => Err(Reason::failed("this start fails")),
            Fault::Takes(name) => register(name, &this.reference()).map_err(Reason::failed),
            _ => Ok(()),
        }
    }

    async fn stopped(&mut self, _: &This<Unit>, _: &Reason) {
        if self.fault == Fault::NeverStops {
            std::future::pending::<()>().await;
        }
    }
}

pub(super) fn child(name: &str, fault: Fault, tally: &Arc<Tally>) -> Child {
    let (starts, tally) = (Arc::new(AtomicU64::new(0)), tally.clone());
    let make = move || Unit { fault, starts: starts.clone(), _state: tally.guard() };
    Child::new(name, make)
}

/// A supervisor of two children without faults.
async fn tree(tally: &Arc<Tally>) -> SupervisorRef {
    let tree = Supervisor::new(Strategy::OneForOne)
        .intensity(3, 60 * SECOND)
        .back_off(SECOND, 60 * SECOND)
        .child(child("first", Fault::None, tally))
        .child(child("last", Fault::None, tally));
    tree.start().await.unwrap()
}

async fn unit(tree: &SupervisorRef, name: &str) -> UnitRef {
    tree.child::<Unit>(name).await.unwrap().unwrap()
}

async fn end_of(handle: &Handle) -> Reason {
    tokio::time::timeout(super::PATIENCE, handle.ended()).await.unwrap()
}

/// Asks the good children once a second, for `seconds` seconds.
async fn siblings_go_on(tree: &SupervisorRef, seconds: u64) {
    for _ in 0..seconds {
        for name in ["first", "last"] {
            let (asked, begun) = (unit(tree, name).await, Instant::now());
            assert_eq!(kind(asked.plain().ask().await), Ok(()));
            assert_eq!(begun.elapsed(), Duration::ZERO);
        }
        tokio::time::sleep(SECOND).await;
    }
}

/// Adds a child that never starts; returns the outcome of its start and a reference to it.
async fn never(
    tree: &SupervisorRef,
    tally: &Arc<Tally>,
    limit: Duration,
) -> (tokio::task::JoinHandle<Result<Handle, SupervisorError>>, UnitRef) {
    let never = child("never", Fault::NeverStarts, tally).start_within(limit);
    let starter = tree.clone();
    let start = tokio::spawn(async move { starter.start_child(never).await });
    loop {
        if let Some(never) = tree.child::<Unit>("never").await.unwrap() {
            return (start, never);
        }
        yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_asker_of_a_child_that_never_starts_gets_an_error_in_time() {
    let (tally, limit) = (Arc::new(Tally::default()), 7 * SECOND);
    let tree = tree(&tally).await;
    let (start, never) = never(&tree, &tally, limit).await;
    let begun = Instant::now();
    let waits = never.plain().ask();
    let short = never.plain().timeout(2 * SECOND).ask();
    let urgent = never.plain().urgent().ask();
    let (waited, short, urgent, ()) = tokio::join!(
        async { (kind(waits.await), begun.elapsed()) },
        async { (kind(short.await), begun.elapsed()) },
        async { (kind(urgent.await), begun.elapsed()) },
        siblings_go_on(&tree, 9),
    );
    assert_eq!(short, (Err(CallErrorKind::Timeout(2 * SECOND)), 2 * SECOND));
    assert_eq!(waited, (Err(CallErrorKind::ActorStopped), limit));
    assert_eq!(urgent, (Err(CallErrorKind::ActorStopped), limit));
    let reason = Reason::failed("it did not start within 7s");
    assert_eq!(start.await.unwrap(), Err(SupervisorError::StartFailed(reason)));
    assert_eq!(tree.children().await.unwrap().len(), 2, "it is no child");
    drop((tree, never));
    tally.nothing_is_left().await;
}

/// The pauses between the starts last 1, 2 and 4 s; the fourth failure exceeds the intensity.
#[tokio::test(start_paused = true)]
async fn an_asker_of_a_child_that_is_not_restarted_gets_an_error_when_the_supervisor_gives_up() {
    let tally = Arc::new(Tally::default());
    let tree = tree(&tally).await;
    let handle = tree.handle().unwrap();
    tree.start_child(child("once", Fault::StartsOnce, &tally)).await.unwrap();
    let once = unit(&tree, "once").await;
    assert_eq!(kind(once.panic().ask().await), Err(CallErrorKind::Panicked));
    let begun = Instant::now();
    let (waited, short, ()) = tokio::join!(
        async { (kind(once.plain().ask().await), begun.elapsed()) },
        async { (kind(once.plain().timeout(SECOND / 2).ask().await), begun.elapsed()) },
        siblings_go_on(&tree, 6),
    );
    assert_eq!(short, (Err(CallErrorKind::Timeout(SECOND / 2)), SECOND / 2));
    assert_eq!(waited, (Err(CallErrorKind::ActorStopped), 7 * SECOND));
    assert_eq!(end_of(&handle).await, Reason::RestartsExceeded);
    drop((tree, once));
    tally.nothing_is_left().await;
}

/// A start that hangs delays the end of its group by no more than the child's time to stop or the
/// plan's limit, whichever is shorter.
#[tokio::test(start_paused = true)]
async fn a_group_with_a_child_that_never_starts_ends_within_the_plans_limit() {
    for (limit, expected, killed) in [(5, 3, false), (1, 1, true)] {
        let tally = Arc::new(Tally::default());
        let tree = tree(&tally).await;
        let never =
            child("never", Fault::NeverStarts, &tally).shutdown(Shutdown::Within(3 * SECOND));
        let starter = tree.clone();
        let start = tokio::spawn(async move { starter.start_child(never).await });
        while tree.children().await.unwrap().len() < 3 {
            yield_now().await;
        }
        let asked = unit(&tree, "never").await.plain().ask().sent().await.map(drop);
        assert!(asked.is_ok());
        let handles: Vec<_> =
            tree.children().await.unwrap().into_iter().map(|child| child.handle).collect();
        let begun = Instant::now();
        let plan = StopPlan::new().stop("tree", limit * SECOND, [tree.handle().unwrap()]);
        let stopped = plan.run().await;
        assert_eq!((begun.elapsed(), stopped[0].was_killed), (expected * SECOND, killed));
        assert!(start.await.unwrap().is_err());
        for handle in handles {
            end_of(&handle).await;
        }
        assert_eq!(begun.elapsed(), expected * SECOND);
        drop(tree);
        tally.nothing_is_left().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_children_of_a_supervisor_that_is_killed_end_too() {
    let tally = Arc::new(Tally::default());
    let inner = {
        let tally = tally.clone();
        move || Supervisor::new(Strategy::OneForAll).child(child("inner", Fault::None, &tally))
    };
    let tree = tree(&tally).await;
    tree.start_child(Child::new("middle", inner).shutdown(Shutdown::Patient)).await.unwrap();
    let middle = tree.child::<Supervisor>("middle").await.unwrap().unwrap();
    let children =
        tree.children().await.unwrap().into_iter().chain(middle.children().await.unwrap());
    let handles: Vec<_> = children.map(|child| child.handle).collect();
    assert_eq!(handles.len(), 4);
    tree.handle().unwrap().kill();
    for handle in &handles {
        assert_eq!(end_of(handle).await, Reason::Killed);
    }
    tally.nothing_is_left().await;
}

/// The supervisor is killed while it waits for the first start of a child.
#[tokio::test(start_paused = true)]
async fn a_supervisor_that_is_killed_in_its_start_leaves_no_child() {
    let tally = Arc::new(Tally::default());
    let tree = Supervisor::new(Strategy::OneForOne)
        .child(child("first", Fault::None, &tally))
        .child(child("never", Fault::NeverStarts, &tally))
        .spawn();
    while tally.made.load(Ordering::SeqCst) < 2 {
        yield_now().await;
    }
    let begun = Instant::now();
    tree.handle().unwrap().kill();
    tally.nothing_is_left().await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

/// The supervisor is killed while it waits for the end of a child that has unlimited time to stop.
#[tokio::test(start_paused = true)]
async fn a_supervisor_that_is_killed_in_its_end_leaves_no_child() {
    let tally = Arc::new(Tally::default());
    let tree = tree(&tally).await;
    let stays = child("stays", Fault::NeverStops, &tally).shutdown(Shutdown::Patient);
    tree.start_child(stays).await.unwrap();
    let children = tree.children().await.unwrap();
    let (handle, begun) = (tree.handle().unwrap(), Instant::now());
    let stopped = StopPlan::new().stop("tree", SECOND, [handle]).run().await;
    assert!(stopped[0].was_killed);
    for child in children {
        assert_eq!(end_of(&child.handle).await, Reason::Killed, "{}", child.name);
    }
    tally.nothing_is_left().await;
    assert_eq!(begun.elapsed(), SECOND);
}

/// A child that registers a name in each of its lives keeps that name.
#[tokio::test(start_paused = true)]
async fn a_child_may_take_its_own_name_in_each_of_its_lives() {
    let tally = Arc::new(Tally::default());
    let tree = Supervisor::new(Strategy::OneForOne)
        .child(child("named", Fault::Takes("the name of a child"), &tally))
        .start()
        .await
        .unwrap();
    let (named, handle) = (unit(&tree, "named").await, find_any("the name of a child"));
    for life in 2..=4 {
        match life {
            3 => named.stop().tell().await.unwrap(),
            _ => assert_eq!(kind(named.panic().ask().await), Err(CallErrorKind::Panicked)),
        }
        assert_eq!(kind(named.life().ask().await), Ok(life));
        assert_eq!(find_any("the name of a child"), handle);
    }
    tree.handle().unwrap().stop();
    end_of(&handle.unwrap()).await;
    assert!(find_any("the name of a child").is_none());
    drop((tree, named));
    tally.nothing_is_left().await;
}
