//! Spinning: an ask polls for its answer for a moment before its thread parks.
//!
//! A thread that asks one thing and waits puts its processor to sleep, and the answer must wake it:
//! on a virtual machine that costs more than the rest of a round trip, on both sides and in
//! processor time too. So the asker lets the other tasks of its runtime run first and then polls
//! again, for a fraction of a millisecond.
//!
//! Where that does not pay, asks sleep. Whether it does is measured: `trials.rs` compares asks that
//! spin with asks that do not. While other threads want all processors, no ask spins
//! (`processors.rs`). A spin without an answer in time is retried ever more rarely; one asker of a
//! reference spins at a time; and with a single processor, which the answerer may need, none does.
//!
//! Measured gain: over loopback on an idle machine with two processors, asks one at a time take
//! 0.67 to 1.00 of the time of asks that sleep, at 0.89 to 1.05 of the processor time of both sides;
//! `docs/decisions.md` has the cases.

mod trials;
mod processors;

use std::future::Future;
use std::pin::pin;
use std::task::Context;
use std::time::{Duration, Instant};

use crate::limits::SPIN_SKIPS_MAX;
use crate::reference::spin::trials::{AskCost, SpinTrials};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Mutex, Ordering, is_single_processor};

/// Asks between two looks at the clock and the processors.
const STEP_ASKS: u32 = 64;

/// Asks of a window of a trial, at least.
const WINDOW_ASKS: u32 = 256;

/// Length of a window, at least: the kernel may count the time of a thread that runs up to 4 ms
/// later.
const WINDOW_MIN: Duration = Duration::from_millis(12);

/// Asks of which one is timed.
const TIMED_EVERY: u32 = 8;

/// Measures for one reference whether spinning pays, and limits it.
#[derive(Debug)]
pub struct SpinPolicy {
    limit: Duration,
    /// Asks may spin in this window.
    allowed: AtomicBool,
    /// An asker spins now.
    taken: AtomicBool,
    misses: Misses,
    /// Asks until now; wraps around.
    asks: AtomicU32,
    /// Asks of this window that were timed, and how long they took.
    timed: AtomicU32,
    timed_ns: AtomicU64,
    window: Mutex<Window>,
    readings: Readings,
}

impl SpinPolicy {
    /// A policy that spins for at most `limit`; never when that is zero or there is one processor
    /// only.
    pub fn new(limit: Duration) -> SpinPolicy {
        let limit = if is_single_processor() { Duration::ZERO } else { limit };
        SpinPolicy {
            limit,
            allowed: AtomicBool::new(false),
            taken: AtomicBool::new(false),
            misses: Misses::default(),
            asks: AtomicU32::new(0),
            timed: AtomicU32::new(0),
            timed_ns: AtomicU64::new(0),
            window: Mutex::new(Window { trials: SpinTrials::new(), begun: None }),
            readings: Readings::OF_THIS_MACHINE,
        }
    }

    /// Counts an ask, and begins to spin if that is likely to pay. `None`: the ask just sleeps.
    pub(crate) fn begin(&self) -> Option<Spin<'_>> {
        if self.limit.is_zero() {
            return None;
        }
        // Not atomic together: an ask that is not counted does no harm.
        let asks = self.asks.load(Ordering::Relaxed);
        self.asks.store(asks.wrapping_add(1), Ordering::Relaxed);
        if asks.is_multiple_of(STEP_ASKS) {
            self.step(asks);
        }
        let timed = asks.is_multiple_of(TIMED_EVERY);
        let spins = self.allowed.load(Ordering::Relaxed) && self.misses.may_try();
        if !spins && !timed {
            return None;
        }
        let begun = (self.readings.now)();
        let spins =
            spins && !(self.readings.are_busy)(begun) && !self.taken.swap(true, Ordering::Relaxed);
        (spins || timed).then_some(Spin { policy: self, begun, spins, timed })
    }

    /// Ends a window if it is long enough, and decides about the next one.
    #[cold]
    fn step(&self, asks: u32) {
        // Another thread is at it.
        let Ok(mut window) = self.window.try_lock() else { return };
        let now = (self.readings.now)();
        let begun = window.begun.take();
        if (self.readings.are_busy)(now) {
            // Until the next step, each ask that may spin finds the machine busy by itself.
            window.trials.void_window();
            return;
        }
        if let Some(begun) = begun {
            let count = asks.wrapping_sub(begun.asks);
            if count < WINDOW_ASKS || now - begun.at < WINDOW_MIN {
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
        window.begun = Some(Begun { at: now, asks, own_time: (self.readings.own_time)() });
    }

    /// The cost of an ask of a window; `None` if none was answered.
    fn cost(&self, begun: &Begun, asks: u32) -> Option<AskCost> {
        let cpu = (self.readings.own_time)().saturating_sub(begun.own_time).as_nanos();
        let timed = u64::from(self.timed.load(Ordering::Relaxed));
        Some(AskCost {
            cpu_ns: u64::try_from(cpu / u128::from(asks)).ok()?,
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
    asks: u32,
    own_time: Duration,
}

/// Spins in a row without an answer in time; each has twice as many asks after it that do not try.
#[derive(Debug, Default)]
struct Misses {
    count: AtomicU32,
    /// Asks that do not spin before the next one that does.
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
        let skips = 1_u32.checked_shl(count).map_or(SPIN_SKIPS_MAX, |skips| skips - 1);
        self.count.store(count, Ordering::Relaxed);
        self.skips.store(skips.min(SPIN_SKIPS_MAX), Ordering::Relaxed);
    }
}

/// One ask that spins or is timed. Dropping it while it spins counts as a miss.
pub(crate) struct Spin<'a> {
    policy: &'a SpinPolicy,
    begun: Instant,
    spins: bool,
    timed: bool,
}

impl Spin<'_> {
    /// Schedules another poll for when the runtime has no other work and has seen its events, until
    /// the time is over.
    pub(crate) fn again(&mut self, context: &mut Context<'_>) {
        if !self.spins {
            return;
        }
        if self.elapsed() >= self.policy.limit {
            return self.end(false);
        }
        let _ = pin!(tokio::task::yield_now()).as_mut().poll(context);
    }

    /// The answer has arrived.
    pub(crate) fn found(mut self) {
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

#[cfg(test)]
mod tests;
