//! The open streams of a session: the items that have come for a reader of this process, and the
//! credit of a producer in this process.
//!
//! A stream is an ask whose answer is preceded by items, so its end, its cancellation and the end of
//! its session are those of the ask, in its slot ([`replies`](crate::replies)).

pub(crate) mod inbox;
pub(crate) mod outlet;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use inbox::Inbox;
use outlet::Outlet;

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// Streams of one direction, by the slot of their ask.
pub(crate) struct OpenStreams<S> {
    by_slot: Mutex<HashMap<u32, Arc<S>>>,
    /// How many there are, for a look without the lock.
    count: AtomicU64,
}

/// A stream, which knows the use of the slot that it belongs to.
pub(crate) trait OfSlot {
    fn generation(&self) -> u32;
}

/// The streams that this side reads. Each holds a slot, of which a session has a limited number, and
/// a window, of which there is a budget.
pub(crate) type ReadStreams = OpenStreams<Inbox>;

/// The streams that actors of this side send. Each has a handler that has begun or a `Yield` that the
/// program keeps, and a slot of the peer, of which there are `slots_max`.
pub(crate) type SentStreams = OpenStreams<Outlet>;

impl<S> Default for OpenStreams<S> {
    fn default() -> OpenStreams<S> {
        OpenStreams { by_slot: Mutex::new(HashMap::new()), count: AtomicU64::new(0) }
    }
}

impl<S: OfSlot> OpenStreams<S> {
    pub(crate) fn insert(&self, slot: u32, stream: Arc<S>) {
        let mut streams = self.lock();
        streams.insert(slot, stream);
        self.count(&streams);
    }

    /// True if there is none. Relaxed: the thread that ends a stream has seen it begin.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    fn count(&self, streams: &HashMap<u32, Arc<S>>) {
        self.count.store(streams.len() as u64, Ordering::Relaxed);
    }

    pub(crate) fn find(&self, (slot, generation): (u32, u32)) -> Option<Arc<S>> {
        let stream = self.lock().get(&slot).cloned();
        stream.filter(|stream| stream.generation() == generation)
    }

    /// Removes a stream, and not one that has come to its slot after it.
    pub(crate) fn remove(&self, (slot, generation): (u32, u32)) -> Option<Arc<S>> {
        let mut streams = self.lock();
        let is_there = streams.get(&slot).is_some_and(|stream| stream.generation() == generation);
        let removed = if is_there { streams.remove(&slot) } else { None };
        self.count(&streams);
        removed
    }

    /// Removes the stream of a slot that is about to be free.
    pub(crate) fn remove_slot(&self, slot: u32) -> Option<Arc<S>> {
        let mut streams = self.lock();
        let removed = streams.remove(&slot);
        self.count(&streams);
        removed
    }

    /// Removes the streams that `is_over` says so of; returns their slots.
    pub(crate) fn remove_if(&self, is_over: impl Fn(&S) -> bool) -> Vec<u32> {
        let mut streams = self.lock();
        let slots = streams.iter().filter(|(_, stream)| is_over(stream)).map(|(slot, _)| *slot);
        let slots: Vec<u32> = slots.collect();
        slots.iter().for_each(|slot| drop(streams.remove(slot)));
        self.count(&streams);
        slots
    }

    /// Removes all streams.
    pub(crate) fn take_all(&self) -> HashMap<u32, Arc<S>> {
        let mut streams = self.lock();
        self.count.store(0, Ordering::Relaxed);
        std::mem::take(&mut *streams)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u32, Arc<S>>> {
        // The value is consistent between statements, so a panic elsewhere cannot have broken it.
        self.by_slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
