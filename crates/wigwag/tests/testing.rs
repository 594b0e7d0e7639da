//! The kit for tests: what a seed decides, what it finds, and time that is made up.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

#[path = "testing/clock.rs"]
mod clock;
#[path = "testing/order.rs"]
mod order;
#[path = "testing/race.rs"]
mod race;
