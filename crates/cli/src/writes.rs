//! The writes to standard output and standard error, counted, so that one that blocks is seen.

use std::sync::atomic::{AtomicU64, Ordering};

/// The writes to standard output.
pub(crate) static OUT: Writes = Writes(AtomicU64::new(0));

/// The writes to standard error.
pub(crate) static ERR: Writes = Writes(AtomicU64::new(0));

/// The writes to one stream: the count is odd during one. The lock of the stream keeps two apart.
pub(crate) struct Writes(AtomicU64);

impl Writes {
    /// Counts a write.
    pub(crate) fn during<T>(&self, write: impl FnOnce() -> T) -> T {
        self.0.fetch_add(1, Ordering::Relaxed);
        let written = write();
        self.0.fetch_add(1, Ordering::Relaxed);
        written
    }

    /// The number of the write that is under way.
    pub(crate) fn under_way(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|count| count % 2 == 1)
    }
}
