//! A future that is polled as its actor: each poll is a turn, with the actor set as the thread's
//! current one.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::lifecycle::current::{self, CurrentActor};
use crate::scheduler::{ActorTask, DirectCall};
use crate::turn::open;

/// Runs an actor's future in turns. Written by hand, because an `async` block would store the
/// future twice.
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
        // The turn drops first: its publishing still belongs to the actor.
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
