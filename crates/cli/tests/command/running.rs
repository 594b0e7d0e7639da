//! A command that runs while a test reads its output.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::process::{Said, eventually, signal};

/// A running command, killed on drop.
pub(crate) struct Running {
    child: Child,
    out: Captured,
    err: Captured,
}

/// The output captured from one pipe.
struct Captured {
    bytes: Arc<Mutex<Vec<u8>>>,
    reading: Option<JoinHandle<()>>,
}

impl Captured {
    fn new(mut from: impl Read + Send + 'static) -> Captured {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let theirs = bytes.clone();
        let reading = thread::spawn(move || {
            let mut some = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut some) {
                theirs.lock().expect("no reader panics").extend_from_slice(&some[..count]);
            }
        });
        Captured { bytes, reading: Some(reading) }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().expect("no reader panics")).into_owned()
    }

    fn all(&mut self) -> String {
        if let Some(reading) = self.reading.take() {
            reading.join().expect("no reader panics");
        }
        self.text()
    }
}

impl Running {
    /// Starts the command; `input` is its whole standard input.
    pub(crate) fn start(words: &[&str], input: &[u8]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wigwag"));
        command.args(words);
        Running::of(command, input)
    }

    /// Starts any program.
    pub(crate) fn of(mut command: Command, input: &[u8]) -> Running {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut stdin = child.stdin.take().expect("piped");
        // The command may end without reading its input.
        let _ = stdin.write_all(input);
        let out = Captured::new(child.stdout.take().expect("piped"));
        let err = Captured::new(child.stderr.take().expect("piped"));
        Running { child, out, err }
    }

    /// Starts a command that listens, and returns it with the address that it prints.
    pub(crate) fn listening(words: &[&str], input: &[u8]) -> (Running, String) {
        let running = Running::start(words, input);
        let line = running.until_err("listening  ");
        let address = line.split_whitespace().nth(1).expect("an address").to_owned();
        (running, address)
    }

    /// Waits for a line on standard error that contains `what`.
    pub(crate) fn until_err(&self, what: &str) -> String {
        until(&self.err, what)
    }

    /// Waits for a line on standard output that contains `what`.
    pub(crate) fn until_out(&self, what: &str) -> String {
        until(&self.out, what)
    }

    /// The standard output so far.
    pub(crate) fn out(&self) -> String {
        self.out.text()
    }

    /// The standard error so far.
    pub(crate) fn said(&self) -> String {
        self.err.text()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGINT, and waits for the end.
    pub(crate) fn interrupt(self) -> Said {
        signal(self.child.id(), "INT");
        self.end()
    }

    /// Waits for the end.
    pub(crate) fn end(mut self) -> Said {
        let mut status = None;
        eventually("the command ends", || {
            status = self.child.try_wait().expect("a child can be waited for");
            status.is_some()
        });
        let code = status.and_then(|status| status.code());
        Said { code, out: self.out.all(), err: self.err.all() }
    }
}

fn until(captured: &Captured, what: &str) -> String {
    let mut found = None;
    eventually(what, || {
        let text = captured.text();
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        found = whole.lines().find(|line| line.contains(what)).map(str::to_owned);
        found.is_some()
    });
    found.expect("eventually")
}

impl Drop for Running {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command with an input until it ends.
pub(crate) fn with_input(words: &[&str], input: &[u8]) -> Said {
    Running::start(words, input).end()
}
