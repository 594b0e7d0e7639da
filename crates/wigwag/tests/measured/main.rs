//! Tests that count what their own process holds: memory, sockets, file watches.
//!
//! A binary of its own, and one test at a time: whatever ran beside such a test would be counted too.
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod naive;
mod io;
mod bad_input;

use tokio::sync::{Mutex, MutexGuard};

/// One test at a time: what it counts is counted for the process.
async fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::const_new(());
    ALONE.lock().await
}
