//! Counts tests from the output of the test binaries.
//!
//! Each binary prints `running 3 tests` and later `test result: ok. 3 passed; 0 failed; …`. A binary
//! that prints only the first line has crashed, which counts as one failure. A test that prints
//! `not run: …` and returns has checked nothing, although its binary reports it as passed; it is
//! counted separately.

use std::ops::AddAssign;

/// The number of tests by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
    /// Tests that returned at once because the programs they need were not enabled. Not included in
    /// `passed`.
    pub(crate) not_run: u64,
}

impl Tally {
    /// The tally of a step that should have run tests and could not: one failure.
    pub(crate) const BROKEN: Tally = Tally { passed: 0, failed: 1, ignored: 0, not_run: 0 };

    /// True if every test ran and passed, and there was at least one.
    pub(crate) fn holds(&self) -> bool {
        self.failed == 0 && self.ignored == 0 && self.not_run == 0 && self.passed > 0
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.not_run += other.not_run;
    }
}

/// Reads the output of successive test binaries, line by line.
#[derive(Default)]
pub(crate) struct Reader {
    tally: Tally,
    /// Invariant: true exactly between a binary's first line and its result.
    running: bool,
    /// Tests of the current binary that printed `not run`.
    not_run: u64,
}

impl Reader {
    pub(crate) fn line(&mut self, line: &str) {
        let line = line.trim_end();
        if is_start(line) {
            self.close();
            self.running = true;
        } else if !self.running {
            // Lines outside of a binary's run are ignored.
        } else if is_not_run(line) {
            self.not_run += 1;
        } else if let Some(tally) = result(line) {
            self.running = false;
            let not_run = std::mem::take(&mut self.not_run).min(tally.passed);
            self.tally += Tally { passed: tally.passed - not_run, not_run, ..tally };
        }
    }

    pub(crate) fn finish(mut self) -> Tally {
        self.close();
        self.tally
    }

    fn close(&mut self) {
        if self.running {
            self.running = false;
            self.not_run = 0;
            self.tally += Tally::BROKEN;
        }
    }
}

fn is_start(line: &str) -> bool {
    let count = line.strip_prefix("running ").and_then(|rest| rest.split_once(" test"));
    count.is_some_and(|(count, rest)| count.parse::<u64>().is_ok() && matches!(rest, "" | "s"))
}

/// With a single test thread, the harness prints the name of the test on the same line.
fn is_not_run(line: &str) -> bool {
    let named = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "));
    named.map_or(line, |(_, rest)| rest).starts_with("not run: ")
}

fn result(line: &str) -> Option<Tally> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let mut tally = Tally::default();
    for part in counts.split("; ") {
        match part.split_once(' ') {
            Some((count, "passed")) => tally.passed = count.parse().ok()?,
            Some((count, "failed")) => tally.failed = count.parse().ok()?,
            Some((count, "ignored")) => tally.ignored = count.parse().ok()?,
            _ => {}
        }
    }
    Some(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> Tally {
        let mut reader = Reader::default();
        output.lines().for_each(|line| reader.line(line));
        reader.finish()
    }

    const OK: &str = "\nrunning 2 tests\ntest a ... ok\ntest b ... ok\n\ntest result: ok. 2 passed; \
                      0 failed; 1 ignored; 0 measured; 5 filtered out; finished in 0.01s\n";
    const FAILED: &str = "running 1 test\ntest c ... FAILED\n\ntest result: FAILED. 0 passed; \
                          1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";

    #[test]
    fn results_of_all_binaries_are_summed() {
        let tally = read(&format!("{OK}{FAILED}{OK}"));
        assert_eq!(tally, Tally { passed: 4, failed: 1, ignored: 2, not_run: 0 });
    }

    #[test]
    fn a_crashed_binary_counts_as_one_failure() {
        let died = "running 7 tests\nthread main has overflowed its stack\n";
        let passed = Tally { passed: 2, failed: 0, ignored: 1, not_run: 0 };
        assert_eq!(read(OK), passed);
        assert_eq!(read(&format!("{died}{OK}")), Tally { failed: 1, ..passed });
        assert_eq!(read(&format!("{OK}{died}")), Tally { failed: 1, ..passed });
    }

    #[test]
    fn a_result_outside_of_a_run_is_not_counted() {
        let loose = "test result: ok. 9 passed; 0 failed; 0 ignored\nrunning late tests\n";
        assert_eq!(read(loose), Tally::default());
    }

    /// With several test threads the line is separate, with one it follows the name of the test.
    #[test]
    fn a_test_that_prints_not_run_has_not_passed() {
        let result = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured";
        let some = format!(
            "running 3 tests\nnot run: set A=1\ntest a ... ok\ntest b ... not run: set A=1\nok\n\
             test c ... ok\n{result}\n"
        );
        let expected = Tally { passed: 1, not_run: 2, ..Tally::default() };
        assert_eq!(read(&some), expected);
        // A line outside of a run, or from a crashed binary, does not count for the next binary.
        let loose = format!("not run: x\nrunning 9 tests\nnot run: y\n{some}not run: z\n");
        assert_eq!(read(&loose), Tally { failed: 1, ..expected });
        assert_eq!(read(&format!("running 3 tests\nhas not run: x\n{result}")).passed, 3);
    }

    #[test]
    fn a_run_holds_only_if_it_has_tests_and_all_of_them_ran_and_passed() {
        let good = Tally { passed: 1, ..Tally::default() };
        assert!(good.holds());
        assert!(!Tally { failed: 1, ..good }.holds());
        assert!(!Tally { ignored: 1, ..good }.holds());
        assert!(!Tally { not_run: 1, ..good }.holds());
        assert!(!Tally::default().holds());
    }
}
