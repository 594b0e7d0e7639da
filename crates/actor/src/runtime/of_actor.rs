//! A future that is polled as its actor: in turns of its own, and known to its thread.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::lifecycle::current::{self, Own};
use crate::scheduler::{AtHand, Live};
use crate::turn::open;

/// Runs the actor that a mailbox belongs to in turns. By hand, because an `async` block would hold
/// its future twice.
pub(crate) struct OfActor<F> {
    own: Option<Own>,
    future: F,
}

impl<F> OfActor<F> {
    pub(crate) fn new(own: Own, future: F) -> OfActor<F> {
        OfActor { own: Some(own), future }
    }
}

impl<F: Future + Unpin> Future for OfActor<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        // The turn is over first: what it publishes is the actor's still.
        let _entered = current::enter(&mut this.own);
        let _turn = open(true);
        Pin::new(&mut this.future).poll(context)
    }
}

impl<F: Live> Live for OfActor<F> {
    fn poll_call(&mut self, context: &mut Context<'_>, call: &mut AtHand<'_>) -> Poll<()> {
        let _entered = current::enter(&mut self.own);
        let _turn = open(true);
        self.future.poll_call(context, call)
    }
}
