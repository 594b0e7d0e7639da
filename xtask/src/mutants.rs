//! Mutation testing with cargo-mutants, which changes the code in small ways, one at a time, and
//! counts the changes that no test catches.
//!
//! Each night runs one shard of the mutants of each crate, chosen by the date, so that [`NIGHTS`]
//! consecutive nights run all of them. Each crate has an aim: the percentage of its viable mutants
//! that must be caught. Missed mutants are always printed. Mutants that are skipped on purpose are
//! listed in `.cargo/mutants.toml`, each with its reason.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::tally::Tally;
use crate::{setup, step, workspace};

/// Nights until every mutant has run: the shortest month. The five crates have 7,000 mutants, so a
/// night runs 250 of them.
const NIGHTS: u64 = 28;

/// The version to install. Another version may generate other mutants.
const VERSION: &str = "27.1.0";

/// Seconds for the build of one mutant. A change to the actor crate rebuilds the tests of the
/// `wigwag` crate, which takes about one minute.
const BUILD_SECONDS_MAX: u32 = 600;

/// A crate whose mutants are run.
struct MutationTarget {
    package: &'static str,
    /// Percentage of the viable mutants that must be caught.
    aim: u64,
    /// Packages whose tests must catch a mutant.
    test_packages: &'static [&'static str],
    /// Arguments that select tests of those packages; empty for all of them.
    tests: &'static [&'static str],
    /// Time limit of the tests for one mutant, in seconds: several times their usual duration.
    test_seconds_max: u32,
}

const TARGETS: &[MutationTarget] = &[
    MutationTarget {
        package: "wigwag-wire",
        aim: 90,
        // The session makes the heaviest use of buffers and times.
        test_packages: &["wigwag-wire", "wigwag-link"],
        tests: &[],
        test_seconds_max: 60,
    },
    MutationTarget {
        package: "wigwag-link",
        aim: 90,
        test_packages: &["wigwag-link"],
        tests: &[],
        test_seconds_max: 60,
    },
    MutationTarget {
        package: "wigwag-sp",
        aim: 90,
        // The conformance tests check the promises that all protocols share.
        test_packages: &["wigwag-sp", "wigwag-conformance"],
        tests: &["--lib", "--test=promises"],
        test_seconds_max: 120,
    },
    MutationTarget {
        package: "wigwag-actor",
        aim: 80,
        // Actors are tested through the public API, in the `wigwag` crate.
        test_packages: &["wigwag-actor", "wigwag"],
        tests: &[
            "--lib",
            "--test=actors",
            "--test=dead_letters",
            "--test=inbound_queues",
            "--test=local_batches",
        ],
        test_seconds_max: 300,
    },
    MutationTarget {
        package: "wigwag",
        aim: 80,
        test_packages: &["wigwag"],
        tests: &["--lib", "--test=actors", "--test=measured", "--test=nodes", "--test=turmoil"],
        test_seconds_max: 300,
    },
];

/// Runs the shard of this night for every crate. Each crate counts as one test.
pub(crate) fn run() -> Tally {
    let mut tally = Tally::default();
    for target in TARGETS {
        tally += report_shard(target, &shard_for_date(SystemTime::now()));
    }
    tally
}

/// Runs one shard of one crate, as `cargo xtask mutants CRATE N/K`. True if the aim is met.
pub(crate) fn run_one(package: &str, shard: &str) -> bool {
    let Some(target) = TARGETS.iter().find(|target| target.package == package) else {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.package).collect();
        println!("{package} has no aim, only {} have one", known.join(", "));
        return false;
    };
    report_shard(target, shard).holds()
}

/// The shard for the date of `now`, as `N/K`. [`NIGHTS`] consecutive days take each shard once.
fn shard_for_date(now: SystemTime) -> String {
    const DAY_SECONDS: u64 = 24 * 60 * 60;
    // A clock before 1970 is wrong; any shard is fine.
    let days = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / DAY_SECONDS);
    format!("{}/{NIGHTS}", days % NIGHTS)
}

