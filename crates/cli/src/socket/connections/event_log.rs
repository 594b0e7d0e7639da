//! Prints what happens to the connections of this process's sockets.
//!
//! Some events belong to no call on a socket, for example a peer of the wrong protocol that tried to
//! connect, or a peer that left and cannot be redialed. The library emits them as `tracing` events,
//! and the command prints them at once, so that a waiting user knows the reason.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Debug};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::exit::{Code, Failed};
use crate::print;

/// The `tracing` target of socket events.
const SOURCE: &str = "wigwag_net::socket";

/// Peers that are remembered by name. Names serve only to identify a single peer.
const NAMES_MAX: usize = 64;

/// Kinds of lines that are remembered for rate limiting.
const REMEMBERED_KINDS_MAX: usize = 64;

/// Minimum time between two lines of one kind: a peer that keeps trying to connect is reported now
/// and then, not at every try.
const REPEAT_INTERVAL: Duration = Duration::from_secs(5);

/// How much the command prints on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Only errors.
    Quiet,
    /// Errors, and events that the user needs to know.
    #[default]
    Normal,
    /// Every connection as well.
    Verbose,
}

/// Prints connection events and keeps the open connections. Clones share one state.
#[derive(Clone)]
pub(crate) struct EventLog(Arc<Shared>);

struct Shared {
    verbosity: Verbosity,
    state: Mutex<ConnectionState>,
    /// Counts events, which wakes waiting tasks.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct ConnectionState {
    /// Open connections by the peer's address.
    open: BTreeMap<String, usize>,
    /// More than [`NAMES_MAX`] peers were open at once.
    overflowed: bool,
    last_printed: HashMap<String, Instant>,
    /// The error of the last failed handshake.
    last_handshake_error: Option<String>,
}

impl EventLog {
    /// Installs the log for all sockets of this process. Works once per process.
    pub(crate) fn start(verbosity: Verbosity) -> EventLog {
        let shared =
            Shared { verbosity, state: Mutex::default(), changed: watch::Sender::default() };
        let log = EventLog(Arc::new(shared));
        // This fails only if a subscriber is already installed, which then receives the events.
        let _ = tracing::subscriber::set_global_default(EventSubscriber(log.clone()));
        log
    }

    /// A receiver that changes at every connection event.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// The address of the peer, if exactly one is connected.
    pub(crate) fn only_peer(&self) -> Option<String> {
        let state = self.state();
        let mut open = state.open.iter();
        match (open.next(), open.next()) {
            (Some((peer, 1)), None) if !state.overflowed => Some(peer.clone()),
            _ => None,
        }
    }

    /// The error of the last failed handshake, for example a peer of the wrong protocol.
    pub(crate) fn last_handshake_error(&self) -> Option<String> {
        self.state().last_handshake_error.clone()
    }

    /// Prints a line on standard error, unless the command is quiet.
    pub(crate) fn print(&self, text: &str) {
        if self.0.verbosity >= Verbosity::Normal {
            print::error(text);
        }
    }

    /// Prints a line on standard error if the command is verbose.
    pub(crate) fn print_verbose(&self, text: &str) {
        if self.0.verbosity >= Verbosity::Verbose {
            print::error(text);
        }
    }

    /// Prints `text` unless a line of the same `kind` was printed within [`REPEAT_INTERVAL`].
    pub(crate) fn print_rate_limited(&self, kind: &str, text: &str) {
        if self.may_repeat(kind) {
            self.print(text);
        }
    }

    /// False if it was asked about the same `kind` within [`REPEAT_INTERVAL`].
    fn may_repeat(&self, kind: &str) -> bool {
        let now = Instant::now();
        let mut state = self.state();
        let last = state.last_printed.get(kind);
        if last.is_some_and(|last| now.duration_since(*last) < REPEAT_INTERVAL) {
            return false;
        }
        if state.last_printed.len() >= REMEMBERED_KINDS_MAX {
            state.last_printed.clear();
        }
        state.last_printed.insert(kind.to_owned(), now);
        true
    }

    /// Prints that a peer has refused a message, unless the same was printed just before.
    pub(crate) fn report_refusal(&self, peer: &str, why: &str) {
        let hint = "send less at once, or raise the receive limit of the peer (--receive-limit)";
        if self.may_repeat(why) {
            Failed::with_hint(Code::Refused, why, peer, hint).print();
        }
    }

