//! Helpers that several test binaries share. Nothing that ships depends on this crate.
#![allow(clippy::unwrap_used, reason = "a test fails where it stands, and so do its helpers")]

pub mod child;
pub mod ledger;
pub mod log;
pub mod memory;
pub mod program;
pub mod raw;
pub mod relay;
