//! Faults in actors and between them, from end to end: each fault ends in a typed error within its
//! deadline, neighbours go on, and no state or argument is leaked.
//!
//! Deadlines are exact under paused time, and have five times their length on real threads.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;
use wigwag::{AskError, CallErrorKind};

mod ring;
mod circles;
mod trees;
mod threads;
mod shutdown;
mod destructors;

const SECOND: Duration = Duration::from_secs(1);

/// Far longer than any test takes; it only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// Counts the states and arguments that were created, and those of them that were dropped.
#[derive(Default)]
struct Tally {
    made: AtomicU64,
    dropped: AtomicU64,
    drops: Notify,
}

/// One value that a tally counts.
struct Guard(Arc<Tally>);

impl Tally {
    fn guard(self: &Arc<Tally>) -> Guard {
        self.made.fetch_add(1, Ordering::SeqCst);
        Guard(self.clone())
    }

    fn left(&self) -> u64 {
        let dropped = self.dropped.load(Ordering::SeqCst);
        self.made.load(Ordering::SeqCst) - dropped
    }

    /// Waits until every counted value has been dropped.
    async fn nothing_is_left(&self) {
        let gone = async {
            loop {
                let mut drops = std::pin::pin!(self.drops.notified());
                drops.as_mut().enable();
                if self.left() == 0 {
                    return;
                }
                drops.await;
            }
        };
        let gone = timeout(PATIENCE, gone).await;
        assert!(gone.is_ok(), "{} of {:?} are left", self.left(), self.made);
    }
}

impl Guard {
    /// Another guard of the same tally.
    fn another(&self) -> Guard {
        self.0.guard()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
        self.0.drops.notify_waiters();
    }
}

/// Counts of the outcomes of calls, by kind: reported to the caller directly or by the actor that
/// it asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    answered: u32,
    circle: u32,
    overloaded: u32,
    timeout: u32,
    stopped: u32,
}

impl Counts {
    fn add(&mut self, end: Result<(), CallErrorKind>) {
        let place = match end {
            Ok(()) => &mut self.answered,
            Err(CallErrorKind::CallCycle) => &mut self.circle,
            Err(CallErrorKind::Overloaded) => &mut self.overloaded,
            Err(CallErrorKind::Timeout(_)) => &mut self.timeout,
            Err(CallErrorKind::ActorStopped) => &mut self.stopped,
            Err(other) => panic!("no call ends so here: {other:?}"),
        };
        *place += 1;
    }

    fn all(&self) -> u32 {
        self.answered + self.circle + self.overloaded + self.timeout + self.stopped
    }
}

fn kind<T, M>(asked: Result<T, AskError<M>>) -> Result<T, CallErrorKind> {
    asked.map_err(|error| error.error().kind)
}
