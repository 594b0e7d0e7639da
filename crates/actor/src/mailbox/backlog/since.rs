//! Since when a call waits, by a clock that is read in a few nanoseconds, so that every chunk may know.

use std::time::Duration;

/// A step of the clock. The system moves the cheap one every 1 to 10 ms.
const STEP: Duration = Duration::from_millis(10);

/// A moment of the last 497 days, in steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since(u32);

impl Since {
    /// Of what does not wait.
    pub(crate) const NEVER: Since = Since(0);

    pub(crate) fn now() -> Since {
        Since(steps())
    }

    /// How long ago it was, a step less or more.
    pub(crate) fn elapsed(self) -> Duration {
        STEP * steps().wrapping_sub(self.0)
    }
}

/// The lowest bits are enough: what is asked for is a difference.
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

    /// The clock may begin anew between the two.
    #[test]
    fn a_moment_before_the_clock_began_anew_is_as_long_ago_as_it_was() {
        let now = steps();
        let elapsed = Since(now.wrapping_sub(500)).elapsed();
        assert!(elapsed >= 500 * STEP && elapsed < 5 * 500 * STEP, "{elapsed:?}");
    }
}
