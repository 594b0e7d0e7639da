//! System resources that actors own: streams, listeners, files, child processes; through the public
//! calls, with real ones.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod recorder;
mod streams;
mod chat;
mod chat_tests;
mod files;
mod children;

use std::collections::HashSet;
use std::time::Duration;

use tokio::sync::MutexGuard;

/// No test here takes longer, on any machine.
const LONG: Duration = Duration::from_secs(60);

/// Runs tests that count the resources of the whole process one at a time, and with them all others
/// of this module. Each begins when the test before it has left nothing.
async fn alone() -> MutexGuard<'static, ()> {
    let alone = crate::alone().await;
    until("the test before has left nothing", || descriptors() == 0).await;
    alone
}

/// TCP sockets and file watches of this process. Other descriptors belong to runtimes; every test
/// that waits for its turn already has one.
fn descriptors() -> usize {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let tables = tables.map(|table| std::fs::read_to_string(table).unwrap_or_default());
    let sockets: HashSet<&str> = tables
        .iter()
        .flat_map(|table| table.lines())
        .filter_map(|line| line.split_whitespace().nth(9))
        .collect();
    let links = std::fs::read_dir("/proc/self/fd").unwrap();
    let links = links.filter_map(|one| std::fs::read_link(one.ok()?.path()).ok());
    links
        .filter(|link| {
            let link = link.to_string_lossy();
            let socket = link.strip_prefix("socket:[").and_then(|link| link.strip_suffix(']'));
            socket.is_some_and(|socket| sockets.contains(socket)) || link == "anon_inode:inotify"
        })
        .count()
}

/// Polls until `holds` is true; there is no event for the conditions it observes.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let looks = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let held = tokio::time::timeout(LONG, looks).await;
    held.unwrap_or_else(|_| panic!("{what}: not within {LONG:?}"));
}
