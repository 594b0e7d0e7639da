use std::cell::Cell;
use std::sync::OnceLock;
use std::task::Waker;

use super::*;

thread_local! {
    static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static OWN_TIME: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// A clock that stands still until a test moves it.
fn now() -> Instant {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    *BEGAN.get_or_init(Instant::now) + NOW.get()
}

const READINGS: Readings = Readings { now, are_busy: |_| BUSY.get(), own_time: || OWN_TIME.get() };

/// A policy in its first window.
fn policy() -> SpinPolicy {
    SpinPolicy {
        limit_ns: AtomicU64::new(100_000),
        readings: READINGS,
        ..SpinPolicy::new(Duration::ZERO)
    }
}

/// A policy that lets waits spin until its window ends.
fn spinning() -> SpinPolicy {
    SpinPolicy { readings: READINGS, ..SpinPolicy::spinning(Duration::from_micros(100)) }
}

fn again(spin: &mut Spin<'_>) {
    spin.again(&mut Context::from_waker(Waker::noop()));
}

fn pass(wait_us: u64, cpu_us: u64) {
    NOW.set(NOW.get() + Duration::from_micros(wait_us));
    OWN_TIME.set(OWN_TIME.get() + Duration::from_micros(cpu_us));
}

/// Time and processor time of a wait that sleeps and of one that spins, and the pause after it.
struct World {
    sleeping_us: (u64, u64),
    spinning_us: (u64, u64),
    pause_us: u64,
}

impl World {
    /// Makes waits, and returns how many of them spun.
    fn wait(&self, policy: &SpinPolicy, waits: u32) -> u32 {
        let one = |_| {
            let spin = policy.begin();
            let spins = spin.as_ref().is_some_and(|spin| spin.spins);
            let (wait_us, cpu_us) = if spins { self.spinning_us } else { self.sleeping_us };
            pass(wait_us, cpu_us);
            if let Some(spin) = spin {
                spin.found();
            }
            pass(self.pause_us, 0);
            u32::from(spins)
        };
        (0..waits).map(one).sum()
    }
}

/// Waits of a whole trial, of windows that are long enough.
const TRIAL_WAITS: u32 = WINDOW_WAITS * 10;

#[test]
fn waits_spin_once_a_trial_has_shown_that_it_pays() {
    let world = World { sleeping_us: (90, 30), spinning_us: (60, 40), pause_us: 0 };
    let policy = policy();
    assert_eq!(world.wait(&policy, TRIAL_WAITS), TRIAL_WAITS / 2, "half of the windows spin");
    assert_eq!(world.wait(&policy, TRIAL_WAITS), TRIAL_WAITS);
}

/// Pauses between waits are in no cost: neither do they hide that spinning is dear, nor that it
/// pays.
#[test]
fn waits_sleep_once_a_trial_has_shown_that_spinning_is_dear() {
    for (pause_us, dearer_us) in [(0, 90), (5_000, 90), (5_000, 46)] {
        let spinning_us = (60, 30 + dearer_us);
        let world = World { sleeping_us: (120, 30), spinning_us, pause_us };
        let policy = policy();
        assert_eq!(world.wait(&policy, TRIAL_WAITS), TRIAL_WAITS / 2);
        assert_eq!(world.wait(&policy, TRIAL_WAITS), 0, "{pause_us} {dearer_us}");
    }
    let world = World { sleeping_us: (120, 30), spinning_us: (60, 74), pause_us: 5_000 };
    let policy = policy();
    world.wait(&policy, TRIAL_WAITS);
    assert_eq!(world.wait(&policy, TRIAL_WAITS), TRIAL_WAITS);
}

/// The kernel counts processor time late, so a window has a length too.
#[test]
fn a_window_of_quick_waits_has_more_of_them() {
    let world = World { sleeping_us: (6, 6), spinning_us: (3, 3), pause_us: 0 };
    let policy = policy();
    assert_eq!(world.wait(&policy, 2_000), 0);
    assert!(world.wait(&policy, WINDOW_WAITS) > 0);
}

#[test]
fn no_ask_spins_while_the_machine_is_busy() {
    let world = World { sleeping_us: (90, 30), spinning_us: (60, 20), pause_us: 0 };
    let policy = policy();
    world.wait(&policy, TRIAL_WAITS);
    assert_eq!(world.wait(&policy, 100), 100);
    BUSY.set(true);
    assert_eq!(world.wait(&policy, 1_000), 0);
    BUSY.set(false);
    assert!(
        world.wait(&policy, 2 * STEP_WAITS) >= STEP_WAITS,
        "the result of the trial still holds"
    );
}

/// The result of a pair of windows that the machine disturbed is forgotten.
#[test]
fn a_trial_on_a_busy_machine_shows_nothing() {
    let world = World { sleeping_us: (90, 30), spinning_us: (60, 20), pause_us: 0 };
    let policy = policy();
    world.wait(&policy, WINDOW_WAITS + 1);
    assert!(policy.allowed.load(Ordering::Relaxed), "the second window spins");
    BUSY.set(true);
    world.wait(&policy, WINDOW_WAITS);
    BUSY.set(false);
    world.wait(&policy, STEP_WAITS);
    assert!(!policy.allowed.load(Ordering::Relaxed), "the pair begins anew");
}

#[test]
fn one_wait_spins_at_a_time() {
    let policy = spinning();
    let spins = || policy.begin().filter(|spin| spin.spins);
    let first = spins().expect("it is the first");
    assert!(spins().is_none());
    first.found();
    let mut late = spins().expect("the first has ended");
    pass(100, 0);
    again(&mut late);
    assert!(!policy.taken.load(Ordering::Relaxed), "one whose time is over has ended");
}

#[test]
fn no_ask_spins_longer_than_the_limit_and_none_if_that_is_zero() {
    assert!(SpinPolicy::new(Duration::ZERO).begin().is_none());
    let policy = spinning();
    let mut spin = policy.begin().expect("it is the first");
    pass(99, 0);
    again(&mut spin);
    assert!(spin.spins);
    pass(1, 0);
    again(&mut spin);
    assert!(!spin.spins);
    spin.found();
    assert!(policy.begin().is_none(), "one that was late is a miss");
}

#[test]
fn a_wait_that_is_given_up_while_it_spins_is_a_miss() {
    let policy = spinning();
    drop(policy.begin().expect("it is the first"));
    assert!(!policy.taken.load(Ordering::Relaxed));
    assert!(policy.begin().is_none());
}

#[test]
fn a_miss_is_followed_by_ever_longer_rests() {
    let misses = Misses::default();
    let until_next = || (0..).find(|_| misses.may_try()).expect("it ends");
    let skips: Vec<u32> = (0..14)
        .map(|_| {
            let skips = until_next();
            misses.note(false);
            skips
        })
        .collect();
    let most = SKIPS_MAX;
    assert_eq!(skips, [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, most, most, most]);
    until_next();
    misses.note(true);
    assert_eq!(until_next(), 0, "it pays again");
}

/// A wait that spins brings fewer messages at a time, and each of them counts.
#[test]
fn messages_that_come_many_at_a_time_share_the_cost_of_a_window() {
    let policy = policy();
    let wait = |_| {
        let spin = policy.begin();
        let spins = spin.as_ref().is_some_and(|spin| spin.spins);
        // A wait that sleeps costs three times as much, and nine more messages come with its own.
        pass(20, if spins { 10 } else { 30 });
        if !spins {
            policy.count(9);
        }
        if let Some(spin) = spin {
            spin.found();
        }
        u32::from(spins)
    };
    let trial: u32 = (0..20_000).map(wait).sum();
    assert!(trial > 0, "half of the windows spun");
    assert_eq!((0..10_000).map(wait).sum::<u32>(), 0);
}
