//! Sessions over turmoil's network: two hosts whose time is simulated, and links between them that
//! lose, hold and delay. What is promised about time is looked at to the millisecond.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod transport;
mod stage;
mod storms;
mod silence;
mod edges;
mod crashes;
mod phantoms;
mod silent;
mod ties;

use std::time::Duration;

/// In simulated time. What is waited for comes much earlier; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(300);
