//! An actor as it runs: the future that its crew polls.
//!
//! It takes a chunk of mail, handles its calls one after the other, and takes the next; control mail
//! goes before each call. After [`TURN_RUNS_MAX`](crate::limits::TURN_RUNS_MAX) chunks it lets the
//! others have their turn. A panic ends the actor: the asker hears `Panicked`, everybody else `ActorStopped`.
//!
//! A million actors may sleep, so this is no `async` function: one of those is as large as the most
//! that it ever holds. What may wait in the middle, an `async` handler or a hook, runs in a box that
//! is there only meanwhile, with the actor inside. Handlers that run side by side (`side_by_side`) do
//! not hold the actor; they are polled before it goes on.

mod attended;
mod calls;
mod orders;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use attended::{attended, is_known, report};

use crate::lifecycle::handle::Living;
use crate::mailbox::stash::Stash;
use crate::mailbox::{Mailbox, Next};
use crate::options::Manner;
use crate::reason::Reason;
use crate::reference::interface::Interface;
use crate::reply::{Gathered, ending};
use crate::runtime::actor::Actor;
use crate::runtime::run::handling::{Unhandled, handle_one};
use crate::runtime::run::spans::Spans;
use crate::runtime::side_by_side::{Call, SideBySide};
use crate::runtime::this::This;
use crate::scheduler::{AtHand, turn_runs_max};

/// One life of an actor: from the state that it begins with to the reason for its end.
pub(crate) struct Worker<A: Actor> {
    mailbox: Arc<Mailbox<A::Message>>,
    /// Away while something runs that may wait.
    actor: Option<A>,
    stage: Stage<A>,
    /// Memory for the answers of a run, once there were some.
    gathered: Option<Box<Gathered>>,
    begun: Option<Begun>,
    /// What few actors have.
    apart: Option<Box<Apart<A::Message>>>,
}

/// What few actors have.
struct Apart<M> {
    suspended: bool,
    /// Calls that it had put aside, to be handled next.
    unstashed: Stash<M>,
    /// Calls are handled in spans.
    spans: Option<Spans>,
    side_by_side: Option<SideBySide<M>>,
}

impl<M> Default for Apart<M> {
    fn default() -> Apart<M> {
        Apart { suspended: false, unstashed: Stash::new(), spans: None, side_by_side: None }
    }
}

enum Stage<A: Actor> {
    /// The hook of the start was not run yet.
    New,
    /// Nothing is half done.
    Ready,
    /// Something runs that may wait.
    Busy(Work<A>),
    /// It takes no calls any more; those that run side by side end first.
    Leaving(Reason),
    /// The hook of the end runs.
    Ending(Pin<Box<dyn Future<Output = Reason> + Send>>),
    Over(Option<Reason>),
}

/// Something that may wait, with the actor inside.
type Work<A> = Pin<Box<dyn Future<Output = (A, Step<<A as Interface>::Message>)> + Send>>;

/// What comes after something that may have waited.
enum Step<M> {
    Begun(Result<(), Reason>),
    GoOn,
    /// This call runs side by side with others; the rest of its chunk is left.
    SideBySide(Box<(Call<M>, Unhandled<M>)>),
    End(Reason),
}

/// Who is told how the start went.
pub(crate) type Begun = Box<dyn FnOnce(Result<(), Reason>) + Send>;

impl<A: Actor> Worker<A> {
    pub(crate) fn new(
        actor: A,
        mailbox: Arc<Mailbox<A::Message>>,
        begun: Option<Begun>,
        manner: Manner,
    ) -> Worker<A> {
        let (actor, stage) = (Some(actor), Stage::New);
        let number = mailbox.number();
        let spans = manner.spans.then_some(Spans { schema: A::SCHEMA, number });
        let side_by_side = A::SIDE_BY_SIDE.then(|| SideBySide::new(manner.side_by_side, spans));
        let apart = (A::SIDE_BY_SIDE || manner.spans)
            .then(|| Box::new(Apart { spans, side_by_side, ..Apart::default() }));
        Worker { mailbox, actor, stage, gathered: None, begun, apart }
    }

    /// What runs side by side; at no cost where nothing can.
    fn side_by_side(&mut self) -> Option<&mut SideBySide<A::Message>> {
        if !A::SIDE_BY_SIDE {
            return None;
        }
        self.apart.as_mut()?.side_by_side.as_mut()
    }

    fn spans(&self) -> Option<Spans> {
        self.apart.as_ref()?.spans
    }

    /// True when there is nothing to do before the first mail comes.
    pub(crate) fn is_idle(&self) -> bool {
        !A::HAS_HOOKS && self.begun.is_none()
    }

    /// Has `work` done with the actor inside.
    fn do_boxed<F>(&mut self, work: impl FnOnce(A, Arc<Mailbox<A::Message>>) -> F)
    where
        F: Future<Output = (A, Step<A::Message>)> + Send + 'static,
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

