//! Spinning: an ask polls for its answer for a moment before its thread parks.
//!
//! A thread that asks one thing and waits puts its processor to sleep, and the answer must wake it:
//! on a virtual machine that costs more than the rest of a round trip, on both sides and in
//! processor time too. So the asker lets the other tasks of its runtime run first and then polls
//! again, for a fraction of a millisecond. Where that does not pay, because the answers take
//! longer, it is retried ever more rarely; one asker of a reference spins at a time; and with a
//! single processor, which the answerer may need, no asker spins.

use std::future::Future;
use std::pin::pin;
use std::task::Context;
use std::time::{Duration, Instant};

use crate::limits::SPIN_SKIPS_MAX;
use crate::sync::{AtomicBool, AtomicU32, Ordering, is_single_processor};

/// Measures for one reference whether spinning pays, and limits it.
#[derive(Debug)]
pub struct SpinPolicy {
    limit: Duration,
    /// An asker spins now.
    taken: AtomicBool,
    /// Spins in a row without an answer in time.
    misses: AtomicU32,
    /// Asks that do not spin before the next one that does.
    skips: AtomicU32,
}

impl SpinPolicy {
    /// A policy that spins for at most `limit`; never when that is zero or there is one processor
    /// only.
    pub fn new(limit: Duration) -> SpinPolicy {
        let limit = if is_single_processor() { Duration::ZERO } else { limit };
        SpinPolicy {
            limit,
            taken: AtomicBool::new(false),
            misses: AtomicU32::new(0),
            skips: AtomicU32::new(0),
        }
    }

    /// Begins to spin, if it is likely to pay.
    pub(crate) fn begin(&self) -> Option<Spin<'_>> {
        if self.limit.is_zero() {
            return None;
        }
        let skips = self.skips.load(Ordering::Relaxed);
        if skips > 0 {
            self.skips.store(skips - 1, Ordering::Relaxed);
            return None;
        }
        if self.taken.swap(true, Ordering::Relaxed) {
            return None;
        }
        Some(Spin { policy: self, begun: Instant::now(), found: false })
    }

    fn end(&self, found: bool) {
        let misses = if found { 0 } else { self.misses.load(Ordering::Relaxed).saturating_add(1) };
        let skips = 1_u32.checked_shl(misses).map_or(SPIN_SKIPS_MAX, |skips| skips - 1);
        self.misses.store(misses, Ordering::Relaxed);
        self.skips.store(skips.min(SPIN_SKIPS_MAX), Ordering::Relaxed);
        self.taken.store(false, Ordering::Relaxed);
    }
}

/// One ask that spins; dropping it counts as a miss unless the answer was found.
pub(crate) struct Spin<'a> {
    policy: &'a SpinPolicy,
    begun: Instant,
    found: bool,
}

impl Spin<'_> {
    /// Schedules another poll for when the runtime has no other work and has seen its events; false
    /// when the time is over.
    pub(crate) fn again(&self, context: &mut Context<'_>) -> bool {
        if self.begun.elapsed() >= self.policy.limit {
            return false;
        }
        let _ = pin!(tokio::task::yield_now()).as_mut().poll(context);
        true
    }

    /// The answer has arrived.
    pub(crate) fn found(mut self) {
        self.found = true;
    }
}

impl Drop for Spin<'_> {
    fn drop(&mut self) {
        self.policy.end(self.found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> SpinPolicy {
        SpinPolicy { limit: Duration::from_secs(1), ..SpinPolicy::new(Duration::ZERO) }
    }

    /// Counts the asks before the next one that spins, and returns both.
    fn until_next(policy: &SpinPolicy) -> (u32, Spin<'_>) {
        (0..).find_map(|skips| policy.begin().map(|spin| (skips, spin))).expect("it ends")
    }

    #[test]
    fn one_that_finds_nothing_is_followed_by_ever_longer_rests() {
        let policy = policy();
        let skips: Vec<u32> = (0..14).map(|_| until_next(&policy).0).collect();
        let most = SPIN_SKIPS_MAX;
        assert_eq!(skips, [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, most, most, most]);
        until_next(&policy).1.found();
        assert_eq!(until_next(&policy).0, 0, "it pays again");
    }

    #[test]
    fn one_looks_at_a_time() {
        let policy = policy();
        let first = policy.begin().expect("it is the first");
        assert!(policy.begin().is_none());
        first.found();
        assert!(policy.begin().is_some());
    }

    #[test]
    fn nobody_looks_when_the_time_is_zero_or_over() {
        assert!(SpinPolicy::new(Duration::ZERO).begin().is_none());
        let policy = SpinPolicy { limit: Duration::from_nanos(1), ..policy() };
        let spin = policy.begin().expect("it is the first");
        assert!(!spin.again(&mut Context::from_waker(std::task::Waker::noop())));
    }
}
