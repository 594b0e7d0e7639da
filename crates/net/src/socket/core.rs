//! The shared state of one socket: the protocol under a lock, the pipes, and the waiting calls.
//!
//! Every change goes through [`Core::with`]: it locks, runs the protocol, collects the effects that
//! the protocol asks for, unlocks, and only then applies them. So nothing is woken or written under
//! the lock.

mod state;

use std::future::Future;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) use state::{PipeEntry, State};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use wigwag_sp::Protocol;
use wigwag_spin::SpinPolicy;
use wigwag_wire::ProtocolNumber;

use crate::clock;
use crate::socket::calls::sender_turns::SenderTurns;
use crate::socket::calls::turns::spin_policy;
use crate::socket::observe::PipeEnd;
use crate::socket::pipe::warn_of_refusal;
use crate::socket::race::until;

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
        let handle = wigwag_background::current_or_own()?;
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
