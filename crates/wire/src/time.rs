//! A point in time that code can construct without a clock.
//!
//! `std::time::Instant` is available only from the clock, so not even a test can construct one.
//! Pure code takes `now: Time`; the driver fills it from a monotonic clock, the simulator from a
//! seed.

use core::ops::{Add, Sub};
use core::time::Duration;

/// A point in time, as nanoseconds since a start that only the source of the time knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The start; tests count from here.
    pub const START: Time = Time(0);

    /// The time `nanoseconds` after the start.
    pub const fn from_nanos(nanoseconds: u64) -> Time {
        Time(nanoseconds)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The duration since `earlier`; zero if that is in the future.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    /// Saturates after 584 years: a deadline that far away never comes.
    fn add(self, later: Duration) -> Time {
        Time(self.0.saturating_add(u64::try_from(later.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub for Time {
    type Output = Duration;

    fn sub(self, earlier: Time) -> Duration {
        self.since(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_adds_and_saturates() {
        let second = Duration::from_secs(1);
        assert_eq!((Time::START + second) - Time::START, second);
        assert_eq!(Time::START - (Time::START + second), Duration::ZERO);
        assert_eq!(Time::START + Duration::MAX, Time::from_nanos(u64::MAX));
    }
}
