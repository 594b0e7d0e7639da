//! How long a call may wait, for room and for its answer.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::{Handle, Id};
use tokio::time::Sleep;

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
        TimeLimit { limit, asks: false, timer: None, runtime: None }
    }

    /// The time limit of an ask.
    #[inline]
    pub(crate) fn of_ask(limit: Option<Duration>) -> TimeLimit {
        TimeLimit { limit, asks: true, timer: None, runtime: None }
    }

    /// Leaves the time to the thread that waits: returns the limit, which is `default` unless the
    /// caller set one, and removes it here.
    pub(super) fn keep_by_thread(&mut self, default: Duration) -> Duration {
        self.limit.replace(Duration::MAX).unwrap_or(default)
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
        if limit == Duration::MAX {
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
