//! The task that an actor is.
//!
//! It takes a chunk of mail, handles its calls one after the other, and takes the next; control mail
//! goes before each call. After [`TURN_RUNS_MAX`] chunks it lets the other tasks of its thread have
//! their turn. A panic ends the actor: the asker hears `Panicked`, everybody else `ActorStopped`.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use crate::control::{Control, Order};
use crate::error::CallErrorKind;
use crate::handle::Living;
use crate::interface::Actor;
use crate::limits::TURN_RUNS_MAX;
use crate::mailbox::{Mailbox, Next, Taken};
use crate::queue::{Chunk, Queue};
use crate::reason::Reason;
use crate::reply::{Gathered, Reply, ending};
use crate::run::{Arrived, Left, Pause, Run, Source};
use crate::this::{This, untie};

/// The mailbox of an actor, seen from inside. However the actor's task ends, by itself, by a panic or
/// with its runtime, everybody hears of it.
pub(crate) struct Seat<M: Send + 'static>(Arc<Mailbox<M>>);

impl<M: Send + 'static> Seat<M> {
    pub(crate) fn new(mailbox: Arc<Mailbox<M>>) -> Seat<M> {
        Seat(mailbox)
    }

    pub(crate) fn mailbox(&self) -> &Arc<Mailbox<M>> {
        &self.0
    }

    /// The actor has ended.
    pub(crate) fn end(&self, reason: Reason) {
        self.0.clone().end(reason);
    }
}

impl<M: Send + 'static> Drop for Seat<M> {
    fn drop(&mut self) {
        self.end(Reason::RuntimeGone);
    }
}

/// One life: from the state that it begins with to the reason for its end.
pub(crate) struct Worker<'a, A: Actor> {
    actor: A,
    this: This<A>,
    seat: &'a Seat<A::Message>,
    gathered: Gathered,
}

