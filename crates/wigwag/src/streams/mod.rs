//! The open streams of a session: the items that have come for a reader of this process, and the
//! credit of a producer in this process.
//!
//! There are two kinds. One is an ask whose answer is preceded by items, so its end, its cancellation
//! and the end of its session are those of the ask, in its slot ([`replies`](crate::replies)). The
//! other is a value of a call or a reply (the room `items`), with a number of its own and frames for
//! its end (`session/stream_values.rs`). Items, their credit, and what reads and writes them are the
//! same.

pub(crate) mod inbox;
pub(crate) mod outlet;
pub(crate) mod value;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use inbox::Inbox;
use outlet::Outlet;

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// Streams of one kind and direction, by the slot of their ask or by their number.
pub(crate) struct OpenStreams<S> {
    by_slot: Mutex<HashMap<u64, Arc<S>>>,
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
    /// Adds the stream that `open` gives, unless there is one in the slot: then it is an error of
    /// `None`.
    pub(crate) fn insert_new<E>(
        &self,
        slot: u64,
        open: impl FnOnce() -> Result<Arc<S>, E>,
    ) -> Result<Arc<S>, Option<E>> {
        let mut streams = self.lock();
        if streams.contains_key(&slot) {
            return Err(None);
        }
        let stream = open().map_err(Some)?;
        streams.insert(slot, stream.clone());
        self.count(&streams);
        Ok(stream)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn insert(&self, slot: u64, stream: Arc<S>) {
        let mut streams = self.lock();
        streams.insert(slot, stream);
        self.count(&streams);
    }

    /// True if there is none. Relaxed: the thread that ends a stream has seen it begin.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn count(&self, streams: &HashMap<u64, Arc<S>>) {
        self.count.store(streams.len() as u64, Ordering::Relaxed);
    }

    pub(crate) fn find(&self, (slot, generation): (u64, u32)) -> Option<Arc<S>> {
        let stream = self.lock().get(&slot).cloned();
        stream.filter(|stream| stream.generation() == generation)
    }

    /// Removes a stream, and not one that has come to its slot after it.
    pub(crate) fn remove(&self, (slot, generation): (u64, u32)) -> Option<Arc<S>> {
        let mut streams = self.lock();
        let is_there = streams.get(&slot).is_some_and(|stream| stream.generation() == generation);
        let removed = if is_there { streams.remove(&slot) } else { None };
        self.count(&streams);
        removed
    }

    /// Removes the stream of a slot that is about to be free.
    pub(crate) fn remove_slot(&self, slot: u64) -> Option<Arc<S>> {
        let mut streams = self.lock();
        let removed = streams.remove(&slot);
        self.count(&streams);
        removed
    }

    /// Removes the streams that `is_over` says so of; returns their slots.
    pub(crate) fn remove_if(&self, is_over: impl Fn(&S) -> bool) -> Vec<u64> {
        let mut streams = self.lock();
        let slots = streams.iter().filter(|(_, stream)| is_over(stream)).map(|(slot, _)| *slot);
        let slots: Vec<u64> = slots.collect();
        slots.iter().for_each(|slot| drop(streams.remove(slot)));
        self.count(&streams);
        slots
    }

    /// All streams.
    pub(crate) fn all(&self) -> Vec<(u64, Arc<S>)> {
        self.lock().iter().map(|(slot, stream)| (*slot, stream.clone())).collect()
    }

    /// Removes all streams.
    pub(crate) fn take_all(&self) -> HashMap<u64, Arc<S>> {
        let mut streams = self.lock();
        self.count.store(0, Ordering::Relaxed);
        std::mem::take(&mut *streams)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<S>>> {
        // The value is consistent between statements, so a panic elsewhere cannot have broken it.
        self.by_slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
