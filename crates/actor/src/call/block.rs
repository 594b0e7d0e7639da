//! Waiting for a future with a thread instead of a task.

use std::future::{Future, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    static WAKER: Waker = Waker::from(Arc::new(Unpark(thread::current())));
}

/// Runs `future` on the calling thread, which parks while the future is pending. Another thread
/// must wake the future: a timer of a runtime that this thread drives would never fire.
///
/// # Panics
/// Inside a task of a tokio runtime, as tokio's own blocking calls do: the thread would stop running
/// the other tasks, perhaps the one that it waits for. In `spawn_blocking`, `block_in_place` and
/// threads of one's own it is allowed.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    match block_within(future, Duration::MAX) {
        Some(output) => output,
        None => unreachable!("without an end there is always an output"),
    }
}

/// Panics if the calling thread runs a task of a tokio runtime.
///
/// tokio has no query for that, but refuses `Handle::block_on` in exactly this case.
#[track_caller]
fn forbid_in_task() {
    if let Ok(runtime) = Handle::try_current() {
        runtime.block_on(ready(()));
    }
}

/// Runs `future` on the calling thread for `limit`; `None` when the time is over.
///
/// # Panics
/// Inside a task of a tokio runtime.
#[track_caller]
pub(crate) fn block_within<F: Future>(future: F, limit: Duration) -> Option<F::Output> {
    forbid_in_task();
    let mut future = pin!(future);
    WAKER.with(|waker| {
        let mut context = Context::from_waker(waker);
        let mut end = None;
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return Some(output);
            }
            // The clock is read only if the future has to wait.
            let end = end.get_or_insert_with(|| Instant::now().checked_add(limit));
            match end.map(|end| end.saturating_duration_since(Instant::now())) {
                None => thread::park(),
                Some(left) if left.is_zero() => return None,
                Some(left) => thread::park_timeout(left),
            }
        }
    })
}
