//! The project's commands, as `cargo xtask NAME`.
//!
//! A newcomer has to know these and no others. Each command says what it does while it does it,
//! and answers with its exit code: 0 all is well, 1 something does not hold, 2 the command line
//! was not understood.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a command line program talks through its output")]

use std::env;
use std::process::ExitCode;

mod workspace;
mod metadata;
mod table;
mod map;
mod rooms;
mod cases;
mod guarantees;
mod pure;
mod no_c;
mod dependencies;
mod step;
mod tally;
mod setup;
mod python;
mod test;
mod check;
mod libfuzzer;
mod mutants;
mod nightly;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test            install what the tests need, then run all of them
  check           format, lints, docs, rooms, map, dependency list, cases of OTP
  map [FILE]      compare the map in ARCHITECTURE.md (or FILE) with the workspace
  map --print     print that map as it must be
  nightly         the long runs
  mutants CRATE N/K
                  share N of K of the mutants of a crate: which of them no test notices
";

/// The command line was not understood; 1 is for a command that ran and found something.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let held = match words.as_slice() {
        ["test"] => test::run(),
        ["check"] => check::run(),
        ["map"] => map::run(None),
        ["map", "--print"] => map::print(),
        ["map", file] if !file.starts_with('-') => map::run(Some(file)),
        ["nightly"] => nightly::run(),
        ["mutants", package, share] => mutants::run_one(package, share),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            true
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
