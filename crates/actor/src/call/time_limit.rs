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
    wait: Wait,
    timer: Option<Box<Timer>>,
}

/// What a call waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Room,
    Answer,
    /// Either, and the thread that waits keeps the time.
    ByThread,
}

/// A timer, on the clock of a runtime. Both are boxed together, because every call moves its time
/// limit several times and nearly none has a timer: with the runtime beside it, the cell *naive ask*
/// of `lab run remote` had 0.93 of the rate.
struct Timer {
    sleep: Pin<Box<Sleep>>,
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
fn forget_timer(timer: Box<Timer>) {
    drop(timer);
}

impl TimeLimit {
    #[inline]
    pub(crate) fn new(limit: Option<Duration>) -> TimeLimit {
        TimeLimit { limit, wait: Wait::Room, timer: None }
    }

    /// The time limit of an ask.
    #[inline]
    pub(crate) fn of_ask(limit: Option<Duration>) -> TimeLimit {
        TimeLimit { limit, wait: Wait::Answer, timer: None }
    }

    /// Leaves the time to the thread that waits: returns the limit, which is `default` unless the
    /// caller set one.
    pub(super) fn keep_by_thread(&mut self, default: Duration) -> Duration {
        self.wait = Wait::ByThread;
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
            Some(timer) => timer.sleep.deadline().saturating_duration_since(Instant::now()),
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
            None if self.wait == Wait::Room
                || self.timer.is_none() && Handle::try_current().is_err() =>
            {
                return Poll::Pending;
            }
            None => (ASK_WAIT_MAX, CallErrorKind::Timeout(ASK_WAIT_MAX)),
        };
        if limit == Duration::MAX || self.wait == Wait::ByThread {
            return Poll::Pending;
        }
        self.timer(limit).as_mut().poll(context).map(|()| kind)
    }

    /// The timer, on the clock of the runtime that polls. A call may be moved to another runtime
    /// while it waits, and the one where the wait began may be gone, whose timers panic.
    fn timer(&mut self, limit: Duration) -> &mut Pin<Box<Sleep>> {
        let runtime = Handle::try_current().ok().map(|runtime| runtime.id());
        let timer = self.timer.get_or_insert_with(|| {
            Box::new(Timer { sleep: Box::pin(tokio::time::sleep(limit)), runtime })
        });
        if runtime.is_some() && runtime != timer.runtime {
            timer.sleep = Box::pin(tokio::time::sleep_until(timer.sleep.deadline()));
            timer.runtime = runtime;
        }
        &mut timer.sleep
    }
}
