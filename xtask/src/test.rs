//! `cargo xtask test`: every test there is, and one line that sums them up.
//!
//! The tests of the workspace run with `WIGWAG_OUTSIDE=1`, so those that start other programs do
//! so and fail when the program is missing. Then the models run: each crate that names loom or
//! shuttle is built once more with `--cfg wigwag_loom` or `--cfg wigwag_shuttle`. The cfg goes to
//! that crate alone; through `RUSTFLAGS` it would go to all, and tokio and its kin would be compiled
//! a second time.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::metadata::Metadata;
use crate::tally::{Reader, Tally};
use crate::{setup, step, workspace};

/// What checks models.
struct ModelChecker {
    /// The dependency, by which a crate says that it has such models.
    name: &'static str,
    /// Set while they are built. They stand behind `#[cfg(all(test, wigwag_loom))]`.
    cfg: &'static str,
    /// The part of their names by which they are told from the crate's other tests.
    filter: &'static str,
}

/// One tries all orders of short histories, the other some of long ones.
const CHECKERS: [ModelChecker; 2] = [
    ModelChecker { name: "loom", cfg: "wigwag_loom", filter: "loom_" },
    ModelChecker { name: "shuttle", cfg: "wigwag_shuttle", filter: "shuttle_" },
];

const BUILD: &[&str] = &["test", "--workspace", "--no-run"];
const WORKSPACE_TESTS: &[&str] = &["test", "--workspace", "--no-fail-fast"];

/// Installs, builds, runs, counts. True when every test passed.
pub(crate) fn run() -> bool {
    if let Err(error) = step::timed("set up", setup::install) {
        println!("{error}");
        return sum_up(Tally::BROKEN);
    }
    let faults = step::timed("build", || step::run(&mut workspace::cargo(BUILD)));
    if let Some(fault) = faults.first() {
        println!("{fault}");
        return sum_up(Tally::BROKEN);
    }
    let mut tests = workspace::cargo(WORKSPACE_TESTS);
    let mut tally = step::timed("tests", || counted(tests.env("WIGWAG_OUTSIDE", "1")));
    match Metadata::load() {
        Ok(metadata) => {
            for checker in &CHECKERS {
                for package in checker.crates(&metadata) {
                    let what = format!("models of {package}, {}", checker.name);
                    tally += step::timed(&what, || checker.run(package));
                }
            }
        }
        Err(error) => {
            println!("{error}");
            tally += Tally::BROKEN;
        }
    }
    sum_up(tally)
}

/// Prints the line that closes every run of tests. True when it is a good one.
pub(crate) fn sum_up(tally: Tally) -> bool {
    if tally.ignored > 0 {
        println!("{} tests are ignored: let them run or take them out", tally.ignored);
    }
    if tally.not_run > 0 {
        println!("{} tests were not run: they say above what they need", tally.not_run);
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    tally.holds()
}

/// Runs a command that runs tests, shows its output as it comes, and counts.
pub(crate) fn counted(command: &mut Command) -> Tally {
    match read(command) {
        // Cargo failed and yet no test did: something broke before or between the tests.
        Ok((mut tally, false)) if tally.failed == 0 => {
            println!("{} failed outside its tests", step::line_of(command));
            tally += Tally::BROKEN;
            tally
        }
        Ok((tally, _)) => tally,
        Err(error) => {
            println!("{} broke off: {error}", step::line_of(command));
            Tally::BROKEN
        }
    }
}

/// The count, and whether the command itself ended well.
fn read(command: &mut Command) -> std::io::Result<(Tally, bool)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut output = BufReader::new(child.stdout.take().expect("piped two lines above"));
    let mut reader = Reader::default();
    let mut line = Vec::new();
    // Tests may print anything, so a line is bytes before it is text.
    while output.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        reader.line(&text);
        line.clear();
    }
    Ok((reader.finish(), child.wait()?.success()))
}

impl ModelChecker {
    /// Whoever declares it has models.
    fn crates<'a>(&self, metadata: &'a Metadata) -> Vec<&'a str> {
        let members = metadata.members().into_iter().map(|(_, package)| package);
        let with = members.filter(|it| it.dependencies.iter().any(|other| other.name == self.name));
        with.map(|package| package.name.as_str()).collect()
    }

    /// Builds the package's unit tests for it and runs those that are models. A package that names
    /// it but has no model is a failure: models must not vanish unnoticed.
    fn run(&self, package: &str) -> Tally {
        let binary = match self.build(package) {
            Ok(binary) => binary,
            Err(error) => {
                println!("{error}");
                return Tally::BROKEN;
            }
        };
        let tally = counted(Command::new(binary).arg(self.filter));
        if tally == Tally::default() {
            println!("{package} has no test whose name holds {}", self.filter);
            return Tally::BROKEN;
        }
        tally
    }

    fn build(&self, package: &str) -> Result<String, String> {
        let mut build =
            workspace::cargo(&["rustc", "--lib", "--profile", "test", "--package", package]);
        build.args(["--message-format", "json-render-diagnostics", "--", "--cfg", self.cfg]);
        let output = build.stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("{} ended with {}", step::line_of(&build), output.status));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        executable(&text).ok_or_else(|| format!("{} named no test binary", step::line_of(&build)))
    }
}

/// Cargo prints one JSON object a line; the last one with an executable is the test binary.
fn executable(messages: &str) -> Option<String> {
    let objects = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut named =
        objects.filter_map(|object| Some(object.get("executable")?.as_str()?.to_owned()));
    named.next_back()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::DependencyKind;

    fn shell(script: &str) -> Tally {
        counted(Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn a_run_is_counted_from_its_output() {
        let good = "echo running 1 test; echo 'test result: ok. 1 passed; 0 failed; 0 ignored'";
        assert_eq!(shell(good), Tally { passed: 1, ..Tally::default() });
    }

    #[test]
    fn a_command_that_fails_without_a_failed_test_counts_as_one() {
        assert_eq!(shell("exit 101"), Tally::BROKEN);
        assert_eq!(counted(&mut Command::new("no-such-program")), Tally::BROKEN);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stop_the_count() {
        let odd = r"printf '\377\n'; echo running 1 test; echo 'test result: ok. 1 passed'";
        assert_eq!(shell(odd).passed, 1);
    }

    #[test]
    fn a_crate_that_names_a_checker_is_one_with_models() {
        let metadata = Metadata::default()
            .with_member("net", &[("loom", DependencyKind::Dev)])
            .with_member("sp", &[("bytes", DependencyKind::Normal)])
            .with_member("actor", &[("shuttle", DependencyKind::Dev)])
            .with_foreign("tokio", &[("loom", DependencyKind::Dev)]);
        assert_eq!(CHECKERS.map(|checker| checker.crates(&metadata)), [vec!["net"], vec!["actor"]]);
    }

    #[test]
    fn the_test_binary_is_found_among_the_messages() {
        let messages = "\
{\"reason\":\"compiler-artifact\",\"executable\":null}
{\"reason\":\"compiler-artifact\",\"executable\":\"/t/wigwag_net-1\"}
{\"reason\":\"build-finished\",\"success\":true}
";
        assert_eq!(executable(messages).as_deref(), Some("/t/wigwag_net-1"));
        assert_eq!(executable("no json"), None);
    }
}
