//! What the channels of a session share, and what the sessions of a node share (section 4).
//!
//! Near by, all windows of a session come out of one small budget. A peer that is far away needs
//! more under way for the same rate; that comes out of a second one, which only sessions with such
//! a peer touch, and out of a pool of the whole node.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::limits::{
    FAR_NODE_UNITS_MAX, FAR_SESSION_UNITS_MAX, FRAME_RESERVE_UNITS, SESSION_UNITS_MAX,
};

/// Units for far peers, shared by all sessions of a node.
#[derive(Debug)]
pub struct FarPool {
    left: AtomicU64,
}

impl FarPool {
    /// A pool of `units`.
    pub fn new(units: u64) -> FarPool {
        FarPool { left: AtomicU64::new(units) }
    }

    /// Units that nobody has.
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Up to `wanted` units. Nothing else is told by this number, so its order does not matter.
    fn take(&self, wanted: u64) -> u64 {
        let lower = |left: u64| Some(left.saturating_sub(wanted));
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lower);
        before.unwrap_or_else(|left| left).min(wanted)
    }

    fn give_back(&self, units: u64) {
        self.left.fetch_add(units, Ordering::Relaxed);
    }
}

impl Default for FarPool {
    fn default() -> FarPool {
        FarPool::new(FAR_NODE_UNITS_MAX)
    }
}

/// What all channels of a session share.
#[derive(Debug, Default)]
pub struct Budget {
    /// Units of all windows. First windows are always given, so this may go beyond what there is.
    held: u64,
    /// Units that windows have beyond these, for a far peer.
    far: u64,
    pool: Arc<FarPool>,
}

impl Budget {
    /// A budget whose session shares `pool` with others.
    pub fn sharing(pool: Arc<FarPool>) -> Budget {
        Budget { pool, ..Budget::default() }
    }

    /// Units that `wanted` more of may be had: half of what is left, so that the channel that comes
    /// last finds some too.
    pub(crate) fn grow(&mut self, wanted: u64) -> u64 {
        let half = SESSION_UNITS_MAX.saturating_sub(self.held) / 2;
        self.give(wanted.min(half))
    }

    /// Units for a frame that would wait for ever without them.
    pub(crate) fn grow_for_frame(&mut self, wanted: u64) -> u64 {
        let most = SESSION_UNITS_MAX + FRAME_RESERVE_UNITS;
        self.give(wanted.min(most.saturating_sub(self.held)))
    }

    /// Units for a far peer, by the same rule.
    pub(crate) fn grow_far(&mut self, wanted: u64) -> u64 {
        let half = FAR_SESSION_UNITS_MAX.saturating_sub(self.far) / 2;
        let units = self.pool.take(wanted.min(half));
        self.far += units;
        units
    }

    pub(crate) fn give(&mut self, units: u64) -> u64 {
        self.held += units;
        units
    }

    /// A channel is gone: what it had comes back.
    pub(crate) fn give_back(&mut self, near: u64, far: u64) {
        self.held = self.held.saturating_sub(near);
        self.far -= far.min(self.far);
        self.pool.give_back(far);
    }

    #[cfg(test)]
    pub(crate) fn held(&self) -> (u64, u64) {
        (self.held, self.far)
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.pool.give_back(self.far);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_share_a_pool_and_give_it_back_when_they_end() {
        let pool = Arc::new(FarPool::new(1000));
        let mut first = Budget::sharing(pool.clone());
        let mut second = Budget::sharing(pool.clone());
        assert_eq!(first.grow_far(600), 600);
        assert_eq!(second.grow_far(600), 400, "what is left");
        assert_eq!(second.grow_far(1), 0);
        first.give_back(0, 100);
        assert_eq!(pool.left(), 100);
        drop(first);
        drop(second);
        assert_eq!(pool.left(), 1000);
    }

    #[test]
    fn the_channel_that_comes_last_finds_some_too() {
        let mut budget = Budget::default();
        for _ in 0..10 {
            assert!(budget.grow_far(u64::MAX) > 0);
        }
        assert!(budget.held().1 < FAR_SESSION_UNITS_MAX);
    }
}
