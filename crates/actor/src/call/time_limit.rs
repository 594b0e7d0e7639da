//! How long a call may wait, for room and for its answer.

use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::{Handle, Id};
use tokio::time::{Instant, Sleep};

use crate::error::CallErrorKind;
use crate::limits::{ASK_WAIT_MAX, HANDLER_WAIT_MAX};
use crate::turn;

/// How long a call may wait. The timer is created when the first wait begins, so a call that finds
/// room pays nothing for it.
pub(crate) struct TimeLimit {
    /// The limit that the caller set; `Duration::MAX` means no limit.
    limit: Option<Duration>,
    /// True when the call waits for an answer.
    asks: bool,
    /// The thread that waits keeps the time.
    by_thread: bool,
    timer: Option<Pin<Box<Sleep>>>,
    /// The runtime of the timer.
    runtime: Option<Id>,
}

impl Drop for TimeLimit {
    /// Nearly no call has waited, so most drops cost one comparison.
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(timer) = self.timer.take() {
            forget_timer(timer);
        }
    }
}

#[cold]
fn forget_timer(timer: Pin<Box<Sleep>>) {
    drop(timer);
}

impl TimeLimit {
    #[inline]
    pub(crate) fn new(limit: Option<Duration>) -> TimeLimit {
        TimeLimit { limit, asks: false, by_thread: false, timer: None, runtime: None }
    }

    /// The time limit of an ask.
    #[inline]
    pub(crate) fn of_ask(limit: Option<Duration>) -> TimeLimit {
        TimeLimit { limit, asks: true, by_thread: false, timer: None, runtime: None }
    }

    /// Leaves the time to the thread that waits: returns the limit, which is `default` unless the
    /// caller set one.
    pub(super) fn keep_by_thread(&mut self, default: Duration) -> Duration {
        self.by_thread = true;
        self.limit.unwrap_or(default)
    }

    /// The milliseconds that are left of a limit that the caller set, rounded up. The limits that
    /// every ask has are not told: they would cost each ask some bytes and its place in a run, and
    /// a call that is given up is cancelled anyway. Of a thread that waits, the time for which it
    /// has waited for room counts as left.
    #[inline]
    pub(super) fn left_ms(&self) -> Option<NonZeroU32> {
        let limit = self.limit?;
        if limit == Duration::MAX {
            return None;
        }
        let left = match &self.timer {
            None => limit,
            Some(timer) => timer.deadline().saturating_duration_since(Instant::now()),
        };
        // A longer limit than 49 days is none.
        NonZeroU32::new(u32::try_from(left.as_nanos().div_ceil(1_000_000)).ok()?.max(1))
    }

    /// `Ready` when the time is over, with the kind of the resulting error.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<CallErrorKind> {
        let (limit, kind) = match self.limit {
            Some(limit) => (limit, CallErrorKind::Timeout(limit)),
            None if turn::is_handler() => (HANDLER_WAIT_MAX, CallErrorKind::Overloaded),
            // There may be no runtime with a clock.
            None if !self.asks || self.timer.is_none() && Handle::try_current().is_err() => {
                return Poll::Pending;
            }
            None => (ASK_WAIT_MAX, CallErrorKind::Timeout(ASK_WAIT_MAX)),
        };
        if limit == Duration::MAX || self.by_thread {
            return Poll::Pending;
        }
        self.timer(limit).as_mut().poll(context).map(|()| kind)
    }

    /// The timer, on the clock of the runtime that polls. A call may be moved to another runtime
    /// while it waits, and the one where the wait began may be gone, whose timers panic.
    fn timer(&mut self, limit: Duration) -> &mut Pin<Box<Sleep>> {
        let runtime = Handle::try_current().ok().map(|runtime| runtime.id());
        let timer = match self.timer.take() {
            Some(timer) if runtime.is_none() || runtime == self.runtime => timer,
            Some(timer) => Box::pin(tokio::time::sleep_until(timer.deadline())),
            None => Box::pin(tokio::time::sleep(limit)),
        };
        self.runtime = runtime.or(self.runtime);
        self.timer.insert(timer)
    }
}
