//! The task that an actor is.
//!
//! It takes a chunk of mail, handles its calls one after the other, and takes the next; control mail
//! goes before each call. After [`TURN_RUNS_MAX`] chunks it lets the other tasks of its thread have
//! their turn. A panic ends the actor: the asker hears `Panicked`, everybody else `ActorStopped`.
//!
//! A million actors may sleep, so this is no `async` function: one of those is as large as the most
//! that it ever holds. What may wait in the middle, an `async` handler or a hook, runs in a box that
//! is there only meanwhile, with the actor inside.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use crate::control::{Control, Order};
use crate::handle::Living;
use crate::handling::{End, Unhandled, handle_chunk};
use crate::interface::Actor;
use crate::limits::TURN_RUNS_MAX;
use crate::mailbox::{Mailbox, Next};
use crate::reason::Reason;
use crate::reply::{Gathered, Reply, ending};
use crate::this::{This, untie};

/// One life of an actor: from the state that it begins with to the reason for its end.
pub(crate) struct Worker<A: Actor> {
    mailbox: Arc<Mailbox<A::Message>>,
    /// Away while something runs that may wait.
    actor: Option<A>,
    stage: Stage<A>,
    /// Memory for the answers of a run, once there were some.
    gathered: Option<Box<Gathered>>,
    begun: Option<Begun>,
    suspended: bool,
}

enum Stage<A> {
    /// The hook of the start was not run yet.
    New,
    /// Nothing is half done.
    Ready,
    /// Something runs that may wait.
    Busy(Pin<Box<dyn Future<Output = (A, Step)> + Send>>),
    /// The hook of the end runs.
    Ending(Pin<Box<dyn Future<Output = Reason> + Send>>),
    Over(Option<Reason>),
}

/// What comes after something that may have waited.
enum Step {
    Begun(Result<(), Reason>),
    GoOn,
    End(Reason),
}

/// Who is told how the start went.
pub(crate) type Begun = Box<dyn FnOnce(Result<(), Reason>) + Send>;

impl<A: Actor> Worker<A> {
    pub(crate) fn new(
        actor: A,
        mailbox: Arc<Mailbox<A::Message>>,
        begun: Option<Begun>,
    ) -> Worker<A> {
        let (actor, stage) = (Some(actor), Stage::New);
        Worker { mailbox, actor, stage, gathered: None, begun, suspended: false }
    }

    /// Has `work` done with the actor inside.
    fn do_boxed<F>(&mut self, work: impl FnOnce(A, Arc<Mailbox<A::Message>>) -> F)
    where
        F: Future<Output = (A, Step)> + Send + 'static,
    {
        if let Some(actor) = self.actor.take() {
            self.stage = Stage::Busy(Box::pin(work(actor, self.mailbox.clone())));
        }
    }

    /// Runs the hook of the start; calls wait meanwhile.
    fn begin(&mut self) {
        if !A::HAS_HOOKS {
            return self.follow(Step::Begun(Ok(())));
        }
        self.do_boxed(async |mut actor: A, mailbox| {
            let this = This::new(mailbox.clone());
            let started = attended(mailbox.control(), actor.started(&this)).await;
            (actor, Step::Begun(started.and_then(|started| started)))
        });
    }

    fn follow(&mut self, step: Step) {
        self.stage = Stage::Ready;
        match step {
            Step::GoOn => {}
            Step::End(reason) => self.end(reason),
            Step::Begun(outcome) => {
                if let Err(reason) = &outcome {
                    self.actor = None;
                    self.stage = Stage::Over(Some(reason.clone()));
                }
                if let Some(begun) = self.begun.take() {
                    begun(outcome);
                }
            }
        }
    }

    /// Runs the hook of the end, unless nobody knows what the actor is like.
    fn end(&mut self, reason: Reason) {
        if let Reason::Panicked(text) = &reason {
            let actor = &**self.mailbox.target();
            tracing::error!(actor, "a handler panicked, the actor has stopped: {text}");
        }
        let is_known = !matches!(reason, Reason::Panicked(_) | Reason::Killed);
        let Some(mut actor) = self.actor.take().filter(|_| A::HAS_HOOKS && is_known) else {
            self.stage = Stage::Over(Some(reason));
            return;
        };
        let mailbox = self.mailbox.clone();
        self.stage = Stage::Ending(Box::pin(async move {
            let this = This::new(mailbox.clone());
            let stopped = attended(mailbox.control(), actor.stopped(&this, &reason)).await;
            if stopped == Err(Reason::Killed) { Reason::Killed } else { reason }
        }));
    }

