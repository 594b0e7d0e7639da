//! Limits on what one peer may use, with all of its sessions together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use wigwag_actor::Principal;
use wigwag_link::budget::Pools;
use wigwag_wire::Time;

/// Nanoseconds of a second, the time for which a peer may save calls up.
const SECOND: u64 = 1_000_000_000;

/// How much of a node one peer may use, all of its sessions together. Without a limit here, those of
/// the node apply alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdentityLimits {
    pub(crate) sessions: Option<usize>,
    pub(crate) channels: Option<u64>,
    pub(crate) credit_bytes: Option<u64>,
    pub(crate) calls_per_second: Option<u32>,
}

impl IdentityLimits {
    /// Limits the sessions and the connections of SP clients. A further one is refused as `TooMany`.
    #[must_use]
    pub fn sessions(mut self, most: usize) -> IdentityLimits {
        self.sessions = Some(most);
        self
    }

    /// Limits the actors that the peer has references to, counted for each session. A further
    /// reference is `Overloaded`.
    #[must_use]
    pub fn channels(mut self, most: u64) -> IdentityLimits {
        self.channels = Some(most);
        self
    }

    /// Limits the bytes of calls that wait for actors, beyond the 4 KiB that every channel may have.
    /// Beyond it the windows of the peer do not grow, so it waits sooner; nothing is lost.
    #[must_use]
    pub fn credit_bytes(mut self, most: u64) -> IdentityLimits {
        self.credit_bytes = Some(most);
        self
    }

    /// Limits the calls that begin in a second, those of sessions that have ended as well. An ask beyond
    /// it fails as `Overloaded`, and a tell is rejected, which the peer is told. Calls that were not made
    /// within the last second may be made at once.
    #[must_use]
    pub fn calls_per_second(mut self, most: u32) -> IdentityLimits {
        self.calls_per_second = Some(most);
        self
    }
}

/// The resources of a node that one peer uses.
#[derive(Debug)]
pub(crate) struct IdentityUse {
    pub(crate) principal: Principal,
    limits: IdentityLimits,
    sessions: AtomicUsize,
    /// The pools of its sessions: parts of those of the node.
    pub(crate) pools: Arc<Pools>,
    calls: Arc<CallRate>,
}

/// The calls that a peer has made. They count for a second, also when the session that made them has
/// ended: a peer with a new session for each call has no more of them.
#[derive(Debug, Default)]
pub(crate) struct CallRate {
    /// The time up to which they are paid for, a second later than that of the clock, so that a clock
    /// that has just begun counts no less.
    paid_until: AtomicU64,
}

/// A place for one session of a peer.
#[derive(Debug)]
pub(crate) struct IdentityPlace {
    identity: Arc<IdentityUse>,
    /// It is free again.
    has_left: AtomicBool,
}

impl IdentityUse {
    pub(crate) fn new(
        principal: Principal,
        limits: IdentityLimits,
        pools: &Arc<Pools>,
        calls: Arc<CallRate>,
    ) -> IdentityUse {
        let pools = match (limits.channels, limits.credit_bytes) {
            (None, None) => pools.clone(),
            (channels, credit_bytes) => Arc::new(pools.part(channels, credit_bytes)),
        };
        IdentityUse { principal, limits, sessions: AtomicUsize::new(0), pools, calls }
    }

    /// The calls that it has made.
    pub(crate) fn calls(&self) -> &Arc<CallRate> {
        &self.calls
    }

    /// Takes a place for a session; `None` if the peer has as many as it may, and besides `leaving`
    /// ones that are about to end.
    pub(crate) fn enter(self: &Arc<IdentityUse>, leaving: usize) -> Option<IdentityPlace> {
        let most = self.limits.sessions.unwrap_or(usize::MAX).saturating_add(leaving);
        let before = self.sessions.fetch_add(1, Ordering::Relaxed);
        // Counted before the check, so that leaving it gives it back either way.
        let place = IdentityPlace { identity: self.clone(), has_left: AtomicBool::new(false) };
        (before < most).then_some(place)
    }

    /// True if its calls are counted.
    pub(crate) fn is_counting(&self) -> bool {
        self.limits.calls_per_second.is_some()
    }

    /// Counts a call that begins at `now`; false if it is one too many. The clock is read only where
    /// there is a limit.
    pub(crate) fn admits(&self, now: impl FnOnce() -> Time) -> bool {
        let Some(most) = self.limits.calls_per_second else { return true };
        self.calls.admit(most, now())
    }
}

impl CallRate {
    /// Counts a call that begins at `now`; false if it is more than `most` in a second.
    fn admit(&self, most: u32, now: Time) -> bool {
        let cost = SECOND / u64::from(most.max(1));
        let (now, most) = (now.as_nanos() + SECOND, u64::from(most));
        let pay = |paid: u64| {
            // A peer that was quiet has saved up one second at most.
            let until = paid.max(now - SECOND) + cost;
            (most > 0 && until <= now).then_some(until)
        };
        // Relaxed: no other memory is published through this number.
        self.paid_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay).is_ok()
    }

    /// True if a call counts at `now` that was made before.
    pub(crate) fn counts(&self, now: Time) -> bool {
        self.paid_until.load(Ordering::Relaxed) > now.as_nanos()
    }
}

impl IdentityPlace {
    /// The peer that has the place.
    pub(crate) fn identity(&self) -> &Arc<IdentityUse> {
        &self.identity
    }

    /// Frees the place: the session has ended, however long references to its actors are kept.
    pub(crate) fn leave(&self) {
        // Relaxed: no other memory is published through these numbers.
        if !self.has_left.swap(true, Ordering::Relaxed) {
            self.identity.sessions.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for IdentityPlace {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    fn identity(limits: IdentityLimits) -> Arc<IdentityUse> {
        let (pools, calls) = (Arc::default(), Arc::default());
        Arc::new(IdentityUse::new(Principal::key("a"), limits, &pools, calls))
    }

    #[test]
    fn a_peer_has_as_many_sessions_as_it_may() {
        let identity = identity(IdentityLimits::default().sessions(2));
        let first = identity.enter(0);
        let second = identity.enter(0);
        assert!(first.is_some() && second.is_some() && identity.enter(0).is_none());
        assert!(identity.enter(1).is_some(), "one of them gives way to it");
        drop(first);
        assert!(identity.enter(0).is_some());
    }

    #[test]
    fn calls_of_a_second_may_come_at_once_and_no_more_than_that() {
        let identity = identity(IdentityLimits::default().calls_per_second(10));
        let admitted = |at: u64, tries: usize| {
            (0..tries).filter(|_| identity.admits(|| Time::from_nanos(at))).count()
        };
        let start = 100 * SECOND;
        assert_eq!(admitted(start, 50), 10);
        assert_eq!(admitted(start + SECOND / 20, 50), 0, "half of the time of a call");
        assert_eq!(admitted(start + SECOND / 10, 50), 1);
        assert_eq!(admitted(start + 50 * SECOND, 50), 10, "a second is saved up, not fifty");
    }

    #[test]
    fn a_rate_of_nothing_admits_nothing() {
        let identity = identity(IdentityLimits::default().calls_per_second(0));
        assert!(!identity.admits(|| Time::from_nanos(100 * SECOND)));
    }
}
