//! How long a call may wait, for room and for its answer.

use std::cell::RefCell;
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::{Handle, Id};
use tokio::time::{Instant, Sleep};

use crate::error::CallErrorKind;
use crate::limits::{ASK_WAIT_MAX, HANDLER_WAIT_MAX, TIMERS_KEPT_MAX};
use crate::turn;

/// How long a call may wait. The timer is created when the first wait begins, so a call that finds
/// room pays nothing for it.
pub(crate) struct TimeLimit {
    /// The limit that the caller set; `Duration::MAX` means no limit.
    limit: Option<Duration>,
    wait: Wait,
    timer: Option<Box<Timer>>,
}

/// The event that a call waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Room,
    Answer,
    /// Either, and the thread that waits keeps the time.
    ByThread,
    /// The answer, and the route to another process keeps the time.
    ByRoute,
}

/// A timer, on the clock of a runtime. Both are boxed together, because every call moves its time
/// limit several times and nearly none has a timer: with the runtime beside it, the cell *naive ask*
/// of `lab run remote` had 0.93 of the rate.
struct Timer {
    sleep: Pin<Box<Sleep>>,
    runtime: Option<Id>,
}

/// How long a call waits whose caller has set no limit, and the kind of the resulting error.
fn default_limit() -> (Duration, CallErrorKind) {
    match turn::is_handler() {
        true => (HANDLER_WAIT_MAX, CallErrorKind::Overloaded),
        false => (ASK_WAIT_MAX, CallErrorKind::Timeout(ASK_WAIT_MAX)),
    }
}

fn current_runtime() -> Option<Id> {
    Handle::try_current().ok().map(|runtime| runtime.id())
}

thread_local! {
    /// Timers of calls that are over, still on the clocks of their runtimes: to move one to a later
    /// time is cheaper than to take it off and to put another one on.
    #[expect(clippy::vec_box, reason = "a call takes the box as it is")]
    static KEPT: RefCell<Vec<Box<Timer>>> = const { RefCell::new(Vec::new()) };
}

/// A timer on the clock of the current runtime; elsewhere, as in a task of another executor, on that of
/// the runtime in the background. `None` is so late that it never ends.
fn sleep_until(end: Option<Instant>) -> Pin<Box<Sleep>> {
    let runtime = wigwag_background::current_or_own();
    let _entered = runtime.as_ref().map(Handle::enter);
    // Without any runtime, which takes a system that starts no thread, this panics as tokio does.
    Box::pin(match end {
        Some(end) => tokio::time::sleep_until(end),
        None => tokio::time::sleep(Duration::MAX),
    })
}

impl Timer {
    /// A timer for `limit` from now on, on the clock of `runtime`, the current one.
    fn begin(limit: Duration, runtime: Option<Id>) -> Box<Timer> {
        let kept = KEPT.with_borrow_mut(|kept| {
            let at = kept.iter().rposition(|timer| timer.runtime == runtime)?;
            Some(kept.swap_remove(at))
        });
        match (kept, Instant::now().checked_add(limit)) {
            (Some(mut timer), Some(end)) => {
                timer.sleep.as_mut().reset(end);
                timer
            }
            (_, end) => Box::new(Timer { sleep: sleep_until(end), runtime }),
        }
    }

    /// Moves the timer to the clock of `runtime`, which polls it now. The one where the wait began may
    /// be gone, whose timers panic.
    fn move_to(&mut self, runtime: Option<Id>) {
        if self.runtime != runtime {
            self.sleep = sleep_until(Some(self.sleep.deadline()));
            self.runtime = runtime;
        }
    }

