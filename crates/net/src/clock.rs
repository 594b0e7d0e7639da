//! Where `now` comes from: the runtime's clock, which is the monotonic one, counted from the first look.
//!
//! Tests may stop the runtime's clock and move it (tokio's feature `test-util`), and what is timed
//! here moves along with the runtime's timers. In a program that is shipped there is nothing to stop,
//! and a look is one at the monotonic clock.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::Instant;
use wigwag_wire::Time;

/// The first look has this time, not zero: a runtime whose clock was stopped may be behind one that
/// has looked before it, by as much as a run of tests takes.
const FIRST: Duration = Duration::from_secs(24 * 3600);

/// `FIRST` before the first look.
static BEGINNING: OnceLock<Instant> = OnceLock::new();

/// The time of this process. A step of the wall clock does not move it.
pub fn now() -> Time {
    Time::START + BEGINNING.get_or_init(beginning).elapsed()
}

/// The instant at which [`now`] will be `time`; for the runtime's timers.
pub fn instant(time: Time) -> Instant {
    let ahead: Duration = time.since(now());
    Instant::now() + ahead.min(Duration::from_secs(365 * 24 * 3600))
}

fn beginning() -> Instant {
    let first_look = Instant::now();
    // Where instants count from the machine's start, a young machine has none so early.
    first_look.checked_sub(FIRST).unwrap_or(first_look)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_goes_with_the_clock_of_the_runtime() {
        let begun = now();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(now() - begun, Duration::from_secs(3600));
        assert_eq!(
            instant(now() + Duration::from_secs(1)) - Instant::now(),
            Duration::from_secs(1)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_behind_the_first_look_has_a_time_too() {
        std::thread::spawn(now).join().unwrap();
        let early = now();
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(now() - early, Duration::from_millis(1));
    }
}
