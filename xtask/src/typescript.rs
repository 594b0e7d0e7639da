//! The tests of what is written in TypeScript, in Node and in Chromium, as a part of `cargo xtask test`.
//!
//! They start programs that the build of the workspace has left in the target folder: examples of
//! `crates/gateway`, and the command.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::tally::Tally;
use crate::{setup, step, workspace};

/// The copy of the list of packages, written into their folder when all of them are there.
const INSTALLED: &str = "node_modules/installed-lock.json";

/// Files of tests that run at a time: most of them wait for heartbeats. One after the other they take
/// 100 s, and three at a time 50 s.
const TESTS: &[&str] = &["--test", "--test-reporter=tap", "--test-concurrency=3"];

/// A package of npm.
struct Package {
    /// Its folder, from the root of the workspace on.
    folder: &'static str,
    /// The script of its `package.json` that its tests need to have run.
    script: &'static str,
}

/// The client first, with which the tests of the live page open a session. The script of the page fails
/// if its committed bundle is not what its sources make.
const PACKAGES: [Package; 2] = [
    Package { folder: "typescript", script: "build" },
    Package { folder: "crates/gateway/page", script: "check" },
];

/// Installs the packages that each one needs, compiles it, and runs and counts its tests. Returns what
/// they print, since other tests print meanwhile.
pub(crate) fn test() -> (Tally, String) {
    let (mut tally, mut printed) = (Tally::default(), String::new());
    for package in &PACKAGES {
        tally += package.test(&mut printed).unwrap_or_else(|error| {
            printed.push_str(&error);
            printed.push('\n');
            Tally::BROKEN
        });
    }
    (tally, printed)
}

impl Package {
    fn folder(&self) -> PathBuf {
        workspace::root().join(self.folder)
    }

    fn test(&self, printed: &mut String) -> Result<Tally, String> {
        self.prepare()?;
        let mut tests = Command::new("node");
        run(tests.args(TESTS).args(self.files()?).current_dir(self.folder()), printed)
    }

    fn prepare(&self) -> Result<(), String> {
        let folder = self.folder();
        let read = |name: &str| fs::read(folder.join(name));
        let list =
            read("package-lock.json").map_err(|error| format!("package-lock.json: {error}"))?;
        let npm = |arguments: &[&str]| {
            setup::run(Command::new("npm").args(arguments).current_dir(&folder))
        };
        if read(INSTALLED).ok().as_ref() != Some(&list) {
            npm(&["ci", "--no-audit", "--no-fund"])?;
            fs::write(folder.join(INSTALLED), list)
                .map_err(|error| format!("{INSTALLED}: {error}"))?;
        }
        npm(&["run", self.script])
    }

    /// The files with tests, in the order of their names.
    fn files(&self) -> Result<Vec<String>, String> {
        let entries =
            fs::read_dir(self.folder().join("test")).map_err(|error| error.to_string())?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut files: Vec<String> = names
            .filter(|name| name.ends_with(".test.js"))
            .map(|name| format!("test/{name}"))
            .collect();
        files.sort();
        Ok(files)
    }
}

/// Runs a command that prints TAP, appends its output to `printed`, and counts the tests.
fn run(command: &mut Command, printed: &mut String) -> Result<Tally, String> {
    let line = step::line_of(command);
    let failed = |error: std::io::Error| format!("{line} failed: {error}");
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let output = BufReader::new(child.stdout.take().expect("piped two lines above"));
    let mut totals = Totals::default();
    for text in output.split(b'\n') {
        let text = text.map_err(failed)?;
        let text = String::from_utf8_lossy(&text);
        totals.line(&text);
        printed.push_str(&text);
        printed.push('\n');
    }
    let has_succeeded = child.wait().map_err(failed)?.success();
    Ok(totals.tally(has_succeeded))
}

/// The lines with the totals at the end of Node's TAP: `# pass 40`.
#[derive(Default)]
struct Totals {
    tally: Option<Tally>,
}

impl Totals {
    fn line(&mut self, line: &str) {
        let Some((name, count)) = line.strip_prefix("# ").and_then(|rest| rest.split_once(' '))
        else {
            return;
        };
        let Ok(count) = count.trim().parse::<u64>() else { return };
        match name {
            // The first of the totals; a test that prints such a line does so in front of it.
            "tests" => self.tally = Some(Tally::default()),
            "pass" => self.add(Tally { passed: count, ..Tally::default() }),
            "fail" | "cancelled" => self.add(Tally { failed: count, ..Tally::default() }),
            "skipped" | "todo" => self.add(Tally { ignored: count, ..Tally::default() }),
            _ => {}
        }
    }

    fn add(&mut self, more: Tally) {
        if let Some(tally) = &mut self.tally {
            *tally += more;
        }
    }

    /// A run that ends without totals, or fails outside its tests, is one failure.
    fn tally(self, has_succeeded: bool) -> Tally {
        let mut tally = self.tally.unwrap_or(Tally::BROKEN);
        if !has_succeeded && tally.failed == 0 {
            tally += Tally::BROKEN;
        }
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str, has_succeeded: bool) -> Tally {
        let mut totals = Totals::default();
        output.lines().for_each(|line| totals.line(line));
        totals.tally(has_succeeded)
    }

    const OUTPUT: &str = "TAP version 13\n# pass 99\nok 1 - a\n1..1\n# tests 9\n# suites 0\n# pass 5\n\
                          # fail 1\n# cancelled 1\n# skipped 1\n# todo 1\n# duration_ms 12.5\n";

    #[test]
    fn the_totals_at_the_end_of_nodes_output_are_counted() {
        let expected = Tally { passed: 5, failed: 2, ignored: 2, not_run: 0 };
        assert_eq!(read(OUTPUT, false), expected);
    }

    #[test]
    fn a_run_without_totals_or_that_fails_outside_its_tests_is_a_failure() {
        assert_eq!(read("TAP version 13\nok 1 - a\n", true), Tally::BROKEN);
        let good = "# tests 1\n# pass 1\n# fail 0\n";
        assert_eq!(read(good, true), Tally { passed: 1, ..Tally::default() });
        assert_eq!(read(good, false), Tally { passed: 1, failed: 1, ..Tally::default() });
    }

    #[test]
    fn there_are_files_with_tests() {
        let browsers = PACKAGES.iter().zip(["test/chromium.test.js", "test/page.test.js"]);
        for (package, file) in browsers {
            assert!(package.files().unwrap().iter().any(|name| name == file), "{file}");
        }
    }
}
