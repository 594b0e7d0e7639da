//! The state transitions of a supervisor's children.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::child::{Child, Restart, StartedChild, SupervisorLink, Verdict};
use super::entry::{ChildEntry, EntryState, StopCause};
use super::message::{ChildEvent, SupervisorError, SupervisorReply};
use super::{Strategy, Supervisor};
use crate::lifecycle::handle::Handle;
use crate::lifecycle::monitor::Down;
use crate::local::Local;
use crate::reason::Reason;
use crate::reply::Reply;
use crate::runtime::this::This;

impl Supervisor {
    fn at(&self, number: u64) -> Option<usize> {
        self.children.iter().position(|entry| entry.number == number)
    }

    fn named(&self, name: &Arc<str>) -> Result<usize, SupervisorError> {
        let at = self.children.iter().position(|entry| entry.child.name == *name);
        at.ok_or_else(|| SupervisorError::NoSuchChild(name.clone()))
    }

    pub(super) fn start_child(
        &mut self,
        this: &This<Supervisor>,
        child: Child,
        reply: &mut Reply<'_>,
    ) {
        if let Err(error) = self.check_new(&child.name) {
            return reply.send::<SupervisorReply<Handle>>(Local(Err(error)));
        }
        let supervisor = self.supervisor(this);
        let (mut entry, begun) = ChildEntry::start(child, &supervisor, this);
        entry.state = EntryState::Starting { asker: Some(reply.take_owned()), anew: true };
        watch_start(&entry, supervisor, begun);
        self.children.push(entry);
    }

    pub(super) fn terminate(
        &mut self,
        this: &This<Supervisor>,
        name: &Arc<str>,
        reply: &mut Reply<'_>,
    ) {
        let at = match self.named(name) {
            Ok(at) => at,
            Err(error) => return reply.send::<SupervisorReply<()>>(Local(Err(error))),
        };
        let supervisor = self.supervisor(this);
        match &self.children[at].state {
            EntryState::Ended => reply.send::<SupervisorReply<()>>(Local(Ok(()))),
            EntryState::Waiting(_) => {
                let waiting = self.children[at].set(EntryState::Ended);
                if let EntryState::Waiting(Some(verdict)) = waiting {
                    let _ = verdict.send(Verdict::Over);
                }
                self.forget_if_temporary(at);
                reply.send::<SupervisorReply<()>>(Local(Ok(())));
                self.go_on(this);
            }
            EntryState::Stopping(_) | EntryState::Starting { .. } | EntryState::Running => {
                self.children[at].stop(supervisor, StopCause::Wanted(reply.take_owned()));
            }
        }
    }

    pub(super) fn restart(
        &mut self,
        this: &This<Supervisor>,
        name: &Arc<str>,
        reply: &mut Reply<'_>,
    ) {
        let at = match self.named(name) {
            Ok(at) if matches!(self.children[at].state, EntryState::Ended) => at,
            Ok(_) => {
                let error = SupervisorError::StillThere(name.clone());
                return reply.send::<SupervisorReply<Handle>>(Local(Err(error)));
            }
            Err(error) => return reply.send::<SupervisorReply<Handle>>(Local(Err(error))),
        };
        self.start_anew(this, at, Some(reply.take_owned()));
    }

    pub(super) fn delete(&mut self, name: &Arc<str>) -> Result<(), SupervisorError> {
        let at = self.named(name)?;
        if !matches!(self.children[at].state, EntryState::Ended) {
            return Err(SupervisorError::StillThere(name.clone()));
        }
        self.forget(at);
        Ok(())
    }

    /// Starts a child whose task is gone: it gets another address.
    pub(super) fn start_anew(
        &mut self,
        this: &This<Supervisor>,
        at: usize,
        asker: Option<Reply<'static>>,
    ) {
        let supervisor = self.supervisor(this);
        let entry = &mut self.children[at];
        let StartedChild { handle, reference, begun } =
            entry.child.start(&supervisor, entry.number);
        let _ = this.monitor(&handle);
        (entry.handle, entry.reference) = (handle, reference);
        entry.set(EntryState::Starting { asker, anew: true });
        watch_start(entry, supervisor, begun);
    }

