//! A session: the run of one socket, from the first connection to the summary.
//!
//! A session ends by itself, by an error, by a closed standard output, or by Ctrl-C. In every case
//! the socket is closed, which writes the accepted messages, and the summary is printed.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use wigwag::Bytes;
use wigwag::sp::{PipeEnd, SocketError};

use super::any::Socket;
use super::interrupt::Interrupt;
use super::role::Role;
use super::summary::{SCHEMA, Tally, losses};
use crate::exit::{Code, Failed};
use crate::print::{self, Unprinted};
use crate::socket::connections::connect::{self, ConnectPlan, PeerState};
use crate::socket::connections::event_log::EventLog;
use crate::socket::messages::format::{Format, hex};

/// A send that takes longer than this is reported: a peer does not read.
const SLOW: Duration = Duration::from_secs(2);

/// Polling interval for dropped messages. A drop wakes no task, so the counters are polled.
const DROPS_PAUSE: Duration = Duration::from_millis(500);

/// Why a session ended early.
pub(super) enum StopReason {
    /// Standard output was closed, for example by `| head`.
    ReaderGone,
    /// An error that the session cannot recover from.
    Failed(Failed),
}

impl From<Failed> for StopReason {
    fn from(failed: Failed) -> StopReason {
        StopReason::Failed(failed)
    }
}

impl From<Unprinted> for StopReason {
    fn from(unprinted: Unprinted) -> StopReason {
        match unprinted {
            Unprinted::ReaderGone => StopReason::ReaderGone,
            Unprinted::Failed(failed) => StopReason::Failed(failed),
        }
    }
}

impl From<SocketError> for StopReason {
    fn from(error: SocketError) -> StopReason {
        StopReason::Failed(error.into())
    }
}

/// How messages are printed, and whether a summary follows.
pub(super) struct DisplayOptions {
    /// The format of messages; `None` prints no messages.
    pub(super) format: Option<Format>,
    pub(super) json: bool,
    /// Prints no summary.
    pub(super) quiet: bool,
    /// Prints a summary even after a single successful exchange.
    pub(super) verbose: bool,
}

/// A socket with its log, counters and settings.
pub(super) struct Session {
    pub(super) role: Role,
    pub(super) sender: SendHalf,
    pub(super) log: EventLog,
    pub(super) tally: Tally,
    display: DisplayOptions,
    /// Number of printed messages.
    shown: u64,
    /// Time limit for one call; `None` means no limit.
    pub(super) deadline: Option<Duration>,
}

/// The sending half of a session.
#[derive(Clone)]
pub(super) struct SendHalf {
    pub(super) socket: Arc<Socket>,
    log: EventLog,
    /// The socket's role and endpoints, for errors.
    pub(super) at: String,
    limit: Option<Duration>,
    /// Time limit for the first peer to connect; `None` means no limit.
    wait: Option<Duration>,
    sent: Rc<Cell<u64>>,
}

/// The arguments of [`Session::new`].
pub(super) struct SessionConfig {
    pub(super) role: Role,
    pub(super) socket: Socket,
    pub(super) log: EventLog,
    pub(super) display: DisplayOptions,
    pub(super) wait: Option<Duration>,
    pub(super) deadline: Option<Duration>,
    pub(super) at: String,
}

impl Session {
    pub(super) fn new(config: SessionConfig) -> Session {
        let SessionConfig { role, socket, log, display, wait, deadline, at } = config;
        let tally = Tally::new(role);
        let (socket, sent) = (Arc::new(socket), tally.sent.clone());
        let sender = SendHalf { socket, log: log.clone(), at, limit: deadline, wait, sent };
        Session { role, sender, log, tally, display, shown: 0, deadline }
    }

