//! Credit budgets: limits shared by the channels of a session and by the sessions of a node
//! (section 4).
//!
//! At a short round-trip time (RTT), all windows of a session come out of one small budget, and
//! their growth out of a pool of the whole node. A longer RTT needs more data in flight for the
//! same rate; the scaled part of a window comes out of a second budget and a second pool, which
//! only sessions with such an RTT use.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::limits::{
    FRAME_RESERVE_UNITS, ITEM_UNITS_MAX, ITEM_WINDOW_UNITS, ITEM_WINDOW_UNITS_MAX,
    ITEM_WINDOW_UNITS_MIN, LONG_CALLS_MAX, Limits, NODE_BYTES_MAX, SCALED_SESSION_UNITS_MAX,
    SESSION_STREAM_UNITS_MAX, SESSION_UNITS_MAX, UNIT_BYTES,
};

/// A pool of credit units shared by the sessions of a node. A part of a pool takes its units out of
/// the whole, and no more than its own bound.
#[derive(Debug)]
pub struct UnitPool {
    own: Arc<Units>,
    /// The pool that this one is a part of.
    whole: Option<Arc<Units>>,
}

/// Units of a pool.
#[derive(Debug)]
struct Units {
    left: AtomicU64,
    most: u64,
}

/// The pools that the sessions of a node share.
#[derive(Debug)]
pub struct Pools {
    /// Units for the growth of windows up to the base size.
    pub base: UnitPool,
    /// Units for scaled windows: the part beyond the base size, at a long RTT.
    pub scaled: UnitPool,
    /// Units for calls that are longer than a frame may be, each until its actor has taken it.
    pub long_calls: UnitPool,
    /// Units for the memory of long messages that sessions keep to fill it again.
    pub used_memory: UnitPool,
    /// Units for the items of the streams that sessions read.
    pub streams: UnitPool,
    /// Peers' channels that are open or have unhandled calls; each holds an initial window.
    pub channels: UnitPool,
    /// Bytes that outboxes retain beyond the amount that each may always retain.
    pub retained: RetainedBytes,
}

/// Counts the bytes that the sessions of a node retain until they are acknowledged. Clones count
/// together.
#[derive(Clone, Debug)]
pub struct RetainedBytes {
    now: Arc<AtomicU64>,
    most: u64,
}

impl RetainedBytes {
    /// Returns true if the node retains more than it may.
    pub fn is_spent(&self) -> bool {
        self.now.load(Ordering::Relaxed) > self.most
    }

    /// Records that a session which retained `before` bytes now retains `after`. Relaxed: no other
    /// memory is published through this number.
    pub(crate) fn change(&self, before: usize, after: usize) {
        if after >= before {
            self.now.fetch_add((after - before) as u64, Ordering::Relaxed);
        } else {
            self.now.fetch_sub((before - after) as u64, Ordering::Relaxed);
        }
    }
}

impl UnitPool {
    /// Creates a pool of `units`.
    pub fn new(units: u64) -> UnitPool {
        UnitPool { own: Arc::new(Units::new(units)), whole: None }
    }

    /// A part of this pool that also takes its units out of `own`, of which several parts may take
    /// them; without it the pool itself.
    fn part(&self, own: Option<&Arc<Units>>) -> UnitPool {
        let whole = self.whole.as_ref().unwrap_or(&self.own).clone();
        match own {
            Some(own) => UnitPool { own: own.clone(), whole: Some(whole) },
            None => UnitPool { own: self.own.clone(), whole: self.whole.clone() },
        }
    }

    /// The number of free units.
    pub fn left(&self) -> u64 {
        let whole = self.whole.as_ref().map_or(u64::MAX, |whole| whole.left());
        self.own.left().min(whole)
    }

    /// Returns true if less than an eighth of the pool is free, or of the whole if this is a part.
    pub fn is_low(&self) -> bool {
        let shared = self.whole.as_ref().unwrap_or(&self.own);
        shared.left() < shared.most / 8
    }

