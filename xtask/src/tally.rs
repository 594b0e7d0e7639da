//! Counts tests from what the test binaries print.
//!
//! Each binary says `running 3 tests` and later `test result: ok. 3 passed; 0 failed; …`. A
//! binary that says the first and never the second died on the way: that is one failure, lest a
//! crash look like an absence.

use std::ops::AddAssign;

/// How the tests went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
}

impl Tally {
    /// The count for something that should have run tests and could not.
    pub(crate) const BROKEN: Tally = Tally { passed: 0, failed: 1, ignored: 0 };

    /// True when each test ran and passed, and there was at least one.
    pub(crate) fn holds(&self) -> bool {
        self.failed == 0 && self.ignored == 0 && self.passed > 0
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// Reads the output of test binaries that run one after the other, line by line.
#[derive(Default)]
pub(crate) struct Reader {
    tally: Tally,
    /// Invariant: true exactly between a binary's first line and its result.
    running: bool,
}

impl Reader {
    pub(crate) fn line(&mut self, line: &str) {
        let line = line.trim_end();
        if is_start(line) {
            self.close();
            self.running = true;
        } else if let Some(tally) = result(line)
            && self.running
        {
            self.running = false;
            self.tally += tally;
        }
    }

    pub(crate) fn finish(mut self) -> Tally {
        self.close();
        self.tally
    }

    fn close(&mut self) {
        if self.running {
            self.running = false;
            self.tally += Tally::BROKEN;
        }
    }
}

fn is_start(line: &str) -> bool {
    let count = line.strip_prefix("running ").and_then(|rest| rest.split_once(" test"));
    count.is_some_and(|(count, rest)| count.parse::<u64>().is_ok() && matches!(rest, "" | "s"))
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
        assert_eq!(tally, Tally { passed: 4, failed: 1, ignored: 2 });
    }

    #[test]
    fn a_binary_that_dies_counts_as_a_failure_wherever_it_stands() {
        let died = "running 7 tests\nthread main has overflowed its stack\n";
        let passed = Tally { passed: 2, failed: 0, ignored: 1 };
        assert_eq!(read(OK), passed);
        assert_eq!(read(&format!("{died}{OK}")), Tally { failed: 1, ..passed });
        assert_eq!(read(&format!("{OK}{died}")), Tally { failed: 1, ..passed });
    }

    #[test]
    fn a_result_that_no_binary_owes_is_not_counted() {
        let loose = "test result: ok. 9 passed; 0 failed; 0 ignored\nrunning late tests\n";
        assert_eq!(read(loose), Tally::default());
    }

    #[test]
    fn only_a_run_with_tests_none_of_them_left_out_holds() {
        let good = Tally { passed: 1, failed: 0, ignored: 0 };
        assert!(good.holds());
        assert!(!Tally { failed: 1, ..good }.holds());
        assert!(!Tally { ignored: 1, ..good }.holds());
        assert!(!Tally::default().holds());
    }
}