    /// Connects the socket, runs `work`, closes the socket and prints the summary.
    pub(super) async fn run(
        mut self,
        plan: &ConnectPlan<'_>,
        work: impl AsyncFnOnce(&mut Session) -> Result<(), StopReason>,
    ) -> Result<Code, Failed> {
        let mut interrupt = Interrupt::new()?;
        let (socket, log) = (self.sender.socket.clone(), self.log.clone());
        let ended = tokio::select! {
            ended = async {
                plan.open(&*socket, &log).await?;
                work(&mut self).await
            } => Some(ended),
            () = interrupt.recv() => None,
            () = report_drops(&socket, &log) => None,
        };
        let interrupted = ended.is_none();
        let stopped = match ended {
            None => Some(Code::Interrupted),
            Some(Ok(()) | Err(StopReason::ReaderGone)) => None,
            Some(Err(StopReason::Failed(failed))) => {
                let code = failed.print();
                self.tally.record_error(code);
                Some(code)
            }
        };
        // A peer may still refuse the last messages.
        socket.close().await;
        self.print_summary(interrupted);
        Ok(stopped.unwrap_or_else(|| self.tally.code(&socket.statistics())))
    }

    /// Receives the next message, or returns `None` if none arrives within the deadline.
    pub(super) async fn recv(&mut self) -> Result<Option<Bytes>, SocketError> {
        let next = self.sender.socket.recv();
        let body = match self.deadline {
            None => next.await?,
            Some(limit) => match tokio::time::timeout(limit, next).await {
                Ok(body) => body?,
                Err(_) => return Ok(None),
            },
        };
        self.tally.received += 1;
        Ok(Some(body))
    }

    /// True if messages are printed.
    pub(super) fn shows(&self) -> bool {
        self.display.json || self.display.format.is_some()
    }

    /// Prints a message, if messages are printed.
    pub(super) fn show(&mut self, body: &[u8], took: Option<Duration>) -> Result<(), StopReason> {
        self.shown += 1;
        let bytes = match self.display {
            DisplayOptions { json: true, .. } => {
                format!("{}\n", self.document(body, took)).into_bytes()
            }
            DisplayOptions { format: Some(format), .. } => format.of(body),
            DisplayOptions { format: None, .. } => return Ok(()),
        };
        Ok(print::bytes(&bytes)?)
    }

    /// Prints and counts an error after which the session continues.
    pub(super) fn record_failure(&mut self, failed: &Failed) {
        let code = failed.print();
        self.tally.record_error(code);
    }

    /// Counts a request that a peer has refused for its length. The log prints the refusal once, whether
    /// it hears of it from the connection or from here.
    pub(super) fn record_refusal(&mut self, bytes: usize) {
        let why = PipeEnd::Refused { bytes }.to_string();
        self.log.report_refusal(&self.sender.at, &why);
        self.tally.record_error(Code::Refused);
    }

    /// Prints that a reply is too long. Its connection was closed for it, which counts as an error
    /// already.
    pub(super) fn show_refused_reply(&self, error: &SocketError) {
        let hint = "ask for less at once, or raise the limit of this command (--receive-limit)";
        Failed::with_hint(Code::Refused, &error.kind.to_string(), &error.at, hint).print();
    }

    /// The error after a deadline; `what` says what did not arrive.
    pub(super) fn timeout_failure(&self, what: &str) -> Failed {
        let limit = self.deadline.unwrap_or_default();
        let gone = match self.sender.socket.statistics().pipes_open {
            0 => ", and no peer is connected",
            _ => "",
        };
        let what = format!("{what} within {limit:?}{gone}");
        let hint = "look at the peer, or allow more time with --deadline";
        Failed::with_hint(Code::NoAnswer, &what, &self.sender.at, hint)
    }

    fn document(&self, body: &[u8], took: Option<Duration>) -> Value {
        let kind = match self.role {
            Role::Req => "reply",
            Role::Rep => "request",
            Role::Survey => "answer",
            Role::Respond => "survey",
            _ => "message",
        };
        let (text, encoding) = match std::str::from_utf8(body) {
            Ok(text) => (text.to_owned(), "utf-8"),
            Err(_) => (hex(body), "hex"),
        };
        json!({
            "schema": SCHEMA,
            "kind": kind,
            "protocol": self.role.number().to_string(),
            "sequence": self.shown,
            "peer": self.log.only_peer(),
            "bytes": body.len(),
            "body": text,
            "encoding": encoding,
            "time_us": took.map(|took| took.as_nanos() as f64 / 1e3),
        })
    }