    /// Takes one unit; returns false if none is free.
    pub fn take_one(&self) -> bool {
        self.take(1) == 1
    }

    /// Returns one unit to the pool.
    pub fn give_one_back(&self) {
        self.give_back(1);
    }

    fn take(&self, wanted: u64) -> u64 {
        let taken = take_units(&self.own.left, wanted);
        let Some(whole) = &self.whole else { return taken };
        let both = take_units(&whole.left, taken);
        self.own.give_back(taken - both);
        both
    }

    /// Takes `wanted` units, or none. Returns false if there are not as many.
    pub(crate) fn take_all(&self, wanted: u64) -> bool {
        let taken = self.take(wanted);
        if taken < wanted {
            self.give_back(taken);
        }
        taken == wanted
    }

    pub(crate) fn give_back(&self, units: u64) {
        self.own.give_back(units);
        if let Some(whole) = &self.whole {
            whole.give_back(units);
        }
    }
}

impl Units {
    fn new(units: u64) -> Units {
        Units { left: AtomicU64::new(units), most: units }
    }

    fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    fn give_back(&self, units: u64) {
        self.left.fetch_add(units, Ordering::Relaxed);
    }
}

/// Takes up to `wanted` units of those that are left. Relaxed: no other memory is published through
/// this number.
pub(crate) fn take_units(left: &AtomicU64, wanted: u64) -> u64 {
    let lower = |left: u64| Some(left.saturating_sub(wanted));
    let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, lower);
    before.unwrap_or_else(|left| left).min(wanted)
}

impl Pools {
    /// Creates pools that bound the memory which all peers together can make a node hold to
    /// `bytes`: a quarter for each pool, except that base windows and long calls share one. Two
    /// sixteenths come on top: one for the memory of long messages that sessions keep to fill it
    /// again, and one for the items of the streams that this node reads.
    pub fn of(bytes: u64) -> Pools {
        let quarter = bytes / 4;
        let units = quarter / UNIT_BYTES as u64;
        let first_window = Limits::default().initial_units;
        Pools {
            base: UnitPool::new(units / 2),
            long_calls: UnitPool::new(units - units / 2),
            used_memory: UnitPool::new(units / 4),
            streams: UnitPool::new(units / 4),
            scaled: UnitPool::new(units),
            channels: UnitPool::new(units / first_window),
            retained: RetainedBytes { now: Arc::default(), most: quarter },
        }
    }

    /// The part of these pools that one peer may use: so many channels, and so many bytes of calls
    /// that wait, in base windows, in scaled ones and in long calls together.
    pub fn part(&self, channels: Option<u64>, bytes: Option<u64>) -> Pools {
        let own = |units: u64| Arc::new(Units::new(units));
        let units = bytes.map(|bytes| own(bytes / UNIT_BYTES as u64));
        let units = units.as_ref();
        Pools {
            base: self.base.part(units),
            scaled: self.scaled.part(units),
            long_calls: self.long_calls.part(units),
            used_memory: self.used_memory.part(None),
            streams: self.streams.part(None),
            channels: self.channels.part(channels.map(own).as_ref()),
            retained: self.retained.clone(),
        }
    }
}

impl Default for Pools {
    fn default() -> Pools {
        Pools::of(NODE_BYTES_MAX)
    }
}

/// The budget that all channels of a session share.
#[derive(Debug, Default)]
pub struct Budget {
    /// Units of all base windows. Initial windows are always granted, so this may exceed the
    /// budget.
    held: u64,
    /// The part of `held` that came out of the node's pool: everything except initial windows.
    pooled: u64,
    /// Units of scaled windows, beyond `held`.
    scaled: u64,
    /// Units of the longest call, and those that all long calls hold.
    long_call_max: u64,
    long_calls: u64,
    /// Units of the streams that this session reads.
    streams: u64,
    pools: Arc<Pools>,
}

impl Budget {
    /// Creates a budget whose session shares `pools` with others.
    pub fn with_pools(pools: Arc<Pools>) -> Budget {
        Budget { pools, ..Budget::default() }
    }

