//! Starts of children that fail, end at once, or hang again and again, and their traces.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use wigwag::registry::{find_any, register, unregister};
use wigwag::{
    Actor, Life, Reason, This,
    lifecycle::Alive,
    registry::NameError,
    supervise::{
        Child, ChildState, Restart, Shutdown, Strategy, Supervisor, SupervisorError, SupervisorRef,
    },
};

use super::{Journal, Unit, ended, failing, settle_drops, settled, unit};

async fn empty(strategy: Strategy) -> SupervisorRef {
    Supervisor::new(strategy).intensity(100, Duration::from_secs(60)).start().await.unwrap()
}

/// The state of each child, in the order of the children.
pub(super) async fn states(tree: &SupervisorRef) -> Vec<ChildState> {
    tree.children().await.unwrap().iter().map(|child| child.state).collect()
}

/// supervisor_SUITE: sup_start_child_returns_error, sup_start_child_returns_error_simple,
/// sup_start_restart_child_returns_error. A start that fails or panics adds no child; a child whose
/// restart fails stays ended.
#[tokio::test(start_paused = true)]
async fn a_start_that_fails_adds_no_child() {
    let (journal, tree) = (Journal::default(), empty(Strategy::OneForOne).await);
    for rule in [Restart::Permanent, Restart::Transient, Restart::Temporary] {
        let failed = tree.start_child(failing(&journal, "a", 0).restart(rule)).await.unwrap_err();
        assert_eq!(failed, SupervisorError::StartFailed(Reason::failed("this start fails")));
        let panics = Child::new("b", || -> Unit { panic!("no state") }).restart(rule);
        let failed = tree.start_child(panics).await.unwrap_err();
        assert_eq!(failed, SupervisorError::StartFailed(Reason::Panicked("no state".into())));
        assert!(tree.children().await.unwrap().is_empty());
    }
    tree.start_child(failing(&journal, "a", 4)).await.unwrap();
    tree.terminate_child("a").await.unwrap();
    for _ in 0..2 {
        let again = tree.restart_child("a").await.unwrap_err();
        assert_eq!(again, SupervisorError::StartFailed(Reason::failed("this start fails")));
        assert_eq!(states(&tree).await, [ChildState::Ended]);
    }
    assert!(!tree.handle().unwrap().is_ended());
}

/// Ends in its start number `at` and in no other.
struct Brief {
    starts: Arc<AtomicUsize>,
    at: usize,
}

#[wigwag::actor(life)]
impl Brief {
    pub fn panic(&self) {
        panic!("on purpose");
    }
}

impl Life for Brief {
    async fn started(&mut self, this: &This<Brief>) -> Result<(), Reason> {
        if self.starts.fetch_add(1, Ordering::Relaxed) + 1 == self.at {
            this.stop(Reason::Normal);
        }
        Ok(())
    }
}

fn brief(name: &str, at: usize, rule: Restart) -> Child {
    let starts = Arc::new(AtomicUsize::new(0));
    Child::new(name, move || Brief { starts: starts.clone(), at }).restart(rule)
}

/// supervisor_SUITE: sup_start_ignore_child, sup_start_ignore_temporary_child,
/// sup_start_ignore_temporary_child_start_child,
/// sup_start_ignore_temporary_child_start_child_simple. A child that has nothing to do ends in its
/// start: a transient one is kept as ended, a temporary one is forgotten, and the next is started.
#[tokio::test(start_paused = true)]
async fn a_child_that_ends_in_its_start_is_kept_or_forgotten_by_its_rule() {
    let journal = Journal::default();
    for first in [true, false] {
        for (rule, kept) in [(Restart::Transient, true), (Restart::Temporary, false)] {
            let tree = match first {
                true => Supervisor::new(Strategy::OneForOne)
                    .child(brief("a", 1, rule))
                    .child(unit(&journal, "b"))
                    .start()
                    .await
                    .unwrap(),
                false => empty(Strategy::OneForOne).await,
            };
            if !first {
                tree.start_child(brief("a", 1, rule)).await.unwrap();
                tree.start_child(unit(&journal, "b")).await.unwrap();
            }
            settle_drops().await;
            let expected = [ChildState::Ended, ChildState::Running];
            assert_eq!(states(&tree).await, expected[usize::from(!kept)..], "{rule:?}");
            let handle = tree.handle().unwrap();
            handle.stop();
            assert_eq!(ended(&handle).await, Reason::Shutdown);
        }
    }
}

