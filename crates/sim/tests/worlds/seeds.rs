//! Many seeds, and the same seed twice.
//!
//! `WIGWAG_SEED=n` runs one seed and prints its trace. `WIGWAG_SEEDS=n` sets how many are tried;
//! `WIGWAG_NIGHTLY` tries a million.

use std::env;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use wigwag_sim::{Options, Report, run};

const SEEDS: u64 = 10_000;
const SEEDS_NIGHTLY: u64 = 1_000_000;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

fn seeds() -> Range<u64> {
    if let Some(seed) = number("WIGWAG_SEED") {
        return seed..seed + 1;
    }
    let nightly = env::var_os("WIGWAG_NIGHTLY").map(|_| SEEDS_NIGHTLY);
    0..number("WIGWAG_SEEDS").or(nightly).unwrap_or(SEEDS)
}

/// Runs one world; a broken promise is recorded with its trace.
fn hold(seed: u64) -> Report {
    let options = Options { seed, ..Options::default() };
    match run(&options).outcome {
        Ok(report) => report,
        Err(violation) => {
            let recorded = run(&Options { record: true, ..options });
            eprintln!("{}", recorded.trace);
            panic!(
                "seed {seed}: {violation}\n   replay: WIGWAG_SEED={seed} cargo test -p wigwag-sim"
            );
        }
    }
}

/// Runs all seeds, on as many threads as there are processors.
fn all(seeds: Range<u64>) -> Vec<Report> {
    let threads = thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    thread::scope(|scope| {
        let parts = (0..threads).map(|part| {
            let mine = seeds.clone().filter(move |seed| seed % threads == part);
            scope.spawn(move || mine.map(hold).collect::<Vec<Report>>())
        });
        let parts: Vec<_> = parts.collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

#[test]
fn calls_arrive_once_and_in_order_or_are_reported_under_all_faults() {
    let seeds = seeds();
    let reports = all(seeds.clone());
    let (mut sent, mut resumes, mut ended, mut unknown, mut not_delivered) = (0, 0, 0, 0, 0);
    for report in reports {
        sent += report.totals.sent;
        resumes += report.resumes;
        ended += report.ended_sessions.len() as u64;
        for counts in report.ended_sessions.into_iter().flatten() {
            unknown += counts.unknown;
            not_delivered += counts.not_delivered;
        }
    }
    let worlds = seeds.end - seeds.start;
    eprintln!(
        "{worlds} worlds, {resumes} resumes, {ended} sessions ended early, {sent} calls, {unknown} unknown, {not_delivered} not delivered",
    );
    // The worlds are a useful test only if all of these events occur in them.
    let eventful = sent > 20 * worlds
        && resumes > worlds / 2
        && ended > worlds / 4
        && unknown.min(not_delivered) > worlds / 10;
    assert!(worlds < 1_000 || eventful, "the worlds have too few of these events");
    if number("WIGWAG_SEED").is_some() {
        eprintln!("{}", run(&Options { seed: seeds.start, record: true, mutant: None }).trace);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..50 {
        let recorded = |record| run(&Options { seed, record, mutant: None });
        let (first, second) = (recorded(true), recorded(true));
        assert_eq!(first.trace.to_string(), second.trace.to_string(), "seed {seed}");
        assert_eq!(first.outcome, second.outcome, "seed {seed}");
        assert_eq!(first.trace.hash(), recorded(false).trace.hash(), "seed {seed}");
    }
    let hash = |seed| run(&Options { seed, ..Options::default() }).trace.hash();
    assert_ne!(hash(1), hash(2));
}
