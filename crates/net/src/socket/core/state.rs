//! The state of a socket, which its lock guards.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;
use wigwag_sp::limits::RECEIVE_BYTES_MAX;
use wigwag_sp::{ContextId, PipeId, Protocol, ProtocolEvent};
use wigwag_wire::Time;

use crate::clock;
use crate::options::{ReceiveLimit, Redial};
use crate::socket::LINGER_MAX;
use crate::socket::calls::sender_turns::SentSinceWrite;
use crate::socket::calls::waiter::QueueKey;
use crate::socket::calls::waker_queue::{KeyedWakerQueues, WakerQueue};
use crate::socket::effects::SmallList;
use crate::socket::endpoint::Endpoint;
use crate::socket::observe::{OpenPipeReport, PipeEnd, PipeInfo, PipeWatcher};
use crate::socket::pipe::Pipe;
use crate::socket::pipe::refusals::{LongestSent, PipeEnding, Refusals};
use crate::socket::statistics::{PipeStatistics, Statistics};

/// The state behind the lock.
pub(crate) struct State {
    pub(crate) protocol: Box<dyn Protocol>,
    /// [`Protocol::uses_time`], kept here so that no message pays for a virtual call.
    pub(crate) uses_time: bool,
    /// [`Protocol::has_rounds`], for the same reason.
    has_rounds: bool,
    /// The first event of the protocol, if a call has looked whether there is one.
    next_event: Option<ProtocolEvent>,
    pub(crate) pipes: HashMap<PipeId, PipeEntry>,
    last_pipe: u32,
    pub(crate) senders: WakerQueue,
    pub(crate) receivers: WakerQueue,
    /// Receivers of single contexts, and senders to single peers.
    pub(crate) others: KeyedWakerQueues<QueueKey>,
    /// Wakers to call once the lock is free.
    pub(crate) wakes: SmallList<Waker>,
    pub(crate) closing: bool,
    /// Running tasks of this socket.
    pub(super) tasks: usize,
    pub(crate) timer_runs: bool,
    /// When the timer task will look at the protocol; `None` for never.
    pub(crate) timer_due: Option<Time>,
    pub(crate) statistics: Statistics,
    pub(crate) sent_since_write: SentSinceWrite,
    pub(crate) send_timeout: Option<Duration>,
    pub(crate) receive_timeout: Option<Duration>,
    pub(crate) receive_limit: ReceiveLimit,
    /// The active dialers and listeners.
    pub(crate) endpoints: BTreeMap<u64, Arc<Endpoint>>,
    pub(crate) last_endpoint: u64,
    pub(crate) redial: Redial,
    /// `None`: until all is written.
    pub(crate) linger: Option<Duration>,
    /// The end of the linger time of a closing socket; `None`: it has no end.
    pub(super) linger_end: Option<Instant>,
    pub(crate) watcher: Option<Arc<dyn PipeWatcher>>,
    /// The error of the connection that failed last.
    pub(crate) last_failure: Option<String>,
    pub(crate) refusals: Refusals,
}

/// A pipe as its socket sees it.
pub(crate) struct PipeEntry {
    pub(crate) pipe: Arc<Pipe>,
    pub(crate) statistics: PipeStatistics,
    /// The reason if this side closes the pipe.
    pub(crate) end: Option<PipeEnd>,
    /// Messages in the current write.
    pub(crate) writing: u64,
    /// The longest message that was given to the kernel last.
    pub(crate) longest_sent: LongestSent,
    /// The kernel has accepted all sent messages.
    pub(crate) written: bool,
    /// Received bytes wait for room.
    pub(crate) stopped: bool,
}

impl PipeEntry {
    pub(crate) fn new(pipe: Arc<Pipe>) -> PipeEntry {
        PipeEntry {
            pipe,
            statistics: PipeStatistics::default(),
            end: None,
            writing: 0,
            longest_sent: LongestSent::default(),
            written: true,
            stopped: false,
        }
    }

    pub(crate) fn info(&self) -> &PipeInfo {
        &self.pipe.info
    }

    pub(crate) fn report(&self) -> OpenPipeReport {
        OpenPipeReport { info: self.info().clone(), statistics: self.statistics }
    }
}

