//! Sessions over turmoil's network: two hosts with simulated time, and connections between them
//! that lose, hold and delay packets. Promises about time are checked to the millisecond.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod transport;
mod stage;
mod storms;
mod signals;
mod silence;
mod edges;
mod crashes;
mod reconnecting;
mod phantoms;
mod outcomes;
mod silent;
mod waits;
mod ties;
mod items;
mod references;

use std::time::Duration;

/// In simulated time. Every wait ends much earlier; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(300);
