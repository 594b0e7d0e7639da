//! The shared state of one socket: the protocol under a lock, the pipes, and the waiting calls.
//!
//! Every change goes through [`Core::with`]: it locks, runs the protocol, collects the effects that
//! the protocol asks for, unlocks, and only then applies them. So nothing is woken or written under
//! the lock.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use wigwag_sp::limits::RECEIVE_BYTES_MAX;
use wigwag_sp::{PipeId, Protocol};
use wigwag_spin::SpinPolicy;
use wigwag_wire::{ProtocolNumber, Time};

use crate::clock;
use crate::options::{ReceiveLimit, Redial};
use crate::socket::LINGER_MAX;
use crate::socket::background;
use crate::socket::calls::sender_turns::{SenderTurns, SentSinceWrite};
use crate::socket::calls::turns::spin_policy;
use crate::socket::calls::waiter::QueueKey;
use crate::socket::calls::waker_queue::{KeyedWakerQueues, WakerQueue};
use crate::socket::effects::SmallList;
use crate::socket::endpoint::Endpoint;
use crate::socket::observe::{OpenPipeReport, PipeEnd, PipeInfo, PipeWatcher};
use crate::socket::pipe::refusals::{LongestSent, PipeEnding, Refusals};
use crate::socket::pipe::{Pipe, warn_of_refusal};
use crate::socket::race::until;
use crate::socket::statistics::{PipeStatistics, Statistics};

/// How far the shutdown of a socket has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// The socket works.
    Open,
    /// New calls, peers and dials are refused; accepted messages are written.
    Lingering,
    /// The pipes are being closed.
    Closed,
    /// No task of the socket runs any more; its addresses are free.
    Gone,
}

/// A socket.
pub(crate) struct Core {
    pub(crate) number: ProtocolNumber,
    state: Mutex<State>,
    phase: watch::Sender<Phase>,
    runtime: OnceLock<Handle>,
    /// Tells the timer task that a deadline is now earlier than the one it sleeps for.
    pub(crate) timer_changed: Notify,
    /// How calls spin, if the socket takes turns with its peer.
    pub(crate) spin: Option<SpinPolicy>,
    pub(crate) sender_turns: SenderTurns,
}

/// The state behind the lock.
pub(crate) struct State {
    pub(crate) protocol: Box<dyn Protocol>,
    /// [`Protocol::uses_time`], kept here so that no message pays for a virtual call.
    pub(crate) uses_time: bool,
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
    tasks: usize,
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
    linger_end: Option<Instant>,
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

impl Core {
    pub(crate) fn new(protocol: Box<dyn Protocol>) -> Arc<Core> {
        let runtime = OnceLock::new();
        if let Ok(current) = Handle::try_current() {
            runtime.get_or_init(|| current);
        }
        let number = protocol.number();
        Arc::new(Core {
            number,
            state: Mutex::new(State::new(protocol)),
            phase: watch::Sender::new(Phase::Open),
            runtime,
            timer_changed: Notify::new(),
            spin: spin_policy(number),
            sender_turns: SenderTurns::default(),
        })
    }

    /// A panic elsewhere does not block the lock: the state is consistent between two calls.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on the state, and then applies the effects that the protocol asks for.
    pub(crate) fn with<T>(self: &Arc<Core>, work: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = work(&mut state);
        let effects = state.effects();
        drop(state);
        if let Some(effects) = effects {
            effects.run(self);
        }
        result
    }

    /// The runtime that the socket works on.
    pub(crate) fn runtime(&self) -> io::Result<Handle> {
        if let Some(handle) = self.runtime.get() {
            return Ok(handle.clone());
        }
        let handle = background::current_or_own()?;
        Ok(self.runtime.get_or_init(|| handle).clone())
    }

    /// Spawns a task that belongs to this socket; `close` waits for it.
    pub(crate) fn spawn(self: &Arc<Core>, task: impl Future<Output = ()> + Send + 'static) {
        let Ok(runtime) = self.runtime() else { return };
        let mut guard = self.enter_task();
        guard.finished = false;
        runtime.spawn(async move {
            let mut guard = guard;
            task.await;
            guard.finished = true;
        });
    }

    /// Counts work for this socket in a task of another owner, which may drop it at any time; `close`
    /// waits for it.
    pub(crate) fn enter_task(self: &Arc<Core>) -> TaskGuard {
        self.lock().tasks += 1;
        TaskGuard { core: self.clone(), finished: true }
    }

