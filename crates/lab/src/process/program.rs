//! A participant's program: started, spoken to, and ended for certain.
//!
//! Each runs in a process group of its own, so that it can be ended with everything it started,
//! and a Ctrl-C at the terminal reaches the lab alone. Its standard input stays open as long as the
//! lab lives: however the lab ends, a program that keeps the contract ends as well.

use std::collections::VecDeque;
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use crate::process::tree::{marked, spent_by, survivors};

/// Lines of standard error that are kept: enough for the end of a stack trace.
const STDERR_LINES: usize = 20;
/// A longer line is no account.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// The time to wait for the end of a program whose output has ended, to report how it ended.
const EARLY_END_MAX: Duration = Duration::from_secs(5);
/// The interval at which the end of a program is polled.
const END_STEP: Duration = Duration::from_millis(2);

/// Its value is another one for every program, and everything that a program starts inherits it: so
/// even a process that left the group, and whose parent has gone, is known.
pub const MARK: &str = "WIGWAG_LAB_PROGRAM";

/// Programs that this process has started.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// A breach of the contract by a program. The text goes into the reason of its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramFault {
    /// The system could not start it.
    CannotStart(String),
    /// No READY in time.
    NotReady(Duration),
    /// READY without the port that it was asked for.
    NoPort(String),
    /// A line that is not in the contract.
    Rubbish(String),
    /// The program ended before its work was done.
    Ended(String),
    /// No account in time.
    NoAccount(Duration),
    /// Nothing went over the wire any more.
    NoProgress(Duration),
    /// The program held more memory than allowed: the memory and the limit, in MiB.
    TooMuchMemory(u64, u64),
    /// A line where the account should be that is none.
    BadAccount(String),
    /// The program continued after its account.
    StillRunning(Duration),
    /// The program did not end on SIGTERM.
    IgnoredSigterm(Duration),
    /// The program ended with an exit code other than 0.
    BadExit(String),
    /// Processes that outlived it.
    LeftBehind(usize),
}

impl fmt::Display for ProgramFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramFault::CannotStart(why) => write!(f, "could not be started: {why}"),
            ProgramFault::NotReady(time) => write!(f, "was not READY within {time:?}"),
            ProgramFault::NoPort(line) => {
                write!(f, "said {line:?} where READY and a port were due")
            }
            ProgramFault::Rubbish(line) => {
                write!(f, "printed {line:?}, which is not in the contract")
            }
            ProgramFault::Ended(how) => write!(f, "ended before its work was done: {how}"),
            ProgramFault::NoAccount(time) => write!(f, "went on for {time:?} without an account"),
            ProgramFault::NoProgress(time) => {
                write!(f, "sent nothing for {time:?} and had not finished")
            }
            ProgramFault::TooMuchMemory(held, most) => {
                write!(f, "is out of memory: it held {held} MiB of {most}")
            }
            ProgramFault::BadAccount(why) => write!(f, "gave an account that is none: {why}"),
            ProgramFault::StillRunning(time) => write!(f, "still ran {time:?} after its account"),
            ProgramFault::IgnoredSigterm(time) => write!(f, "still ran {time:?} after SIGTERM"),
            ProgramFault::BadExit(how) => write!(f, "ended badly: {how}"),
            ProgramFault::LeftBehind(count) => write!(f, "left {count} processes behind"),
        }
    }
}

impl std::error::Error for ProgramFault {}

/// An event on a program's standard output.
enum OutputEvent {
    Line(String, Instant),
    End,
}

/// A program that runs. Dropping it ends it and everything it started.
pub struct Program {
    child: Child,
    input: Option<ChildStdin>,
    said: Receiver<OutputEvent>,
    complaints: Arc<Mutex<VecDeque<String>>>,
    ended: Option<ExitStatus>,
    cpu_seconds: Option<f64>,
    mark: String,
}