impl<'a, A: Actor> Worker<'a, A> {
    pub(crate) fn new(actor: A, seat: &'a Seat<A::Message>) -> Worker<'a, A> {
        let this = This::new(seat.0.clone());
        Worker { actor, this, seat, gathered: Gathered::default() }
    }

    /// Runs the hook of the start; calls wait meanwhile.
    pub(crate) async fn start(&mut self) -> Result<(), Reason> {
        let mailbox = &self.seat.0;
        attended(mailbox, self.actor.started(&self.this)).await?
    }

    /// Handles mail until the end, runs the hook of the end, and says why it came.
    pub(crate) async fn run(mut self) -> Reason {
        let reason = match self.deliver().await {
            Ok(reason) | Err(reason) => reason,
        };
        if let Reason::Panicked(text) = &reason {
            let actor = &**self.seat.0.target();
            tracing::error!(actor, "a handler panicked, the actor has stopped: {text}");
        } else if reason != Reason::Killed {
            let stopped = self.actor.stopped(&self.this, &reason);
            if let Err(Reason::Killed) = attended(&self.seat.0, stopped).await {
                return Reason::Killed;
            }
        }
        reason
    }

    /// What ends it early is an error.
    async fn deliver(&mut self) -> Result<Reason, Reason> {
        let mailbox = self.seat.0.clone();
        // Runs since the actor last slept: when it does, the others have their turn.
        let mut runs = 0;
        loop {
            let next = poll_fn(|context| {
                let next = mailbox.poll_next(context);
                if next.is_pending() {
                    runs = 0;
                    self.gathered.rest();
                }
                next
            });
            match next.await {
                Next::Orders => self.obey().await?,
                Next::Over if mailbox.is_sealed() => return Ok(Reason::Shutdown),
                Next::Over => return Ok(Reason::Normal),
                Next::Calls(taken) => self.handle_chunk(taken).await?,
            }
            runs += 1;
            if runs == TURN_RUNS_MAX {
                runs = 0;
                yield_now().await;
            }
        }
    }

    async fn handle_chunk(&mut self, (mut chunk, queue): Taken<A::Message>) -> Result<(), Reason> {
        if queue.is_timer && self.seat.0.control().is_marked() {
            // What control mail does may cancel the timer.
            self.seat.0.put_back(chunk, &queue);
            return Ok(());
        }
        let owner = queue.owner.as_ref();
        let outcome = match (&mut chunk, owner) {
            (Chunk::Frames(frames), Some(owner)) => {
                owner.freed(std::mem::take(&mut frames.units));
                let calls = frames.calls - frames.skip;
                let run = Run::new(Arrived::new(frames, owner), calls, &queue);
                self.handle_run(run, &queue).await
            }
            (Chunk::Frames(_), None) => Ok(()),
            (Chunk::Mails(mails), _) => {
                let calls = mails.len();
                self.handle_run(Run::new(mails.drain(), calls, &queue), &queue).await
            }
        };
        let Err((reason, left)) = outcome else {
            queue.give_back(chunk);
            return Ok(());
        };
        let left = match (left, chunk) {
            (Left::Mails(mails), _) => Chunk::Mails(mails),
            (Left::Frames(left), Chunk::Frames(mut frames)) => {
                frames.skip = frames.calls - left.min(frames.calls);
                Chunk::Frames(frames)
            }
            (Left::Frames(_), chunk) => chunk,
        };
        self.seat.0.put_back(left, &queue);
        Err(reason)
    }

    /// Handles the calls of a run. An error: why the actor ends, and what was not begun.
    async fn handle_run(
        &mut self,
        mut run: Run<'_, A, impl Source<A>>,
        queue: &Queue<A::Message>,
    ) -> Result<(), (Reason, Left<A::Message>)> {
        let mailbox = &self.seat.0;
        let mut reply = Reply::of_run(queue.owner.as_ref(), std::mem::take(&mut self.gathered));
        // The call of a timer begins now or never: no control mail goes before it.
        let none = Control::new();
        let control = if queue.is_timer { &none } else { mailbox.control() };
        loop {
            let actor = &mut self.actor;
            let handled = AssertUnwindSafe(|| run.source.handle(actor, &mut reply, control));
            let pause = catch_unwind(handled);
            // Here, because an `async` handler may end the turn.
            reply.hand_over();
            let (ended, in_call) = match pause {
                Ok(Pause::End) => break,
                Ok(Pause::Orders) => (obey(&mut self.actor, &self.this, mailbox).await, false),
                Ok(Pause::Later(message)) => {
                    let handler = self.actor.handle_later(message, reply.take_owned());
                    (attended(mailbox, handler).await, true)
                }
                Err(payload) => {
                    reply.fail(CallErrorKind::Panicked, "");
                    (Err(Reason::panicked(&*payload)), true)
                }
            };
            if let Err(reason) = ended {
                return Err((reason, run.finish(in_call)));
            }
        }
        run.finish(false);
        self.gathered = reply.into_gathered();
        Ok(())
    }

    async fn obey(&mut self) -> Result<(), Reason> {
        obey(&mut self.actor, &self.this, &self.seat.0).await
    }
}

/// Does what control mail says; an error is the reason for which the actor ends.
async fn obey<A: Actor>(
    actor: &mut A,
    this: &This<A>,
    mailbox: &Arc<Mailbox<A::Message>>,
) -> Result<(), Reason> {
    let control = mailbox.control();
    let mut suspended = false;
    loop {
        match control.take() {
            None => {
                if let Some(reason) = control.ended() {
                    return Err(reason);
                }
                if !suspended {
                    return Ok(());
                }
                poll_fn(|context| match control.register(context) {
                    true => Poll::Ready(()),
                    false => Poll::Pending,
                })
                .await;
            }
            Some(Order::Stop(reason)) => return Err(reason),
            Some(Order::Drain) => mailbox.seal(),
            Some(Order::Suspend) => suspended = true,
            Some(Order::Resume) => suspended = false,
            Some(Order::Down(down)) => caught(|| actor.down(this, down))?,
            Some(Order::Exit(exit)) => {
                untie(&**mailbox, &exit);
                caught(|| actor.exited(this, exit))??;
            }
            Some(Order::Visit(visit)) => {
                let any: &mut dyn Any = actor;
                caught(|| visit(any))?;
            }
        }
    }
}

fn caught<T>(hook: impl FnOnce() -> T) -> Result<T, Reason> {
    catch_unwind(AssertUnwindSafe(hook)).map_err(|payload| Reason::panicked(&*payload))
}

/// Runs a handler or a hook that may wait to its end, unless it panics or its actor is killed.
async fn attended<M: Send + 'static, T>(
    mailbox: &Mailbox<M>,
    future: impl Future<Output = T>,
) -> Result<T, Reason> {
    let mut future = pin!(Some(future));
    poll_fn(|context| {
        let control = mailbox.control();
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

async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}
