//! Steps of a long command: each is announced, timed, and does not stop the next one.

use std::process::Command;
use std::time::Instant;

/// What went wrong in the steps so far.
#[derive(Default)]
pub(crate) struct Report {
    faults: Vec<String>,
}

impl Report {
    /// Runs `work` under a heading; an empty list from it means that all is well.
    pub(crate) fn step(&mut self, name: &str, work: impl FnOnce() -> Vec<String>) {
        let faults = timed(name, work);
        for fault in &faults {
            println!("{fault}");
        }
        self.faults.extend(faults.into_iter().map(|fault| format!("{name}: {fault}")));
    }

    /// Lists what went wrong once more, at the end where it is read. True when nothing did.
    pub(crate) fn finish(self) -> bool {
        if self.faults.is_empty() {
            println!("== all checks hold");
        } else {
            println!("== does not hold:");
        }
        for fault in &self.faults {
            println!("   {fault}");
        }
        self.faults.is_empty()
    }
}

/// Prints a heading, runs `work`, prints how long it took.
pub(crate) fn timed<T>(name: &str, work: impl FnOnce() -> T) -> T {
    println!("== {name}");
    let start = Instant::now();
    let result = work();
    let seconds = start.elapsed().as_secs_f64();
    println!("== {name}: {seconds:.1} s ({:.1} min)", seconds / 60.0);
    result
}

/// Runs a command with its output going straight through. Empty when it exits with 0.
pub(crate) fn run(command: &mut Command) -> Vec<String> {
    match command.status() {
        Ok(status) if status.success() => Vec::new(),
        Ok(status) => vec![format!("{} ended with {status}", line_of(command))],
        Err(error) => vec![format!("{} did not start: {error}", line_of(command))],
    }
}

/// The command as one would type it.
pub(crate) fn line_of(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or_default().to_string_lossy()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_is_remembered_and_the_next_one_runs() {
        let mut report = Report::default();
        let mut ran = false;
        report.step("first", || vec!["broken".to_owned()]);
        report.step("second", || {
            ran = true;
            Vec::new()
        });
        assert!(ran);
        assert!(!report.finish());
        assert!(Report::default().finish());
    }

    #[test]
    fn a_command_that_fails_or_does_not_exist_is_a_fault() {
        assert_eq!(run(&mut Command::new("true")), [""; 0]);
        assert!(run(Command::new("false").arg("x"))[0].starts_with("false x ended with"));
        assert!(run(&mut Command::new("no-such-program"))[0].contains("did not start"));
    }
}
