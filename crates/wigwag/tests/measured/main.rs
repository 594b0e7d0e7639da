//! Tests that count resources of their own process: memory, sockets, file watches.
//!
//! The binary is separate and runs one test at a time: a concurrent test would be counted too.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod naive;
mod io;
mod bad_input;

use tokio::sync::{Mutex, MutexGuard};

/// One test at a time: what it counts is counted for the process.
async fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::const_new(());
    ALONE.lock().await
}
