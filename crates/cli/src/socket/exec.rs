//! `--exec`: a command of the shell for each message, with the message as its input.
//!
//! It runs in a process group of its own, and whatever ends it early ends the whole group: a
//! pipeline that hangs leaves nothing behind.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use wigwag::Bytes;

/// Bytes that a command may print as a reply: as many as one message read from a file may have.
const REPLY_BYTES_MAX: usize = 64 << 20;

/// A command to be run for each message.
#[derive(Clone, Debug)]
pub(crate) struct Exec {
    command: String,
    /// It is ended after this time.
    limit: Option<Duration>,
    /// A line end that closes its output belongs to the reply.
    keeps_line_end: bool,
}

/// What becomes of what the command prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputMode {
    /// It is the reply.
    Captured,
    /// It goes where our own output goes.
    Inherited,
}

/// Which message it is.
#[derive(Clone, Debug)]
pub(crate) struct MessageInfo {
    /// Counted from 1.
    pub(crate) sequence: u64,
    /// Who sent it, if that is known.
    pub(crate) peer: Option<String>,
}

impl Exec {
    pub(crate) fn new(command: &str, limit: Option<Duration>, keeps_line_end: bool) -> Exec {
        Exec { command: command.to_owned(), limit, keeps_line_end }
    }

    /// What it is, for an error.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// Runs the command once; gives its output, or says why there is none. Dropping the future ends
    /// the command and all that it started.
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
                .map_err(|_| format!("it was ended because it took longer than {limit:?}"))??,
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
        Ok(RunningCommand { group: ProcessGroup(pid), child })
    }

    fn reply(&self, mut printed: Vec<u8>) -> Bytes {
        if !self.keeps_line_end && printed.last() == Some(&b'\n') {
            printed.pop();
        }
        Bytes::from(printed)
    }
}

/// A command that runs. Dropping it ends it: the group first, while its number is still ours.
struct RunningCommand {
    group: ProcessGroup,
    child: Child,
}

impl RunningCommand {
    /// Feeds the command and reads what it prints, both at once: a command that prints while it
    /// reads would wait for us otherwise.
    async fn finish(mut self, body: &[u8]) -> Result<Vec<u8>, String> {
        let (input, output) = (self.child.stdin.take(), self.child.stdout.take());
        let feed = async {
            if let Some(mut input) = input {
                // A command need not read what it gets.
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
        // A command that prints too much is ended, whether or not it still reads.
        let ((), printed) = tokio::try_join!(feed, read)?;
        let status = self.child.wait().await.map_err(|error| error.to_string())?;
        // What it left running in the background was meant to stay.
        self.group.0 = None;
        match status.success() {
            true => Ok(printed),
            false => Err(format!("it ended with {status}")),
        }
    }
}

/// The processes of one command, ended when this is dropped.
struct ProcessGroup(Option<Pid>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            // Most often all of them have ended by themselves.
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

    /// Neither side may wait for the other: a pipe holds 64 KiB.
    #[tokio::test]
    async fn a_message_larger_than_a_pipe_goes_through() {
        let large = vec![b'x'; 1 << 20];
        let exec = Exec::new("cat", None, false);
        let info = MessageInfo { sequence: 1, peer: None };
        let reply = exec.run(Bytes::from(large.clone()), &info, OutputMode::Captured).await;
        assert_eq!(reply.unwrap(), large);
    }

    #[tokio::test]
    async fn a_failure_is_told_in_words() {
        let failed = run("exit 3", b"").await.unwrap_err();
        assert!(failed.contains("exit status: 3"), "{failed}");
        let failed = run("kill -9 $$", b"").await.unwrap_err();
        assert!(failed.contains("signal"), "{failed}");
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_ended_with_all_that_it_started() {
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
    async fn a_line_end_belongs_to_the_reply_when_asked_for() {
        let exec = Exec::new("echo hi", None, true);
        let info = MessageInfo { sequence: 1, peer: None };
        let reply = exec.run(Bytes::new(), &info, OutputMode::Captured).await.unwrap();
        assert_eq!(reply, "hi\n");
    }
}