/// supervisor_SUITE: simple_one_for_one_restart_ignore,
/// sup_start_ignore_permanent_child_start_child_simple. A child that ends in a later start: a
/// transient child is not restarted again, a permanent one is.
#[tokio::test(start_paused = true)]
async fn a_child_may_end_in_a_later_start() {
    for (rule, expected, restarts) in
        [(Restart::Transient, ChildState::Ended, 1), (Restart::Permanent, ChildState::Running, 2)]
    {
        let tree = empty(Strategy::OneForOne).await;
        tree.start_child(brief("a", 2, rule)).await.unwrap();
        let child = tree.child::<Brief>("a").await.unwrap().unwrap();
        assert!(child.panic().ask().await.is_err());
        settle_drops().await;
        let children = tree.children().await.unwrap();
        assert_eq!((children[0].state, children[0].restarts), (expected, restarts));
    }
}

/// supervisor_SUITE: sup_start_map, sup_start_map_simple. The defaults of a child, and the
/// properties that can be inspected later.
#[tokio::test(start_paused = true)]
async fn a_child_has_defaults() {
    let journal = Journal::default();
    let usual = format!("{:?}", unit(&journal, "a"));
    assert!(usual.contains("Permanent") && usual.contains("Within(5s)"), "{usual}");
    let other = unit(&journal, "b").restart(Restart::Temporary).shutdown(Shutdown::AtOnce);
    let shown = format!("{other:?}");
    assert!(shown.contains("Temporary") && shown.contains("AtOnce"), "{shown}");
    let tree = empty(Strategy::default()).await;
    tree.start_child(unit(&journal, "a")).await.unwrap();
    tree.start_child(other).await.unwrap();
    let rules: Vec<_> = tree.children().await.unwrap().iter().map(|one| one.restart).collect();
    assert_eq!(rules, [Restart::Permanent, Restart::Temporary]);
    assert!(tree.child::<Unit>("c").await.unwrap().is_none());
    assert!(tree.child::<Brief>("a").await.unwrap().is_none(), "it is of another type");
}

/// Kills itself in its first start.
struct Killed(Arc<AtomicUsize>);

#[wigwag::actor(life)]
impl Killed {
    pub fn answer(&self) -> u64 {
        42
    }
}

impl Life for Killed {
    async fn started(&mut self, this: &This<Killed>) -> Result<(), Reason> {
        if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
            this.handle().kill();
        }
        Ok(())
    }
}

/// supervisor_SUITE: sup_start_child_returns_error, for a child that is killed during a successful
/// start: it is handled as if it had been killed later.
#[tokio::test(start_paused = true)]
async fn a_child_that_is_killed_in_its_start_is_missed() {
    for (rule, expected) in [
        (Restart::Permanent, &[ChildState::Running][..]),
        (Restart::Transient, &[ChildState::Running]),
        (Restart::Temporary, &[]),
    ] {
        let tree = empty(Strategy::OneForOne).await;
        let starts = Arc::new(AtomicUsize::new(0));
        let child = Child::new("a", move || Killed(starts.clone())).restart(rule);
        let first = tree.start_child(child).await.unwrap();
        settle_drops().await;
        assert_eq!(states(&tree).await, expected, "{rule:?}");
        assert_eq!(first.reason(), Some(Reason::Killed));
        if let Some(second) = tree.child::<Killed>("a").await.unwrap() {
            assert_eq!(second.answer().ask().await.unwrap(), 42);
        }
    }
}

/// Fails to start while its flag is set.
struct Fragile(Arc<AtomicBool>);

