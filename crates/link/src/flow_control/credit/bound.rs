//! The bound that an actor sets for the calls of all its remote callers together (section 4).
//!
//! Each channel to such an actor has a small window of its own, so that no caller starves. The part
//! of a window beyond that comes out of one pool of the actor, whatever sessions the channels belong
//! to. A call that is larger than the window is let through when the queue of its channel is empty:
//! the window grows to that call, out of the budget of the session.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::flow_control::budget::take_units;
use crate::limits::WINDOW_UNITS_MIN;

/// The bound of an actor, in units: one for each call of up to 64 bytes.
#[derive(Clone, Debug)]
pub struct ActorBound {
    most: u64,
    free: Arc<AtomicU64>,
}

impl ActorBound {
    /// Creates a bound of `most` units, of which `free` are left; the channels of one actor share
    /// `free`, which begins with `most`.
    pub fn new(most: u64, free: Arc<AtomicU64>) -> ActorBound {
        ActorBound { most: most.max(1), free }
    }

    /// The window that each channel has of its own: as large as the bound, and at most 16 units.
    pub fn first_window(&self) -> u64 {
        self.most.min(WINDOW_UNITS_MIN)
    }

    fn give_back(&self, units: u64) {
        self.free.fetch_add(units, Ordering::Relaxed);
    }
}

/// The units that one channel has taken of its actor's bound; dropping it returns them.
#[derive(Debug)]
pub(super) struct Share {
    bound: ActorBound,
    taken: u64,
    /// Units that the sender has used since ATTACH.
    pub(super) used: u64,
}

impl Share {
    pub(super) fn new(bound: ActorBound) -> Share {
        Share { bound, taken: 0, used: 0 }
    }

    /// Takes what a window of `window` units may grow by: it doubles, and stays within the bound.
    pub(super) fn double(&mut self, window: u64) -> u64 {
        let units =
            take_units(&self.bound.free, window.min(self.bound.most.saturating_sub(window)));
        self.taken += units;
        units
    }

    /// Returns units that the session's budget had no room for.
    pub(super) fn give_back(&mut self, units: u64) {
        self.taken -= units;
        self.bound.give_back(units);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.bound.give_back(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(most: u64) -> (ActorBound, Arc<AtomicU64>) {
        let free = Arc::new(AtomicU64::new(most));
        (ActorBound::new(most, free.clone()), free)
    }

    #[test]
    fn a_first_window_is_small_and_within_the_bound() {
        let windows = [1, 4, 16, 1024].map(|most| bound(most).0.first_window());
        assert_eq!(windows, [1, 4, 16, 16]);
    }

    #[test]
    fn channels_share_a_pool_and_return_their_share() {
        let (bound, free) = bound(100);
        let (mut first, mut second) = (Share::new(bound.clone()), Share::new(bound.clone()));
        assert_eq!([first.double(16), first.double(32)], [16, 32]);
        assert_eq!(first.double(64), 36, "the window stays within the bound");
        assert_eq!(second.double(16), 16);
        assert_eq!(second.double(32), 0, "the pool is empty");
        second.give_back(10);
        assert_eq!(free.load(Ordering::Relaxed), 10);
        drop(first);
        drop(second);
        assert_eq!(free.load(Ordering::Relaxed), 100);
    }
}
