//! Atomics and locks: from std, or from loom when a model is checked.
#![allow(clippy::disallowed_types, reason = "this is the one place that may name them")]

#[cfg(wigwag_loom)]
pub(crate) use loom::sync::{Mutex, MutexGuard, atomic::Ordering};
#[cfg(not(wigwag_loom))]
pub(crate) use std::sync::{Mutex, MutexGuard, atomic::Ordering};

#[cfg(wigwag_loom)]
pub(crate) type AtomicBool = loom::sync::atomic::AtomicBool;
#[cfg(not(wigwag_loom))]
pub(crate) type AtomicBool = std::sync::atomic::AtomicBool;

#[cfg(wigwag_loom)]
pub(crate) type AtomicUsize = loom::sync::atomic::AtomicUsize;
#[cfg(not(wigwag_loom))]
pub(crate) type AtomicUsize = std::sync::atomic::AtomicUsize;
