//! `cargo xtask test`: runs every test and prints one line with the total.
//!
//! The tests of the workspace run with `WIGWAG_OUTSIDE=1`, so tests that need other programs start
//! them, and fail if a program is missing. The programs are installed while the tests are built. The
//! examples of the documentation, and the tests of what is written in TypeScript, run beside the tests
//! that wait.

pub(crate) mod models;

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::tally::{Reader, Tally};
use crate::{setup, step, typescript, workspace};

const BUILD: &[&str] = &["test", "--workspace", "--no-run"];
const WORKSPACE_TESTS: &[&str] =
    &["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"];
const DOC_TESTS: &[&str] = &["test", "--workspace", "--no-fail-fast", "--doc"];

/// Threads of the tests of the workspace: many of them wait for a while. On two cores those of
/// `wigwag/tests` take 184 s with two threads and 132 s with four.
const WORKSPACE_THREADS: (&str, &str) = ("RUST_TEST_THREADS", "4");

/// The examples of a crate's documentation are compiled as one crate, which rustdoc does in one codegen
/// unit unless it is told otherwise: those of `wigwag` take 81 s so, and 56 s with four.
const DOC_TESTS_FLAGS: (&str, &str) = ("RUSTDOCFLAGS", "-C codegen-units=4");

/// The tests that wait most of the time, for other programs or for what must not happen: those of
/// other programs take 80 s with two threads and 29 s with eight, the promises 72 s and 24 s.
const WAITING_BUILD: &[&str] =
    &["test", "--workspace", "--test", "outside_sp", "--test", "promises", "--no-run"];
pub(crate) const WAITING_TESTS: &[&str] = &[
    "test",
    "--workspace",
    "--no-fail-fast",
    "--test",
    "outside_sp",
    "--test",
    "promises",
    "--",
    "--test-threads=8",
];

/// Installs the required programs, then builds, runs and counts all tests. True if all passed.
pub(crate) fn run() -> bool {
    if let Err(fault) = prepare() {
        println!("{fault}");
        return sum_up(Tally::BROKEN);
    }
    let mut tests = workspace::cargo(WORKSPACE_TESTS);
    tests.env("WIGWAG_OUTSIDE", "1").envs([WORKSPACE_THREADS]);
    let mut tally = step::timed("tests", || counted(&mut tests));
    tally += run_waiting();
    sum_up(tally)
}

/// Installs the required programs while the tests are built, which takes one processor for a part of the
/// time: half a minute less.
fn prepare() -> Result<(), String> {
    std::thread::scope(|scope| {
        let installing = scope.spawn(|| step::timed("set up", setup::install));
        let built = step::timed("build", || {
            let mut faults = step::run(&mut workspace::cargo(BUILD));
            faults.extend(step::run(&mut workspace::cargo(WAITING_BUILD)));
            faults.into_iter().next().map_or(Ok(()), Err)
        });
        let installed = installing.join().unwrap_or_else(|_| Err("the set-up panicked".to_owned()));
        installed.and(built)
    })
}

/// Runs the tests that wait, and beside them those of TypeScript, which wait too, and the examples of the
/// documentation, which are compiled. The output of both comes last.
fn run_waiting() -> Tally {
    let mut waiting = workspace::cargo(WAITING_TESTS);
    std::thread::scope(|scope| {
        let typescript = scope.spawn(typescript::test);
        let examples = scope.spawn(|| {
            let (mut command, mut printed) = (workspace::cargo(DOC_TESTS), Vec::new());
            command.envs([DOC_TESTS_FLAGS]);
            let tally = counted_to(&mut command, &mut printed);
            (tally, String::from_utf8_lossy(&printed).into_owned())
        });
        let mut tally =
            step::timed("tests that wait", || counted(waiting.env("WIGWAG_OUTSIDE", "1")));
        for (name, beside) in [("examples", examples), ("typescript", typescript)] {
            let joined = step::timed(&format!("{name}, begun with them"), || beside.join());
            let (of_them, printed) = joined.unwrap_or((Tally::BROKEN, String::new()));
            print!("{printed}");
            tally += of_them;
        }
        tally
    })
}

/// Prints the last line of every run of tests. True if every test ran and passed.
pub(crate) fn sum_up(tally: Tally) -> bool {
    if tally.ignored > 0 {
        println!("{} tests are ignored: enable or delete them", tally.ignored);
    }
    if tally.not_run > 0 {
        println!("{} tests were not run: the lines above say what they need", tally.not_run);
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    tally.holds()
}

/// Runs a command that runs tests, prints its output as it arrives, and counts the tests.
pub(crate) fn counted(command: &mut Command) -> Tally {
    counted_to(command, &mut Printed)
}

/// What is written is printed: the harness of the tests captures that, and not what is written to
/// standard output directly.
struct Printed;

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        print!("{}", String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

/// [`counted`], with the output written to `out`.
fn counted_to(command: &mut Command, out: &mut impl Write) -> Tally {
    let (mut tally, fault) = match read(command, out) {
        // Cargo failed although no test did: something broke before or between the tests.
        Ok((tally, false)) if tally.failed == 0 => (tally, "outside its tests".to_owned()),
        Ok((tally, _)) => return tally,
        Err(error) => (Tally::default(), format!("to run: {error}")),
    };
    println!("{} failed {fault}", step::line_of(command));
    tally += Tally::BROKEN;
    tally
}

/// The count, and whether the command itself succeeded.
fn read(command: &mut Command, out: &mut impl Write) -> io::Result<(Tally, bool)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut output = BufReader::new(child.stdout.take().expect("piped two lines above"));
    let mut reader = Reader::default();
    let mut line = Vec::new();
    // Tests may print any bytes, so lines are read as bytes.
    while output.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        out.write_all(text.as_bytes())?;
        reader.line(&text);
        line.clear();
    }
    Ok((reader.finish(), child.wait()?.success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Tally {
        counted(Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn a_run_is_counted_from_its_output() {
        let good = "echo running 1 test; echo 'test result: ok. 1 passed; 0 failed; 0 ignored'";
        assert_eq!(shell(good), Tally { passed: 1, ..Tally::default() });
    }

    #[test]
    fn a_failed_command_without_a_failed_test_counts_as_one_failure() {
        assert_eq!(shell("exit 101"), Tally::BROKEN);
        assert_eq!(counted(&mut Command::new("no-such-program")), Tally::BROKEN);
    }

    #[test]
    fn output_that_is_not_utf_8_does_not_stop_the_count() {
        let odd = r"printf '\377\n'; echo running 1 test; echo 'test result: ok. 1 passed'";
        assert_eq!(shell(odd).passed, 1);
    }
}
