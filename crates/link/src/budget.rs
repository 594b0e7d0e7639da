//! What the channels of a session share, and what the sessions of a node share (section 4).
//!
//! Near by, all windows of a session come out of one small budget, and what they grow by out of a pool of
//! the whole node. A peer that is far away needs more under way for the same rate; that comes out of a
//! second budget and a second pool, which only sessions with such a peer touch.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::limits::{
    FRAME_RESERVE_UNITS, Limits, NODE_BYTES_MAX, SCALED_SESSION_UNITS_MAX, SESSION_UNITS_MAX,
    UNIT_BYTES,
};

/// Units that the sessions of a node share.
#[derive(Debug)]
pub struct UnitPool {
    left: AtomicU64,
    most: u64,
}

/// Pools that the sessions of a node share.
#[derive(Debug)]
pub struct Pools {
    /// For windows that grow near by.
    pub base: UnitPool,
    /// For what windows have beyond that, for a far peer.
    pub scaled: UnitPool,
    /// Channels of peers, open or with calls that are not handled yet, each with a first window.
    pub channels: UnitPool,
    /// Bytes that outboxes keep beyond what each may keep in any case.
    pub retained: RetainedBytes,
}

/// Bytes that the sessions of a node keep for acks.
#[derive(Debug)]
pub struct RetainedBytes {
    now: AtomicU64,
    most: u64,
}

impl RetainedBytes {
    /// True when they are more than the node may keep.
    pub fn is_spent(&self) -> bool {
        self.now.load(Ordering::Relaxed) > self.most
    }

    /// A session keeps `after` bytes that kept `before`. Nothing else is told by this number, so its
    /// order does not matter.
    pub(crate) fn change(&self, before: usize, after: usize) {
        if after >= before {
            self.now.fetch_add((after - before) as u64, Ordering::Relaxed);
        } else {
            self.now.fetch_sub((before - after) as u64, Ordering::Relaxed);
        }
    }
}

impl UnitPool {
    /// A pool of `units`.
    pub fn new(units: u64) -> UnitPool {
        UnitPool { left: AtomicU64::new(units), most: units }
    }

    /// Units that nobody has.
    pub fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// True when less than an eighth is left.
    pub fn is_low(&self) -> bool {
        self.left() < self.most / 8
    }

    /// Takes one; false when there is none.
    pub fn take_one(&self) -> bool {
        self.take(1) == 1
    }

    /// Gives one back.
    pub fn give_one_back(&self) {
        self.give_back(1);
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

impl Pools {
    /// Pools by which peers together can make a node hold `bytes`, a quarter by each pool.
    pub fn of(bytes: u64) -> Pools {
        let quarter = bytes / 4;
        let units = quarter / UNIT_BYTES as u64;
        let first_window = Limits::default().initial_units;
        Pools {
            base: UnitPool::new(units),
            scaled: UnitPool::new(units),
            channels: UnitPool::new(units / first_window),
            retained: RetainedBytes { now: AtomicU64::new(0), most: quarter },
        }
    }
}

impl Default for Pools {
    fn default() -> Pools {
        Pools::of(NODE_BYTES_MAX)
    }
}

/// What all channels of a session share.
#[derive(Debug, Default)]
pub struct Budget {
    /// Units of all windows. First windows are always given, so this may go beyond what there is.
    held: u64,
    /// Units of these that came out of the node's pool: all but first windows.
    pooled: u64,
    /// Units that windows have beyond these, for a far peer.
    scaled: u64,
    pools: Arc<Pools>,
}

impl Budget {
    /// A budget whose session shares `pools` with others.
    pub fn with_pools(pools: Arc<Pools>) -> Budget {
        Budget { pools, ..Budget::default() }
    }

    /// Units that `wanted` more of may be had: half of what the session has left and half of what the
    /// node has left, so that the channel that comes last finds some too.
    pub(crate) fn grow(&mut self, wanted: u64) -> u64 {
        let half = SESSION_UNITS_MAX.saturating_sub(self.held) / 2;
        let nodes_half = self.pools.base.left() / 2;
        self.give_pooled(wanted.min(half).min(nodes_half))
    }

    /// Units for a frame that would wait for ever without them.
    pub(crate) fn grow_for_frame(&mut self, wanted: u64) -> u64 {
        let most = SESSION_UNITS_MAX + FRAME_RESERVE_UNITS;
        self.give_pooled(wanted.min(most.saturating_sub(self.held)))
    }

    fn give_pooled(&mut self, wanted: u64) -> u64 {
        let units = self.pools.base.take(wanted);
        self.pooled += units;
        self.give(units)
    }

    /// Units for a far peer, by the same rule.
    pub(crate) fn grow_scaled(&mut self, wanted: u64) -> u64 {
        let half = SCALED_SESSION_UNITS_MAX.saturating_sub(self.scaled) / 2;
        let units = self.pools.scaled.take(wanted.min(half));
        self.scaled += units;
        units
    }

    pub(crate) fn give(&mut self, units: u64) -> u64 {
        self.held += units;
        units
    }

    /// A channel is gone: what it had comes back.
    pub(crate) fn give_back(&mut self, base: u64, scaled: u64) {
        self.held = self.held.saturating_sub(base);
        // First windows came out of no pool, so this may be a little early, and never too much.
        let pooled = base.min(self.pooled);
        self.pooled -= pooled;
        self.pools.base.give_back(pooled);
        self.scaled -= scaled.min(self.scaled);
        self.pools.scaled.give_back(scaled);
    }

    #[cfg(test)]
    pub(crate) fn held(&self) -> (u64, u64) {
        (self.held, self.scaled)
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        self.pools.base.give_back(self.pooled);
        self.pools.scaled.give_back(self.scaled);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn sessions_share_a_pool_and_give_it_back_when_they_end() {
        let pools = Arc::new(Pools { scaled: UnitPool::new(1000), ..Pools::default() });
        let pool = &pools.scaled;
        let mut first = Budget::with_pools(pools.clone());
        let mut second = Budget::with_pools(pools.clone());
        assert_eq!(first.grow_scaled(600), 600);
        assert_eq!(second.grow_scaled(600), 400, "what is left");
        assert_eq!(second.grow_scaled(1), 0);
        first.give_back(0, 100);
        assert_eq!(pool.left(), 100);
        drop(first);
        drop(second);
        assert_eq!(pool.left(), 1000);
    }

    /// However many sessions there are, their windows near by hold no more than the pool together.
    #[test]
    fn near_windows_grow_out_of_a_pool_of_the_node() {
        let pools = Arc::new(Pools { base: UnitPool::new(1000), ..Pools::default() });
        let mut sessions: Vec<Budget> =
            (0..20).map(|_| Budget::with_pools(pools.clone())).collect();
        assert_eq!(sessions[0].grow(u64::MAX), 500, "half of it");
        assert_eq!(sessions[1].grow(u64::MAX), 250);
        assert_eq!(sessions[2].grow_for_frame(1024), 250, "a frame takes what there is");
        assert!(sessions.iter_mut().all(|session| session.grow(u64::MAX) == 0));
        sessions[0].give(64);
        sessions[0].give_back(564, 0);
        assert_eq!(pools.base.left(), 500, "a first window came out of no pool");
        drop(sessions);
        assert_eq!(pools.base.left(), 1000);
    }

    #[test]
    fn the_channel_that_comes_last_finds_some_too() {
        let mut budget = Budget::default();
        for _ in 0..10 {
            assert!(budget.grow_scaled(u64::MAX) > 0);
        }
        assert!(budget.held().1 < SCALED_SESSION_UNITS_MAX);
    }
}
