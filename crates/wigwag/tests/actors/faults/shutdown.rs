//! The end of a system in which everything fails at the same time.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinHandle, yield_now};
use tokio::time::{Instant, timeout};
use wigwag::{
    Actor, ActorOptions, CallErrorKind, Handle, Local,
    lifecycle::Alive,
    supervise::{Child, StopPlan, Strategy, Supervisor, SupervisorRef},
};

use super::ring::{Ring, Way};
use super::threads::{Release, RudeRef, rude, stuck};
use super::trees::{Fault, child};
use super::{Counts, PATIENCE, Tally, kind};

/// The number of systems to end, each at another moment.
const ROUNDS: u64 = 50;

/// The time limit of each of the two stages of a plan.
const STAGE: Duration = Duration::from_millis(100);

/// Random numbers from a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// A ring with full mailboxes; a tree with children that never start, start once and never stop;
/// and actors that loop or block their threads, the last of which blocks a worker.
struct System {
    tally: Arc<Tally>,
    ring: Ring,
    tree: SupervisorRef,
    rude: Vec<RudeRef>,
    releases: Vec<Release>,
    asked: Vec<JoinHandle<Result<(), CallErrorKind>>>,
    start: JoinHandle<bool>,
}

impl System {
    async fn new(chance: &mut Chance) -> System {
        let tally = Arc::new(Tally::default());
        let ways =
            [Way::Asks, if chance.below(2) == 0 { Way::Tells } else { Way::Asks }, Way::Asks];
        let ring = Ring::new(1 + chance.below(4) as usize, ways, &tally).await;
        let mut asked = ring.flood(8, 9, None).await;
        let inner = {
            let tally = tally.clone();
            move || Supervisor::new(Strategy::OneForAll).child(child("a", Fault::None, &tally))
        };
        let tree = Supervisor::new(Strategy::RestForOne)
            .intensity(1000, PATIENCE)
            .child(Child::new("tree", inner))
            .child(child("stays", Fault::NeverStops, &tally))
            .child(child("once", Fault::StartsOnce, &tally))
            .start()
            .await
            .unwrap();
        let (starter, never) = (tree.clone(), child("never", Fault::NeverStarts, &tally));
        let start = tokio::spawn(async move { starter.start_child(never).await.is_ok() });
        let once = tree.child::<super::trees::Unit>("once").await.unwrap().unwrap();
        asked.push(tokio::spawn(async move {
            let _ = once.panic().try_tell();
            kind(once.plain().ask().await)
        }));
        let (mut all, mut releases) = (Vec::new(), Vec::new());
        for (loops, options) in [
            (true, ActorOptions::default().own_thread()),
            (false, ActorOptions::default().own_thread()),
            (false, ActorOptions::default()),
        ] {
            let (actor, (stuck, _, release)) = (rude(options, &tally), stuck(loops));
            actor.takes_all(Local(stuck), Local(tally.guard())).tell().await.unwrap();
            for _ in 0..4 {
                let (actor, guard) = (actor.clone(), Local(tally.guard()));
                asked.push(tokio::spawn(async move { kind(actor.plain(guard).ask().await) }));
            }
            all.push(actor);
            releases.push(release);
        }
        System { tally, ring, tree, rude: all, releases, asked, start }
    }

    fn handles(&self) -> Vec<Handle> {
        let rude = self.rude.iter().map(|rude| rude.handle().unwrap());
        rude.chain(self.ring.handles()).chain(self.tree.handle()).collect()
    }

    /// Checks that every caller gets its outcome, that the stuck actors end, and that nothing is
    /// leaked.
    async fn end(self) -> Counts {
        let System { tally, ring, tree, rude, releases, asked, start } = self;
        drop((ring, tree, rude));
        let mut counts = Counts::default();
        // The stuck actors still hold their threads: no waiting caller depends on those.
        for asked in asked {
            counts.add(timeout(PATIENCE, asked).await.unwrap().unwrap());
        }
        assert!(!timeout(PATIENCE, start).await.unwrap().unwrap(), "it never starts");
        drop(releases);
        tally.nothing_is_left().await;
        counts
    }
}

/// Ends the system in one of three ways, each of which ends it within its time.
async fn end_all(handles: Vec<Handle>, way: u64) {
    let begun = Instant::now();
    match way {
        0 => {
            let (first, last) = handles.split_at(handles.len() / 2);
            let plan = StopPlan::new().drain("first", STAGE, first.iter().cloned()).stop(
                "last",
                STAGE,
                last.iter().cloned(),
            );
            let stopped = plan.run().await;
            assert!(stopped.iter().any(|one| one.was_killed), "some never end by themselves");
        }
        1 => handles.iter().for_each(|handle| assert!(handle.kill() || handle.is_ended())),
        // Actors that are able to end do so by themselves; the others are killed at the limit.
        _ => {
            let plan = StopPlan::new().stop("all", STAGE, handles.iter().cloned());
            plan.run().await;
        }
    }
    assert!(handles.iter().all(Handle::is_ended));
    assert!(begun.elapsed() < 5 * 2 * STAGE, "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_system_full_of_faults_ends_at_any_moment_and_leaves_nothing() {
    for seed in 1..=ROUNDS {
        eprintln!("seed {seed}");
        let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let system = timeout(PATIENCE, System::new(&mut chance)).await.unwrap();
        for _ in 0..chance.below(200) {
            yield_now().await;
        }
        let handles = system.handles();
        end_all(handles, seed % 3).await;
        let counts = system.end().await;
        assert!(counts.stopped >= 12, "who asked the rude ones: {counts:?}");
        assert_eq!(counts.all(), 8 * 3 + 1 + 12, "{counts:?}");
        assert_eq!(counts.timeout, 0, "nobody had to wait so long: {counts:?}");
    }
}
