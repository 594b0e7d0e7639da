//! Starts the command, sends it signals, and checks that it leaves no process behind.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for a command. A demo of one round takes a sixth of this on two idle cores.
const COMMAND_MAX: Duration = Duration::from_secs(120);

/// Time limit for a process to end by itself.
const GONE_MAX: Duration = Duration::from_secs(10);

/// The output of a command, and its exit code.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the command until it ends.
pub(crate) fn run<'a>(words: impl IntoIterator<Item = &'a str>) -> Said {
    finish(start(words))
}

/// Starts the command with both outputs piped, as a script would.
pub(crate) fn start<'a>(words: impl IntoIterator<Item = &'a str>) -> Child {
    Command::new(env!("CARGO_BIN_EXE_wigwag"))
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built for this test")
}

/// Waits for the end of a command, and kills it after [`COMMAND_MAX`].
pub(crate) fn finish(child: Child) -> Said {
    let pid = child.id();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = receiver.recv_timeout(COMMAND_MAX) else {
        signal(pid, "KILL");
        panic!("the command was still running after {COMMAND_MAX:?}");
    };
    let Output { status, stdout, stderr } = output.expect("a child can be waited for");
    let text = |bytes| String::from_utf8(bytes).expect("the command prints UTF-8");
    Said { code: status.code(), out: text(stdout), err: text(stderr) }
}

/// Sends a signal by its short name.
pub(crate) fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill -{name}");
}

/// Polls `happened` until it is true, for at most [`GONE_MAX`].
pub(crate) fn eventually(what: &str, happened: impl FnMut() -> bool) {
    eventually_within(GONE_MAX, what, happened);
}

/// Polls `happened` until it is true.
///
/// # Panics
///
/// Panics if that takes longer than `limit`.
pub(crate) fn eventually_within(limit: Duration, what: &str, mut happened: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < limit, "{what}: not within {limit:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The running child processes of `parent`.
pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("Linux has /proc");
    let pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|(_, of)| of == parent)).collect()
}

/// True if the process has ended, whether or not its parent has collected the exit code.
pub(crate) fn is_gone(pid: u32) -> bool {
    stat(pid).is_none_or(|(state, _)| state == 'Z' || state == 'X')
}

/// The state and the parent of a process.
fn stat(pid: u32) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain any character.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// True if the process has installed handlers for SIGINT and SIGTERM.
pub(crate) fn catches_interrupts(pid: u32) -> bool {
    const BITS: u64 = 1 << 1 | 1 << 14;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & BITS == BITS)
}

/// A running `wigwag demo --serve` with its two actors, killed on drop.
pub(crate) struct Serving {
    child: Option<Child>,
    /// The command lines that it suggests.
    pub(crate) offers: Vec<String>,
    /// The address of its listener.
    pub(crate) address: String,
}

impl Serving {
    pub(crate) fn start() -> Serving {
        let mut child = start(["demo", "--serve"]);
        let out = child.stdout.take().expect("piped");
        let mut lines = BufReader::new(out).lines().map_while(Result::ok);
        // Up to the last one: the command ends if it prints what nobody reads.
        let offers: Vec<String> =
            lines.by_ref().take_while(|line| !line.starts_with("curl ")).collect();
        let mut offers: Vec<String> =
            offers.into_iter().filter(|line| line.starts_with("wigwag ")).collect();
        offers.truncate(2);
        let words = offers.iter().flat_map(|offer| offer.split(['/', ' ']));
        let place = words.into_iter().find(|word| word.contains(':') && !word.ends_with(':'));
        let address = format!("tcp://{}", place.unwrap_or("nowhere"));
        Serving { child: Some(child), offers, address }
    }

    /// The address of an actor.
    pub(crate) fn actor(&self, name: &str) -> String {
        format!("{}/{name}", self.address)
    }

    /// Sends SIGINT and waits for the end.
    pub(crate) fn interrupt(self) -> Said {
        self.end_with("INT")
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn end_with(mut self, name: &str) -> Said {
        let child = self.child.take().expect("taken only here and in drop");
        signal(child.id(), name);
        finish(child)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // The process may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
