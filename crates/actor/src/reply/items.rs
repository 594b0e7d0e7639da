//! The producer's end of a stream that a handler answers with.

use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use wigwag_wire::hint::{write_debug, write_hint};

use crate::error::CallErrorKind;
use crate::reply::Reply;
use crate::reply::flow::{Flow, Offered};

/// The producer's end of a stream: a handler sends its reply through it item by item.
///
/// A parameter `items: Yield<T>` of a handler that returns nothing makes the reply of the call a
/// stream of `T`, which the caller takes from a [`Streaming`](crate::Streaming). An `async` handler
/// may send the items itself; any handler may keep the `Yield` in the actor's state or move it into
/// a task, and return.
///
/// ```
/// # use wigwag_actor::Yield;
/// async fn count(mut items: Yield<u64>) {
///     for number in 0..1_000 {
///         if items.send(number).await.is_err() {
///             return; // the consumer has gone
///         }
///     }
///     items.finish();
/// }
/// ```
///
/// # Credit
/// The producer may be [`ITEMS_AHEAD`](crate::limits::ITEMS_AHEAD) items ahead of the consumer, or
/// the number that the caller has set; then [`send`](Self::send) waits and
/// [`try_send`](Self::try_send) gives the item back. A waiting producer is woken when half of the
/// items are taken. An `async` handler that sends the items itself delays the calls behind it for
/// as long as its consumer takes.
///
/// # The end
/// The consumer gets every item that was sent, in order, and then one end: that of
/// [`finish`](Self::finish), the error of [`fail`](Self::fail), or, if the `Yield` is dropped
/// before either, an error: `ReplyDropped`; `ActorStopped` when it is dropped with its actor;
/// `Panicked` when a panic drops it. A `Yield` that was moved into a task outlives the actor and
/// belongs to the task.
///
/// # Limits
/// Streams stay in their process. A call from another one is answered with
/// [`NotSerializable`](CallErrorKind::NotSerializable) and its handler does not run. A call that
/// was told has no consumer: every item comes back.
pub struct Yield<T> {
    reply: Reply<'static>,
    flow: Option<Arc<Flow<T>>>,
}

/// The error of a send whose consumer has gone, with the item that was not sent.
///
/// [`Yield::send`] returns it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Unwanted<T>(pub T);

/// The error of [`Yield::try_send`], with the item that was not sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NotSent<T> {
    /// The consumer must take items first.
    NoCredit(T),
    /// The consumer has gone.
    Unwanted(T),
}

impl<T: Send + 'static> Yield<T> {
    /// For the code that `#[wigwag::actor]` generates.
    #[doc(hidden)]
    pub fn new(reply: &mut Reply<'_>) -> Yield<T> {
        let mut reply = reply.take_owned();
        let flow = reply.local().and_then(|place| {
            let any: Arc<dyn Any + Send + Sync> = place;
            any.downcast::<Flow<T>>().ok()
        });
        if flow.is_none() && reply.is_wanted() {
            // A message built by hand was asked although its method answers with a stream.
            reply.fail(CallErrorKind::BadReply, "the method answers with a stream");
        }
        Yield { reply, flow }
    }

    /// Sends an item, waiting for credit.
    ///
    /// # Errors
    /// [`Unwanted`], with the item, when the consumer has gone.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, the item is not sent and is dropped with it.
    pub async fn send(&mut self, item: T) -> Result<(), Unwanted<T>> {
        let Some(flow) = &self.flow else { return Err(Unwanted(item)) };
        let mut left = Some(item);
        poll_fn(|context| {
            // A future that was ready is not polled again.
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
    /// [`NotSent`], with the item: `NoCredit` is worth another attempt, `Unwanted` is not.
    pub fn try_send(&mut self, item: T) -> Result<(), NotSent<T>> {
        let Some(flow) = &self.flow else { return Err(NotSent::Unwanted(item)) };
        match flow.offer(item, None) {
            Offered::In => Ok(()),
            Offered::Full(item) => Err(NotSent::NoCredit(item)),
            Offered::Unwanted(item) => Err(NotSent::Unwanted(item)),
        }
    }

    /// The number of items that may be sent without waiting; 0 when the consumer has gone.
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
    /// The future may be dropped at any time without effect.
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

    /// Ends the stream with an error of the application's own: its number, 0x8000 and above, and a
    /// detail for the reader.
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
    /// Takes the item back.
    pub fn into_inner(self) -> T {
        match self {
            NotSent::NoCredit(item) | NotSent::Unwanted(item) => item,
        }
    }

    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            NotSent::NoCredit(_) => "wait for the consumer with `Yield::send`",
            NotSent::Unwanted(_) => "stop producing items, and drop this one",
        }
    }
}

/// The text of both errors for a stream that nobody consumes.
const CONSUMER_GONE: &str = "the consumer of the stream has gone";

impl<T> Unwanted<T> {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        "stop producing items, and drop this one"
    }
}

impl<T> fmt::Debug for Unwanted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "Unwanted", None, self, self.hint())
    }
}

impl<T> fmt::Display for Unwanted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CONSUMER_GONE)?;
        write_hint(f, self.hint())
    }
}

impl<T> std::error::Error for Unwanted<T> {}

impl<T> fmt::Debug for NotSent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "NotSent", None, self, self.hint())
    }
}

impl<T> fmt::Display for NotSent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotSent::NoCredit(_) => f.write_str("the consumer of the stream must take items first"),
            NotSent::Unwanted(_) => f.write_str(CONSUMER_GONE),
        }?;
        write_hint(f, self.hint())
    }
}

impl<T> std::error::Error for NotSent<T> {}