    /// Does what comes next; `Pending` when there is nothing to do.
    fn next(&mut self, context: &Context<'_>) -> Poll<()> {
        let next = match self.suspended {
            false => self.mailbox.poll_next(context),
            true if self.mailbox.control().register(context) => Poll::Ready(Next::Orders),
            true => Poll::Pending,
        };
        match next {
            Poll::Pending => {
                self.gathered.iter_mut().for_each(|gathered| gathered.rest());
                return Poll::Pending;
            }
            Poll::Ready(Next::Orders) => {
                if let Some(actor) = &mut self.actor
                    && let Err(reason) = obey(actor, &self.mailbox, &mut self.suspended)
                {
                    self.end(reason);
                }
            }
            Poll::Ready(Next::Over) => {
                let sealed = self.mailbox.is_sealed();
                self.end(if sealed { Reason::Shutdown } else { Reason::Normal });
            }
            Poll::Ready(Next::Calls((chunk, queue))) => {
                let Some(actor) = &mut self.actor else { return Poll::Ready(()) };
                let calls = Unhandled::new(chunk, queue, &self.mailbox);
                match handle_chunk(actor, calls, &self.mailbox, &mut self.gathered) {
                    End::Done => {}
                    End::Orders(left) => left.put_back(&self.mailbox),
                    End::Failed(reason, left) => {
                        left.put_back(&self.mailbox);
                        self.end(reason);
                    }
                    End::Later(message, reply, left) => {
                        self.do_boxed(|actor, mailbox| finish(actor, mailbox, message, reply, left))
                    }
                }
            }
        }
        Poll::Ready(())
    }
}

impl<A: Actor> Unpin for Worker<A> {}

impl<A: Actor> Future for Worker<A> {
    type Output = Reason;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reason> {
        let this = &mut *self;
        // When it sleeps, the others have their turn.
        for _ in 0..TURN_RUNS_MAX {
            match &mut this.stage {
                Stage::New => this.begin(),
                Stage::Ready => ready!(this.next(context)),
                Stage::Busy(work) => {
                    let (actor, step) = ready!(work.as_mut().poll(context));
                    this.actor = Some(actor);
                    this.follow(step);
                }
                Stage::Ending(hook) => {
                    let reason = ready!(hook.as_mut().poll(context));
                    this.stage = Stage::Over(Some(reason));
                }
                Stage::Over(reason) => {
                    return reason.take().map_or(Poll::Pending, Poll::Ready);
                }
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Runs an `async` handler, and then those of the calls behind it.
async fn finish<A: Actor>(
    mut actor: A,
    mailbox: Arc<Mailbox<A::Message>>,
    message: A::Message,
    reply: Reply<'static>,
    left: Unhandled<A::Message>,
) -> (A, Step) {
    let mut gathered = None;
    let mut later = (message, reply, left);
    loop {
        let (message, reply, left) = later;
        let handler = actor.handle_later(message, reply);
        if let Err(reason) = attended(mailbox.control(), handler).await {
            left.put_back(&mailbox);
            return (actor, Step::End(reason));
        }
        left.handled_one();
        match handle_chunk(&mut actor, left, &mailbox, &mut gathered) {
            End::Done => return (actor, Step::GoOn),
            End::Orders(left) => {
                left.put_back(&mailbox);
                return (actor, Step::GoOn);
            }
            End::Failed(reason, left) => {
                left.put_back(&mailbox);
                return (actor, Step::End(reason));
            }
            End::Later(message, reply, left) => later = (message, reply, left),
        }
    }
}

/// Does what control mail says; an error is the reason for which the actor ends.
fn obey<A: Actor>(
    actor: &mut A,
    mailbox: &Arc<Mailbox<A::Message>>,
    suspended: &mut bool,
) -> Result<(), Reason> {
    let (control, this) = (mailbox.control(), This::new(mailbox.clone()));
    while let Some(order) = control.take() {
        match order {
            Order::Stop(reason) => return Err(reason),
            Order::Drain => mailbox.seal(),
            Order::Suspend => *suspended = true,
            Order::Resume => *suspended = false,
            Order::Down(down) => caught(|| actor.down(&this, down))?,
            Order::Exit(exit) => {
                untie(&**mailbox, &exit);
                caught(|| actor.exited(&this, exit))??;
            }
            Order::Visit(visit) => {
                let any: &mut dyn Any = actor;
                caught(|| visit(any))?;
            }
        }
    }
    control.ended().map_or(Ok(()), Err)
}

fn caught<T>(hook: impl FnOnce() -> T) -> Result<T, Reason> {
    catch_unwind(AssertUnwindSafe(hook)).map_err(|payload| Reason::panicked(&*payload))
}

/// Runs a handler or a hook that may wait to its end, unless it panics or its actor is killed.
async fn attended<T>(control: &Control, future: impl Future<Output = T>) -> Result<T, Reason> {
    let mut future = pin!(Some(future));
    poll_fn(|context| {
        if control.register(context)
            && let Some(reason) = control.ended()
        {
            ending(|| future.set(None));
            return Poll::Ready(Err(reason));
        }
        let Some(future) = future.as_mut().as_pin_mut() else { return Poll::Pending };
        match catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(payload) => Poll::Ready(Err(Reason::panicked(&*payload))),
        }
    })
    .await
}
