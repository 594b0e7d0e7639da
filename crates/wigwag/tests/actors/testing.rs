//! The kit for tests: what a seed decides, what it finds, and time that is made up.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod clock;
mod order;
mod race;
