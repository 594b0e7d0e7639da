//! Made-up bytes against header, framing, protocols and sessions; and planted bugs, which must be
//! found.
//!
//! `WIGWAG_NIGHTLY` makes the runs many and their seed another one each day. A run that breaks
//! something prints its seed and number, and is replayed by `WIGWAG_FUZZ=seed:run`.

use std::env;
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use wigwag_conformance::fuzz::driver::Driver;
use wigwag_conformance::fuzz::{TARGETS, Target};

mod planted;

/// Runs of the cheapest targets: some seconds in all.
const RUNS: u64 = 100_000;

/// Runs of them by night.
const RUNS_NIGHTLY: u64 = 4_000_000;

/// The seed by day: the same tests for everybody.
const SEED: u64 = 2026;

/// A seed, and which runs.
fn plan(cost: u64) -> (u64, Range<u64>) {
    if let Ok(replay) = env::var("WIGWAG_FUZZ") {
        let (seed, run) = replay.split_once(':').expect("WIGWAG_FUZZ is seed:run");
        let run = run.parse().expect("a number");
        return (seed.parse().expect("a number"), run..run + 1);
    }
    if env::var_os("WIGWAG_NIGHTLY").is_none() {
        return (SEED, 0..RUNS / cost);
    }
    let today = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    (today.as_secs() / 86_400, 0..RUNS_NIGHTLY / cost)
}

fn hunt(name: &str) {
    let target: &Target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    let (seed, runs) = plan(target.cost);
    eprintln!("{name}: seed {seed}, {} runs", runs.end - runs.start);
    for input in (target.seeds)() {
        assert_eq!((target.check)(&input), Ok(()), "the seed {input:02x?}");
    }
    if let Some(found) = Driver::new(seed, (target.seeds)()).find_failure(runs, target.check) {
        panic!("{name}: {found}");
    }
}

#[test]
fn a_header_is_taken_for_what_it_is() {
    hunt("header");
}

#[test]
fn any_split_gives_the_same_events_and_they_encode_to_what_came() {
    hunt("framing");
}

#[test]
fn raw_and_ordinary_sockets_agree_on_every_message() {
    hunt("forward");
}

#[test]
fn no_history_gives_out_what_was_not_taken_in() {
    hunt("protocol");
}

#[test]
fn whatever_is_cut_both_ends_of_a_session_hear_all_of_it_once_in_order() {
    hunt("session");
}

#[test]
fn a_hostile_end_of_a_session_ends_it_by_a_rule_or_not_at_all() {
    hunt("hostile");
}