fn report_shard(target: &MutationTarget, shard: &str) -> Tally {
    let heading = format!("mutants of {}, shard {shard}", target.package);
    match step::timed(&heading, || run_shard(target, shard)) {
        Ok(outcome) => {
            outcome.missed.iter().for_each(|mutant| println!("missed: {mutant}"));
            println!("{}: {}", target.package, outcome.summary(target.aim));
            match outcome.meets(target.aim) {
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

fn run_shard(target: &MutationTarget, shard: &str) -> Result<MutationResults, String> {
    let tools = workspace::root().join("target/tools");
    install(&tools)?;
    let folder = workspace::root().join("target/mutants").join(target.package);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut command = Command::new(program(&tools));
    command.current_dir(workspace::root()).args(arguments(target, shard));
    command.arg("--output").arg(&folder);
    let status = command.status().map_err(|error| format!("cargo-mutants: {error}"))?;
    // 2: some mutants were missed; 3: for some the tests timed out.
    match status.code() {
        Some(0 | 2 | 3) => MutationResults::read(&folder.join("mutants.out")),
        _ => Err(format!("cargo-mutants ended with {status}")),
    }
}

fn arguments(target: &MutationTarget, shard: &str) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["mutants", "--package", target.package, "--shard", shard].map(str::to_owned).into();
    // `--cargo-arg` applies to every call of cargo, including the first one without a mutant;
    // `--test-package` would apply only to calls with a mutant.
    let packages = target.test_packages.iter().map(|package| format!("--package={package}"));
    let tests = target.tests.iter().map(|test| (*test).to_owned());
    arguments.extend(packages.chain(tests).map(|argument| format!("--cargo-arg={argument}")));
    // Each shard is spread over all files, so that its result is representative of the crate.
    arguments.push("--sharding=round-robin".to_owned());
    arguments.push(format!("--timeout={}", target.test_seconds_max));
    arguments.push(format!("--build-timeout={BUILD_SECONDS_MAX}"));
    arguments
}

fn program(tools: &Path) -> PathBuf {
    tools.join("bin/cargo-mutants")
}

/// Installs cargo-mutants into the target folder, unless this version is already there.
fn install(tools: &Path) -> Result<(), String> {
    let version = Command::new(program(tools)).args(["mutants", "--version"]).output();
    if version
        .is_ok_and(|version| String::from_utf8_lossy(&version.stdout).trim().ends_with(VERSION))
    {
        return Ok(());
    }
    println!("installing cargo-mutants {VERSION} into {}", tools.display());
    let options = ["install", "cargo-mutants", "--locked", "--force", "--version", VERSION];
    setup::run(workspace::cargo(&options).arg("--root").arg(tools))
}

/// The results of one run.
#[derive(Debug, Default, PartialEq, Eq)]
struct MutationResults {
    caught: usize,
    /// Mutants whose tests timed out, which counts as caught.
    timeout: usize,
    unviable: usize,
    missed: Vec<String>,
}

impl MutationResults {
    /// Reads the lists that cargo-mutants writes, one mutant per line.
    fn read(folder: &Path) -> Result<MutationResults, String> {
        let list = |name: &str| -> Result<Vec<String>, String> {
            let path = folder.join(name);
            let text = fs::read_to_string(&path);
            let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        Ok(MutationResults {
            caught: list("caught.txt")?.len(),
            timeout: list("timeout.txt")?.len(),
            unviable: list("unviable.txt")?.len(),
            missed: list("missed.txt")?,
        })
    }

    fn detected(&self) -> usize {
        self.caught + self.timeout
    }

    /// The number of viable mutants, which are those that compile.
    fn viable(&self) -> usize {
        self.detected() + self.missed.len()
    }

    /// True if at least `aim` percent of the viable mutants were caught. A shard without viable
    /// mutants meets every aim.
    fn meets(&self, aim: u64) -> bool {
        self.detected() as u64 * 100 >= self.viable() as u64 * aim
    }

    fn summary(&self, aim: u64) -> String {
        let percent = (self.detected() * 100).checked_div(self.viable()).unwrap_or(100);
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
    fn consecutive_days_take_each_shard_once() {
        let mut shards: Vec<String> = (20_000..20_000 + NIGHTS)
            .map(|day| shard_for_date(UNIX_EPOCH + Duration::from_secs(day * 86_400 + 4321)))
            .collect();
        assert_eq!(shard_for_date(UNIX_EPOCH + Duration::from_secs(86_399)), format!("0/{NIGHTS}"));
        assert_eq!(shard_for_date(UNIX_EPOCH + Duration::from_secs(86_400)), format!("1/{NIGHTS}"));
        shards.sort();
        shards.dedup();
        assert_eq!(shards.len() as u64, NIGHTS);
    }

    #[test]
    fn the_aim_is_compared_with_the_percentage_of_caught_viable_mutants() {
        let missed = |count| vec!["a mutant".to_owned(); count];
        let outcome = |caught, timeout, count| MutationResults {
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
    fn the_result_lists_are_read_and_a_missing_one_is_an_error() {
        let folder = std::env::temp_dir().join(format!("xtask-mutants-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in [("caught.txt", "a\nb\n"), ("timeout.txt", ""), ("unviable.txt", "c\n")]
        {
            fs::write(folder.join(name), text).unwrap();
        }
        let error = MutationResults::read(&folder).unwrap_err();
        assert!(error.contains("missed.txt"), "{error}");
        fs::write(folder.join("missed.txt"), "d\ne\n").unwrap();
        let missed = vec!["d".to_owned(), "e".to_owned()];
        let read = MutationResults::read(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read, MutationResults { caught: 2, timeout: 0, unviable: 1, missed });
    }

    #[test]
    fn every_selected_test_exists() {
        for target in TARGETS {
            for test in target.tests.iter().filter_map(|test| test.strip_prefix("--test=")) {
                let is_there = target.test_packages.iter().any(|package| {
                    let folder = package.strip_prefix("wigwag-").unwrap_or(package);
                    let tests = workspace::root().join("crates").join(folder).join("tests");
                    tests.join(format!("{test}.rs")).is_file()
                        || tests.join(test).join("main.rs").is_file()
                });
                assert!(is_there, "{}: no test {test}", target.package);
            }
        }
    }
}
