//! Helpers that several test binaries share. Nothing that ships depends on this crate.

pub mod child;
pub mod ledger;
pub mod log;
pub mod memory;
pub mod raw;
pub mod relay;
