//! The worker: the future that runs one actor and that the scheduler polls.
//!
//! It takes a chunk of mail, handles its calls one after the other, and takes the next; control
//! mail goes before each call. After [`TURN_RUNS_MAX`](crate::limits::TURN_RUNS_MAX) chunks it
//! yields to other jobs. A panic ends the actor: the asker gets `Panicked`, all other callers
//! `ActorStopped`.
//!
//! A million actors may sleep, so this is no `async` function: the size of one is the largest state
//! that it ever holds. Work that may wait in the middle, an `async` handler or a hook, runs in a
//! box that exists only meanwhile, with the actor inside. Handlers that run side by side
//! (`side_by_side`) do not hold the actor; they are polled before the actor goes on.

mod guarded;
mod calls;
mod control;
mod direct;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use guarded::{dropped, guarded, is_known, report};

use crate::lifecycle::handle::AnyActor;
use crate::mailbox::taking::stash::Stash;
use crate::mailbox::{Mailbox, NextMail};
use crate::options::RunConfig;
use crate::reason::Reason;
use crate::reference::interface::Interface;
use crate::runtime::actor::Actor;
use crate::runtime::run::alone::handle_one;
use crate::runtime::run::handling::{SessionAnswers, Unhandled};
use crate::runtime::run::spans::Spans;
use crate::runtime::side_by_side::{PendingCall, SideBySide};
use crate::runtime::this::This;
use crate::scheduler::turn_runs_max;

/// One run of an actor, from its initial state to the reason for its end.
pub(crate) struct Worker<A: Actor> {
    mailbox: Arc<Mailbox<A::Message>>,
    /// `None` while boxed work holds the actor.
    actor: Option<A>,
    state: WorkerState<A>,
    /// Allocated with the first answers to another process.
    answers: Option<Box<SessionAnswers>>,
    on_started: Option<OnStarted>,
    /// State that few actors need.
    extras: Option<Box<WorkerExtras<A::Message>>>,
}

/// State that few actors need.
struct WorkerExtras<M> {
    suspended: bool,
    /// Calls that the actor had put aside, to be handled next.
    unstashed: Stash<M>,
    /// Set when calls are handled in spans.
    spans: Option<Spans>,
    side_by_side: Option<SideBySide<M>>,
}

impl<M> Default for WorkerExtras<M> {
    fn default() -> WorkerExtras<M> {
        WorkerExtras { suspended: false, unstashed: Stash::new(), spans: None, side_by_side: None }
    }
}

enum WorkerState<A: Actor> {
    /// The `started` hook has not run yet.
    New,
    /// No work is in progress.
    Ready,
    /// Boxed work that may wait is running.
    Busy(BoxedWork<A>),
    /// The actor takes no more calls; those that run side by side end first.
    Leaving(Reason),
    /// The hook of the end is running.
    Ending(Pin<Box<dyn Future<Output = Reason> + Send>>),
    Over(Option<Reason>),
}

/// Work that may wait, with the actor inside.
type BoxedWork<A> = Pin<Box<dyn Future<Output = (A, WorkStep<<A as Interface>::Message>)> + Send>>;

/// The next step after boxed work.
enum WorkStep<M> {
    Started(Result<(), Reason>),
    GoOn,
    /// This call runs side by side with others; the rest of its chunk is not yet handled.
    SideBySide(Box<(PendingCall<M>, Unhandled<M>)>),
    End(Reason),
}

/// Receives the outcome of the start.
pub(crate) type OnStarted = Box<dyn FnOnce(Result<(), Reason>) + Send>;

impl<A: Actor> Worker<A> {
    pub(crate) fn new(
        actor: A,
        mailbox: Arc<Mailbox<A::Message>>,
        on_started: Option<OnStarted>,
        run_config: RunConfig,
    ) -> Worker<A> {
        let (actor, state) = (Some(actor), WorkerState::New);
        let number = mailbox.number();
        let spans = run_config.spans.then_some(Spans { schema: A::SCHEMA, number });
        let side_by_side = A::SIDE_BY_SIDE.then(|| SideBySide::new(run_config.side_by_side, spans));
        let extras = (A::SIDE_BY_SIDE || run_config.spans)
            .then(|| Box::new(WorkerExtras { spans, side_by_side, ..WorkerExtras::default() }));
        Worker { mailbox, actor, state, answers: None, on_started, extras }
    }

    /// The calls that run side by side; costs nothing for actors that have none.
    fn side_by_side(&mut self) -> Option<&mut SideBySide<A::Message>> {
        if !A::SIDE_BY_SIDE {
            return None;
        }
        self.extras.as_mut()?.side_by_side.as_mut()
    }

    fn spans(&self) -> Option<Spans> {
        self.extras.as_ref()?.spans
    }

    /// True when the worker has nothing to do before the first mail comes.
    pub(crate) fn is_idle(&self) -> bool {
        !A::HAS_HOOKS && self.on_started.is_none()
    }

    /// Runs `work` in a box, with the actor inside.
    fn do_boxed<F>(&mut self, work: impl FnOnce(A, Arc<Mailbox<A::Message>>) -> F)
    where
        F: Future<Output = (A, WorkStep<A::Message>)> + Send + 'static,
    {
        if let Some(actor) = self.actor.take() {
            self.state = WorkerState::Busy(Box::pin(work(actor, self.mailbox.clone())));
        }
    }

    /// Runs the `started` hook; calls wait meanwhile.
    fn begin(&mut self) {
        if !A::HAS_HOOKS {
            return self.follow(WorkStep::Started(Ok(())));
        }
        self.do_boxed(async |mut actor: A, mailbox| {
            let this = This::new(mailbox.clone());
            let started = guarded(mailbox.control(), None, actor.started(&this)).await;
            (actor, WorkStep::Started(started.and_then(|started| started)))
        });
    }

