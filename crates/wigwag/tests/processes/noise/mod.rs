//! Random bytes, mutated openings and batches, and torn connections hit a live node and live SP
//! sockets beside honest traffic: nothing panics, nothing honest is lost, nothing grows.
//!
//! The node and the sockets live in a process of their own, so that its memory and its descriptors are
//! theirs alone. The bytes follow from a seed that is printed; `WIGWAG_SEED` gives it again. In its
//! long form (`WIGWAG_NIGHTLY`) the test runs for half an hour.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod draws;
mod honest;
mod bytes;
mod target;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wigwag_testkit::child::{self, Child};

use draws::Draws;
use honest::Honest;

/// What is waited for comes much earlier; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the noise lasts at night, and before every change.
const LONG: Duration = Duration::from_secs(30 * 60);
const SHORT: Duration = Duration::from_secs(5);

/// Connections that make noise at the same time.
const MAKERS: u64 = 8;

/// KiB by which the resident memory of the target may be above that after the first tenth: what the
/// allocator keeps of buffers and of the sessions that strangers hold for a moment. A leak of 64 bytes
/// for each connection of the long form is more.
const GROWTH_KIB_MAX: u64 = 32 * 1024;

/// The body of the process that is hit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_target() {
    if let Some(key) = child::role() {
        target::serve(&key).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise_breaks_nothing_loses_nothing_and_leaves_nothing_behind() {
    let length = if std::env::var_os("WIGWAG_NIGHTLY").is_some() { LONG } else { SHORT };
    let mut draws = Draws::new();
    // Strangers do not know it, so what carries it is honest.
    let key = format!("{:016x}", draws.word());
    let role = key.clone();
    let started = tokio::task::spawn_blocking(move || Child::start("noise::child_target", &role));
    let child = started.await.unwrap();
    let addresses = target::Addresses::parse(&child.said);
    let honest = Honest::connect(&addresses, &key).await;
    honest.round(0).await;
    let before = descriptors(child.pid());

    let silence = Arc::new(AtomicBool::new(false));
    let makers: Vec<_> = (0..MAKERS)
        .map(|_| {
            let (draws, silence) = (draws.fork(), silence.clone());
            tokio::spawn(bytes::make(addresses.clone(), draws, silence))
        })
        .collect();
    let begun = Instant::now();
    let (mut rounds, mut early) = (1, None);
    while begun.elapsed() < length {
        honest.round(rounds).await;
        rounds += 1;
        if early.is_none() && begun.elapsed() > length / 10 {
            early = Some(resident_kib(child.pid()));
        }
    }
    silence.store(true, Ordering::Relaxed);
    let mut made = bytes::Made::default();
    for maker in makers {
        made += maker.await.unwrap();
    }
    honest.round(rounds).await;
    eprintln!("{made:?}, {} honest rounds", rounds + 1);
    assert!(made.connections > 100 && made.sessions > 10 && made.answered > 10, "{made:?}");

    assert_eq!(honest.target().await.panics, 0);
    // Handshakes that were left half way end by their time, sessions of strangers by theirs.
    until("one session is left", async || honest.target().await.sessions == 1).await;
    until("descriptors are back", async || descriptors(child.pid()) <= before).await;
    let seen = honest.target().await;
    assert_eq!(seen.panics, 0);
    assert_eq!((seen.pulled, seen.subscribed), (rounds + 1, rounds + 1));
    let (early, late) = (early.unwrap(), resident_kib(child.pid()));
    eprintln!("{early} KiB after the first tenth, {late} KiB at the end");
    assert!(late <= early + GROWTH_KIB_MAX, "{early} KiB, and {late} KiB at the end");
}

/// Looks again and again; there is no event for what it looks at.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn descriptors(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}