impl State {
    pub(super) fn new(protocol: Box<dyn Protocol>) -> State {
        State {
            uses_time: protocol.uses_time(),
            has_rounds: protocol.has_rounds(),
            next_event: None,
            protocol,
            pipes: HashMap::new(),
            last_pipe: 0,
            senders: WakerQueue::default(),
            receivers: WakerQueue::default(),
            others: KeyedWakerQueues::default(),
            wakes: SmallList::default(),
            closing: false,
            tasks: 0,
            timer_runs: false,
            timer_due: None,
            statistics: Statistics::default(),
            sent_since_write: SentSinceWrite::default(),
            send_timeout: None,
            receive_timeout: None,
            receive_limit: ReceiveLimit::new(RECEIVE_BYTES_MAX),
            endpoints: BTreeMap::new(),
            last_endpoint: 0,
            redial: Redial::default(),
            linger: Some(LINGER_MAX),
            linger_end: None,
            watcher: None,
            last_failure: None,
            refusals: Refusals::default(),
        }
    }

    /// A number that no open pipe has; its top bit is zero.
    pub(crate) fn free_pipe(&mut self) -> PipeId {
        loop {
            self.last_pipe = (self.last_pipe + 1) & 0x7fff_ffff;
            let pipe = PipeId(self.last_pipe);
            if pipe.0 != 0 && !self.pipes.contains_key(&pipe) {
                return pipe;
            }
        }
    }

    /// How long a pipe that the socket closes may wait for its peer to read; `None`: it closes at
    /// once. Without a linger time the wait is still limited, because a peer may never close.
    pub(crate) fn finish_time(&self, pipe: PipeId) -> Option<Duration> {
        let entry = self.pipes.get(&pipe)?;
        let sent = entry.statistics.traffic.messages_sent > 0;
        if !sent || !entry.written || entry.end != Some(PipeEnd::SocketClosed) {
            return None;
        }
        let Some(end) = self.linger_end else { return Some(LINGER_MAX) };
        end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    /// Notes the end of a pipe of `endpoint`, and returns the refusal that it is.
    pub(crate) fn note_ending(
        &mut self,
        endpoint: u64,
        ending: &PipeEnding<'_>,
    ) -> Option<PipeEnd> {
        let refused = self.refusals.ended(endpoint, ending);
        if let Some(refused) = &refused {
            self.count_refusal(ending.peer, refused);
        } else if self.closing {
            return self.unconfirmed_refusals().pop().map(|(_, refused)| refused);
        }
        refused
    }

    /// Counts the refusals that no second end will confirm, because the socket closes.
    pub(super) fn unconfirmed_refusals(&mut self) -> Vec<(Arc<str>, PipeEnd)> {
        let refusals = self.refusals.unconfirmed(clock::now());
        for (peer, refused) in &refusals {
            self.count_refusal(peer, refused);
        }
        refusals
    }

    fn count_refusal(&mut self, peer: &str, refused: &PipeEnd) {
        self.statistics.pipes_refused_by_length += 1;
        self.last_failure = Some(format!("{peer}: {refused}"));
    }

    /// The addresses that the socket dials and listens at, as text for errors.
    pub(crate) fn describe_endpoints(&self) -> String {
        if self.endpoints.is_empty() {
            return "neither dials nor listens".to_owned();
        }
        let words: Vec<String> = self.endpoints.values().map(ToString::to_string).collect();
        words.join(", ")
    }

    /// The exchange whose answer a call of this context waits for.
    #[inline]
    pub(crate) fn round_in(&self, context: ContextId) -> u64 {
        if self.has_rounds { self.protocol.round_in(context) } else { 0 }
    }

    /// True if the protocol has asked for something since the last call.
    pub(crate) fn has_event(&mut self) -> bool {
        self.next_event = self.next_event();
        self.next_event.is_some()
    }

    /// Takes the next event of the protocol.
    #[inline]
    pub(crate) fn next_event(&mut self) -> Option<ProtocolEvent> {
        self.next_event.take().or_else(|| self.protocol.next_event())
    }

    /// The current time, if the protocol uses it.
    pub(crate) fn now(&self) -> Time {
        if self.uses_time { clock::now() } else { Time::START }
    }
}
