//! Child processes: this test binary again, in a role that an environment variable names.
//!
//! A test that serves as a child's body returns at once when the variable is not set. A child ends
//! when its standard input does, so it does not outlive the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

const ROLE: &str = "WIGWAG_TEST_ROLE";
const SAYS: &str = "child says: ";

/// The role that this process was started in; `None` for the tests themselves.
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Prints a line for the parent.
pub fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    // If the parent is gone, it has closed our input as well, which ends this process.
    let _ = writeln!(out, "\n{SAYS}{what}");
    let _ = out.flush();
}

/// Waits until the parent closes the pipe or ends.
pub fn wait_for_parent() {
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

fn this_program() -> PathBuf {
    std::env::current_exe().expect("a test is a program")
}

/// Runs the test `body` in its own process as `role`, and waits until that process ends by itself.
pub fn run(body: &str, role: &str) -> ExitStatus {
    Command::new(this_program())
        .args([body, "--exact"])
        .env(ROLE, role)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("this program can be started again")
}

/// A child process that has printed its first line, most often its address.
pub struct Child {
    process: std::process::Child,
    /// The first line that the child printed.
    pub said: String,
}

impl Child {
    /// Starts the test `body` in its own process as `role`, and waits for its first line.
    pub fn start(body: &str, role: &str) -> Child {
        Child::begin(Command::new(this_program()), body, role)
    }

    /// Like [`Child::start`], in a network namespace.
    pub fn start_in(namespace: &str, body: &str, role: &str) -> Child {
        let mut command = Command::new("ip");
        // `ip` execs the program, so the process id stays the same.
        command.args(["netns", "exec", namespace]).arg(this_program());
        Child::begin(command, body, role)
    }

    fn begin(mut command: Command, body: &str, role: &str) -> Child {
        let mut process = command
            .args([body, "--exact", "--nocapture"])
            .env(ROLE, role)
            // Each arena of the C library's allocator reserves 64 MiB of address space; with a few
            // threads, a child with a limit on its address space would run out.
            .env("MALLOC_ARENA_MAX", "2")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the operating system can start a process");
        let out = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut lines = out.lines().map_while(Result::ok);
        let said = lines.find_map(|line| line.strip_prefix(SAYS).map(str::to_owned));
        // Later output is discarded, because a full pipe would block the child.
        std::thread::spawn(move || lines.for_each(drop));
        let said = said.expect("the child says something");
        Child { process, said }
    }

    /// The id of the process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Kills the child with SIGKILL and reaps it.
    pub fn kill(&mut self) {
        self.process.kill().expect("a child can be killed");
        self.process.wait().expect("a killed child ends");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // The child may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
