//! The only clock of the world, which the world advances.

use core::time::Duration;

use wigwag_wire::Time;

/// Virtual time.
#[derive(Debug, Default)]
pub struct Clock {
    now: Time,
}

impl Clock {
    /// The current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Advances to `time`; a time in the past changes nothing.
    pub fn advance_to(&mut self, time: Time) {
        self.now = self.now.max(time);
    }
}

/// Returns a duration of `us` microseconds.
pub fn micros(count: u64) -> Duration {
    Duration::from_micros(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_goes_back() {
        let mut clock = Clock::default();
        clock.advance_to(Time::START + micros(7));
        clock.advance_to(Time::START + micros(3));
        assert_eq!(clock.now(), Time::START + micros(7));
    }
}