    fn follow(&mut self, step: Step<A::Message>) {
        self.stage = Stage::Ready;
        match step {
            Step::GoOn => {}
            Step::SideBySide(calls) => {
                let (call, left) = *calls;
                if let Some(left) = self.take(call, left) {
                    self.handle(left);
                }
            }
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

    /// Ends for that reason: when what runs side by side has ended, or without it if nobody knows
    /// what the actor is like.
    fn end(&mut self, reason: Reason) {
        // The next life, if there is one, does not know why these were put aside.
        self.mailbox.take_stash().clear();
        if let Some(apart) = &mut self.apart {
            apart.unstashed.clear();
        }
        if let Some(side_by_side) = self.side_by_side() {
            side_by_side.refuse_waiting();
            if is_known(&reason) && side_by_side.is_running() {
                self.stage = Stage::Leaving(reason);
                return;
            }
            side_by_side.clear();
        }
        self.finish_life(reason);
    }

    /// Runs the hook of the end, unless nobody knows what the actor is like.
    fn finish_life(&mut self, reason: Reason) {
        report(&self.mailbox, &reason);
        let Some(mut actor) = self.actor.take() else {
            self.stage = Stage::Over(Some(reason));
            return;
        };
        if !A::HAS_HOOKS || !is_known(&reason) {
            self.stage = Stage::Over(Some(reason));
            return ending(|| drop(actor));
        }
        let mailbox = self.mailbox.clone();
        self.stage = Stage::Ending(Box::pin(async move {
            let this = This::new(mailbox.clone());
            let stopped = attended(mailbox.control(), actor.stopped(&this, &reason)).await;
            ending(|| drop(actor));
            // Killed meanwhile, or panicked: it did not end in good order.
            stopped.err().inspect(|why| report(&mailbox, why)).unwrap_or(reason)
        }));
    }

    /// Does what comes next; `Pending` when there is nothing to do.
    fn next(&mut self, context: &Context<'_>) -> Poll<()> {
        let suspended = self.apart.as_ref().is_some_and(|apart| apart.suspended);
        let (mut at_hand, mut is_full) = (false, false);
        if let Some(side_by_side) = self.side_by_side() {
            if let Some(reason) = side_by_side.failed() {
                self.end(reason);
                return Poll::Ready(());
            }
            (at_hand, is_full) = (!side_by_side.is_idle(), side_by_side.is_full());
            if at_hand && !suspended && self.begin_due() {
                return Poll::Ready(());
            }
        }
        if !suspended && !is_full && self.handle_unstashed() {
            return Poll::Ready(());
        }
        let next = match suspended || is_full {
            false => self.mailbox.poll_next(context, at_hand),
            true if self.mailbox.control().register(context) => Poll::Ready(Next::Orders),
            true => Poll::Pending,
        };
        match next {
            Poll::Pending => return self.rest(),
            Poll::Ready(Next::Orders) => {
                if let Err(reason) = self.obey() {
                    self.end(reason);
                }
            }
            Poll::Ready(Next::Over) => {
                let sealed = self.mailbox.is_sealed();
                self.end(if sealed { Reason::Shutdown } else { Reason::Normal });
            }
            Poll::Ready(Next::Call { message, asker, only }) => {
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
            Poll::Ready(Next::Calls((chunk, queue))) => {
                self.handle(Unhandled::new(chunk, queue, &self.mailbox));
            }
        }
        Poll::Ready(())
    }

    /// A poll with a [call at hand](crate::scheduler::Live::poll_call), given to it where it slept and no mail
    /// waited. Its waker lies in the mailbox, so that whatever comes meanwhile wakes it.
    pub(crate) fn poll_call(
        &mut self,
        context: &mut Context<'_>,
        call: &mut AtHand<'_>,
    ) -> Poll<Reason> {
        if let Some(message) = call.message.downcast_mut::<Option<A::Message>>()
            && self.takes_calls()
            && let Some(message) = message.take()
        {
            let (spans, asker) = (self.spans(), call.asker.take());
            self.mailbox.works();
            let end = handle_one(&mut self.actor, message, asker, &self.mailbox, spans);
            self.mailbox.rests();
            match end {
                Some(end) => drop(self.follow_up(end)),
                None if !self.mailbox.control().is_marked() => {
                    let _: Poll<()> = self.rest();
                    return Poll::Pending;
                }
                None => {}
            }
        }
        Pin::new(self).poll(context)
    }

    /// True when nothing goes before a call that comes now.
    fn takes_calls(&mut self) -> bool {
        if !matches!(self.stage, Stage::Ready) || self.mailbox.control().is_marked() {
            return false;
        }
        self.apart.as_ref().is_none_or(|apart| {
            let is_full = apart.side_by_side.as_ref().is_some_and(SideBySide::is_full);
            !apart.suspended && apart.unstashed.is_empty() && !is_full
        })
    }

    /// Sleeps until it is woken.
    fn rest(&mut self) -> Poll<()> {
        self.gathered.iter_mut().for_each(|gathered| gathered.rest());
        Poll::Pending
    }
}

impl<A: Actor> Unpin for Worker<A> {}

impl<A: Actor> Future for Worker<A> {
    type Output = Reason;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reason> {
        let this = &mut *self;
        // When it sleeps, the others have their turn.
        for _ in 0..turn_runs_max() {
            if let Some(side_by_side) = this.side_by_side() {
                side_by_side.poll(context);
            }
            match &mut this.stage {
                Stage::New => this.begin(),
                Stage::Ready => ready!(this.next(context)),
                Stage::Leaving(_) => ready!(this.leave(context)),
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
