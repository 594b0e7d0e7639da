//! The producer's end of a stream that a handler answers with.

use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use crate::error::CallErrorKind;
use crate::reply::Reply;
use crate::reply::flow::{Flow, Offered};

/// The items that a handler owes, one after the other: a parameter `items: Yield<T>` of a handler that
/// returns nothing makes the reply of the call a stream of `T`, which the caller takes from a
/// [`Streaming`](crate::Streaming). The handler may send from inside, if it is `async`, or keep this
/// in the actor, or move it into a task, and go on.
///
/// # Credit
/// The producer may be [`ITEMS_AHEAD`](crate::limits::ITEMS_AHEAD) items ahead of the consumer, or as
/// many as the caller has said; then [`send`](Self::send) waits and [`try_send`](Self::try_send)
/// gives the item back. A producer that waits is woken when half of them are taken. An `async` handler
/// that sends from inside holds up the calls behind it for as long as its consumer likes.
///
/// # The end
/// The consumer gets every item that was sent, in order, and then exactly one end:
/// [`finish`](Self::finish) or the error of [`fail`](Self::fail). If the `Yield` is dropped before
/// either, the end is `ReplyDropped`, `ActorStopped` if it is dropped with its actor, or `Panicked`
/// if a panic drops it. A `Yield` that was moved into a task outlives the actor.
///
/// # Where
/// Streams stay in their process. A call from another one is answered with
/// [`NotSerializable`](CallErrorKind::NotSerializable) and its handler does not run. A call that was told has no
/// consumer: every item comes back.
pub struct Yield<T> {
    reply: Reply<'static>,
    flow: Option<Arc<Flow<T>>>,
}

/// The consumer has gone; here is the item that it did not want.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Unwanted<T>(pub T);

/// An item that was not sent now, and why.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NotSent<T> {
    /// The consumer has to take items first.
    NoCredit(T),
    /// The consumer has gone.
    Unwanted(T),
}

impl<T: Send + 'static> Yield<T> {
    /// For what `#[wigwag::actor]` writes.
    #[doc(hidden)]
    pub fn new(reply: &mut Reply<'_>) -> Yield<T> {
        let mut reply = reply.take_owned();
        let flow = reply.local().and_then(|place| {
            let any: Arc<dyn Any + Send + Sync> = place;
            any.downcast::<Flow<T>>().ok()
        });
        if flow.is_none() && reply.is_wanted() {
            // Somebody has made an ask of the message by hand.
            reply.fail(CallErrorKind::BadReply, "the method answers with a stream");
        }
        Yield { reply, flow }
    }

    /// Sends an item, waiting for credit.
    ///
    /// # Errors
    /// The item, when the consumer has gone.
    ///
    /// # Cancellation
    /// Dropped while it waits, the item is not sent and is dropped with the future.
    pub async fn send(&mut self, item: T) -> Result<(), Unwanted<T>> {
        let Some(flow) = &self.flow else { return Err(Unwanted(item)) };
        let mut left = Some(item);
        poll_fn(|context| {
            // Nobody polls again what was ready.
            let Some(item) = left.take() else { return Poll::Pending };
            match flow.offer(item, Some(context.waker())) {
                Offered::In => Poll::Ready(Ok(())),
                Offered::Unwanted(item) => Poll::Ready(Err(Unwanted(item))),
                Offered::Full(item) => {
                    left = Some(item);
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Sends an item if there is credit.
    ///
    /// # Errors
    /// The item, and whether it is worth trying again.
    pub fn try_send(&mut self, item: T) -> Result<(), NotSent<T>> {
        let Some(flow) = &self.flow else { return Err(NotSent::Unwanted(item)) };
        match flow.offer(item, None) {
            Offered::In => Ok(()),
            Offered::Full(item) => Err(NotSent::NoCredit(item)),
            Offered::Unwanted(item) => Err(NotSent::Unwanted(item)),
        }
    }

    /// Items that may be sent without waiting; none when the consumer has gone.
    pub fn credit(&self) -> usize {
        self.flow.as_ref().map_or(0, |flow| flow.credit())
    }

    /// False when the consumer has gone, or when the call was told.
    pub fn is_wanted(&self) -> bool {
        self.flow.as_ref().is_some_and(|flow| flow.is_wanted())
    }

    /// Waits until the consumer has gone.
    ///
    /// # Cancellation
    /// It may be dropped at any time.
    pub async fn closed(&mut self) {
        if let Some(flow) = &self.flow {
            poll_fn(|context| flow.poll_unwanted(context.waker())).await;
        }
    }

    /// Ends the stream: the consumer gets `None` after the last item.
    pub fn finish(self) {
        if let Some(flow) = &self.flow {
            flow.end(Ok(()));
        }
    }

    /// Ends the stream with an error of the application's own, 0x8000 and above, and what there is to
    /// say.
    pub fn fail(mut self, code: u16, detail: &str) {
        self.reply.fail(CallErrorKind::Application(code | 0x8000), detail);
    }
}

impl<T> fmt::Debug for Yield<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = self.flow.as_ref().is_some_and(|flow| flow.is_wanted());
        f.debug_struct("Yield").field("wanted", &wanted).finish()
    }
}

impl<T> NotSent<T> {
    /// The item.
    pub fn into_inner(self) -> T {
        match self {
            NotSent::NoCredit(item) | NotSent::Unwanted(item) => item,
        }
    }
}

impl<T> fmt::Debug for Unwanted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unwanted").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Unwanted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the consumer of the stream has gone; stop producing")
    }
}

impl<T> std::error::Error for Unwanted<T> {}

impl<T> fmt::Debug for NotSent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if matches!(self, NotSent::NoCredit(_)) { "NoCredit" } else { "Unwanted" };
        f.debug_tuple(name).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for NotSent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotSent::NoCredit(_) => {
                f.write_str("the consumer has to take items first; wait with send().await")
            }
            NotSent::Unwanted(_) => {
                f.write_str("the consumer of the stream has gone; stop producing")
            }
        }
    }
}

impl<T> std::error::Error for NotSent<T> {}
