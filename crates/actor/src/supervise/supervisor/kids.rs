//! The children of a supervisor: what comes next for each.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::child::{Boss, Child, Restart, Started, Verdict};
use super::kid::{Kid, State, Why};
use super::message::{News, SupervisorError};
use super::{Strategy, Supervisor};
use crate::here::Here;
use crate::lifecycle::handle::Handle;
use crate::lifecycle::monitor::Down;
use crate::reason::Reason;
use crate::reply::Reply;
use crate::runtime::this::This;

type Answer<T> = Here<Result<T, SupervisorError>>;

impl Supervisor {
    fn at(&self, number: u64) -> Option<usize> {
        self.kids.iter().position(|kid| kid.number == number)
    }

    fn named(&self, name: &Arc<str>) -> Result<usize, SupervisorError> {
        let at = self.kids.iter().position(|kid| kid.child.name == *name);
        at.ok_or_else(|| SupervisorError::NoSuchChild(name.clone()))
    }

    pub(super) fn start_child(
        &mut self,
        this: &This<Supervisor>,
        child: Child,
        reply: &mut Reply<'_>,
    ) {
        if let Err(error) = self.check_new(&child.name) {
            return reply.send::<Answer<Handle>>(Here(Err(error)));
        }
        let boss = self.boss(this);
        let (mut kid, begun) = Kid::start(child, &boss, this);
        kid.state = State::Starting { asker: Some(reply.take_owned()), anew: true };
        watch_start(&kid, boss, begun);
        self.kids.push(kid);
    }

