//! The asks of a session whose callers wait no longer.
//!
//! A queue of a session holds encoded calls, and nothing is taken out of its middle. So a cancelled
//! ask is marked here, by the reader of the connection, and stays where it is. When its turn comes,
//! the actor finds the mark, does not begin it, and answers that it was cancelled. A handler that
//! has begun may look for the mark too.
//!
//! A mark is the slot and generation of the ask, which no other ask of the session has. So the mark
//! of an ask that was answered already means nothing, and is not removed. A session without cancelled
//! asks has no table, and pays one load for each ask.
//!
//! A handler that ends with the wish of its caller registers a waker, which the mark wakes; so does
//! the end of the session.

use std::collections::HashMap;
use std::sync::{OnceLock, PoisonError};
use std::task::Waker;

use crate::limits::CANCELLED_MAX;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// Places that are allocated together, 8 KiB: most callers cancel little.
const CHUNK: usize = 1024;
const CHUNKS: usize = CANCELLED_MAX / CHUNK;

type Chunk = Box<[AtomicU64]>;

/// The cancelled asks of one session. An ask has one place, by its slot; of two that share a place
/// the later one stays, and the other is handled as if it was not cancelled.
#[derive(Debug, Default)]
pub struct CancelledAsks {
    chunks: OnceLock<Box<[OnceLock<Chunk>; CHUNKS]>>,
    watched: Mutex<Watched>,
}

/// The running calls that end when their caller waits no longer: at most as many as run side by side.
#[derive(Debug, Default)]
struct Watched {
    wakers: HashMap<(u32, u32), Waker>,
    /// The session has ended: no caller of it waits.
    is_over: bool,
}

impl CancelledAsks {
    /// Marks an ask as cancelled.
    #[cold]
    pub fn mark(&self, asker: (u32, u32)) {
        let chunks = self.chunks.get_or_init(|| Box::new([const { OnceLock::new() }; CHUNKS]));
        let (chunk, at) = locate(asker.0);
        let chunk = chunks[chunk].get_or_init(|| (0..CHUNK).map(|_| AtomicU64::new(0)).collect());
        // Pairs with `is_marked_here`. Relaxed, because a mark publishes nothing but itself.
        chunk[at].store(word(asker), Ordering::Relaxed);
        // A call that is registered after this finds the mark, because it takes the lock before it
        // looks.
        let waker = self.watched().wakers.remove(&asker);
        waker.into_iter().for_each(Waker::wake);
    }

    /// The session has ended: all callers have gone.
    pub fn end(&self) {
        let mut watched = self.watched();
        watched.is_over = true;
        let wakers = std::mem::take(&mut watched.wakers);
        drop(watched);
        wakers.into_values().for_each(Waker::wake);
    }

    /// True if the caller of the ask waits no longer, as far as is known. Otherwise, `waker` is woken
    /// when that changes, until [`unwatch`](Self::unwatch).
    pub(crate) fn watch(&self, asker: (u32, u32), waker: &Waker) -> bool {
        let mut watched = self.watched();
        let is_given_up = watched.is_over || self.contains(asker);
        if !is_given_up {
            watched.wakers.insert(asker, waker.clone());
        }
        is_given_up
    }

    /// Ends a [`watch`](Self::watch).
    pub(crate) fn unwatch(&self, asker: (u32, u32)) {
        let waker = self.watched().wakers.remove(&asker);
        drop(waker);
    }

    /// True if the caller of the ask waits no longer, as far as is known.
    pub(crate) fn is_given_up(&self, asker: (u32, u32)) -> bool {
        self.watched().is_over || self.contains(asker)
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        // The value is consistent between any two statements, so a panic elsewhere has broken
        // nothing.
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if the ask was cancelled.
    #[inline(always)]
    pub fn contains(&self, asker: (u32, u32)) -> bool {
        match self.chunks.get() {
            None => false,
            Some(chunks) => is_marked_here(chunks, asker),
        }
    }
}

#[inline(never)]
fn is_marked_here(chunks: &[OnceLock<Chunk>; CHUNKS], asker: (u32, u32)) -> bool {
    let (chunk, at) = locate(asker.0);
    // Pairs with `mark`.
    chunks[chunk].get().is_some_and(|chunk| chunk[at].load(Ordering::Relaxed) == word(asker))
}

/// The chunk and the index of a slot's place.
fn locate(slot: u32) -> (usize, usize) {
    let place = slot as usize % CANCELLED_MAX;
    (place / CHUNK, place % CHUNK)
}

/// An ask as one word; 0 stands for none.
fn word((slot, generation): (u32, u32)) -> u64 {
    (u64::from(slot) + 1) << 32 | u64::from(generation)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn an_ask_is_cancelled_by_its_slot_and_generation() {
        let cancelled = CancelledAsks::default();
        assert!(!cancelled.contains((0, 0)));
        for asker in [(0, 0), (7, 3), (CHUNK as u32, u32::MAX)] {
            cancelled.mark(asker);
            let (slot, generation) = asker;
            assert!(cancelled.contains(asker));
            assert!(!cancelled.contains((slot, generation.wrapping_add(1))), "a later ask");
            assert!(!cancelled.contains((slot + 1, generation)), "another slot");
        }
    }

    #[test]
    fn a_call_that_watches_its_caller_is_woken_by_the_mark_and_by_the_end() {
        struct Woken(AtomicU64);
        impl std::task::Wake for Woken {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let woken = Arc::new(Woken(AtomicU64::new(0)));
        let waker = Waker::from(woken.clone());
        let times = || woken.0.load(Ordering::Relaxed);
        let cancelled = CancelledAsks::default();
        assert!(!cancelled.watch((1, 1), &waker) && !cancelled.watch((2, 1), &waker));
        assert!(!cancelled.watch((3, 1), &waker));
        cancelled.mark((1, 2));
        assert_eq!(times(), 0, "another ask");
        cancelled.mark((1, 1));
        assert_eq!(times(), 1);
        assert!(cancelled.watch((1, 1), &waker) && cancelled.is_given_up((1, 1)));
        cancelled.unwatch((3, 1));
        assert!(!cancelled.is_given_up((2, 1)));
        cancelled.end();
        assert_eq!(times(), 2, "the second ask, not the third");
        assert!(cancelled.is_given_up((2, 1)) && cancelled.watch((2, 1), &waker));
        assert!(!cancelled.contains((2, 1)), "a call that has not begun is handled");
    }

    #[test]
    fn of_two_asks_with_one_place_the_later_one_stays_cancelled() {
        let cancelled = CancelledAsks::default();
        let (first, second) = ((5, 1), (5 + CANCELLED_MAX as u32, 1));
        cancelled.mark(first);
        assert!(!cancelled.contains(second));
        cancelled.mark(second);
        assert!(cancelled.contains(second) && !cancelled.contains(first));
    }
}
