//! Looking for an answer for a moment before the thread sleeps.
//!
//! Who asks one thing and waits for the answer puts its processor to sleep, and the answer must wake
//! it: on a virtual machine that costs more than all else of a round trip, on both sides and in
//! processor time too. So the asker lets everybody else of its runtime go first and then looks
//! again, a fraction of a millisecond long. Where that does not pay, because the answers take longer,
//! it is tried again ever more rarely; one asker of a reference does it at a time; and with a single
//! processor, which the answerer may need, nobody does.

use std::future::Future;
use std::pin::pin;
use std::sync::OnceLock;
use std::task::Context;
use std::time::{Duration, Instant};

use crate::limits::WATCH_RESTS_MAX;
use crate::sync::{AtomicBool, AtomicU32, Ordering};

/// What a reference knows of whether it pays.
#[derive(Debug)]
pub struct Watch {
    limit: Duration,
    /// Somebody looks.
    taken: AtomicBool,
    /// Times in a row that no answer came in time.
    misses: AtomicU32,
    /// Asks that do not look before the next one that does.
    rests: AtomicU32,
}

impl Watch {
    /// One that looks for at most `limit`; never when that is zero or there is one processor only.
    pub fn new(limit: Duration) -> Watch {
        let limit = if is_alone() { Duration::ZERO } else { limit };
        Watch {
            limit,
            taken: AtomicBool::new(false),
            misses: AtomicU32::new(0),
            rests: AtomicU32::new(0),
        }
    }

    /// Begins to look, if it is likely to pay.
    pub(crate) fn begin(&self) -> Option<Watching<'_>> {
        if self.limit.is_zero() {
            return None;
        }
        let rests = self.rests.load(Ordering::Relaxed);
        if rests > 0 {
            self.rests.store(rests - 1, Ordering::Relaxed);
            return None;
        }
        if self.taken.swap(true, Ordering::Relaxed) {
            return None;
        }
        Some(Watching { watch: self, begun: Instant::now(), found: false })
    }

    fn end(&self, found: bool) {
        let misses = if found { 0 } else { self.misses.load(Ordering::Relaxed).saturating_add(1) };
        let rests = 1_u32.checked_shl(misses).map_or(WATCH_RESTS_MAX, |rests| rests - 1);
        self.misses.store(misses, Ordering::Relaxed);
        self.rests.store(rests.min(WATCH_RESTS_MAX), Ordering::Relaxed);
        self.taken.store(false, Ordering::Relaxed);
    }
}

/// The only processor may be needed by the one who answers.
fn is_alone() -> bool {
    static ALONE: OnceLock<bool> = OnceLock::new();
    *ALONE.get_or_init(|| std::thread::available_parallelism().is_ok_and(|all| all.get() == 1))
}

/// One ask that looks; dropping it says that there was nothing.
pub(crate) struct Watching<'a> {
    watch: &'a Watch,
    begun: Instant,
    found: bool,
}

impl Watching<'_> {
    /// Has the task polled again when the runtime has nothing else to do and has seen what came in;
    /// false when the time is over.
    pub(crate) fn again(&self, context: &mut Context<'_>) -> bool {
        if self.begun.elapsed() >= self.watch.limit {
            return false;
        }
        let _ = pin!(tokio::task::yield_now()).as_mut().poll(context);
        true
    }

    /// The answer is there.
    pub(crate) fn found(mut self) {
        self.found = true;
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.watch.end(self.found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> Watch {
        Watch { limit: Duration::from_secs(1), ..Watch::new(Duration::ZERO) }
    }

    /// Asks until the next one that looks, and that one.
    fn until_next(watch: &Watch) -> (u32, Watching<'_>) {
        (0..).find_map(|rests| watch.begin().map(|watching| (rests, watching))).expect("it ends")
    }

    #[test]
    fn one_that_finds_nothing_is_followed_by_ever_longer_rests() {
        let watch = watch();
        let rests: Vec<u32> = (0..14).map(|_| until_next(&watch).0).collect();
        let most = WATCH_RESTS_MAX;
        assert_eq!(rests, [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, most, most, most]);
        until_next(&watch).1.found();
        assert_eq!(until_next(&watch).0, 0, "it pays again");
    }

    #[test]
    fn one_looks_at_a_time() {
        let watch = watch();
        let first = watch.begin().expect("it is the first");
        assert!(watch.begin().is_none());
        first.found();
        assert!(watch.begin().is_some());
    }

    #[test]
    fn nobody_looks_when_the_time_is_zero_or_over() {
        assert!(Watch::new(Duration::ZERO).begin().is_none());
        let watch = Watch { limit: Duration::from_nanos(1), ..watch() };
        let watching = watch.begin().expect("it is the first");
        assert!(!watching.again(&mut Context::from_waker(std::task::Waker::noop())));
    }
}
