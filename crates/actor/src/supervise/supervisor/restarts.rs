//! Restart intensity and back-off.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Counts the failures of all children of a supervisor within a window.
#[derive(Debug)]
pub(crate) struct Intensity {
    pub(crate) most: u32,
    pub(crate) within: Duration,
    failures: VecDeque<Instant>,
}

impl Intensity {
    pub(crate) fn new(most: u32, within: Duration) -> Intensity {
        Intensity { most, within, failures: VecDeque::new() }
    }

    /// Counts a failure; false when it exceeds the limit.
    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        while self.failures.front().is_some_and(|first| now - *first > self.within) {
            self.failures.pop_front();
        }
        self.failures.push_back(now);
        self.failures.len() <= self.most as usize
    }
}

/// The pauses before restarts of a child: each twice as long as the one before, while it fails
/// soon.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BackOff {
    pub(crate) first: Duration,
    pub(crate) most: Duration,
}

impl BackOff {
    /// The pause before the start after failure number `failure`, counted from 1.
    pub(crate) fn pause(&self, failure: u32) -> Duration {
        let doublings = failure.saturating_sub(1).min(31);
        self.first.saturating_mul(1 << doublings).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn failures_count_within_the_time_and_no_longer() {
        let mut intensity = Intensity::new(2, 5 * SECOND);
        let begin = Instant::now();
        for (at, allowed) in [(0, true), (5, true), (5, false), (11, true), (16, true), (16, false)]
        {
            assert_eq!(intensity.allows(begin + at * SECOND), allowed, "at {at} s");
            if !allowed {
                intensity.failures.pop_back();
            }
        }
        assert!(!Intensity::new(0, SECOND).allows(begin));
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let back_off = BackOff { first: SECOND, most: 10 * SECOND };
        let pauses: Vec<u64> = (1..7).map(|at| back_off.pause(at).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 10, 10]);
        assert_eq!(back_off.pause(u32::MAX), 10 * SECOND);
        let none = BackOff { first: Duration::ZERO, most: SECOND };
        assert_eq!(none.pause(9), Duration::ZERO);
    }
}
