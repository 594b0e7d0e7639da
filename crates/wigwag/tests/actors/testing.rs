//! The test kit: seeded orders, the faults that they find, and virtual time.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clock;
mod order;
mod race;
