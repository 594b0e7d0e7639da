//! Where `now` comes from: the monotonic clock, counted from the first look.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use wigwag_wire::Time;

static FIRST_LOOK: OnceLock<Instant> = OnceLock::new();

/// The time of this process. A step of the wall clock does not move it.
pub fn now() -> Time {
    let since = FIRST_LOOK.get_or_init(Instant::now).elapsed();
    Time::START + since
}

/// The instant at which [`now`] will be `time`; for the runtime's timers.
pub fn instant(time: Time) -> tokio::time::Instant {
    let ahead: Duration = time.since(now());
    tokio::time::Instant::now() + ahead.min(Duration::from_secs(365 * 24 * 3600))
}
