//! Counters of an actor, for observation from outside.
//!
//! The actor counts the calls that it takes, once for each chunk. The calls of other processes are
//! counted by the sessions over which they come, and only actors that have had some pay for that.

use crate::error::CallErrorKind;
use crate::lifecycle::handle::AnyActor;
use crate::sync::{AtomicU64, Ordering};

/// The counters of an actor at one moment.
#[derive(Clone, Debug, Default)]
pub struct ActorCounters {
    /// Calls that wait in the mailbox.
    pub waiting: u64,
    /// Calls of local senders that may wait.
    pub capacity: u64,
    /// Calls that the actor has taken out of the mailbox to handle, of all callers and timers.
    pub taken: u64,
    /// Calls that were dropped for lack of room.
    pub dropped: u64,
    /// How often its supervisor has restarted it.
    pub restarts: u64,
    /// The actor has ended.
    pub has_ended: bool,
    /// Tells of other processes whose handlers have ended, those that were not understood among them.
    pub remote_tells: u64,
    /// Asks of other processes, likewise.
    pub remote_asks: u64,
    /// Calls of other processes that have failed, by the kind of the error.
    pub rejected: Vec<(&'static str, u64)>,
}

impl ActorCounters {
    /// Reads the counters of an actor for whose local senders there are `capacity` places.
    pub(crate) fn read(
        actor: &dyn AnyActor,
        (capacity, taken): (usize, u64),
        remote: Option<&RemoteCallCounters>,
    ) -> ActorCounters {
        let (remote_tells, remote_asks) = remote.map_or((0, 0), RemoteCallCounters::handled_calls);
        ActorCounters {
            waiting: actor.waiting() as u64,
            capacity: capacity as u64,
            taken,
            dropped: actor.dropped(),
            restarts: actor.control().inspected().restarts,
            has_ended: actor.control().ended().is_some(),
            remote_tells,
            remote_asks,
            rejected: remote.map(RemoteCallCounters::rejected_calls).unwrap_or_default(),
        }
    }
}

/// The calls that an actor has taken out of its mailbox. Only the thread that runs the actor counts.
#[derive(Debug)]
pub(crate) struct CallCount(AtomicU64);

impl CallCount {
    pub(crate) const fn new() -> CallCount {
        CallCount(AtomicU64::new(0))
    }

    /// Counts calls that were taken out.
    #[inline]
    pub(crate) fn add(&self, calls: usize) {
        // One thread at a time counts, and whoever passes the actor on publishes what it has counted.
        let total = self.0.load(Ordering::Relaxed).wrapping_add(calls as u64);
        self.0.store(total, Ordering::Relaxed);
    }

    /// Counts calls that were put back.
    pub(crate) fn put_back(&self, calls: usize) {
        let total = self.0.load(Ordering::Relaxed).wrapping_sub(calls as u64);
        self.0.store(total, Ordering::Relaxed);
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The kinds of error that are counted apart, by their names; every other one counts with the last.
const KINDS: [(CallErrorKind, &str); 13] = [
    (CallErrorKind::NoSuchMethod, "no_such_method"),
    (CallErrorKind::BadArguments, "bad_arguments"),
    (CallErrorKind::NotSerializable, "not_serializable"),
    (CallErrorKind::Cancelled, "cancelled"),
    (CallErrorKind::DeadlinePassed, "deadline_passed"),
    (CallErrorKind::ActorStopped, "actor_stopped"),
    (CallErrorKind::Panicked, "panicked"),
    (CallErrorKind::ReplyDropped, "reply_dropped"),
    (CallErrorKind::TooLarge, "too_large"),
    (CallErrorKind::CallCycle, "call_cycle"),
    (CallErrorKind::Draining, "draining"),
    (CallErrorKind::Overloaded, "overloaded"),
    (CallErrorKind::Unknown, "other"),
];

/// Counts the calls of other processes to one actor; all sessions of the actor count here.
#[derive(Debug, Default)]
pub struct RemoteCallCounters {
    tells: AtomicU64,
    asks: AtomicU64,
    rejected: [AtomicU64; KINDS.len()],
}

impl RemoteCallCounters {
    /// Counts calls whose handlers have ended.
    pub fn handled(&self, tells: u64, asks: u64) {
        if tells > 0 {
            self.tells.fetch_add(tells, Ordering::Relaxed);
        }
        if asks > 0 {
            self.asks.fetch_add(asks, Ordering::Relaxed);
        }
    }

    /// Counts a call that has failed.
    pub fn rejected(&self, kind: CallErrorKind) {
        let at = KINDS.iter().position(|(known, _)| *known == kind).unwrap_or(KINDS.len() - 1);
        self.rejected[at].fetch_add(1, Ordering::Relaxed);
    }

    fn handled_calls(&self) -> (u64, u64) {
        (self.tells.load(Ordering::Relaxed), self.asks.load(Ordering::Relaxed))
    }

    fn rejected_calls(&self) -> Vec<(&'static str, u64)> {
        let counts = self.rejected.iter().map(|count| count.load(Ordering::Relaxed));
        KINDS
            .into_iter()
            .map(|(_, name)| name)
            .zip(counts)
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_were_put_back_are_not_taken() {
        let taken = CallCount::new();
        taken.add(7);
        taken.put_back(3);
        assert_eq!(taken.total(), 4);
    }

    #[test]
    fn each_kind_of_error_has_a_counter_and_others_share_the_last() {
        let counters = RemoteCallCounters::default();
        counters.handled(3, 2);
        for kind in [CallErrorKind::Cancelled, CallErrorKind::Application(9), CallErrorKind::Full] {
            counters.rejected(kind);
        }
        assert_eq!(counters.handled_calls(), (3, 2));
        let rejected = [("cancelled", 1), ("other", 2)];
        assert_eq!(counters.rejected_calls(), rejected);
    }
}
