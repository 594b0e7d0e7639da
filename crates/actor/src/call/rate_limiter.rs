//! How fast somebody may send.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep_until};

use crate::limits::RATE_LIMITER_SENDS_MAX;

/// Lets so many go in any span of time of one length, and has the rest wait, in the order in which
/// they came. Share it by reference or in an `Arc` among all who send at that pace together.
///
/// ```
/// # use std::time::Duration;
/// # async fn example() {
/// let rate_limiter = wigwag_actor::RateLimiter::new(100, Duration::from_secs(1));
/// rate_limiter.wait().await;
/// // send
/// # }
/// ```
pub struct RateLimiter {
    most: usize,
    interval: Duration,
    /// When the last `most` went, the oldest first.
    went: Mutex<VecDeque<Instant>>,
}

impl RateLimiter {
    /// At most `most` in any `interval`; `most` counts as 1 when it is 0, and as [`RATE_LIMITER_SENDS_MAX`]
    /// when it is more.
    pub fn new(most: usize, interval: Duration) -> RateLimiter {
        let most = most.clamp(1, RATE_LIMITER_SENDS_MAX);
        RateLimiter { most, interval, went: Mutex::default() }
    }

    /// Waits until one more may go, and counts it.
    ///
    /// # Cancellation
    /// Dropped while it waits, it is not counted, and who came later moves up.
    ///
    /// # Panics
    /// Outside a tokio runtime with a clock, when it has to wait.
    pub async fn wait(&self) {
        // Held while this one waits: the others stand in line for it.
        let mut went = self.went.lock().await;
        if let Some(until) = self.until(&went) {
            sleep_until(until).await;
        }
        self.count(&mut went);
    }

    /// Counts an event if it is allowed now and no earlier one waits; otherwise returns false and
    /// counts nothing.
    pub fn try_now(&self) -> bool {
        let Ok(mut went) = self.went.try_lock() else { return false };
        let may = self.until(&went).is_none_or(|until| until <= Instant::now());
        if may {
            self.count(&mut went);
        }
        may
    }

    /// When the next one may go, if not at once.
    fn until(&self, went: &VecDeque<Instant>) -> Option<Instant> {
        let oldest = went.front().filter(|_| went.len() == self.most)?;
        oldest.checked_add(self.interval)
    }

    fn count(&self, went: &mut MutexGuard<'_, VecDeque<Instant>>) {
        if went.len() == self.most {
            went.pop_front();
        }
        went.push_back(Instant::now());
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RateLimiter({} in {:?})", self.most, self.interval)
    }
}
