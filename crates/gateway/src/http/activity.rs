//! The activity of a connection: whether a request of it is being answered, and when one last was.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::limits::FIRST_HEAD_TIME;

/// The activity of one connection. One task looks at it, so that no request has a timer of its own.
#[derive(Debug)]
pub(crate) struct Activity {
    came: Instant,
    /// Requests that are being answered.
    open: AtomicUsize,
    /// Milliseconds from then to the last answer; 0 before the first one.
    answered: AtomicU64,
}

impl Activity {
    pub(crate) fn new() -> Activity {
        let (open, answered) = (AtomicUsize::new(0), AtomicU64::new(0));
        Activity { came: Instant::now(), open, answered }
    }

    /// A request has come, and is answered while the result is held.
    pub(crate) fn begin(self: &Arc<Activity>) -> Begun {
        // Relaxed: no other memory is published through these numbers.
        self.open.fetch_add(1, Ordering::Relaxed);
        Begun(self.clone())
    }

    /// Waits until no head has been complete within `limit` of the last answer, or within
    /// [`FIRST_HEAD_TIME`] at first. An answer that HTTP has taken may still be on its way to a slow
    /// client, so the time goes on from `last_wait`, when the output last waited for it.
    pub(crate) async fn stands_still(
        &self,
        limit: Duration,
        last_wait: impl Fn() -> Option<Instant>,
    ) {
        let first = self.came + FIRST_HEAD_TIME.min(limit);
        loop {
            let answered = self.answered.load(Ordering::Relaxed);
            let is_open = self.open.load(Ordering::Relaxed) > 0;
            let end = match answered {
                0 if !is_open => first,
                _ => self.came + Duration::from_millis(answered) + limit,
            };
            let end = last_wait().map_or(end, |waited| end.max(waited + limit));
            match end.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => sleep(left).await,
                _ if is_open => sleep(limit).await,
                _ => return,
            }
        }
    }
}

/// A request that is being answered, to the end of its answer's body.
#[derive(Debug)]
pub(crate) struct Begun(Arc<Activity>);

impl Drop for Begun {
    fn drop(&mut self) {
        let answered = (self.0.came.elapsed().as_millis() as u64).max(1);
        self.0.answered.store(answered, Ordering::Relaxed);
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// How long after `begun` the connection stands still.
    async fn still_after(
        activity: &Activity,
        begun: Instant,
        last_wait: impl Fn() -> Option<Instant>,
    ) -> Duration {
        activity.stands_still(LIMIT, last_wait).await;
        begun.elapsed()
    }

    fn is_about(one: Duration, other: Duration) -> bool {
        one.abs_diff(other) < seconds(1)
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_request_has_less_time_than_one_that_was_answered() {
        let (begun, activity) = (Instant::now(), Activity::new());
        assert!(is_about(still_after(&activity, begun, || None).await, FIRST_HEAD_TIME));
        let (begun, activity) = (Instant::now(), Arc::new(Activity::new()));
        let answering = async {
            sleep(seconds(2)).await;
            let request = activity.begin();
            sleep(seconds(100)).await;
            drop(request);
        };
        let (still, ()) = tokio::join!(still_after(&activity, begun, || None), answering);
        assert!(still >= seconds(102) + LIMIT && still <= seconds(102) + 2 * LIMIT, "{still:?}");
        // Nothing that comes later is needed.
        let next = activity.begin();
        drop(next);
        let still = still_after(&activity, Instant::now(), || None).await;
        assert!(is_about(still, LIMIT), "{still:?}");
    }

    /// HTTP has taken the whole answer, and the client still reads it.
    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_connection_goes_on_from_when_its_output_last_waited() {
        let (begun, activity) = (Instant::now(), Arc::new(Activity::new()));
        drop(activity.begin());
        let waited = Cell::new(None);
        let reading = async {
            for _ in 0..10 {
                sleep(seconds(50)).await;
                waited.set(Some(Instant::now()));
            }
        };
        let (still, ()) = tokio::join!(still_after(&activity, begun, || waited.get()), reading);
        assert!(is_about(still, seconds(500) + LIMIT), "{still:?}");
    }
}
