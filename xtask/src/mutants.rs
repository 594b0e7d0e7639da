//! cargo-mutants: changes the code in small ways, one at a time, and counts the changes that no test
//! notices.
//!
//! A night takes one share of the mutants of each crate, chosen by the date, so that [`NIGHTS`] nights
//! in a row take all of them. Each crate has an aim: the percentage of its viable mutants that must be
//! caught. The mutants that were missed are printed either way. Mutants that are left on purpose are
//! listed in `.cargo/mutants.toml`, each with its reason.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::tally::Tally;
use crate::{setup, step, workspace};

/// Nights until every mutant had its turn: a month, even the shortest. The five crates have 7,000
/// mutants, so a night has 250 of them.
const NIGHTS: u64 = 28;

/// The version that is installed. Another one may plant other mutants.
const VERSION: &str = "27.1.0";

/// Seconds for the build of one mutant. A change to the actor crate builds the node's tests anew,
/// which takes about one minute.
const BUILD_SECONDS_MAX: u32 = 600;

/// A crate whose mutants are tested.
struct Subject {
    package: &'static str,
    /// Percentage of the viable mutants that must be caught.
    aim: u64,
    /// Packages whose tests must notice a mutant.
    test_packages: &'static [&'static str],
    /// Arguments that choose among the tests of those packages; empty for all of them.
    tests: &'static [&'static str],
    /// Seconds that the tests may take with one mutant: several times what they take without.
    test_seconds_max: u32,
}

const SUBJECTS: &[Subject] = &[
    Subject {
        package: "wigwag-wire",
        aim: 90,
        // Buffers and times are used in the session, and nowhere else so hard.
        test_packages: &["wigwag-wire", "wigwag-link"],
        tests: &[],
        test_seconds_max: 60,
    },
    Subject {
        package: "wigwag-link",
        aim: 90,
        test_packages: &["wigwag-link"],
        tests: &[],
        test_seconds_max: 60,
    },
    Subject {
        package: "wigwag-sp",
        aim: 90,
        // The protocols are tested where each is held against what all promise.
        test_packages: &["wigwag-sp", "wigwag-conformance"],
        tests: &["--lib", "--test=promises"],
        test_seconds_max: 120,
    },
    Subject {
        package: "wigwag-actor",
        aim: 80,
        // Actors are tested through the public calls, in the node's crate.
        test_packages: &["wigwag-actor", "wigwag"],
        tests: &["--lib", "--test=actors", "--test=dead_letters", "--test=lanes", "--test=stages"],
        test_seconds_max: 300,
    },
    Subject {
        package: "wigwag",
        aim: 80,
        test_packages: &["wigwag"],
        tests: &["--lib", "--test=actors", "--test=measured", "--test=nodes", "--test=turmoil"],
        test_seconds_max: 300,
    },
];

/// The share of the night, of every crate. Each crate counts as one test.
pub(crate) fn run() -> Tally {
    let mut tally = Tally::default();
    for subject in SUBJECTS {
        tally += hunt(subject, &share_of(SystemTime::now()));
    }
    tally
}

/// A share of one crate, as `cargo xtask mutants CRATE N/K`; true when the aim is met.
pub(crate) fn run_one(package: &str, share: &str) -> bool {
    let Some(subject) = SUBJECTS.iter().find(|subject| subject.package == package) else {
        let known: Vec<&str> = SUBJECTS.iter().map(|subject| subject.package).collect();
        println!("no aim is set for {package}, only for {}", known.join(", "));
        return false;
    };
    hunt(subject, share).holds()
}

/// Number and count of shares for this date: as many days in a row as there are shares take each once.
fn share_of(now: SystemTime) -> String {
    const DAY_SECONDS: u64 = 24 * 60 * 60;
    // A clock before 1970 is wrong, and any share will do.
    let days = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / DAY_SECONDS);
    format!("{}/{NIGHTS}", days % NIGHTS)
}

fn hunt(subject: &Subject, share: &str) -> Tally {
    let heading = format!("mutants of {}, share {share}", subject.package);
    match step::timed(&heading, || hunted(subject, share)) {
        Ok(outcome) => {
            outcome.missed.iter().for_each(|mutant| println!("missed: {mutant}"));
            println!("{}: {}", subject.package, outcome.summary(subject.aim));
            match outcome.meets(subject.aim) {
                true => Tally { passed: 1, ..Tally::default() },
                false => Tally::BROKEN,
            }
        }
        Err(error) => {
            println!("{error}");
            Tally::BROKEN
        }
    }
}

fn hunted(subject: &Subject, share: &str) -> Result<Outcome, String> {
    let tools = workspace::root().join("target/tools");
    install(&tools)?;
    let folder = workspace::root().join("target/mutants").join(subject.package);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut command = Command::new(program(&tools));
    command.current_dir(workspace::root()).args(arguments(subject, share));
    command.arg("--output").arg(&folder);
    let status = command.status().map_err(|error| format!("cargo-mutants: {error}"))?;
    // 2: some were missed; 3: with some the tests took too long.
    match status.code() {
        Some(0 | 2 | 3) => Outcome::read(&folder.join("mutants.out")),
        _ => Err(format!("cargo-mutants ended with {status}")),
    }
}