    pub(super) fn terminate(
        &mut self,
        this: &This<Supervisor>,
        name: &Arc<str>,
        reply: &mut Reply<'_>,
    ) {
        let at = match self.named(name) {
            Ok(at) => at,
            Err(error) => return reply.send::<Answer<()>>(Here(Err(error))),
        };
        let boss = self.boss(this);
        match &self.kids[at].state {
            State::Ended => reply.send::<Answer<()>>(Here(Ok(()))),
            State::Waiting(_) => {
                let waiting = self.kids[at].set(State::Ended);
                if let State::Waiting(Some(verdict)) = waiting {
                    let _ = verdict.send(Verdict::Over);
                }
                self.forget_if_temporary(at);
                reply.send::<Answer<()>>(Here(Ok(())));
                self.go_on(this);
            }
            State::Stopping(_) | State::Starting { .. } | State::Running => {
                self.kids[at].stop(boss, Why::Wanted(reply.take_owned()));
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
            Ok(at) if matches!(self.kids[at].state, State::Ended) => at,
            Ok(_) => {
                let error = SupervisorError::StillThere(name.clone());
                return reply.send::<Answer<Handle>>(Here(Err(error)));
            }
            Err(error) => return reply.send::<Answer<Handle>>(Here(Err(error))),
        };
        self.start_anew(this, at, Some(reply.take_owned()));
    }

    pub(super) fn delete(&mut self, name: &Arc<str>) -> Result<(), SupervisorError> {
        let at = self.named(name)?;
        if !matches!(self.kids[at].state, State::Ended) {
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
        let boss = self.boss(this);
        let kid = &mut self.kids[at];
        let Started { handle, reference, begun } = kid.child.start(&boss, kid.number);
        let _ = this.monitor(&handle);
        (kid.handle, kid.reference) = (handle, reference);
        kid.set(State::Starting { asker, anew: true });
        watch_start(kid, boss, begun);
    }

    /// Starts a child that waits for it.
    pub(super) fn start_again(&mut self, this: &This<Supervisor>, at: usize) {
        let boss = self.boss(this);
        let kid = &mut self.kids[at];
        kid.restarts += 1;
        let starting = State::Starting { asker: None, anew: false };
        let State::Waiting(verdict) = kid.set(starting) else { return };
        match verdict.map(|verdict| verdict.send(Verdict::Again)) {
            Some(Ok(())) => kid.set_clock(boss, kid.child.start_within),
            // Its task is gone.
            Some(Err(_)) | None => self.start_anew(this, at, None),
        }
    }

    /// A start has come to its end: `anew` as its state has it, so that the road of one start tells
    /// nothing of another.
    pub(super) fn began(
        &mut self,
        this: &This<Supervisor>,
        child: u64,
        outcome: Result<(), Reason>,
        anew: bool,
    ) {
        let Some(at) = self.at(child) else { return };
        if !matches!(self.kids[at].state, State::Starting { anew: known, .. } if known == anew) {
            return;
        }
        let kid = &mut self.kids[at];
        let is_new = std::mem::replace(&mut kid.is_new, false);
        match outcome {
            Ok(()) => {
                if let State::Starting { asker: Some(mut asker), .. } = kid.run() {
                    asker.send::<Answer<Handle>>(Here(Ok(kid.handle.clone())));
                }
                // Killed before its start was known: that was said already, and not heard.
                if let Some(reason) = kid.handle.reason() {
                    return self.lost(this, at, &reason);
                }
                self.go_on(this);
            }
            Err(reason) => match kid.set(State::Ended) {
                State::Starting { asker: Some(mut asker), .. } => {
                    let error = SupervisorError::StartFailed(reason);
                    asker.send::<Answer<Handle>>(Here(Err(error)));
                    if is_new {
                        self.forget(at);
                    }
                }
                _ => self.failed(this, at, &reason, None),
            },
        }
    }

    /// A child's life is over, and its task waits to hear what comes next.
    pub(super) fn ended(
        &mut self,
        this: &This<Supervisor>,
        child: u64,
        reason: &Reason,
        in_start: bool,
        verdict: oneshot::Sender<Verdict>,
    ) {
        if !in_start {
            // It has started, though the road of its first start may be the longer one.
            self.began(this, child, Ok(()), true);
        }
        let Some(at) = self.at(child) else { return };
        if let State::Stopping(why) = &self.kids[at].state {
            if let Why::Wanted(_) = why {
                // Who waits finds it ended and its names free; its task hears of it only later.
                self.kids[at].handle.living().clone().end(reason.clone());
            }
            return self.has_stopped(this, at, Some(verdict));
        }
        // A start that fails is a failure, whatever the hook says that it was.
        let failed = in_start || !reason.is_wanted();
        let starts = match self.kids[at].child.restart {
            Restart::Permanent => true,
            Restart::Transient => failed,
            Restart::Temporary => false,
        };
        if starts {
            return self.failed(this, at, reason, Some(verdict));
        }
        let _ = verdict.send(Verdict::Over);
        self.kids[at].set(State::Ended);
        self.forget_if_temporary(at);
        self.go_on(this);
    }

    /// A child's address is gone: it was killed, or its runtime is.
    pub(super) fn kid_is_gone(&mut self, this: &This<Supervisor>, down: &Down) {
        let Some(at) = self.kids.iter().position(|kid| kid.handle == down.actor) else { return };
        match &self.kids[at].state {
            State::Ended | State::Starting { anew: true, .. } => {}
            State::Stopping(_) => self.has_stopped(this, at, None),
            // It was about to be started again; now that is with another address.
            State::Waiting(_) => self.kids[at].state = State::Waiting(None),
            State::Starting { .. } | State::Running => self.lost(this, at, &down.reason),
        }
    }

    /// The address of a child that has started is gone.
    fn lost(&mut self, this: &This<Supervisor>, at: usize, reason: &Reason) {
        if self.kids[at].child.restart == Restart::Temporary {
            self.kids[at].set(State::Ended);
            self.forget_if_temporary(at);
            return self.go_on(this);
        }
        self.failed(this, at, reason, None);
    }

    /// A child that was asked to stop has.
    fn has_stopped(
        &mut self,
        this: &This<Supervisor>,
        at: usize,
        verdict: Option<oneshot::Sender<Verdict>>,
    ) {
        let kid = &mut self.kids[at];
        match kid.set(State::Ended) {
            State::Stopping(Why::Group) if kid.child.restart == Restart::Temporary => {
                if let Some(verdict) = verdict {
                    let _ = verdict.send(Verdict::Over);
                }
                self.forget(at);
            }
            State::Stopping(Why::Group) => drop(kid.set(State::Waiting(verdict))),
            State::Stopping(Why::Wanted(mut asker)) => {
                if let Some(verdict) = verdict {
                    let _ = verdict.send(Verdict::Over);
                }
                self.forget_if_temporary(at);
                asker.send::<Answer<()>>(Here(Ok(())));
            }
            _ => {}
        }
        self.go_on(this);
    }

    /// A child has failed and is to be started again.
    fn failed(
        &mut self,
        this: &This<Supervisor>,
        at: usize,
        reason: &Reason,
        verdict: Option<oneshot::Sender<Verdict>>,
    ) {
        let now = Instant::now();
        let name = self.kids[at].child.name.clone();
        tracing::warn!(child = &*name, "a child has failed: {reason}");
        if !self.intensity.allows(now) {
            self.kids[at].set(State::Waiting(verdict));
            return this.stop(Reason::RestartsExceeded);
        }
        let kid = &mut self.kids[at];
        let failures = kid.count_failure(now, self.intensity.within);
        let pause = self.back_off.pause(failures);
        kid.set(State::Waiting(verdict));
        if self.strategy != Strategy::OneForOne {
            let from = if self.strategy == Strategy::OneForAll { 0 } else { at };
            return self.gather(this, from, pause);
        }
        if pause.is_zero() {
            return self.start_again(this, at);
        }
        self.kids[at].set_clock(self.boss(this), pause);
    }

    /// A clock that was set has rung.
    pub(super) fn due(&mut self, this: &This<Supervisor>, child: u64, epoch: u64) {
        if self.group_is_due(this, child, epoch) {
            return;
        }
        let Some(at) = self.at(child).filter(|at| self.kids[*at].epoch == epoch) else { return };
        match self.kids[at].state {
            State::Waiting(_) => self.start_again(this, at),
            // What follows comes when its address is gone.
            State::Stopping(_) | State::Starting { .. } => {
                self.kids[at].handle.kill();
            }
            State::Running | State::Ended => {}
        }
    }

    fn forget_if_temporary(&mut self, at: usize) {
        if self.kids[at].child.restart == Restart::Temporary {
            self.forget(at);
        }
    }

    fn forget(&mut self, at: usize) {
        self.kids.remove(at);
        // The others have moved up.
        if let Some(group) = &mut self.group {
            group.is_shorter(at);
        }
    }
}

/// Tells the supervisor how a first start went; kills a child that takes too long over it.
fn watch_start(kid: &Kid, boss: Boss, begun: oneshot::Receiver<Result<(), Reason>>) {
    let (child, handle, limit) = (kid.number, kid.handle.clone(), kid.child.start_within);
    tokio::spawn(async move {
        let outcome = match tokio::time::timeout(limit, begun).await {
            Ok(outcome) => outcome.unwrap_or(Err(Reason::Killed)),
            Err(_) => {
                handle.kill();
                Err(Reason::failed(format_args!("it did not start within {limit:?}")))
            }
        };
        boss.tell(News::Began { child, outcome });
    });
}
