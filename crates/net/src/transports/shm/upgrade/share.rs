//! The limit of the memory of all connections of ipc that have moved to shared memory.

use crate::sync::{AtomicUsize, Ordering};

/// Bytes of all of them.
pub(crate) const BYTES_MAX: usize = 64 * 1024 * 1024;

static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The bytes of one connection; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Share(usize);

impl Share {
    /// A share of `bytes`, if so many are left.
    pub(super) fn of(bytes: usize) -> Option<Share> {
        let more = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= BYTES_MAX);
        // A counter of its own: no other data depends on it.
        let taken = TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.ok().map(|_| Share(bytes))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        // Pairs with the update in `of`.
        TAKEN.fetch_sub(self.0, Ordering::Relaxed);
    }
}