#[wigwag::actor(life)]
impl Fragile {
    pub fn panic(&self) {
        panic!("on purpose");
    }
}

impl Life for Fragile {
    async fn started(&mut self, _: &This<Fragile>) -> Result<(), Reason> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Reason::failed("fragile")),
            false => Ok(()),
        }
    }
}

/// supervisor_SUITE: hanging_restart_loop, hanging_restart_loop_rest_for_one,
/// hanging_restart_loop_simple. A child whose restarts fail again and again, with pauses: it stays
/// visible, can be ended and started, and the supervisor ends at once in the middle of the loop.
#[tokio::test(start_paused = true)]
async fn a_child_in_a_loop_of_restarts_obeys_its_supervisor() {
    for strategy in [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne] {
        let fails = Arc::new(AtomicBool::new(false));
        let journal = Journal::default();
        let tree = Supervisor::new(strategy)
            .intensity(1000, Duration::from_secs(60))
            .back_off(Duration::from_secs(1), Duration::from_secs(1))
            .start()
            .await
            .unwrap();
        let made = fails.clone();
        let fragile = move || {
            let made = made.clone();
            Child::new("a", move || Fragile(made.clone()))
        };
        tree.start_child(fragile()).await.unwrap();
        tree.start_child(unit(&journal, "b")).await.unwrap();
        for round in 0..2 {
            fails.store(true, Ordering::Relaxed);
            let child = tree.child::<Fragile>("a").await.unwrap().unwrap();
            assert!(child.panic().ask().await.is_err());
            tokio::time::sleep(Duration::from_millis(5500)).await;
            assert_eq!(states(&tree).await[0], ChildState::Waiting);
            let taken = SupervisorError::NameTaken("a".into());
            assert_eq!(tree.start_child(fragile()).await, Err(taken));
            let there = SupervisorError::StillThere("a".into());
            assert_eq!(tree.restart_child("a").await, Err(there.clone()));
            assert_eq!(tree.delete_child("a").await, Err(there));
            if round == 0 {
                assert_eq!(tree.terminate_child("a").await, Ok(()));
                assert_eq!(states(&tree).await[0], ChildState::Ended);
                fails.store(false, Ordering::Relaxed);
                tree.restart_child("a").await.unwrap();
                settled(&tree).await;
            }
        }
        let (handle, begun) = (tree.handle().unwrap(), tokio::time::Instant::now());
        handle.stop();
        assert_eq!(ended(&handle).await, Reason::Shutdown);
        assert_eq!(begun.elapsed(), Duration::ZERO, "{strategy:?}");
    }
}

/// Starts once, then refuses two starts.
struct Reluctant {
    starts: Arc<AtomicUsize>,
    why: Reason,
}

#[wigwag::actor(life)]
impl Reluctant {
    pub fn panic(&self) {
        panic!("on purpose");
    }

    pub fn starts(&self) -> u64 {
        self.starts.load(Ordering::Relaxed) as u64
    }
}

impl Life for Reluctant {
    async fn started(&mut self, _: &This<Reluctant>) -> Result<(), Reason> {
        match self.starts.fetch_add(1, Ordering::Relaxed) {
            1 | 2 => Err(self.why.clone()),
            _ => Ok(()),
        }
    }
}

/// supervisor_SUITE: sup_start_child_returns_error, for later starts. A start that fails is a
/// failure whatever reason the hook gives, so a transient child is restarted, as a permanent one
/// is.
#[tokio::test(start_paused = true)]
async fn a_start_that_fails_counts_as_a_failure_whatever_its_reason() {
    for rule in [Restart::Permanent, Restart::Transient] {
        for why in [Reason::Normal, Reason::Shutdown, Reason::failed("not yet")] {
            let starts = Arc::new(AtomicUsize::new(0));
            let make = {
                let (starts, why) = (starts.clone(), why.clone());
                move || Reluctant { starts: starts.clone(), why: why.clone() }
            };
            let tree = Supervisor::new(Strategy::OneForOne).intensity(3, Duration::from_secs(60));
            let tree = tree.child(Child::new("a", make).restart(rule)).start().await.unwrap();
            let child = tree.child::<Reluctant>("a").await.unwrap().unwrap();
            assert!(child.panic().ask().await.is_err());
            assert_eq!(child.starts().ask().await.unwrap(), 4, "{rule:?} after {why}");
            assert_eq!(states(&tree).await, [ChildState::Running]);
            assert_eq!(tree.children().await.unwrap()[0].restarts, 3);
        }
    }
}

