//! Spinning: a task that waits for an answer or for the next request polls for it for a moment
//! before its thread parks.
//!
//! A thread that waits for one message puts its processor to sleep, and the message must wake it: on
//! a virtual machine that costs more than the rest of a round trip, on both sides and in processor
//! time too. So the one that waits lets the other tasks of its runtime run first and then polls
//! again, for a fraction of a millisecond.
//!
//! Where that does not pay, waits sleep. Whether it does is measured: `trials.rs` compares waits that
//! spin with waits that do not. While other threads want all processors, no wait spins
//! (`processors.rs`). A spin without a message in time is retried ever more rarely; one wait of a
//! policy spins at a time; and with a single processor, which the other side may need, none does.
//!
//! `docs/decisions.md` has what it saves.

mod trials;
mod processors;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::task::Context;
use std::time::{Duration, Instant};

use trials::{SpinTrials, WaitCost};

/// How long a wait spins before its thread parks, where spinning pays: longer than a round trip over
/// loopback takes when the other side must be woken (60 µs on a virtual machine), and far below what
/// a person notices.
pub const SPIN_MAX: Duration = Duration::from_micros(100);

/// Waits that skip spinning, at most, before one tries again whether it pays: a failed try costs
/// [`SPIN_MAX`] of a processor, so a tenth of a microsecond a wait at most.
const SKIPS_MAX: u32 = 1024;

/// Waits between two looks at the clock and the processors.
const STEP_WAITS: u32 = 64;

/// Waits of a window of a trial, at least.
const WINDOW_WAITS: u32 = 256;

/// Length of a window, at least: the kernel may count the time of a thread that runs up to 4 ms
/// later.
const WINDOW_MIN: Duration = Duration::from_millis(12);

/// Waits of which one is timed.
const TIMED_EVERY: u32 = 8;

/// Measures for one reference or socket whether spinning pays, and limits it.
#[derive(Debug)]
pub struct SpinPolicy {
    /// The longest spin, in nanoseconds.
    limit_ns: AtomicU64,
    /// Waits may spin in this window.
    allowed: AtomicBool,
    /// A wait spins now.
    taken: AtomicBool,
    misses: Misses,
    /// Waits until now; wraps around.
    waits: AtomicU32,
    /// Waits of this window that were timed, and how long they took.
    timed: AtomicU32,
    timed_ns: AtomicU64,
    window: Mutex<Window>,
    readings: Readings,
}

impl SpinPolicy {
    /// A policy that spins for at most `limit`; never when that is zero or there is one processor
    /// only.
    pub fn new(limit: Duration) -> SpinPolicy {
        let policy = SpinPolicy {
            limit_ns: AtomicU64::new(0),
            allowed: AtomicBool::new(false),
            taken: AtomicBool::new(false),
            misses: Misses::default(),
            waits: AtomicU32::new(0),
            timed: AtomicU32::new(0),
            timed_ns: AtomicU64::new(0),
            window: Mutex::new(Window { trials: SpinTrials::new(), begun: None }),
            readings: Readings::OF_THIS_MACHINE,
        };
        policy.set_limit(limit);
        policy
    }

    /// A policy whose first waits spin for up to `limit`, whatever they cost: for tests.
    #[doc(hidden)]
    pub fn spinning(limit: Duration) -> SpinPolicy {
        let limit_ns = AtomicU64::new(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX));
        // The second wait of a window: the first one would decide about the window.
        let (waits, allowed) = (AtomicU32::new(1), AtomicBool::new(true));
        SpinPolicy { limit_ns, waits, allowed, ..SpinPolicy::new(Duration::ZERO) }
    }

    /// Sets how long later waits spin at most.
    pub fn set_limit(&self, limit: Duration) {
        let limit = if is_single_processor() { Duration::ZERO } else { limit };
        let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        self.limit_ns.store(limit_ns, Ordering::Relaxed);
    }

    fn limit(&self) -> Duration {
        Duration::from_nanos(self.limit_ns.load(Ordering::Relaxed))
    }

    /// Counts a wait, and begins to spin if that is likely to pay. `None`: the wait just sleeps.
    pub fn begin(&self) -> Option<Spin<'_>> {
        if self.limit().is_zero() {
            return None;
        }
        // Not atomic together: a wait that is not counted does no harm.
        let waits = self.waits.load(Ordering::Relaxed);
        self.waits.store(waits.wrapping_add(1), Ordering::Relaxed);
        if waits.is_multiple_of(STEP_WAITS) {
            self.step(waits);
        }
        let timed = waits.is_multiple_of(TIMED_EVERY);
        let spins = self.allowed.load(Ordering::Relaxed) && self.misses.may_try();
        if !spins && !timed {
            return None;
        }
        let begun = (self.readings.now)();
        let spins =
            spins && !(self.readings.are_busy)(begun) && !self.taken.swap(true, Ordering::Relaxed);
        (spins || timed).then_some(Spin { policy: self, begun, spins, timed })
    }

    /// Counts messages that nobody waited for one by one: the time that they take is in the cost of
    /// a window too.
    pub fn count(&self, messages: u32) {
        // The next wait that is a multiple of a step sees them.
        let waits = self.waits.load(Ordering::Relaxed);
        self.waits.store(waits.wrapping_add(messages), Ordering::Relaxed);
    }

    /// Ends a window if it is long enough, and decides about the next one.
    #[cold]
    fn step(&self, waits: u32) {
        // Another thread is at it.
        let Ok(mut window) = self.window.try_lock() else { return };
        let now = (self.readings.now)();
        let begun = window.begun.take();
        if (self.readings.are_busy)(now) {
            // Until the next step, each wait that may spin finds the machine busy by itself.
            window.trials.void_window();
            return;
        }
        if let Some(begun) = begun {
            let count = waits.wrapping_sub(begun.waits);
            if count < WINDOW_WAITS || now - begun.at < WINDOW_MIN {
                window.begun = Some(begun);
                return;
            }
            match self.cost(&begun, count) {
                Some(cost) => window.trials.end_window(cost),
                None => window.trials.void_window(),
            }
        }
        self.timed.store(0, Ordering::Relaxed);
        self.timed_ns.store(0, Ordering::Relaxed);
        self.allowed.store(window.trials.spins(), Ordering::Relaxed);
        window.begun = Some(Begun { at: now, waits, own_time: (self.readings.own_time)() });
    }

    /// The cost of a wait of a window; `None` if no timed wait has ended.
    fn cost(&self, begun: &Begun, waits: u32) -> Option<WaitCost> {
        let cpu = (self.readings.own_time)().saturating_sub(begun.own_time).as_nanos();
        let timed = u64::from(self.timed.load(Ordering::Relaxed));
        Some(WaitCost {
            cpu_ns: u64::try_from(cpu / u128::from(waits)).ok()?,
            wait_ns: self.timed_ns.load(Ordering::Relaxed).checked_div(timed)?,
        })
    }
}

