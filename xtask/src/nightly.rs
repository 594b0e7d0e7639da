//! `cargo xtask nightly`: the runs that are too long for every push.
//!
//! The same tests, longer: those that have a longer form read `WIGWAG_NIGHTLY` and send more
//! messages or try more seeds. What only the night has is libFuzzer over the targets of `fuzz/`, and
//! a share of the mutants of each crate (`mutants.rs`).

use crate::tally::Tally;
use crate::{libfuzzer, mutants, setup, step, test, workspace};

/// One run. All of them are cargo's, and all of them see `WIGWAG_NIGHTLY=1` and `WIGWAG_OUTSIDE=1`.
struct LongRun {
    name: &'static str,
    arguments: &'static [&'static str],
    /// What to expect on two cores, for whoever waits.
    minutes: u32,
}

const RUNS: &[LongRun] = &[LongRun {
    name: "every test, optimised, in its long form",
    arguments: &["test", "--workspace", "--profile", "nightly", "--no-fail-fast"],
    minutes: 60,
}];

/// Runs them all and closes with the same line as `cargo xtask test`.
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
    tally += step::timed("libFuzzer", libfuzzer::run);
    tally += step::timed("mutants", mutants::run);
    test::sum_up(tally)
}
