//! `--exec`: runs a shell command for each message, with the message as its input.
//!
//! Each command runs in its own process group. Ending it early ends the whole group, so that a
//! pipeline that hangs leaves no process behind.

use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use wigwag::Bytes;

/// Largest reply of a command, in bytes: the same limit as for a message from a file.
const REPLY_BYTES_MAX: usize = 64 << 20;

/// A shell command to run for each message.
#[derive(Clone, Debug)]
pub(crate) struct Exec {
    command: String,
    /// Time after which the command is killed.
    limit: Option<Duration>,
    /// Whether the final line end of the output is part of the reply.
    keeps_line_end: bool,
}

/// Where the output of the command goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputMode {
    /// The output is captured as the reply.
    Captured,
    /// The command inherits the standard output of this process.
    Inherited,
}

/// Describes a message to its command and in errors.
#[derive(Clone, Debug)]
pub(crate) struct MessageInfo {
    /// Number of the message, from 1.
    pub(crate) sequence: u64,
    /// Address of the sender, if known.
    pub(crate) peer: Option<String>,
}

impl Exec {
    pub(crate) fn new(command: &str, limit: Option<Duration>, keeps_line_end: bool) -> Exec {
        Exec { command: command.to_owned(), limit, keeps_line_end }
    }

    /// The text of the command.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// Runs the command once and returns its output.
    ///
    /// # Errors
    ///
    /// Says why there is no output: the command failed, took too long or printed too much.
    ///
    /// # Cancellation
    ///
    /// Dropping the future kills the command and all processes that it started.
    pub(crate) async fn run(
        &self,
        body: Bytes,
        info: &MessageInfo,
        output: OutputMode,
    ) -> Result<Bytes, String> {
        let running = self.start(info, output)?;
        let ended = match self.limit {
            None => running.finish(&body).await?,
            Some(limit) => tokio::time::timeout(limit, running.finish(&body))
                .await
                .map_err(|_| format!("it took longer than {limit:?} and was killed"))??,
        };
        Ok(self.reply(ended))
    }

