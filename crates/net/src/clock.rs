//! The source of `now`: the runtime's clock, which is the monotonic clock, counted from its first
//! use.
//!
//! Tests can stop the runtime's clock and advance it (tokio's feature `test-util`), and everything
//! timed by this module follows the runtime's timers. In production the clock cannot be stopped,
//! and a reading is one of the monotonic clock.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::Instant;
use wigwag_wire::Time;

/// The time of the first reading. It is not zero: a runtime whose clock was stopped may be behind
/// one that read the clock before it, by as much as a run of tests takes.
const FIRST: Duration = Duration::from_secs(24 * 3600);

/// The instant `FIRST` before the first reading.
static BEGINNING: OnceLock<Instant> = OnceLock::new();

/// The time of this process. A step of the wall clock does not change it.
pub fn now() -> Time {
    Time::START + BEGINNING.get_or_init(beginning).elapsed()
}

/// The instant at which [`now`] will return `time`; for the runtime's timers.
pub fn instant(time: Time) -> Instant {
    let ahead: Duration = time.since(now());
    Instant::now() + ahead.min(Duration::from_secs(365 * 24 * 3600))
}

fn beginning() -> Instant {
    let first_look = Instant::now();
    // Where instants count from the boot of the machine, such an early instant may not exist.
    first_look.checked_sub(FIRST).unwrap_or(first_look)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_follows_the_clock_of_the_runtime() {
        let begun = now();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(now() - begun, Duration::from_secs(3600));
        assert_eq!(
            instant(now() + Duration::from_secs(1)) - Instant::now(),
            Duration::from_secs(1)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_behind_the_first_reading_has_a_time_too() {
        std::thread::spawn(now).join().unwrap();
        let early = now();
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(now() - early, Duration::from_millis(1));
    }
}
