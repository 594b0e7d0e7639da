//! Atomics and locks, from std or, when a model is checked, from loom.
#![allow(
    clippy::disallowed_types,
    reason = "this is the one place that may name them"
)]

#[cfg(wigwag_loom)]
pub(crate) use loom::sync::{Mutex, atomic::AtomicBool, atomic::Ordering};
#[cfg(not(wigwag_loom))]
pub(crate) use std::sync::{Mutex, atomic::AtomicBool, atomic::Ordering};
