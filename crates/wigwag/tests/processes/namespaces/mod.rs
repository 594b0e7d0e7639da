//! Sessions over real networks that fail: two processes in two network namespaces, joined by a
//! cable that is pulled, connections that the kernel destroys, processes that are stopped.
//!
//! Needs root, `ip` and `ss` (iproute2): runs when `WIGWAG_OUTSIDE=1` is set, and then a missing
//! tool is a failure. `WIGWAG_NIGHTLY=1` makes the test ten times as long.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod land;
mod ends;
mod storm;

use std::io::Write;
use std::time::Duration;

use wigwag_testkit::child::{self, Child};

use land::Land;

/// Every wait ends much earlier; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(120);

fn is_wanted() -> bool {
    let wanted = std::env::var("WIGWAG_OUTSIDE").is_ok_and(|value| value == "1");
    if !wanted {
        // The harness captures the output of a passing test, except for direct writes that bypass
        // its macros.
        let told =
            writeln!(std::io::stdout(), "not run: set WIGWAG_OUTSIDE=1 to make network namespaces");
        told.expect("standard output");
    }
    wanted
}

/// The body of the listening process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_listener() {
    if child::role().is_some() {
        ends::listen().await;
    }
}

/// The body of the dialing process, which also makes the cuts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_dialer() {
    if let Some(role) = child::role() {
        ends::dial(&role).await;
    }
}

/// A hundred cuts in a million messages, with both directions busy: no message is lost, duplicated
/// or reordered.
#[test]
fn a_hundred_cuts_in_a_million_messages_between_namespaces() {
    if !is_wanted() {
        return;
    }
    let nightly = std::env::var_os("WIGWAG_NIGHTLY").is_some();
    let (messages, cuts) = if nightly { (10_000_000, 1_000) } else { (1_000_000, 100) };
    let land = Land::new();
    let listener = Child::start_in(&land.listener, "namespaces::child_listener", "listener");
    let role = format!("{} {} {messages} {cuts}", land.cable, listener.pid());
    let dialer = Child::start_in(&land.dialer, "namespaces::child_dialer", &role);
    eprintln!("{}", dialer.said);
    assert!(dialer.said.starts_with("all is well"), "{}", dialer.said);
}