    fn print_summary(&self, interrupted: bool) {
        let statistics = self.sender.socket.statistics();
        let serves = matches!(self.role, Role::Rep | Role::Respond);
        let silent = !serves && !interrupted && self.tally.is_trivial_success(&statistics);
        if self.display.quiet {
            return;
        }
        if self.display.json {
            print::error(&self.tally.document(&statistics, interrupted).to_string());
        } else if self.display.verbose || !silent {
            print::error(&self.tally.line(&statistics));
        }
    }
}

impl SendHalf {
    /// Waits for the first peer, unless the wait is zero.
    pub(super) async fn wait_for_peer(&self, required: PeerState) -> Result<(), Failed> {
        if self.wait.is_some_and(|wait| wait.is_zero()) {
            return Ok(());
        }
        connect::wait_for_peer(&self.socket, required, &self.log, self.wait, &self.at).await
    }

    /// Sends a message within the deadline. Without a deadline, a send that takes long is reported.
    pub(super) async fn send(&self, body: Bytes) -> Result<(), Failed> {
        let sending = self.socket.send(body);
        match self.limit {
            Some(limit) => match tokio::time::timeout(limit, sending).await {
                Ok(sent) => sent?,
                Err(_) => return Err(self.send_timeout(limit)),
            },
            None => {
                tokio::pin!(sending);
                match tokio::time::timeout(SLOW, &mut sending).await {
                    Ok(sent) => sent?,
                    Err(_) => {
                        self.log.print_rate_limited(
                            "stuck",
                            &format!("waiting  {}", self.stall_reason()),
                        );
                        sending.await?;
                    }
                }
            }
        }
        self.sent.set(self.sent.get() + 1);
        Ok(())
    }

    fn send_timeout(&self, limit: Duration) -> Failed {
        let what = format!("a message was not sent within {limit:?}: {}", self.stall_reason());
        let hint = "look at the peer, or allow more time with --deadline";
        Failed::with_hint(Code::NoAnswer, &what, &self.at, hint)
    }

    fn stall_reason(&self) -> &'static str {
        match self.socket.statistics().pipes_open {
            0 => "no peer is connected",
            _ => "the peers read more slowly than messages are sent",
        }
    }
}

/// Spaces messages evenly in time.
pub(super) struct Pacer {
    interval: Option<Duration>,
    due: Option<Instant>,
}

impl Pacer {
    pub(super) fn new(interval: Option<Duration>) -> Pacer {
        Pacer { interval, due: None }
    }

    /// Waits until the next message is due. The first one is due at once. Dropping the future changes
    /// nothing.
    pub(super) async fn wait(&self) {
        if let Some(due) = self.due {
            tokio::time::sleep_until(due).await;
        }
    }

    /// Records that a message was sent. Delays are not made up for.
    pub(super) fn advance(&mut self) {
        self.due = self.interval.map(|interval| {
            let now = Instant::now();
            self.due.map_or(now + interval, |due| (due + interval).max(now))
        });
    }
}

/// Reports dropped messages soon after they were dropped. Never returns.
async fn report_drops(socket: &Socket, log: &EventLog) {
    let mut reported = Vec::new();
    loop {
        tokio::time::sleep(DROPS_PAUSE).await;
        let lost = losses(&socket.statistics());
        if lost != reported {
            let words: Vec<String> = lost
                .iter()
                .map(|(name, count)| format!("{count} {}", name.replace('_', " ")))
                .collect();
            log.print_rate_limited("drops", &format!("messages lost  {}", words.join(", ")));
            reported = lost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_was_late_is_not_made_up_for() {
        let interval = Duration::from_secs(1);
        let late = Instant::now() - 5 * interval;
        let mut pacer = Pacer { interval: Some(interval), due: Some(late) };
        let now = Instant::now();
        pacer.advance();
        assert!(pacer.due >= Some(now), "the next one is due now, and no other one was");
        pacer.due = Some(now);
        pacer.advance();
        assert_eq!(pacer.due, Some(now + interval));
    }
}
