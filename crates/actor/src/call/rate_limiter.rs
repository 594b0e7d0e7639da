//! A limit on the rate of sends.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep_until};

use crate::limits::{RATE_LIMITER_SENDS_MAX, TIMER_DELAY_MAX};

/// Rate limiter: at most `most` events in any window of `interval`, first in, first out.
///
/// Callers that share one limit share the limiter by reference or in an `Arc`.
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
    /// The times of the last `most` events, the oldest first.
    went: Mutex<VecDeque<Instant>>,
}

impl RateLimiter {
    /// Creates a limiter for at most `most` events in any window of `interval`. `most` is clamped
    /// to between 1 and [`RATE_LIMITER_SENDS_MAX`].
    pub fn new(most: usize, interval: Duration) -> RateLimiter {
        let most = most.clamp(1, RATE_LIMITER_SENDS_MAX);
        RateLimiter { most, interval, went: Mutex::default() }
    }

    /// Waits until one more event is allowed, and counts it.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, the event is not counted, and later callers move
    /// up.
    ///
    /// # Panics
    /// When it has to wait outside a tokio runtime with a clock.
    pub async fn wait(&self) {
        // Held during the wait: later callers queue up for the lock.
        let mut went = self.went.lock().await;
        if let Some(until) = self.until(&went) {
            sleep_until(until).await;
        }
        self.count(&mut went);
    }

    /// Counts one event and returns true if it is allowed now and no caller waits; otherwise
    /// returns false and counts nothing.
    pub fn try_now(&self) -> bool {
        let Ok(mut went) = self.went.try_lock() else { return false };
        let may = self.until(&went).is_none_or(|until| until <= Instant::now());
        if may {
            self.count(&mut went);
        }
        may
    }

    /// The time from which the next event is allowed; `None` when it is allowed now.
    fn until(&self, went: &VecDeque<Instant>) -> Option<Instant> {
        let oldest = went.front().filter(|_| went.len() == self.most)?;
        // An interval beyond what the clock represents never ends.
        Some(oldest.checked_add(self.interval).unwrap_or_else(|| Instant::now() + TIMER_DELAY_MAX))
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
