//! Steps of a long command. Each step is announced and timed, and a failed step does not stop the
//! next one.

use std::process::Command;
use std::time::Instant;

/// The faults of the steps so far.
#[derive(Default)]
pub(crate) struct Report {
    faults: Vec<String>,
}

impl Report {
    /// Runs `work` under a heading. An empty list of faults means success.
    pub(crate) fn step(&mut self, name: &str, work: impl FnOnce() -> Vec<String>) {
        let faults = timed(name, work);
        for fault in &faults {
            println!("{fault}");
        }
        self.faults.extend(faults.into_iter().map(|fault| format!("{name}: {fault}")));
    }

    /// Lists all faults once more at the end. Returns true if there are none.
    pub(crate) fn finish(self) -> bool {
        if self.faults.is_empty() {
            println!("== all checks passed");
        } else {
            println!("== failed:");
        }
        for fault in &self.faults {
            println!("   {fault}");
        }
        self.faults.is_empty()
    }
}

/// Prints a heading, runs `work`, and prints the time that it took.
pub(crate) fn timed<T>(name: &str, work: impl FnOnce() -> T) -> T {
    println!("== {name}");
    let start = Instant::now();
    let result = work();
    let seconds = start.elapsed().as_secs_f64();
    println!("== {name}: {seconds:.1} s ({:.1} min)", seconds / 60.0);
    result
}

/// Runs a command that inherits the standard streams. Returns no faults if it exits with 0.
pub(crate) fn run(command: &mut Command) -> Vec<String> {
    match command.status() {
        Ok(status) if status.success() => Vec::new(),
        Ok(status) => vec![format!("{} ended with {status}", line_of(command))],
        Err(error) => vec![format!("{} did not start: {error}", line_of(command))],
    }
}

/// The command line of `command`.
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
    fn a_failed_step_is_recorded_and_the_next_one_runs() {
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
    fn a_failed_or_missing_command_is_a_fault() {
        assert_eq!(run(&mut Command::new("true")), [""; 0]);
        assert!(run(Command::new("false").arg("x"))[0].starts_with("false x ended with"));
        assert!(run(&mut Command::new("no-such-program"))[0].contains("did not start"));
    }
}
