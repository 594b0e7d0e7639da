//! Tests that count what their own process holds: memory, sockets, file watches.
//!
//! A binary of its own, and one test at a time: whatever ran beside such a test would be counted too.
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod naive;
mod io;
mod bad_input;
