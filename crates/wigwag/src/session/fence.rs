//! Decides which connection of a session may still change its receiving state.
//!
//! A session moves from connection to connection, and the old one may have unread bytes when the
//! new one takes over. A listener shuts out the older connections and reads the state in one step
//! under the lock, so the state that it names stays true: no older connection gets in any more.
//! `fence/models.rs` checks every interleaving.

use std::ops::{Deref, DerefMut};
use std::sync::PoisonError;

use crate::sync::{Mutex, MutexGuard};

/// State that one connection at a time may change: the one with the greatest epoch.
pub(crate) struct Fence<T>(Mutex<FenceState<T>>);

struct FenceState<T> {
    epoch: u64,
    state: T,
}

/// Exclusive access to the state.
pub(crate) struct FenceGuard<'a, T>(MutexGuard<'a, FenceState<T>>);

impl<T> Fence<T> {
    /// A fence around `state`, for the connection of epoch 0.
    pub(crate) fn new(state: T) -> Fence<T> {
        Fence(Mutex::new(FenceState { epoch: 0, state }))
    }

    /// Locks the state for the connection of `epoch`; `None` if that one was shut out.
    pub(crate) fn enter(&self, epoch: u64) -> Option<FenceGuard<'_, T>> {
        let guard = self.lock();
        (guard.0.epoch == epoch).then_some(guard)
    }

    /// Shuts out all connections before that of `epoch`; `None` if a later one has done so already.
    pub(crate) fn advance(&self, epoch: u64) -> Option<FenceGuard<'_, T>> {
        let mut guard = self.lock();
        if epoch <= guard.0.epoch {
            return None;
        }
        guard.0.epoch = epoch;
        Some(guard)
    }

    /// Locks the state for callers that belong to no connection.
    pub(crate) fn lock(&self) -> FenceGuard<'_, T> {
        // The value is consistent between statements, so a panic elsewhere cannot have broken it.
        FenceGuard(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T> Deref for FenceGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.state
    }
}

impl<T> DerefMut for FenceGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0.state
    }
}

#[cfg(all(test, wigwag_loom))]
mod models;

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_was_shut_out_stays_out() {
        let fence = Fence::new(0);
        *fence.enter(0).expect("the first") += 1;
        assert_eq!(fence.advance(2).map(|state| *state), Some(1));
        assert!(fence.enter(0).is_none());
        assert!(fence.enter(1).is_none(), "it came too late");
        assert!(fence.advance(1).is_none() && fence.advance(2).is_none());
        *fence.enter(2).expect("the last") += 1;
        assert_eq!(*fence.lock(), 2);
    }
}