    /// Waits until the shutdown has reached `phase`.
    pub(crate) async fn reached(&self, phase: Phase) {
        // The sender lives as long as `self`, so there is no error.
        let _ = self.phase.subscribe().wait_for(|now| *now >= phase).await;
    }

    pub(crate) fn advance(&self, phase: Phase) {
        self.phase.send_if_modified(|now| {
            let further = *now < phase;
            *now = phase.max(*now);
            further
        });
        if phase >= Phase::Closed {
            self.end_pipes(PipeEnd::SocketClosed, |_| true);
        }
    }

    /// Closes the pipes that are `selected`, and returns their number; pipes that end already are
    /// left alone.
    pub(crate) fn end_pipes(&self, end: PipeEnd, selected: impl Fn(&PipeEntry) -> bool) -> usize {
        let mut ending = Vec::new();
        for entry in self.lock().pipes.values_mut() {
            if entry.end.is_none() && selected(entry) {
                entry.end = Some(end.clone());
                ending.push(entry.pipe.clone());
            }
        }
        for pipe in &ending {
            pipe.end.notify_one();
        }
        ending.len()
    }

    /// Discards the remaining messages: no task of the socket runs any more.
    fn finish(&self) {
        let counters = {
            let mut state = self.lock();
            state.protocol.finish();
            state.protocol.counters()
        };
        let (unsent, unread) = (counters.dropped_unsent, counters.dropped_unread);
        if unsent + unread > 0 {
            tracing::warn!(socket = %self.number, unsent, unread, "closed with messages left in it");
        }
        self.advance(Phase::Gone);
    }

    /// Begins to close the socket, without waiting for it.
    pub(crate) fn begin_close(self: &Arc<Core>) {
        let (begun, linger, refusals) = self.with(|state| {
            let begun = !mem::replace(&mut state.closing, true);
            let State { wakes, senders, receivers, others, .. } = state;
            wakes.extend(senders.all());
            wakes.extend(receivers.all());
            wakes.extend(others.all());
            if begun {
                let linger = state.linger;
                state.linger_end = linger.and_then(|time| Instant::now().checked_add(time));
            }
            (begun, state.linger, state.unconfirmed_refusals())
        });
        for (peer, refused) in refusals {
            warn_of_refusal(&peer, &refused);
        }
        self.advance(Phase::Lingering);
        if self.lock().tasks == 0 {
            // No task runs, so neither a timer nor a runtime is needed.
            self.finish();
            return;
        }
        if !begun {
            return;
        }
        let Some(linger) = linger else { return };
        if linger.is_zero() {
            self.advance(Phase::Closed);
        } else if let Ok(runtime) = self.runtime() {
            let core = self.clone();
            runtime.spawn(async move {
                let pause = tokio::time::sleep(linger);
                until(core.reached(Phase::Closed), pause).await;
                core.advance(Phase::Closed);
            });
        }
    }

    /// Ticks the protocol when its deadlines come.
    pub(crate) async fn run_timers(self: Arc<Core>) {
        let core = &self;
        until(core.reached(Phase::Closed), async {
            loop {
                let due = core.with(|state| {
                    state.timer_due = state.protocol.deadline();
                    state.timer_due
                });
                match due {
                    Some(due) => {
                        let alarm = tokio::time::sleep_until(clock::instant(due));
                        until(core.timer_changed.notified(), alarm).await;
                    }
                    None => core.timer_changed.notified().await,
                }
                core.with(|state| state.protocol.tick(clock::now()));
            }
        })
        .await;
    }
}

impl State {
    fn new(protocol: Box<dyn Protocol>) -> State {
        State {
            uses_time: protocol.uses_time(),
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
    fn unconfirmed_refusals(&mut self) -> Vec<(Arc<str>, PipeEnd)> {
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

    /// The current time, if the protocol uses it.
    pub(crate) fn now(&self) -> Time {
        if self.uses_time { clock::now() } else { Time::START }
    }
}

/// Counts a task, and notices if the task's runtime shuts down before the task is finished.
pub(crate) struct TaskGuard {
    core: Arc<Core>,
    finished: bool,
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        if !self.finished && !std::thread::panicking() {
            // The runtime is gone: no task will ever read, write or dial for this socket.
            self.core.begin_close();
        }
        let last = {
            let mut state = self.core.lock();
            state.tasks -= 1;
            state.tasks == 0 && state.closing
        };
        if last {
            self.core.finish();
        }
    }
}
