//! The project's commands, run as `cargo xtask NAME`.
//!
//! A contributor needs only these commands. Each prints its progress and ends with an exit code:
//! 0 for success, 1 for a fault, 2 for an invalid command line.

#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a command line program talks through its output")]

use std::env;
use std::process::ExitCode;

mod workspace;
mod metadata;
mod table;
mod step;
mod checks;
mod tally;
mod setup;
mod typescript;
mod test;
mod libfuzzer;
mod mutants;
mod nightly;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test            install the programs that the tests need, then run all tests
  check           check format, lints, docs, rooms, map, dependency list, OTP cases and guarantees
  map [FILE]      compare the map in ARCHITECTURE.md (or FILE) with the workspace
  map --print     print the correct map
  nightly         run the long tests, libFuzzer and a shard of the mutants
  mutants CRATE N/K
                  run shard N of K of the mutants of a crate, and list those that no test catches
";

/// Exit code for an invalid command line; 1 is for a command that found a fault.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let held = match words.as_slice() {
        ["test"] => test::run(),
        ["check"] => checks::run(),
        ["map"] => checks::map::run(None),
        ["map", "--print"] => checks::map::print(),
        ["map", file] if !file.starts_with('-') => checks::map::run(Some(file)),
        ["nightly"] => nightly::run(),
        ["mutants", package, shard] => mutants::run_one(package, shard),
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