/// Takes a name in its start, or fails to start.
struct Named(&'static str);

#[wigwag::actor(life)]
impl Named {
    pub fn panic(&self) {
        panic!("on purpose");
    }
}

impl Life for Named {
    async fn started(&mut self, this: &This<Named>) -> Result<(), Reason> {
        register(self.0, &this.reference()).map_err(Reason::failed)
    }
}

/// supervisor_SUITE: already_started_outside_supervisor. A child that wants the name of another
/// actor does not start, and harms neither that actor nor, on two threads, the next child that
/// takes a free name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_does_not_take_the_name_of_another() {
    let (journal, tree) = (Journal::default(), empty(Strategy::OneForOne).await);
    let holder = Named("outside").start().await.unwrap();
    let by = holder.handle().unwrap();
    let taken = NameError::Taken { name: "outside".into(), by: by.clone() };
    let failed = tree.start_child(Child::new("a", || Named("outside"))).await.unwrap_err();
    assert_eq!(failed, SupervisorError::StartFailed(Reason::failed(taken)));
    assert_eq!(find_any("outside"), Some(by));
    unregister("outside");
    for _ in 0..100 {
        let failed = tree.start_child(Child::new("a", || Loser("inside"))).await.unwrap_err();
        assert_eq!(failed, SupervisorError::StartFailed(Reason::failed("lost")));
        assert!(find_any("inside").is_none());
    }
    tree.start_child(unit(&journal, "b")).await.unwrap();
}

/// Takes a name and fails to start all the same.
struct Loser(&'static str);

#[wigwag::actor(life)]
impl Loser {
    pub fn nothing(&self) {}
}

impl Life for Loser {
    async fn started(&mut self, this: &This<Loser>) -> Result<(), Reason> {
        register(self.0, &this.reference()).map_err(Reason::failed)?;
        Err(Reason::failed("lost"))
    }
}

/// supervisor_SUITE: simple_global_supervisor. A child with a name has it again after a failure,
/// after a kill, after it was ended and started, and after its supervisor was killed; once the tree
/// has ended, the name is free.
#[tokio::test(start_paused = true)]
async fn a_child_has_its_name_again_however_it_ended() {
    let inner = || {
        Supervisor::new(Strategy::OneForAll).child(Child::new("worker", || Named("server 9212")))
    };
    let tree = Supervisor::new(Strategy::OneForAll)
        .child(Child::new("middle", inner).shutdown(Shutdown::Patient))
        .start()
        .await
        .unwrap();
    let worker = find_any("server 9212").unwrap();
    let middle = tree.child::<Supervisor>("middle").await.unwrap().unwrap();
    let named = middle.child::<Named>("worker").await.unwrap().unwrap();
    assert!(named.panic().ask().await.is_err());
    settled(&middle).await;
    assert_eq!(find_any("server 9212"), Some(worker.clone()), "it is the same address");
    worker.kill();
    settle_drops().await;
    settled(&middle).await;
    let second = find_any("server 9212").unwrap();
    assert_ne!(second, worker);
    middle.terminate_child("worker").await.unwrap();
    assert!(find_any("server 9212").is_none());
    middle.restart_child("worker").await.unwrap();
    let third = find_any("server 9212").unwrap();
    middle.handle().unwrap().kill();
    settle_drops().await;
    settled(&tree).await;
    let fourth = find_any("server 9212").unwrap();
    assert!(third != second && fourth != third);
    let handle = tree.handle().unwrap();
    handle.kill();
    settle_drops().await;
    assert!(find_any("server 9212").is_none());
}
