//! Atomics, from here alone.
#![allow(clippy::disallowed_types, reason = "this is the one place that may name them")]

pub(crate) use std::sync::atomic::Ordering;

pub(crate) type AtomicBool = std::sync::atomic::AtomicBool;
pub(crate) type AtomicU64 = std::sync::atomic::AtomicU64;
pub(crate) type AtomicU32 = std::sync::atomic::AtomicU32;
pub(crate) type AtomicUsize = std::sync::atomic::AtomicUsize;