    /// Sets the pools, before anything is taken.
    pub(crate) fn set_pools(&mut self, pools: Arc<Pools>) {
        self.pools = pools;
    }

    /// Allows calls of up to `bytes`.
    pub(crate) fn with_long_calls(mut self, bytes: u64) -> Budget {
        self.long_call_max = bytes.div_ceil(UNIT_BYTES as u64);
        self
    }

    /// Takes the units for a long call of a channel that holds `held` such units and needs `needed`:
    /// all of them, or none, because a part of them would be of no use. A channel holds no more than
    /// the longest call costs.
    pub(crate) fn take_for_long_call(&mut self, held: u64, needed: u64) -> bool {
        let more = needed.saturating_sub(held);
        let most = self.long_call_max.saturating_mul(LONG_CALLS_MAX);
        if needed > self.long_call_max || self.long_calls.saturating_add(more) > most {
            return false;
        }
        if !self.pools.long_calls.take_all(more) {
            return false;
        }
        self.long_calls += more;
        true
    }

    /// Returns units of long calls.
    pub(crate) fn give_long_call_back(&mut self, units: u64) {
        self.long_calls -= units.min(self.long_calls);
        self.pools.long_calls.give_back(units);
    }

    /// Takes the units of a stream, and returns its window: `wanted`, or as many as a stream has by
    /// default, and fewer when little is left. The longest item is held besides. `None` if there is
    /// no room for the smallest window.
    pub(crate) fn take_for_stream(&mut self, wanted: Option<u64>) -> Option<u64> {
        let left = SESSION_STREAM_UNITS_MAX.saturating_sub(self.streams);
        let left = left.min(self.pools.streams.left());
        // A part of what is left, so that later streams find some; the smaller one if the caller
        // has not said how much it needs.
        let window = match wanted {
            Some(wanted) => wanted.clamp(1, ITEM_WINDOW_UNITS_MAX).min((left / 16).max(1)),
            None => (left / 512).clamp(ITEM_WINDOW_UNITS_MIN, ITEM_WINDOW_UNITS),
        };
        let held = window + ITEM_UNITS_MAX;
        if held > left || !self.pools.streams.take_all(held) {
            return None;
        }
        self.streams += held;
        Some(window)
    }

    /// Returns the units of a stream, those of the longest item among them.
    pub(crate) fn give_stream_back(&mut self, held: u64) {
        self.streams -= held.min(self.streams);
        self.pools.streams.give_back(held);
    }

    /// Takes up to `wanted` units for the growth of a window: at most half of what the session has
    /// left and half of what the node has left, so that the last channel still gets some.
    pub(crate) fn grow(&mut self, wanted: u64) -> u64 {
        let half = SESSION_UNITS_MAX.saturating_sub(self.held) / 2;
        let nodes_half = self.pools.base.left() / 2;
        self.give_pooled(wanted.min(half).min(nodes_half))
    }

    /// Takes units for a frame that could never be sent without them.
    pub(crate) fn grow_for_frame(&mut self, wanted: u64) -> u64 {
        let most = SESSION_UNITS_MAX + FRAME_RESERVE_UNITS;
        self.give_pooled(wanted.min(most.saturating_sub(self.held)))
    }

    fn give_pooled(&mut self, wanted: u64) -> u64 {
        let units = self.pools.base.take(wanted);
        self.pooled += units;
        self.give(units)
    }

    /// Takes up to `wanted` units for a scaled window: at most half of what the session has left.
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

    /// Returns the units of a closed channel.
    pub(crate) fn give_back(&mut self, base: u64, scaled: u64) {
        self.held = self.held.saturating_sub(base);
        // Initial windows came out of no pool, so units may return to the pool early, but never too
        // many.
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
        self.pools.long_calls.give_back(self.long_calls);
        self.pools.streams.give_back(self.streams);
    }
}

#[cfg(test)]
mod tests;