    /// Keeps the timer for the next call of this thread.
    fn keep(mut self: Box<Self>) {
        // It has no task to wake any more.
        if self.sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            KEPT.with_borrow_mut(|kept| {
                if kept.len() == TIMERS_KEPT_MAX {
                    // The others may have ended.
                    kept.retain(|timer| timer.runtime == self.runtime);
                }
                if kept.len() < TIMERS_KEPT_MAX {
                    kept.push(self);
                }
            });
        }
    }
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

    /// The call has ended in time, while its task is polled: a runtime whose tasks run has a clock
    /// that may be used.
    #[inline(always)]
    pub(crate) fn met(&mut self) {
        if let Some(timer) = self.timer.take()
            && timer.runtime.is_some()
            && timer.runtime == current_runtime()
        {
            timer.keep();
        }
    }

    /// [`poll`](Self::poll) of an ask whose answer a route awaits. Where the caller has set no limit,
    /// the route keeps the time of all its asks together, if it can: `begin` has it begin with the
    /// limit, and `has_waited` asks whether that is over. A limit of the caller's own does not depend
    /// on the runtime of the route.
    pub(super) fn poll_by_route(
        &mut self,
        context: &mut Context<'_>,
        begin: impl FnOnce(Duration) -> bool,
        has_waited: impl FnOnce() -> bool,
    ) -> Poll<CallErrorKind> {
        match self.wait {
            Wait::ByRoute if has_waited() => Poll::Ready(default_limit().1),
            Wait::ByRoute => Poll::Pending,
            Wait::Answer
                if self.limit.is_none() && self.timer.is_none() && begin(default_limit().0) =>
            {
                self.wait = Wait::ByRoute;
                Poll::Pending
            }
            _ => self.poll(context),
        }
    }

    /// `Ready` when the time is over, with the kind of the resulting error.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<CallErrorKind> {
        let (limit, kind) = match self.limit {
            Some(limit) => (limit, CallErrorKind::Timeout(limit)),
            None if !turn::is_handler() && self.wait == Wait::Room => return Poll::Pending,
            None => default_limit(),
        };
        if limit == Duration::MAX || matches!(self.wait, Wait::ByThread | Wait::ByRoute) {
            return Poll::Pending;
        }
        self.timer(limit).as_mut().poll(context).map(|()| kind)
    }

    /// The timer, on the clock of the runtime that polls: a call may be moved to another one while it
    /// waits.
    fn timer(&mut self, limit: Duration) -> &mut Pin<Box<Sleep>> {
        let runtime = current_runtime();
        let timer = self.timer.get_or_insert_with(|| Timer::begin(limit, runtime));
        timer.move_to(runtime);
        &mut timer.sleep
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// Waits for a time of its own kind, and returns how long that took.
    async fn wait(limit: Duration) -> Duration {
        let (begun, mut time) = (Instant::now(), TimeLimit::of_ask(Some(limit)));
        poll_fn(|context| time.poll(context)).await;
        begun.elapsed()
    }

    /// Begins a wait.
    async fn begun(limit: Duration) -> TimeLimit {
        let mut time = TimeLimit::of_ask(Some(limit));
        assert!(poll_fn(|context| Poll::Ready(time.poll(context).is_pending())).await);
        time
    }

    /// Begins a wait that ends before its time is over.
    async fn meet(limit: Duration) {
        begun(limit).await.met();
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_that_is_used_again_ends_at_its_new_time() {
        let [short, long] = [1, 60].map(Duration::from_secs);
        for (first, second) in [(long, short), (short, long), (short, short)] {
            meet(first).await;
            assert_eq!(KEPT.with_borrow(Vec::len), 1);
            // Also when the time for which it was set first has passed.
            for pause in [Duration::ZERO, first * 2] {
                tokio::time::sleep(pause).await;
                assert_eq!(wait(second).await, second);
                meet(first).await;
            }
            KEPT.with_borrow_mut(Vec::clear);
        }
    }

    #[test]
    fn a_timer_of_a_runtime_that_has_ended_is_not_used_again() {
        let one = || tokio::runtime::Builder::new_current_thread().enable_time().build();
        one().expect("there are threads").block_on(meet(Duration::from_secs(60)));
        assert_eq!(KEPT.with_borrow(Vec::len), 1);
        let waited = one().expect("there are threads").block_on(wait(Duration::from_millis(1)));
        assert!(waited >= Duration::from_millis(1));
    }

    /// Polls as an executor does that is no runtime, until the time is over.
    fn wait_outside(mut time: TimeLimit) -> CallErrorKind {
        struct Thread(std::thread::Thread);
        impl std::task::Wake for Thread {
            fn wake(self: std::sync::Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(std::sync::Arc::new(Thread(std::thread::current())));
        loop {
            match time.poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(kind) => return kind,
                Poll::Pending => std::thread::park(),
            }
        }
    }

    #[test]
    fn a_limit_holds_outside_of_any_runtime() {
        let (limit, begun) = (Duration::from_millis(20), std::time::Instant::now());
        let kind = wait_outside(TimeLimit::of_ask(Some(limit)));
        assert_eq!(kind, CallErrorKind::Timeout(limit));
        assert!(begun.elapsed() >= limit);
    }

    #[test]
    fn a_wait_goes_on_when_its_runtime_has_ended() {
        let (limit, begun_at) = (Duration::from_millis(20), std::time::Instant::now());
        let one = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let time = one.expect("there are threads").block_on(begun(limit));
        assert_eq!(wait_outside(time), CallErrorKind::Timeout(limit));
        assert!(begun_at.elapsed() >= limit);
    }

    #[tokio::test(start_paused = true)]
    async fn a_thread_keeps_few_timers() {
        let mut all: Vec<TimeLimit> = Vec::new();
        for _ in 0..2 * TIMERS_KEPT_MAX {
            all.push(begun(ASK_WAIT_MAX).await);
        }
        let (first, more) = all.split_at_mut(TIMERS_KEPT_MAX);
        first.iter_mut().for_each(TimeLimit::met);
        // One of another runtime makes place for those of this one.
        let other = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let timer = std::thread::spawn(move || {
            other.expect("there are threads").block_on(begun(ASK_WAIT_MAX)).timer.take()
        });
        let timer = timer.join().expect("it ends").expect("it waits");
        KEPT.with_borrow_mut(|kept| kept[0] = timer);
        more.iter_mut().for_each(TimeLimit::met);
        KEPT.with_borrow(|kept| {
            assert_eq!(kept.len(), TIMERS_KEPT_MAX);
            assert!(kept.iter().all(|timer| timer.runtime == current_runtime()));
        });
    }
}
