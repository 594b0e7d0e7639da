//! A future that is polled as its actor: in turns of its own, and known to its thread.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::lifecycle::current::{self, CurrentActor};
use crate::scheduler::{ActorTask, DirectCall};
use crate::turn::open;

/// Runs the actor that a mailbox belongs to in turns. By hand, because an `async` block would hold
/// its future twice.
pub(crate) struct ActorScope<F> {
    own: Option<CurrentActor>,
    future: F,
}

impl<F> ActorScope<F> {
    pub(crate) fn new(own: CurrentActor, future: F) -> ActorScope<F> {
        ActorScope { own: Some(own), future }
    }
}

impl<F: Future + Unpin> Future for ActorScope<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        // The turn is over first: what it publishes is the actor's still.
        let _entered = current::enter(&mut this.own);
        let _turn = open(true);
        Pin::new(&mut this.future).poll(context)
    }
}

impl<F: ActorTask> ActorTask for ActorScope<F> {
    fn poll_call(&mut self, context: &mut Context<'_>, call: &mut DirectCall<'_>) -> Poll<()> {
        let _entered = current::enter(&mut self.own);
        let _turn = open(true);
        self.future.poll_call(context, call)
    }
}
