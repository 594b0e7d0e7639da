//! How long the asks of a session wait for their answers, if their callers have set no limit.
//!
//! A timer for each ask would be set for nearly all and reached by nearly none. So an ask notes when
//! it will have waited long enough, and one task of the session looks at these notes when the first
//! is due: about once in [`ASK_WAIT_MAX`](crate::limits::ASK_WAIT_MAX). It wakes the callers whose
//! time is over, which then give up.
//!
//! Measured gain, together with a signal that takes no lock (`crates/net/src/driver/signal.rs`): `lab
//! run remote`, cell *1000 callers*, 674,000 asks a second at 2.77 µs of processor time; with a timer
//! for each 532,000 at 3.52 µs, the medians of four rounds in turn.

#[cfg(all(test, wigwag_loom))]
mod models;

use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep_until;
use wigwag_net::clock;
use wigwag_wire::Time;

use crate::session::Session;
use crate::sync::{AtomicU64, Ordering, fence};

/// Stands for the next look when none is due.
const NEVER: u64 = u64::MAX;

/// When the task looks next.
pub(super) struct AskWaits {
    /// In nanoseconds of the clock. While it is not [`NEVER`], there is a task.
    next: AtomicU64,
    /// The next look is sooner, or the session has ended.
    changed: Notify,
}

impl Default for AskWaits {
    fn default() -> AskWaits {
        AskWaits { next: AtomicU64::new(NEVER), changed: Notify::new() }
    }
}

impl AskWaits {
    /// Makes the task look at `end` at the latest, when the ask has been noted. True if there is no task,
    /// so that the caller begins one.
    fn look_at(&self, end: Time) -> bool {
        let end = end.as_nanos();
        // The note, then `next`; the task says that no look is due, then reads the notes. So one of the
        // two sees the other.
        fence(Ordering::SeqCst);
        // Nearly always: a later ask waits until later.
        if end >= self.next.load(Ordering::Relaxed) {
            return false;
        }
        let before = self.next.fetch_min(end, Ordering::AcqRel);
        if before != NEVER && end < before {
            self.changed.notify_one();
        }
        before == NEVER
    }

    /// No look is due until the task has read the notes.
    fn begin_look(&self) {
        self.next.store(NEVER, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Ends the task of a session that has ended.
    pub(super) fn stop(&self) {
        self.changed.notify_one();
    }
}

impl Session {
    /// Wakes the caller of an ask, which has polled for its answer, when it has waited for `limit`.
    /// False if the session has no runtime.
    pub(crate) fn begin_wait(&self, slot: u32, limit: Duration) -> bool {
        let Some(runtime) = &self.runtime else { return false };
        let end = clock::now() + limit;
        self.asks.set_waits_until(slot, end);
        if self.ask_waits.look_at(end) {
            runtime.spawn(look(self.me.clone(), self.ask_waits.clone()));
        }
        true
    }
}

/// Looks at the asks of a session whenever the first of them has waited long enough, until none waits.
async fn look(session: Weak<Session>, waits: Arc<AskWaits>) {
    loop {
        let due = Time::from_nanos(waits.next.load(Ordering::Relaxed));
        let is_due = tokio::select! {
            () = sleep_until(clock::instant(due)) => true,
            () = waits.changed.notified() => false,
        };
        let Some(session) = session.upgrade().filter(|session| !session.has_ended()) else {
            return;
        };
        if !is_due {
            continue;
        }
        waits.begin_look();
        let (wakers, next) = session.asks.waited(clock::now());
        wakers.into_iter().for_each(Waker::wake);
        // An ask that has come meanwhile has begun a task of its own, which goes on from here.
        if !next.is_some_and(|next| waits.look_at(next)) {
            return;
        }
    }
}
