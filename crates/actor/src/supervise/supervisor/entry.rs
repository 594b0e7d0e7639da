//! The entry of one child in its supervisor, with its state.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Supervisor;
use super::child::{Child, Shutdown, StartedChild, SupervisorLink, Verdict};
use super::message::{AnyReference, ChildEvent, ChildInfo, ChildState};
use crate::lifecycle::handle::{Handle, fresh_number};
use crate::reason::Reason;
use crate::reply::Reply;
use crate::runtime::this::This;

/// A child of the supervisor.
pub(super) struct ChildEntry {
    pub(super) number: u64,
    pub(super) child: Child,
    pub(super) handle: Handle,
    pub(super) reference: Box<dyn Fn() -> AnyReference + Send>,
    pub(super) state: EntryState,
    /// Counts the changes of `state`, so that a timer set in an earlier state is recognized.
    pub(super) epoch: u64,
    /// Failures in a row, without a long enough life between two of them.
    pub(super) failures: u32,
    /// The start of its life; `None` before the first, and once its failure is counted.
    pub(super) runs_since: Option<Instant>,
    pub(super) restarts: u64,
    /// True until its first start is over.
    pub(super) is_new: bool,
}

/// The state of a child.
pub(super) enum EntryState {
    /// Its `started` hook runs; a caller may wait for it. `anew`: it has a new address, whose first
    /// start is reported separately.
    Starting {
        asker: Option<Reply<'static>>,
        anew: bool,
    },
    Running,
    /// It was asked to stop.
    Stopping(StopCause),
    /// It will be restarted: by a verdict if its task exists, or anew.
    Waiting(Option<oneshot::Sender<Verdict>>),
    Ended,
}

/// Why a child was asked to stop.
pub(super) enum StopCause {
    /// A caller requested it and waits.
    Wanted(Reply<'static>),
    /// A sibling has failed.
    Group,
}

impl ChildEntry {
    /// Starts a child and monitors it; the outcome of the start comes through the returned
    /// receiver.
    pub(super) fn start(
        child: Child,
        supervisor: &SupervisorLink,
        this: &This<Supervisor>,
    ) -> (ChildEntry, oneshot::Receiver<Result<(), Reason>>) {
        let number = fresh_number();
        let StartedChild { handle, reference, begun } = child.start(supervisor, number);
        // Cannot fail: the new mailbox has no other watchers.
        let _ = this.monitor(&handle);
        let state = EntryState::Starting { asker: None, anew: true };
        let entry = ChildEntry {
            number,
            child,
            handle,
            reference,
            state,
            epoch: 0,
            failures: 0,
            runs_since: None,
            restarts: 0,
            is_new: true,
        };
        (entry, begun)
    }

    pub(super) fn info(&self) -> ChildInfo {
        ChildInfo {
            name: self.child.name.clone(),
            handle: self.handle.clone(),
            state: match self.state {
                EntryState::Starting { .. } => ChildState::Starting,
                EntryState::Running => ChildState::Running,
                EntryState::Stopping(_) => ChildState::Stopping,
                EntryState::Waiting(_) => ChildState::Waiting,
                EntryState::Ended => ChildState::Ended,
            },
            restart: self.child.restart,
            restarts: self.restarts,
        }
    }

    /// Its first start has succeeded.
    pub(super) fn has_started(&mut self) {
        self.is_new = false;
        self.run();
    }

    /// A start has succeeded; returns the state before it.
    pub(super) fn run(&mut self) -> EntryState {
        self.runs_since = Some(Instant::now());
        self.set(EntryState::Running)
    }

    /// Counts a failure and returns the number of failures in a row. A life longer than `recovery`
    /// ends the previous row: the child had recovered. Pauses and failed starts are no part of a
    /// life.
    pub(super) fn count_failure(&mut self, now: Instant, recovery: Duration) -> u32 {
        let recovered = self.runs_since.take().is_some_and(|since| now - since > recovery);
        self.failures = if recovered { 1 } else { self.failures.saturating_add(1) };
        self.failures
    }

    pub(super) fn set(&mut self, state: EntryState) -> EntryState {
        self.epoch += 1;
        std::mem::replace(&mut self.state, state)
    }

    /// Sets a timer: `Due` is sent after `after`, and ignored if the state has changed by then.
    pub(super) fn set_clock(&self, supervisor: SupervisorLink, after: Duration) {
        let (number, epoch) = (self.number, self.epoch);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            supervisor.tell(ChildEvent::Due { number, epoch });
        });
    }

    /// Asks the child to stop, or kills it.
    pub(super) fn stop(&mut self, supervisor: SupervisorLink, why: StopCause) {
        self.set(EntryState::Stopping(why));
        match self.child.shutdown {
            Shutdown::AtOnce => {
                self.handle.kill();
            }
            Shutdown::Patient => {
                self.handle.stop();
            }
            Shutdown::Within(limit) => {
                self.handle.stop();
                self.set_clock(supervisor, limit);
            }
        }
    }
}