    /// Restarts a child that waits for its restart.
    pub(super) fn start_again(&mut self, this: &This<Supervisor>, at: usize) {
        let supervisor = self.supervisor(this);
        let entry = &mut self.children[at];
        entry.restarts += 1;
        let starting = EntryState::Starting { asker: None, anew: false };
        let EntryState::Waiting(verdict) = entry.set(starting) else { return };
        match verdict.map(|verdict| verdict.send(Verdict::Again)) {
            Some(Ok(())) => entry.set_clock(supervisor, entry.child.start_within),
            // Its task is gone.
            Some(Err(_)) | None => self.start_anew(this, at, None),
        }
    }

    /// A start has succeeded or failed. `anew` is as in the child's state, so that a late report of
    /// one kind of start is not taken for another.
    pub(super) fn began(
        &mut self,
        this: &This<Supervisor>,
        child: u64,
        outcome: Result<(), Reason>,
        anew: bool,
    ) {
        let Some(at) = self.at(child) else { return };
        if !matches!(self.children[at].state, EntryState::Starting { anew: known, .. } if known == anew)
        {
            return;
        }
        let entry = &mut self.children[at];
        let is_new = std::mem::replace(&mut entry.is_new, false);
        match outcome {
            Ok(()) => {
                if let EntryState::Starting { asker: Some(mut asker), .. } = entry.run() {
                    asker.send::<SupervisorReply<Handle>>(Local(Ok(entry.handle.clone())));
                }
                // Killed before its start was reported: that notice came earlier and was ignored.
                if let Some(reason) = entry.handle.reason() {
                    return self.lost(this, at, &reason);
                }
                self.go_on(this);
            }
            Err(reason) => match entry.set(EntryState::Ended) {
                EntryState::Starting { asker: Some(mut asker), .. } => {
                    let error = SupervisorError::StartFailed(reason);
                    asker.send::<SupervisorReply<Handle>>(Local(Err(error)));
                    if is_new {
                        self.forget(at);
                    }
                }
                _ => self.failed(this, at, &reason, None),
            },
        }
    }

    /// A life of a child has ended, and its task waits for the verdict.
    pub(super) fn ended(
        &mut self,
        this: &This<Supervisor>,
        child: u64,
        reason: &Reason,
        in_start: bool,
        verdict: oneshot::Sender<Verdict>,
    ) {
        if !in_start {
            // It has started, though the report of its first start may arrive later.
            self.began(this, child, Ok(()), true);
        }
        let Some(at) = self.at(child) else { return };
        if let EntryState::Stopping(why) = &self.children[at].state {
            if let StopCause::Wanted(_) = why {
                // Callers find it ended and its names free before its task receives the verdict.
                self.children[at].handle.actor_cell().clone().end(reason.clone());
            }
            return self.has_stopped(this, at, Some(verdict));
        }
        // A start that fails is a failure, whatever reason the hook gives.
        let failed = in_start || !reason.is_wanted();
        let starts = match self.children[at].child.restart {
            Restart::Permanent => true,
            Restart::Transient => failed,
            Restart::Temporary => false,
        };
        if starts {
            return self.failed(this, at, reason, Some(verdict));
        }
        let _ = verdict.send(Verdict::Over);
        self.children[at].set(EntryState::Ended);
        self.forget_if_temporary(at);
        self.go_on(this);
    }

    /// A child's address is gone: the child was killed, or its runtime has ended.
    pub(super) fn child_is_gone(&mut self, this: &This<Supervisor>, down: &Down) {
        let Some(at) =
            self.children.iter().position(|entry| Some(&entry.handle) == down.actor.as_ref())
        else {
            return;
        };
        match &self.children[at].state {
            EntryState::Ended | EntryState::Starting { anew: true, .. } => {}
            EntryState::Stopping(_) => self.has_stopped(this, at, None),
            // It was about to be restarted; now it gets another address.
            EntryState::Waiting(_) => self.children[at].state = EntryState::Waiting(None),
            EntryState::Starting { .. } | EntryState::Running => self.lost(this, at, &down.reason),
        }
    }