fn arguments(subject: &Subject, share: &str) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["mutants", "--package", subject.package, "--shard", share].map(str::to_owned).into();
    // To every call of cargo, the first one without a mutant included: `--test-package` is for those
    // with one alone.
    let packages = subject.test_packages.iter().map(|package| format!("--package={package}"));
    let tests = subject.tests.iter().map(|test| (*test).to_owned());
    arguments.extend(packages.chain(tests).map(|argument| format!("--cargo-arg={argument}")));
    // Each share is spread over all files, so that its figure stands for the crate.
    arguments.push("--sharding=round-robin".to_owned());
    arguments.push(format!("--timeout={}", subject.test_seconds_max));
    arguments.push(format!("--build-timeout={BUILD_SECONDS_MAX}"));
    arguments
}

fn program(tools: &Path) -> PathBuf {
    tools.join("bin/cargo-mutants")
}

/// Installs the program into the target folder, unless it is there in this version.
fn install(tools: &Path) -> Result<(), String> {
    let told = Command::new(program(tools)).args(["mutants", "--version"]).output();
    if told.is_ok_and(|told| String::from_utf8_lossy(&told.stdout).trim().ends_with(VERSION)) {
        return Ok(());
    }
    println!("installing cargo-mutants {VERSION} into {}", tools.display());
    let options = ["install", "cargo-mutants", "--locked", "--force", "--version", VERSION];
    setup::run(workspace::cargo(&options).arg("--root").arg(tools))
}

/// What became of the mutants of one run.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    caught: usize,
    /// The tests did not end in time, which notices the mutant as well.
    timeout: usize,
    unviable: usize,
    missed: Vec<String>,
}

impl Outcome {
    /// From the lists that cargo-mutants leaves, a mutant a line.
    fn read(folder: &Path) -> Result<Outcome, String> {
        let list = |name: &str| -> Result<Vec<String>, String> {
            let path = folder.join(name);
            let text = fs::read_to_string(&path);
            let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        Ok(Outcome {
            caught: list("caught.txt")?.len(),
            timeout: list("timeout.txt")?.len(),
            unviable: list("unviable.txt")?.len(),
            missed: list("missed.txt")?,
        })
    }

    fn noticed(&self) -> usize {
        self.caught + self.timeout
    }

    /// Viable mutants: those that compile.
    fn viable(&self) -> usize {
        self.noticed() + self.missed.len()
    }

    /// True when at least `aim` percent of the viable ones were noticed. A share without any tells
    /// nothing against the tests.
    fn meets(&self, aim: u64) -> bool {
        self.noticed() as u64 * 100 >= self.viable() as u64 * aim
    }

    fn summary(&self, aim: u64) -> String {
        let percent = (self.noticed() * 100).checked_div(self.viable()).unwrap_or(100);
        format!(
            "{} caught, {} timed out, {} missed, {} unviable: {percent} % caught, aim {aim} %",
            self.caught,
            self.timeout,
            self.missed.len(),
            self.unviable,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn as_many_days_as_there_are_shares_take_each_share_once() {
        let mut shares: Vec<String> = (20_000..20_000 + NIGHTS)
            .map(|day| share_of(UNIX_EPOCH + Duration::from_secs(day * 86_400 + 4321)))
            .collect();
        assert_eq!(share_of(UNIX_EPOCH + Duration::from_secs(86_399)), format!("0/{NIGHTS}"));
        assert_eq!(share_of(UNIX_EPOCH + Duration::from_secs(86_400)), format!("1/{NIGHTS}"));
        shares.sort();
        shares.dedup();
        assert_eq!(shares.len() as u64, NIGHTS);
    }

    #[test]
    fn a_crate_meets_its_aim_with_the_share_of_viable_mutants_that_were_noticed() {
        let missed = |count| vec!["a mutant".to_owned(); count];
        let outcome = |caught, timeout, count| Outcome {
            caught,
            timeout,
            unviable: 50,
            missed: missed(count),
        };
        assert!(outcome(9, 0, 1).meets(90) && outcome(8, 1, 1).meets(90));
        assert!(!outcome(89, 0, 11).meets(90) && outcome(89, 0, 11).meets(80));
        assert!(outcome(0, 0, 0).meets(90));
        assert!(!outcome(0, 0, 1).meets(80));
        assert!(outcome(8, 1, 1).summary(90).contains("90 % caught"));
    }

    #[test]
    fn the_lists_of_a_run_are_read_and_a_missing_one_is_an_error() {
        let folder = std::env::temp_dir().join(format!("xtask-mutants-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in [("caught.txt", "a\nb\n"), ("timeout.txt", ""), ("unviable.txt", "c\n")]
        {
            fs::write(folder.join(name), text).unwrap();
        }
        let error = Outcome::read(&folder).unwrap_err();
        assert!(error.contains("missed.txt"), "{error}");
        fs::write(folder.join("missed.txt"), "d\ne\n").unwrap();
        let missed = vec!["d".to_owned(), "e".to_owned()];
        let read = Outcome::read(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read, Outcome { caught: 2, timeout: 0, unviable: 1, missed });
    }

    #[test]
    fn every_test_that_is_named_exists() {
        for subject in SUBJECTS {
            for test in subject.tests.iter().filter_map(|test| test.strip_prefix("--test=")) {
                let is_there = subject.test_packages.iter().any(|package| {
                    let folder = package.strip_prefix("wigwag-").unwrap_or(package);
                    let tests = workspace::root().join("crates").join(folder).join("tests");
                    tests.join(format!("{test}.rs")).is_file()
                        || tests.join(test).join("main.rs").is_file()
                });
                assert!(is_there, "{}: no test {test}", subject.package);
            }
        }
    }
}
