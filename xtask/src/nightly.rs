//! `cargo xtask nightly`: runs that take too long for every push.
//!
//! Tests with a long form read `WIGWAG_NIGHTLY` and send more messages or try more seeds. The nightly
//! run also runs libFuzzer on the targets of `fuzz/` and a shard of the mutants of each crate
//! (`mutants.rs`).

use crate::tally::Tally;
use crate::{libfuzzer, mutants, setup, step, test, workspace};

/// A run of cargo with `WIGWAG_NIGHTLY=1` and `WIGWAG_OUTSIDE=1`.
struct LongRun {
    name: &'static str,
    arguments: &'static [&'static str],
    /// Expected duration on two cores.
    minutes: u32,
}

const RUNS: &[LongRun] = &[
    LongRun {
        name: "every test, optimised, in its long form",
        arguments: &["test", "--workspace", "--profile", "nightly", "--no-fail-fast"],
        minutes: 60,
    },
    LongRun { name: "the tests that wait", arguments: test::WAITING_TESTS, minutes: 2 },
    LongRun {
        name: "the errors of the macros",
        arguments: &["test", "-p", "wigwag-macros", "--test", "errors"],
        minutes: 2,
    },
    LongRun {
        name: "the pages of the report in a browser",
        arguments: &["test", "-p", "wigwag-lab", "--test", "outside_report"],
        minutes: 2,
    },
];

/// Runs all of them and prints the same last line as `cargo xtask test`.
pub(crate) fn run() -> bool {
    if let Err(error) = step::timed("set up", setup::install) {
        println!("{error}");
        return test::sum_up(Tally::BROKEN);
    }
    let mut tally = Tally::default();
    for LongRun { name, arguments, minutes } in RUNS {
        let mut command = workspace::cargo(arguments);
        command.env("WIGWAG_NIGHTLY", "1").env("WIGWAG_OUTSIDE", "1");
        let heading = format!("{name} (about {minutes} min)");
        tally += step::timed(&heading, || test::counted(&mut command));
    }
    tally += test::models::check();
    tally += step::timed("libFuzzer", libfuzzer::run);
    tally += step::timed("mutants", mutants::run);
    test::sum_up(tally)
}
