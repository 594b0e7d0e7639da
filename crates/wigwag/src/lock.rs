//! The one way in which this crate locks a mutex of the standard library.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose value is consistent between statements, so a panic elsewhere cannot have
/// broken it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
