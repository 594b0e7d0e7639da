//! Atomics and locks, from std or, when a model is checked, from loom or shuttle.
#![allow(clippy::disallowed_types, reason = "this is the one place that may name them")]

#[cfg(wigwag_loom)]
use loom::sync as from;
#[cfg(wigwag_shuttle)]
use shuttle::sync as from;
#[cfg(not(any(wigwag_loom, wigwag_shuttle)))]
use std::sync as from;

pub(crate) use from::atomic::Ordering;
pub(crate) use from::{Mutex, MutexGuard};

pub(crate) type AtomicBool = from::atomic::AtomicBool;
pub(crate) type AtomicUsize = from::atomic::AtomicUsize;
pub(crate) type AtomicU8 = from::atomic::AtomicU8;

// For counters in statics, which loom's atomics cannot be, and for values that no model checks.
pub(crate) type AtomicU64 = std::sync::atomic::AtomicU64;
pub(crate) type AtomicU32 = std::sync::atomic::AtomicU32;

/// Reads a part of a mutex without locking it, so that its cache line is there when it is locked.
/// Returns what was read.
#[cfg(not(any(wigwag_loom, wigwag_shuttle)))]
pub(crate) fn prefetch<T>(mutex: &Mutex<T>) -> usize {
    usize::from(mutex.is_poisoned())
}

/// Models have no caches.
#[cfg(any(wigwag_loom, wigwag_shuttle))]
pub(crate) fn prefetch<T>(_: &Mutex<T>) -> usize {
    0
}