    fn start(&self, info: &MessageInfo, output: OutputMode) -> Result<RunningCommand, String> {
        let mut command = Command::new("sh");
        command
            .args(["-c", &self.command])
            .env("WIGWAG_SEQ", info.sequence.to_string())
            .env_remove("WIGWAG_PEER")
            .stdin(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(peer) = &info.peer {
            command.env("WIGWAG_PEER", peer);
        }
        if output == OutputMode::Captured {
            command.stdout(Stdio::piped());
        }
        let child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
        let pid = child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        Ok(RunningCommand { group: ProcessGroup::new(pid), child })
    }

    fn reply(&self, mut printed: Vec<u8>) -> Bytes {
        if !self.keeps_line_end && printed.last() == Some(&b'\n') {
            printed.pop();
        }
        Bytes::from(printed)
    }
}

/// A running command. Dropping it kills the process group first, while the child still reserves its
/// id, then the child.
struct RunningCommand {
    group: ProcessGroup,
    child: Child,
}

impl RunningCommand {
    /// Writes the input and reads the output concurrently, because a command that prints while it
    /// reads would otherwise block.
    async fn finish(mut self, body: &[u8]) -> Result<Vec<u8>, String> {
        let (input, output) = (self.child.stdin.take(), self.child.stdout.take());
        let feed = async {
            if let Some(mut input) = input {
                // The command may end without reading its input.
                let _ = input.write_all(body).await;
            }
            Ok(())
        };
        let read = async {
            let mut bytes = Vec::new();
            if let Some(output) = output {
                let most = REPLY_BYTES_MAX as u64 + 1;
                output
                    .take(most)
                    .read_to_end(&mut bytes)
                    .await
                    .map_err(|error| error.to_string())?;
            }
            if bytes.len() > REPLY_BYTES_MAX {
                return Err(format!("it printed more than {REPLY_BYTES_MAX} bytes"));
            }
            Ok(bytes)
        };
        // A command that prints too much is killed, even if it still reads.
        let ((), printed) = tokio::try_join!(feed, read)?;
        let status = self.child.wait().await.map_err(|error| error.to_string())?;
        // Processes that the command left in the background keep running.
        self.group.release();
        match status.success() {
            true => Ok(printed),
            false => Err(format!("it ended with {status}")),
        }
    }
}

/// The process groups of the commands that run.
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn groups() -> MutexGuard<'static, Vec<Pid>> {
    // A panic elsewhere leaves the old list or the new one.
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Kills the commands that run, for an end of this process that drops nothing.
pub(crate) fn kill_all() {
    for pid in groups().drain(..) {
        // Usually all processes still run.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// The process group of one command, killed on drop.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn new(pid: Option<Pid>) -> ProcessGroup {
        groups().extend(pid);
        ProcessGroup(pid)
    }

    /// Leaves the processes alone from here on.
    fn release(&mut self) -> Option<Pid> {
        let pid = self.0.take()?;
        groups().retain(|known| *known != pid);
        Some(pid)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(pid) = self.release() {
            // Usually all processes have already ended.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run(command: &str, body: &'static [u8]) -> Result<Bytes, String> {
        let exec = Exec::new(command, Some(Duration::from_secs(10)), false);
        let info = MessageInfo { sequence: 7, peer: Some("tcp://a:1".to_owned()) };
        exec.run(Bytes::from_static(body), &info, OutputMode::Captured).await
    }

    #[tokio::test]
    async fn the_message_is_the_input_and_the_output_the_reply() {
        assert_eq!(run("tr a-z A-Z", b"hello").await.unwrap(), "HELLO");
        assert_eq!(run("echo $WIGWAG_SEQ $WIGWAG_PEER", b"").await.unwrap(), "7 tcp://a:1");
        assert_eq!(run("true", b"nobody reads this").await.unwrap(), "");
    }

    /// A pipe holds 64 KiB, so input and output must flow at the same time.
    #[tokio::test]
    async fn a_message_larger_than_a_pipe_goes_through() {
        let large = vec![b'x'; 1 << 20];
        let exec = Exec::new("cat", None, false);
        let info = MessageInfo { sequence: 1, peer: None };
        let reply = exec.run(Bytes::from(large.clone()), &info, OutputMode::Captured).await;
        assert_eq!(reply.unwrap(), large);
    }

    #[tokio::test]
    async fn a_failure_names_the_exit_status() {
        let failed = run("exit 3", b"").await.unwrap_err();
        assert!(failed.contains("exit status: 3"), "{failed}");
        let failed = run("kill -9 $$", b"").await.unwrap_err();
        assert!(failed.contains("signal"), "{failed}");
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_killed_with_all_its_processes() {
        let marker = format!("{}", 100_000 + std::process::id());
        let exec =
            Exec::new(&format!("sleep {marker} | cat"), Some(Duration::from_millis(200)), false);
        let info = MessageInfo { sequence: 1, peer: None };
        let failed = exec.run(Bytes::new(), &info, OutputMode::Captured).await.unwrap_err();
        assert!(failed.contains("longer than 200ms"), "{failed}");
        let gone = || {
            let processes = std::fs::read_dir("/proc").unwrap().flatten();
            let lines = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
            lines.filter(|line| line.starts_with(format!("sleep\0{marker}").as_bytes())).count()
                == 0
        };
        for _ in 0..500 {
            if gone() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the command still runs");
    }

    #[tokio::test]
    async fn a_process_that_a_command_leaves_in_the_background_keeps_running() {
        let file = std::env::temp_dir().join(format!("wigwag-background-{}", std::process::id()));
        let command = format!("(sleep 0.3; touch {}) > /dev/null & echo hi", file.display());
        assert_eq!(run(&command, b"").await.unwrap(), "hi");
        for _ in 0..1_000 {
            if std::fs::remove_file(&file).is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the process has ended before its time");
    }

    #[tokio::test]
    async fn a_reply_that_is_too_long_is_no_reply() {
        let command = format!("head -c {} /dev/zero", REPLY_BYTES_MAX + 1);
        let failed = run(&command, b"").await.unwrap_err();
        assert!(failed.contains("printed more than"), "{failed}");
    }

    #[tokio::test]
    async fn the_final_line_end_is_kept_on_request() {
        let exec = Exec::new("echo hi", None, true);
        let info = MessageInfo { sequence: 1, peer: None };
        let reply = exec.run(Bytes::new(), &info, OutputMode::Captured).await.unwrap();
        assert_eq!(reply, "hi\n");
    }
}