    /// The address of a child that has started is gone.
    fn lost(&mut self, this: &This<Supervisor>, at: usize, reason: &Reason) {
        if self.children[at].child.restart == Restart::Temporary {
            self.children[at].set(EntryState::Ended);
            self.forget_if_temporary(at);
            return self.go_on(this);
        }
        self.failed(this, at, reason, None);
    }

    /// A child that was asked to stop has ended.
    fn has_stopped(
        &mut self,
        this: &This<Supervisor>,
        at: usize,
        verdict: Option<oneshot::Sender<Verdict>>,
    ) {
        let entry = &mut self.children[at];
        match entry.set(EntryState::Ended) {
            EntryState::Stopping(StopCause::Group) if entry.child.restart == Restart::Temporary => {
                if let Some(verdict) = verdict {
                    let _ = verdict.send(Verdict::Over);
                }
                self.forget(at);
            }
            EntryState::Stopping(StopCause::Group) => drop(entry.set(EntryState::Waiting(verdict))),
            EntryState::Stopping(StopCause::Wanted(mut asker)) => {
                if let Some(verdict) = verdict {
                    let _ = verdict.send(Verdict::Over);
                }
                self.forget_if_temporary(at);
                asker.send::<SupervisorReply<()>>(Local(Ok(())));
            }
            _ => {}
        }
        self.go_on(this);
    }

    /// A child has failed and is to be restarted.
    fn failed(
        &mut self,
        this: &This<Supervisor>,
        at: usize,
        reason: &Reason,
        verdict: Option<oneshot::Sender<Verdict>>,
    ) {
        let now = Instant::now();
        let name = self.children[at].child.name.clone();
        tracing::warn!(child = &*name, "a child has failed: {reason}");
        if !self.intensity.allows(now) {
            self.children[at].set(EntryState::Waiting(verdict));
            return this.stop(Reason::RestartsExceeded);
        }
        let entry = &mut self.children[at];
        let failures = entry.count_failure(now, self.intensity.within);
        let pause = self.back_off.pause(failures);
        entry.set(EntryState::Waiting(verdict));
        if self.strategy != Strategy::OneForOne {
            let from = if self.strategy == Strategy::OneForAll { 0 } else { at };
            return self.gather(this, from, pause);
        }
        if pause.is_zero() {
            return self.start_again(this, at);
        }
        self.children[at].set_clock(self.supervisor(this), pause);
    }

    /// A timer has expired.
    pub(super) fn due(&mut self, this: &This<Supervisor>, child: u64, epoch: u64) {
        if self.group_is_due(this, child, epoch) {
            return;
        }
        let Some(at) = self.at(child).filter(|at| self.children[*at].epoch == epoch) else {
            return;
        };
        match self.children[at].state {
            EntryState::Waiting(_) => self.start_again(this, at),
            // The next step follows when its address is gone.
            EntryState::Stopping(_) | EntryState::Starting { .. } => {
                self.children[at].handle.kill();
            }
            EntryState::Running | EntryState::Ended => {}
        }
    }

    fn forget_if_temporary(&mut self, at: usize) {
        if self.children[at].child.restart == Restart::Temporary {
            self.forget(at);
        }
    }

    fn forget(&mut self, at: usize) {
        self.children.remove(at);
        // The children behind it have moved up.
        if let Some(group) = &mut self.group {
            group.is_shorter(at);
        }
    }
}

/// Reports the outcome of a first start to the supervisor; kills a child that exceeds its limit.
fn watch_start(
    entry: &ChildEntry,
    supervisor: SupervisorLink,
    begun: oneshot::Receiver<Result<(), Reason>>,
) {
    let (child, handle, limit) = (entry.number, entry.handle.clone(), entry.child.start_within);
    tokio::spawn(async move {
        let outcome = match tokio::time::timeout(limit, begun).await {
            Ok(outcome) => outcome.unwrap_or(Err(Reason::Killed)),
            Err(_) => {
                handle.kill();
                Err(Reason::failed(format_args!("it did not start within {limit:?}")))
            }
        };
        supervisor.tell(ChildEvent::Began { child, outcome });
    });
}
