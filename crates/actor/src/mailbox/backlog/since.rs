//! Coarse times, read in a few nanoseconds, so that each chunk can record since when it waits.

use std::time::Duration;

/// The resolution of [`Since`]. The system's coarse clock advances every 1 to 10 ms.
const STEP: Duration = Duration::from_millis(10);

/// A time in steps, modulo the 497 days that 32 bits hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since(u32);

impl Since {
    /// The value for a chunk that does not wait.
    pub(crate) const NEVER: Since = Since(0);

    pub(crate) fn now() -> Since {
        Since(steps())
    }

    /// Returns how long ago the time was, one step less or more.
    pub(crate) fn elapsed(self) -> Duration {
        STEP * steps().wrapping_sub(self.0)
    }
}

/// The current time in steps. The lowest bits are enough, because only differences are used.
#[cfg(target_os = "linux")]
fn steps() -> u32 {
    use rustix::time::{ClockId, clock_gettime};
    let now = clock_gettime(ClockId::MonotonicCoarse);
    (now.tv_sec as u32).wrapping_mul(100).wrapping_add(now.tv_nsec as u32 / STEP.subsec_nanos())
}

#[cfg(not(target_os = "linux"))]
fn steps() -> u32 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    (BEGUN.get_or_init(Instant::now).elapsed().as_millis() / STEP.as_millis()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `now` may be less than 500, so that the subtraction wraps around.
    #[test]
    fn the_elapsed_time_is_right_when_the_count_of_steps_has_wrapped_around() {
        let now = steps();
        let elapsed = Since(now.wrapping_sub(500)).elapsed();
        assert!(elapsed >= 500 * STEP && elapsed < 5 * 500 * STEP, "{elapsed:?}");
    }
}
