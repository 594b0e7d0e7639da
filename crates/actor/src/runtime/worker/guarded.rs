//! Running an actor's own code: panics are caught, and a killed actor's future is dropped.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use tracing::Instrument;

use super::WorkStep;
use crate::lifecycle::control::Control;
use crate::lifecycle::current::{CallOwner, enter_call};
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::Mailbox;
use crate::reason::Reason;
use crate::reply::{Reply, while_ending};
use crate::runtime::actor::Actor;
use crate::runtime::run::handling::{ChunkEnd, Unhandled, handle_chunk};
use crate::runtime::run::spans::{self, Spans};
use crate::runtime::run::trace::{self, TraceContext};

/// Runs an `async` handler, and then the handlers of the calls behind it.
pub(super) async fn finish<A: Actor>(
    mut actor: A,
    mailbox: Arc<Mailbox<A::Message>>,
    mut later: (A::Message, Reply<'static>, Unhandled<A::Message>),
    spans: Option<Spans>,
) -> (A, WorkStep<A::Message>) {
    let mut replies = None;
    loop {
        let (message, mut reply, left) = later;
        let trace = reply.take_trace();
        let is_ask = reply.is_wanted();
        let span = spans::span::<A>(spans, &message);
        let handler = actor.handle_later(message, reply).instrument(span);
        let (caller, handler) = (left.caller().cloned(), traced(trace, handler));
        if let Err(reason) = guarded(mailbox.control(), caller, handler).await {
            left.put_back(&mailbox);
            return (actor, WorkStep::End(reason));
        }
        left.handled_one(is_ask);
        match handle_chunk(&mut actor, left, &mailbox, &mut replies, spans) {
            ChunkEnd::Done => return (actor, WorkStep::GoOn),
            ChunkEnd::Orders(left) => {
                left.put_back(&mailbox);
                return (actor, WorkStep::GoOn);
            }
            ChunkEnd::Failed(reason, left) => {
                left.put_back(&mailbox);
                return (actor, WorkStep::End(reason));
            }
            ChunkEnd::Later(message, reply, left) => later = (message, reply, left),
            ChunkEnd::SideBySide(call, left) => {
                return (actor, WorkStep::SideBySide(Box::new((call, left))));
            }
        }
    }
}

/// Runs a handler with the trace context of its call, if it has one.
async fn traced<F: Future>(trace: Option<Box<TraceContext>>, handler: F) -> F::Output {
    match trace {
        None => handler.await,
        Some(context) => trace::within(*context, handler).await,
    }
}

/// Logs the text of a panic.
pub(super) fn report<M: Send + 'static>(mailbox: &Mailbox<M>, reason: &Reason) {
    if let Reason::Panicked(text) = reason {
        let actor = &**mailbox.target();
        tracing::error!(actor, "a handler panicked, the actor has stopped: {text}");
    }
}

/// False when the actor's state may be inconsistent: after a panic or a kill.
pub(super) fn is_known(reason: &Reason) -> bool {
    !matches!(reason, Reason::Panicked(_) | Reason::Killed)
}

pub(super) fn caught<T>(hook: impl FnOnce() -> T) -> Result<T, Reason> {
    catch_unwind(AssertUnwindSafe(hook)).map_err(Reason::panicked)
}

/// Drops the state of an actor that ends for `reason`. Returns that reason, or that the destructor has
/// panicked if the end was wanted.
pub(super) fn dropped<A>(actor: A, reason: Reason) -> Reason {
    match caught(|| while_ending(|| drop(actor))) {
        Err(panicked) if reason.is_wanted() => panicked,
        _ => reason,
    }
}

/// Runs the handler of a call of `caller`, or a hook, that may wait, until it ends, panics, or its
/// actor is killed.
pub(super) async fn guarded<T>(
    control: &Control,
    caller: Option<CallOwner>,
    future: impl Future<Output = T>,
) -> Result<T, Reason> {
    let mut future = pin!(Some(future));
    poll_fn(|context| {
        if control.register(context)
            && let Some(reason) = control.ended()
        {
            // The reason of the end stands, also if a destructor panics.
            let _ = caught(|| while_ending(|| future.set(None)));
            return Poll::Ready(Err(reason));
        }
        let Some(future) = future.as_mut().as_pin_mut() else { return Poll::Pending };
        let _call = caller.as_ref().map(enter_call);
        match catch_unwind(AssertUnwindSafe(|| future.poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(payload) => Poll::Ready(Err(Reason::panicked(payload))),
        }
    })
    .await
}
