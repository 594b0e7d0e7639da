//! Examples of the crate `wigwag`, which tests run as processes.
//!
//! `cargo test` builds the examples of a package before it runs its tests, but not when it is told
//! to run one file alone. So a program that is missing, or older than one of its sources, is built
//! here. Cargo is not asked about every program: the features of the crates depend on the packages
//! of its command line, so in a run of the whole workspace the question would build many crates a
//! second time. Cargo holds no lock while tests run; tests that ask at the same time wait for one
//! another.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How long a program may run. Every program ends much earlier; this only turns a hang into a
/// failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// The examples that this process has found fresh or has built.
static EXAMPLES: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());

/// Path of an example of the crate `wigwag`, which is up to date.
pub fn example(name: &str) -> PathBuf {
    // A build that panics has added nothing.
    let mut examples = EXAMPLES.lock().unwrap_or_else(PoisonError::into_inner);
    examples.entry(name.to_owned()).or_insert_with(|| up_to_date(name)).clone()
}

fn up_to_date(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("a test is a program");
    let target = tests.ancestors().nth(2).expect("a test lies in `deps` of the target folder");
    let program = target.join("examples").join(name);
    if !is_fresh(&program) {
        // The folder has the name of the profile, except that of `dev`.
        let profile = target.file_name().and_then(|folder| folder.to_str());
        let profile = profile.filter(|folder| *folder != "debug").unwrap_or("dev");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "wigwag", "--example", name])
            .args(["--profile", profile, "--target-dir"])
            .arg(target.parent().expect("the folder of a profile lies in the target folder"))
            .status();
        assert!(built.expect("cargo can be started").success(), "{name} can be built");
    }
    program
}

/// True if the program is newer than all its sources, which Cargo lists beside it, those of other
/// crates of the workspace too.
fn is_fresh(program: &Path) -> bool {
    let changed = |file: &Path| file.metadata().and_then(|file| file.modified()).ok();
    let (Some(built), Ok(list)) =
        (changed(program), std::fs::read_to_string(program.with_extension("d")))
    else {
        return false;
    };
    // A target folder that was copied from elsewhere lists sources from there.
    let Some(sources) = list.strip_prefix(&format!("{}: ", program.display())) else {
        return false;
    };
    are_older(built, sources, changed)
}

/// True if all files of a list as in a makefile are there and older than `built`.
fn are_older(
    built: SystemTime,
    sources: &str,
    changed: impl Fn(&Path) -> Option<SystemTime>,
) -> bool {
    // A space within a name has a backslash before it.
    let sources = sources.trim_end().replace("\\ ", "\0");
    let mut names = sources.split(' ').map(|name| name.replace('\0', " "));
    names.all(|name| changed(Path::new(&name)).is_some_and(|changed| changed < built))
}

/// An example that runs. It is killed when this is dropped.
pub struct Program {
    process: std::process::Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    deadline: Instant,
}

impl Program {
    /// Starts an example of the crate `wigwag`.
    pub fn start(name: &str, arguments: &[&str]) -> Program {
        let mut process = Command::new(example(name))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the operating system can start a process");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let deadline = Instant::now() + PATIENCE;
        Program { input: process.stdin.take(), process, lines, deadline }
    }

    /// The next line that the program prints; `None` at the end of its output.
    pub fn line(&self) -> Option<String> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "the program has had {PATIENCE:?}");
        match self.lines.recv_timeout(left) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the program has printed nothing in time"),
        }
    }

    /// Waits until the program prints `expected`.
    pub fn until(&self, expected: &str) {
        while self.line().expect("the program prints that before it ends") != expected {}
    }

    /// Writes a line to the program's input.
    pub fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().expect("it is piped"), "{line}").unwrap();
    }

    /// Kills the program with SIGKILL and reaps it.
    pub fn kill(&mut self) {
        self.process.kill().expect("a child can be killed");
        self.process.wait().expect("a killed child ends");
    }

    /// Ends the input, if it is open, and returns what the program prints until its own end, which
    /// must be a success.
    pub fn end(mut self) -> Vec<String> {
        self.input = None;
        let rest = std::iter::from_fn(|| self.line()).collect();
        let ended = self.process.wait().expect("a child can be awaited");
        assert!(ended.success(), "{ended}, after {rest:?}");
        rest
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_stale_if_a_source_is_younger_or_missing() {
        let built = SystemTime::UNIX_EPOCH + Duration::from_secs(100);
        let fresh = |sources: &str| {
            let changed = |file: &Path| match file.to_str()? {
                "/a.rs" | "/with space.rs" => Some(built - Duration::from_secs(1)),
                "/younger.rs" => Some(built + Duration::from_secs(1)),
                _ => None,
            };
            are_older(built, sources, changed)
        };
        assert!(fresh("/a.rs /with\\ space.rs\n"));
        assert!(!fresh("/a.rs /younger.rs /with\\ space.rs\n"));
        assert!(!fresh("/a.rs /removed.rs\n"));
        assert!(!fresh("\n"), "a list without a source says nothing");
    }
}
