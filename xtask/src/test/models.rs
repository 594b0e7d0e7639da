//! The models: tests that loom or shuttle runs in many orders of their threads.
//!
//! Each crate that depends on loom or shuttle is built again with `--cfg wigwag_loom` or `--cfg
//! wigwag_shuttle`. The cfg applies to that crate alone; `RUSTFLAGS` would apply it to all crates and
//! recompile tokio and other dependencies. `cargo xtask nightly` runs the models; no other build compiles
//! their code.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::metadata::Metadata;
use crate::tally::Tally;
use crate::test::counted;
use crate::{step, workspace};

/// A model checker.
struct ModelChecker {
    /// The dependency that marks a crate with such models.
    name: &'static str,
    /// The cfg that enables the models, as in `#[cfg(all(test, wigwag_loom))]`.
    cfg: &'static str,
    /// The part of the models' names that selects them among the crate's tests.
    filter: &'static str,
}

/// loom explores all orders of short executions, shuttle random orders of long ones.
const CHECKERS: [ModelChecker; 2] = [
    ModelChecker { name: "loom", cfg: "wigwag_loom", filter: "loom_" },
    ModelChecker { name: "shuttle", cfg: "wigwag_shuttle", filter: "shuttle_" },
];

/// Checks the models of all crates. To build a crate's tests again takes about a minute, which is too
/// much for each push.
pub(crate) fn check() -> Tally {
    let metadata = match Metadata::load() {
        Ok(metadata) => metadata,
        Err(error) => {
            println!("{error}");
            return Tally::BROKEN;
        }
    };
    let mut tally = Tally::default();
    for checker in &CHECKERS {
        for package in checker.crates(&metadata) {
            let what = format!("models of {package}, {}", checker.name);
            tally += step::timed(&what, || checker.run(package));
        }
    }
    tally
}

impl ModelChecker {
    /// The crates that depend on this checker, and so have models.
    fn crates<'a>(&self, metadata: &'a Metadata) -> Vec<&'a str> {
        let members = metadata.members().into_iter().map(|(_, package)| package);
        let with = members.filter(|it| it.dependencies.iter().any(|other| other.name == self.name));
        with.map(|package| package.name.as_str()).collect()
    }

    /// Builds the package's unit tests with the cfg and runs the models among them. A package that
    /// depends on the checker but has no model is a failure, so that models do not vanish unnoticed.
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
            println!("{package} has no test whose name contains {}", self.filter);
            return Tally::BROKEN;
        }
        tally
    }

    /// Builds the package's unit tests with the cfg, and returns the path of their program.
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

/// Finds the test binary in cargo's messages: the last JSON line with an executable.
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

    #[test]
    fn a_crate_that_depends_on_a_checker_has_models() {
        let metadata = Metadata::default()
            .with_member("net", &[("loom", DependencyKind::Dev)])
            .with_member("sp", &[("bytes", DependencyKind::Normal)])
            .with_member("actor", &[("shuttle", DependencyKind::Dev)])
            .with_foreign("tokio", &[("loom", DependencyKind::Dev)]);
        assert_eq!(CHECKERS.map(|checker| checker.crates(&metadata)), [vec!["net"], vec!["actor"]]);
    }

    #[test]
    fn the_test_binary_is_found_in_the_messages() {
        let messages = "\
{\"reason\":\"compiler-artifact\",\"executable\":null}
{\"reason\":\"compiler-artifact\",\"executable\":\"/t/wigwag_net-1\"}
{\"reason\":\"build-finished\",\"success\":true}
";
        assert_eq!(executable(messages).as_deref(), Some("/t/wigwag_net-1"));
        assert_eq!(executable("no json"), None);
    }
}