impl Program {
    /// Starts `command` with `orders` in its environment.
    pub fn start(mut command: Command, orders: &[(&str, String)]) -> Result<Program, ProgramFault> {
        use std::os::unix::process::CommandExt;
        command.envs(orders.iter().map(|(name, value)| (name, value)));
        // Only different ones are needed: no order between threads.
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{number}", std::process::id());
        command.env(MARK, &mark).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            ProgramFault::CannotStart(format!("{}: {error}", command.get_program().display()))
        })?;
        let input = child.stdin.take();
        let (tell, said) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || {
                let mut output = BufReader::new(output);
                while let Some(line) = line_of(&mut output) {
                    if tell.send(OutputEvent::Line(line, Instant::now())).is_err() {
                        return;
                    }
                }
                // The receiver is gone only when the program is being ended.
                let _ = tell.send(OutputEvent::End);
            });
        }
        let complaints = Arc::<Mutex<VecDeque<String>>>::default();
        if let Some(output) = child.stderr.take() {
            let kept = complaints.clone();
            thread::spawn(move || keep_last_lines(output, &kept));
        }
        Ok(Program { child, input, said, complaints, ended: None, cpu_seconds: None, mark })
    }

    /// Its process, which leads its group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The value of [`MARK`] for it and all that it starts.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Processor time of its whole life, once it has ended.
    pub fn cpu_seconds(&self) -> Option<f64> {
        self.cpu_seconds
    }

    /// Waits for READY; `listens` wants a port with it.
    pub fn ready(&mut self, within: Duration, listens: bool) -> Result<Option<u16>, ProgramFault> {
        let line = match self.said.recv_timeout(within) {
            Ok(OutputEvent::Line(line, _)) => line,
            Ok(OutputEvent::End) | Err(RecvTimeoutError::Disconnected) => {
                return Err(self.ended_early());
            }
            Err(RecvTimeoutError::Timeout) => return Err(ProgramFault::NotReady(within)),
        };
        match line.strip_prefix("READY").map(str::trim) {
            None => Err(ProgramFault::Rubbish(shortened(&line))),
            Some(port) if listens => match port.parse() {
                Ok(port) => Ok(Some(port)),
                Err(_) => Err(ProgramFault::NoPort(shortened(&line))),
            },
            Some("") => Ok(None),
            Some(_) => Err(ProgramFault::Rubbish(shortened(&line))),
        }
    }

    /// Lets it begin. The input stays open: its end is an order to end.
    pub fn go(&mut self) -> Result<Instant, ProgramFault> {
        let began = Instant::now();
        self.write_line("GO").map(|()| began)
    }

    /// Writes a line to its input.
    pub fn write_line(&mut self, line: &str) -> Result<(), ProgramFault> {
        let written = self.input.as_mut().map(|input| writeln!(input, "{line}"));
        match written {
            Some(Ok(())) => Ok(()),
            _ => Err(self.ended_early()),
        }
    }

    /// The account, if it comes within `wait`, and when it was read; `None` if not yet.
    pub fn account(&mut self, wait: Duration) -> Result<Option<(String, Instant)>, ProgramFault> {
        match self.said.recv_timeout(wait) {
            Ok(OutputEvent::Line(line, at)) if line.starts_with('{') => Ok(Some((line, at))),
            Ok(OutputEvent::Line(line, _)) => Err(ProgramFault::Rubbish(shortened(&line))),
            Ok(OutputEvent::End) | Err(RecvTimeoutError::Disconnected) => Err(self.ended_early()),
            Err(RecvTimeoutError::Timeout) => Ok(None),
        }
    }

    /// A program with work to do has given its account: it must end by itself now, and say no more.
    pub fn expect_exit(&mut self, within: Duration) -> Result<(), ProgramFault> {
        // One whose memory was to be read has waited for this.
        drop(self.input.take());
        match self.wait(within) {
            Some(status) if status.success() => {}
            Some(status) => return Err(ProgramFault::BadExit(self.describe_exit(status))),
            None => return Err(ProgramFault::StillRunning(within)),
        }
        self.expect_no_output().and_then(|()| self.expect_no_survivors())
    }

    /// Ends a server that has finished: it must end on SIGTERM.
    pub fn stop(&mut self, within: Duration) -> Result<(), ProgramFault> {
        self.signal(Signal::TERM);
        let status = self.wait(within).ok_or(ProgramFault::IgnoredSigterm(within))?;
        use std::os::unix::process::ExitStatusExt;
        // A program without a handler ends by the signal; some runtimes say 128 + 15 themselves.
        let told = status.success() || status.signal() == Some(15) || status.code() == Some(143);
        if !told {
            return Err(ProgramFault::BadExit(self.describe_exit(status)));
        }
        self.expect_no_output().and_then(|()| self.expect_no_survivors())
    }

    /// Ends it as a crash would, with no time to close anything; one that has ended already has
    /// failed.
    pub fn kill(&mut self) -> Result<(), ProgramFault> {
        if self.is_over() {
            return Err(self.ended_early());
        }
        self.signal(Signal::KILL);
        match self.wait(EARLY_END_MAX) {
            Some(_) => self.expect_no_survivors(),
            None => Err(ProgramFault::StillRunning(EARLY_END_MAX)),
        }
    }

    /// The last lines of its standard error.
    pub fn complaints(&self) -> String {
        let lines = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.pid()).ok().and_then(Pid::from_raw) {
            // Gone already is as good.
            let _ = kill_process_group(group, signal);
        }
    }

    fn wait(&mut self, most: Duration) -> Option<ExitStatus> {
        let begun = Instant::now();
        while self.ended.is_none() && begun.elapsed() < most {
            if self.is_over() {
                // Its cost cannot be read any more once it was reaped.
                self.cpu_seconds = spent_by(self.pid());
            }
            match self.child.try_wait() {
                Ok(None) => thread::sleep(END_STEP),
                Ok(status) => self.ended = status,
                Err(_) => return None,
            }
        }
        self.ended
    }

    fn is_over(&self) -> bool {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        pid.is_some_and(|pid| matches!(waitid(WaitId::Pid(pid), look), Ok(Some(_))))
    }

    fn ended_early(&mut self) -> ProgramFault {
        match self.wait(EARLY_END_MAX) {
            Some(status) => ProgramFault::Ended(self.describe_exit(status)),
            None => ProgramFault::Ended("it closed its standard output".to_owned()),
        }
    }

    /// The way in which it ended, with its last line of output about it.
    fn describe_exit(&self, status: ExitStatus) -> String {
        // Its standard error is read by a thread of its own, a moment later perhaps.
        thread::sleep(Duration::from_millis(20));
        let complaints = self.complaints();
        match complaints.lines().last() {
            Some(last) => format!("{status}, {}", shortened(last)),
            None => status.to_string(),
        }
    }

    fn expect_no_output(&mut self) -> Result<(), ProgramFault> {
        match self.said.recv_timeout(Duration::from_millis(100)) {
            Ok(OutputEvent::Line(line, _)) => Err(ProgramFault::Rubbish(shortened(&line))),
            // An output that stays open belongs to a process that the program has left behind.
            Ok(OutputEvent::End) | Err(_) => Ok(()),
        }
    }

    fn expect_no_survivors(&mut self) -> Result<(), ProgramFault> {
        match self.end_survivors() {
            0 => Ok(()),
            left => Err(ProgramFault::LeftBehind(left)),
        }
    }

    /// Ends all processes that it has started and not ended itself, and waits until they are gone, which
    /// takes a moment on a busy machine; returns their number.
    fn end_survivors(&self) -> usize {
        let left = self.left_behind();
        for pid in &left {
            if let Some(pid) = i32::try_from(*pid).ok().and_then(Pid::from_raw) {
                // Gone already is as good.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        let begun = Instant::now();
        while !left.is_empty() && !self.left_behind().is_empty() && begun.elapsed() < EARLY_END_MAX
        {
            thread::sleep(END_STEP);
        }
        left.len()
    }

    /// The processes that it has started and that still run.
    fn left_behind(&self) -> Vec<u32> {
        let mut left = survivors(self.pid());
        left.extend(marked(MARK, &self.mark).into_iter().filter(|pid| *pid != self.pid()));
        left.sort_unstable();
        left.dedup();
        left
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.input.take());
        if self.ended.is_none() {
            self.signal(Signal::TERM);
            if self.wait(Duration::from_millis(200)).is_none() {
                self.signal(Signal::KILL);
                // The group has it already, unless it has left it.
                let _ = self.child.kill();
                self.ended = self.child.wait().ok();
            }
        }
        self.end_survivors();
    }
}

/// The next line, without its end; `None` at the end. Bytes that are no UTF-8 are replaced.
fn line_of(output: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    let read = output.take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
    if !read.is_ok_and(|read| read > 0) {
        return None;
    }
    Some(String::from_utf8_lossy(&line).trim_end().to_owned())
}

fn keep_last_lines(output: impl Read, kept: &Mutex<VecDeque<String>>) {
    let mut output = BufReader::new(output);
    while let Some(line) = line_of(&mut output) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == STDERR_LINES {
            kept.pop_front();
        }
        kept.push_back(line);
    }
}

/// A line as it fits into a reason.
fn shortened(line: &str) -> String {
    const CHARS_MAX: usize = 120;
    match line.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