    fn follow(&mut self, step: WorkStep<A::Message>) {
        self.state = WorkerState::Ready;
        match step {
            WorkStep::GoOn => {}
            WorkStep::SideBySide(calls) => {
                let (call, left) = *calls;
                if let Some(left) = self.take(call, left) {
                    self.handle(left);
                }
            }
            WorkStep::End(reason) => self.end(reason),
            WorkStep::Started(outcome) => {
                if let Err(reason) = &outcome {
                    self.actor = None;
                    self.state = WorkerState::Over(Some(reason.clone()));
                }
                if let Some(on_started) = self.on_started.take() {
                    on_started(outcome);
                }
            }
        }
    }

    /// Ends the actor for `reason`: after the calls that run side by side have ended, or without
    /// waiting for them if the actor's state may be inconsistent.
    fn end(&mut self, reason: Reason) {
        // A restarted actor does not know why these calls were put aside.
        self.mailbox.take_stash().clear();
        if let Some(extras) = &mut self.extras {
            extras.unstashed.clear();
        }
        if let Some(side_by_side) = self.side_by_side() {
            side_by_side.refuse_waiting();
            if is_known(&reason) && side_by_side.is_running() {
                self.state = WorkerState::Leaving(reason);
                return;
            }
            side_by_side.clear();
        }
        self.finish_life(reason);
    }

    /// Runs the `stopped` hook, unless the actor's state may be inconsistent.
    fn finish_life(&mut self, reason: Reason) {
        report(&self.mailbox, &reason);
        let Some(mut actor) = self.actor.take() else {
            self.state = WorkerState::Over(Some(reason));
            return;
        };
        if !A::HAS_HOOKS || !is_known(&reason) {
            self.state = WorkerState::Over(Some(dropped(actor, reason)));
            return;
        }
        let mailbox = self.mailbox.clone();
        self.state = WorkerState::Ending(Box::pin(async move {
            let this = This::new(mailbox.clone());
            let stopped = guarded(mailbox.control(), None, actor.stopped(&this, &reason)).await;
            // The actor was killed meanwhile or the hook panicked: it did not end in good order.
            dropped(actor, stopped.err().inspect(|why| report(&mailbox, why)).unwrap_or(reason))
        }));
    }

    /// Takes the next step; `Pending` when there is nothing to do.
    fn next(&mut self, context: &Context<'_>) -> Poll<()> {
        let suspended = self.extras.as_ref().is_some_and(|extras| extras.suspended);
        let (mut has_running, mut is_full) = (false, false);
        if let Some(side_by_side) = self.side_by_side() {
            if let Some(reason) = side_by_side.failed() {
                self.end(reason);
                return Poll::Ready(());
            }
            (has_running, is_full) = (!side_by_side.is_idle(), side_by_side.is_full());
            if has_running && !suspended && self.begin_due() {
                return Poll::Ready(());
            }
        }
        if !suspended && !is_full && self.handle_unstashed() {
            return Poll::Ready(());
        }
        let next = match suspended || is_full {
            false => self.mailbox.poll_next(context, has_running),
            true if self.mailbox.control().register(context) => Poll::Ready(NextMail::Orders),
            true => Poll::Pending,
        };
        match next {
            Poll::Pending => return self.rest(),
            Poll::Ready(NextMail::Orders) => {
                if let Err(reason) = self.handle_control() {
                    self.end(reason);
                }
            }
            Poll::Ready(NextMail::Over) => {
                let sealed = self.mailbox.is_sealed();
                self.end(if sealed { Reason::Shutdown } else { Reason::Normal });
            }
            Poll::Ready(NextMail::Call { message, asker, only }) => {
                let spans = self.spans();
                let end = handle_one(&mut self.actor, message, asker, &self.mailbox, spans);
                if only {
                    self.mailbox.rests();
                }
                match end {
                    // Nothing is left of a call by itself.
                    Some(end) => drop(self.follow_up(end)),
                    // Control mail that has come meanwhile is marked.
                    None if only && !self.mailbox.control().is_marked() => return self.rest(),
                    None => {}
                }
            }
            Poll::Ready(NextMail::Calls((chunk, queue))) => {
                self.handle(Unhandled::new(chunk, queue, &self.mailbox));
            }
        }
        Poll::Ready(())
    }

    /// Sleeps until the next wake.
    fn rest(&mut self) -> Poll<()> {
        self.answers.iter_mut().for_each(|answers| answers.memory.rest());
        Poll::Pending
    }
}

impl<A: Actor> Unpin for Worker<A> {}

impl<A: Actor> Future for Worker<A> {
    type Output = Reason;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reason> {
        let this = &mut *self;
        // When this loop ends, other jobs get their turn.
        for _ in 0..turn_runs_max() {
            if let Some(side_by_side) = this.side_by_side() {
                side_by_side.poll(context);
            }
            match &mut this.state {
                WorkerState::New => this.begin(),
                WorkerState::Ready => {
                    ready!(this.next(context));
                    if this.answers.as_mut().is_some_and(|answers| answers.pace.ends_turn()) {
                        break;
                    }
                }
                WorkerState::Leaving(_) => ready!(this.leave(context)),
                WorkerState::Busy(work) => {
                    let (actor, step) = ready!(work.as_mut().poll(context));
                    this.actor = Some(actor);
                    this.follow(step);
                }
                WorkerState::Ending(hook) => {
                    let reason = ready!(hook.as_mut().poll(context));
                    this.state = WorkerState::Over(Some(reason));
                }
                WorkerState::Over(reason) => {
                    return reason.take().map_or(Poll::Pending, Poll::Ready);
                }
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
