//! A socket at work: from the first connection to the summary.
//!
//! Work ends by itself, by an error, because the reader of our output went away, or by Ctrl-C. Each
//! time the socket is closed, which writes what it has accepted, and each time the summary is
//! printed.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::Instant;
use wigwag::{Bytes, SocketError};

use super::any::Socket;
use super::connect::{self, ConnectPlan, PeerState};
use super::event_log::EventLog;
use super::format::{Format, hex};
use super::role::Role;
use super::summary::{SCHEMA, Tally, losses};
use crate::exit::{Code, Failed};
use crate::print;

/// A send that takes longer than this is told of: somebody does not read.
const SLOW: Duration = Duration::from_secs(2);

/// Time between two looks at what was dropped. A drop wakes nobody, so it is looked for.
const DROPS_PAUSE: Duration = Duration::from_millis(500);

/// Why work ended before its end.
pub(super) enum StopReason {
    /// Nobody reads what is printed: `| head` has seen enough.
    ReaderGone,
    /// It cannot go on.
    Failed(Failed),
}

impl From<Failed> for StopReason {
    fn from(failed: Failed) -> StopReason {
        StopReason::Failed(failed)
    }
}

impl From<SocketError> for StopReason {
    fn from(error: SocketError) -> StopReason {
        StopReason::Failed(error.into())
    }
}

/// How messages are printed, and what is said beside them.
pub(super) struct DisplayOptions {
    /// `None`: nothing is printed.
    pub(super) format: Option<Format>,
    pub(super) json: bool,
    /// No summary.
    pub(super) quiet: bool,
    /// A summary even of what goes without saying.
    pub(super) verbose: bool,
}

/// A socket at work.
pub(super) struct Session {
    pub(super) role: Role,
    pub(super) sender: SendHalf,
    pub(super) log: EventLog,
    pub(super) tally: Tally,
    display: DisplayOptions,
    /// Messages that were printed.
    shown: u64,
    /// How long a call may take; `None`: as long as it likes.
    pub(super) deadline: Option<Duration>,
}

/// The sending half.
#[derive(Clone)]
pub(super) struct SendHalf {
    pub(super) socket: Arc<Socket>,
    log: EventLog,
    /// Where the socket is, for errors.
    pub(super) at: String,
    limit: Option<Duration>,
    /// Time for the first peer to come; `None`: any time.
    wait: Option<Duration>,
    sent: Rc<Cell<u64>>,
}

/// What a session needs to be.
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

    /// Connects, works, closes, and sums up.
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
        let code = match ended {
            None => Code::Interrupted,
            Some(Ok(()) | Err(StopReason::ReaderGone)) => self.tally.code(&socket.statistics()),
            Some(Err(StopReason::Failed(failed))) => {
                let code = failed.print();
                self.tally.record_error(code);
                code
            }
        };
        socket.close().await;
        self.print_summary(interrupted);
        Ok(code)
    }

    /// The next message, or `None` when none comes within the deadline.
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

    /// True when messages are printed.
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
        print::bytes(&bytes).map_err(|_| StopReason::ReaderGone)
    }

    /// An error after which the work goes on.
    pub(super) fn record_failure(&mut self, failed: &Failed) {
        let code = failed.print();
        self.tally.record_error(code);
    }

    /// The failure that nothing came within the deadline.
    pub(super) fn timeout_failure(&self, what: &str) -> Failed {
        let limit = self.deadline.unwrap_or_default();
        let gone = match self.sender.socket.statistics().pipes_open {
            0 => ", and no peer is connected any more",
            _ => "",
        };
        let what = format!("{what} within {limit:?}{gone}");
        let mend = "look at the peer, or allow more time with --deadline";
        Failed::with_mend(Code::NoAnswer, &what, &self.sender.at, mend)
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
    /// Waits for the first peer, unless no time is to be spent on it.
    pub(super) async fn wait_for_peer(&self, required: PeerState) -> Result<(), Failed> {
        if self.wait.is_some_and(|wait| wait.is_zero()) {
            return Ok(());
        }
        connect::wait_for_peer(&self.socket, required, &self.log, self.wait, &self.at).await
    }

    /// Sends a message within the deadline; without one, says when it takes long.
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
        let mend = "look at the peer, or allow more time with --deadline";
        Failed::with_mend(Code::NoAnswer, &what, &self.at, mend)
    }

    fn stall_reason(&self) -> &'static str {
        match self.socket.statistics().pipes_open {
            0 => "no peer is connected",
            _ => "the peers do not read as fast as is sent",
        }
    }
}

/// Messages at a steady pace.
pub(super) struct Pacer {
    interval: Option<Duration>,
    due: Option<Instant>,
}

impl Pacer {
    pub(super) fn new(interval: Option<Duration>) -> Pacer {
        Pacer { interval, due: None }
    }

    /// Waits until the next message is due: the first one is at once. A dropped future changes
    /// nothing.
    pub(super) async fn wait(&self) {
        if let Some(due) = self.due {
            tokio::time::sleep_until(due).await;
        }
    }

    /// A message has gone. Late ones are not caught up with.
    pub(super) fn advance(&mut self) {
        self.due = self.interval.map(|interval| {
            let now = Instant::now();
            self.due.map_or(now + interval, |due| (due + interval).max(now))
        });
    }
}

/// Ctrl-C, or the wish of somebody else that this process ends.
pub(crate) struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupt {
    /// Takes the signals from now on.
    pub(crate) fn new() -> io::Result<Interrupt> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Interrupt { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for one.
    pub(crate) async fn recv(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Says what was dropped soon after it was; never ends.
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
