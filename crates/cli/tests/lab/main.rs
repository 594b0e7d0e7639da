//! `wigwag lab` as its user has it. These tests measure, so each has the machine to itself: they are
//! a program of their own, whose tests run one after the other.

use std::sync::{Mutex, MutexGuard, PoisonError};

#[path = "../command/process.rs"]
#[expect(dead_code, reason = "the tests of the other commands start services as well")]
mod process;
mod runs;
mod known_bad;
mod inside;
mod example;
mod http;

/// Hold it for as long as a test runs.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // A test that has failed leaves nothing behind that would matter to the next.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
