//! Atomics and locks, from std or, when a model is checked, from loom.
#![allow(clippy::disallowed_types, reason = "this is the one place that may name them")]

#[cfg(wigwag_loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{Ordering, fence},
};
#[cfg(not(wigwag_loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{Ordering, fence},
};

#[cfg(wigwag_loom)]
pub(crate) type AtomicBool = loom::sync::atomic::AtomicBool;
#[cfg(not(wigwag_loom))]
pub(crate) type AtomicBool = std::sync::atomic::AtomicBool;

#[cfg(wigwag_loom)]
pub(crate) type AtomicU64 = loom::sync::atomic::AtomicU64;
#[cfg(not(wigwag_loom))]
pub(crate) type AtomicU64 = std::sync::atomic::AtomicU64;
