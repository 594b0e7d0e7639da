//! Random bytes, mutated openings and batches, and torn connections hit a live node and live SP
//! sockets beside honest traffic: nothing panics, no honest message is lost, memory and descriptors
//! do not grow.
//!
//! The node and the sockets live in a process of their own, so that its memory and its descriptors
//! are theirs alone. The bytes follow from a seed that is printed; `WIGWAG_SEED` sets it. The long
//! form (`WIGWAG_NIGHTLY`) runs for half an hour.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

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

/// Every wait ends much earlier; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// Duration of the noise in the nightly form.
const LONG: Duration = Duration::from_secs(30 * 60);
const SHORT: Duration = Duration::from_secs(5);

/// Concurrent connections that make noise.
const MAKERS: u64 = 8;

/// The most KiB by which the target's resident memory may exceed its value after the first tenth:
/// buffers that the allocator keeps, and sessions that hostile peers hold for a moment. A leak of
/// 64 bytes per connection of the long form is more.
const GROWTH_KIB_MAX: u64 = 32 * 1024;

/// The body of the target process.
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
    // Hostile peers do not know the key, so a message that carries it is honest.
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
    // Unfinished handshakes end by their time limit, sessions of hostile peers by their TTL.
    until("one session is left", async || honest.target().await.sessions == 1).await;
    until("descriptors are back", async || descriptors(child.pid()) <= before).await;
    let seen = honest.target().await;
    assert_eq!(seen.panics, 0);
    assert_eq!((seen.pulled, seen.subscribed), (rounds + 1, rounds + 1));
    let (early, late) = (early.unwrap(), resident_kib(child.pid()));
    eprintln!("{early} KiB after the first tenth, {late} KiB at the end");
    assert!(late <= early + GROWTH_KIB_MAX, "{early} KiB, and {late} KiB at the end");
}

/// Polls until `holds` is true; there is no event to wait for.
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