/// The readings of the machine that a policy uses; tests have their own.
#[derive(Debug)]
struct Readings {
    now: fn() -> Instant,
    are_busy: fn(Instant) -> bool,
    own_time: fn() -> Duration,
}

impl Readings {
    const OF_THIS_MACHINE: Readings = Readings {
        now: Instant::now,
        are_busy: processors::are_busy,
        own_time: processors::own_time,
    };
}

/// The window of a trial that is under way.
#[derive(Debug)]
struct Window {
    trials: SpinTrials,
    begun: Option<Begun>,
}

/// The beginning of a window.
#[derive(Debug)]
struct Begun {
    at: Instant,
    waits: u32,
    own_time: Duration,
}

/// Spins in a row without a message in time; each has twice as many waits after it that do not try.
#[derive(Debug, Default)]
struct Misses {
    count: AtomicU32,
    /// Waits that do not spin before the next one that does.
    skips: AtomicU32,
}

impl Misses {
    fn may_try(&self) -> bool {
        let skips = self.skips.load(Ordering::Relaxed);
        if skips > 0 {
            self.skips.store(skips - 1, Ordering::Relaxed);
        }
        skips == 0
    }

    fn note(&self, found: bool) {
        let count = if found { 0 } else { self.count.load(Ordering::Relaxed).saturating_add(1) };
        let skips = 1_u32.checked_shl(count).map_or(SKIPS_MAX, |skips| skips - 1);
        self.count.store(count, Ordering::Relaxed);
        self.skips.store(skips.min(SKIPS_MAX), Ordering::Relaxed);
    }
}

/// One wait that spins or is timed. Dropping it while it spins counts as a miss.
#[derive(Debug)]
pub struct Spin<'a> {
    policy: &'a SpinPolicy,
    begun: Instant,
    spins: bool,
    timed: bool,
}

impl Spin<'_> {
    /// Schedules another poll for when the runtime has no other work and has seen its events, until
    /// the time is over.
    pub fn again(&mut self, context: &mut Context<'_>) {
        if !self.spins {
            return;
        }
        if self.elapsed() >= self.policy.limit() {
            return self.end(false);
        }
        let _ = pin!(tokio::task::yield_now()).as_mut().poll(context);
    }

    /// The message has arrived.
    pub fn found(mut self) {
        if self.timed {
            let ns = u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.policy.timed_ns.fetch_add(ns, Ordering::Relaxed);
            self.policy.timed.fetch_add(1, Ordering::Relaxed);
        }
        self.end(true);
    }

    fn elapsed(&self) -> Duration {
        (self.policy.readings.now)().saturating_duration_since(self.begun)
    }

    fn end(&mut self, found: bool) {
        if std::mem::take(&mut self.spins) {
            self.policy.misses.note(found);
            self.policy.taken.store(false, Ordering::Relaxed);
        }
    }
}

impl Drop for Spin<'_> {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// True when a thread that spins may keep the one that it waits for from the only processor.
pub fn is_single_processor() -> bool {
    static SINGLE: OnceLock<bool> = OnceLock::new();
    *SINGLE.get_or_init(|| std::thread::available_parallelism().is_ok_and(|all| all.get() == 1))
}

#[cfg(test)]
mod tests;