    fn state(&self) -> MutexGuard<'_, ConnectionState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, event: &SocketEvent) {
        let peer = event.peer.as_str();
        let why = event.why.as_str();
        match event.what.as_str() {
            "pipe opened" => {
                self.state().open(peer);
                self.print_verbose(&format!("connected  {peer}"));
            }
            "pipe closed" | "pipe lost" => {
                self.state().close(peer);
                match why {
                    "" => self.print_verbose(&format!("gone  {peer}")),
                    why if !event.is_warning => self.print_verbose(&format!("gone  {peer}: {why}")),
                    // The peer's message was refused: an error, printed even by a quiet command.
                    why => print::error(&format!("closed  {peer}: {why}")),
                }
            }
            // An error, printed even by a quiet command: the message is lost.
            "message refused" => self.report_refusal(peer, why),
            "pipe refused" => self.print_rate_limited(why, &format!("refused  {peer}: {why}")),
            "handshake failed" => {
                self.state().last_handshake_error = Some(why.to_owned());
                self.print_rate_limited(why, &format!("refused  {peer}: {why}"));
            }
            "dial failed" => {
                let kind = format!("{peer} {why}");
                self.print_rate_limited(&kind, &format!("no peer  {peer}: {why}; dialing again"));
            }
            "cannot accept" => {
                self.print_rate_limited(why, &format!("cannot accept  {peer}: {why}"))
            }
            _ => {}
        }
        self.0.changed.send_modify(|count| *count = count.wrapping_add(1));
    }
}

impl ConnectionState {
    fn open(&mut self, peer: &str) {
        if self.open.len() >= NAMES_MAX && !self.open.contains_key(peer) {
            self.overflowed = true;
            return;
        }
        *self.open.entry(peer.to_owned()).or_default() += 1;
    }

    fn close(&mut self, peer: &str) {
        if let Some(count) = self.open.get_mut(peer) {
            *count -= 1;
            if *count == 0 {
                self.open.remove(peer);
            }
        }
    }
}

/// The fields of one `tracing` event.
#[derive(Default)]
struct SocketEvent {
    what: String,
    peer: String,
    why: String,
    /// The library emitted the event at the level `WARN` or `ERROR`.
    is_warning: bool,
}

impl Visit for SocketEvent {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.what = text,
            "peer" | "address" | "at" => self.peer = text,
            "error" | "reason" | "fault" | "why" => self.why = text,
            _ => {}
        }
    }
}

/// Receives the `tracing` events of sockets and no others.
struct EventSubscriber(EventLog);

impl Subscriber for EventSubscriber {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
            && metadata.target().starts_with(SOURCE)
            && *metadata.level() <= Level::DEBUG
    }

    fn event(&self, event: &Event<'_>) {
        let is_warning = *event.metadata().level() <= Level::WARN;
        let mut socket_event = SocketEvent { is_warning, ..SocketEvent::default() };
        event.record(&mut socket_event);
        self.0.record(&socket_event);
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

impl Debug for EventLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLog").field("verbosity", &self.0.verbosity).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peer_is_known_while_it_is_the_only_one() {
        let mut state = ConnectionState::default();
        state.open("tcp://a:1");
        let shared = Shared {
            verbosity: Verbosity::Quiet,
            state: Mutex::new(state),
            changed: Default::default(),
        };
        let log = EventLog(Arc::new(shared));
        assert_eq!(log.only_peer().as_deref(), Some("tcp://a:1"));
        log.state().open("tcp://b:2");
        assert_eq!(log.only_peer(), None);
        log.state().close("tcp://a:1");
        assert_eq!(log.only_peer().as_deref(), Some("tcp://b:2"));
        log.state().open("tcp://b:2");
        assert_eq!(log.only_peer(), None, "two connections from one address are two peers");
    }

    #[test]
    fn names_beyond_the_limit_are_not_kept() {
        let mut state = ConnectionState::default();
        (0..NAMES_MAX + 5).for_each(|number| state.open(&number.to_string()));
        assert_eq!((state.open.len(), state.overflowed), (NAMES_MAX, true));
    }
}
