//! The producer's end of a stream that a handler answers with.

use std::any::Any;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use wigwag_wire::Encode;
use wigwag_wire::hint::{write_debug, write_hint};
use wigwag_wire::small::DynEncode;

use crate::error::CallErrorKind;
use crate::reply::Reply;
use crate::reply::flow::{Flow, Offered};
use crate::reply::owner::{ItemOffer, ItemSink};

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
/// A consumer in another process grants credit in units of 64 bytes of encoded items: 512 KiB for
/// each stream, and less when it reads very many, or as many units as items that the caller has set.
/// So an item of up to some 55 bytes takes one unit, and a producer is never more items ahead than
/// the caller allows.
///
/// # The end
/// The consumer gets every item that was sent, in order, and then one end: that of
/// [`finish`](Self::finish), the error of [`fail`](Self::fail), or, if the `Yield` is dropped
/// before either, an error: `ReplyDropped`; `ActorStopped` when it is dropped with its actor;
/// `Panicked` when a panic drops it. A `Yield` that was moved into a task outlives the actor and
/// belongs to the task.
///
/// # Limits
/// A call that was told has no consumer: every item comes back.
///
/// An item for a consumer in another process is at most one frame of its node, 64 KiB encoded. A
/// longer one comes back as [`Unwanted`], and the stream ends with
/// [`TooLarge`](CallErrorKind::TooLarge), which says both sizes. An item that cannot leave its
/// process ends it with [`NotSerializable`](CallErrorKind::NotSerializable).
pub struct Yield<T> {
    /// In front of the reply, so that it is dropped first: the end comes behind the items.
    consumer: Consumer<T>,
    reply: Reply<'static>,
}

/// Where the items go.
enum Consumer<T> {
    Nobody,
    Here(Arc<Flow<T>>),
    /// In another process. The function gives the encoder of an item.
    Elsewhere(Box<dyn ItemSink>, fn(&T) -> &dyn DynEncode),
}

fn encoder<T: Encode>(item: &T) -> &dyn DynEncode {
    item
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
    pub fn new(reply: &mut Reply<'_>) -> Yield<T>
    where
        T: Encode,
    {
        Yield::with_encoder(reply, T::TRAVELS.then_some(encoder::<T>))
    }

    /// For a local actor, whose items have no encoding.
    #[doc(hidden)]
    pub fn in_process(reply: &mut Reply<'_>) -> Yield<T> {
        Yield::with_encoder(reply, None)
    }

    fn with_encoder(reply: &mut Reply<'_>, encoder: Option<fn(&T) -> &dyn DynEncode>) -> Yield<T> {
        let mut reply = reply.take_owned();
        let flow = reply.local().and_then(|place| {
            let any: Arc<dyn Any + Send + Sync> = place;
            any.downcast::<Flow<T>>().ok()
        });
        let consumer = match (flow, encoder) {
            (Some(flow), _) => Consumer::Here(flow),
            (None, None) if reply.is_elsewhere() => {
                reply.fail(CallErrorKind::NotSerializable, "the items do not travel");
                Consumer::Nobody
            }
            (None, encoder) => match (reply.open_items(), encoder) {
                (Some(sink), Some(encoder)) => Consumer::Elsewhere(sink, encoder),
                _ => Consumer::Nobody,
            },
        };
        if let (Consumer::Nobody, true) = (&consumer, reply.is_wanted()) {
            // A message built by hand was asked although its method answers with a stream.
            let kind = match reply.is_elsewhere() {
                true => CallErrorKind::NotSerializable,
                false => CallErrorKind::BadReply,
            };
            reply.fail(kind, "the method answers with a stream");
        }
        Yield { consumer, reply }
    }

    fn offer(&mut self, item: T, waker: Option<&Waker>) -> Offered<T> {
        let (sink, encoder) = match &mut self.consumer {
            Consumer::Nobody => return Offered::Unwanted(item),
            Consumer::Here(flow) => return flow.offer(item, waker),
            Consumer::Elsewhere(sink, encoder) => (sink, encoder),
        };
        match sink.offer(encoder(&item), waker) {
            ItemOffer::Sent => Offered::In,
            ItemOffer::Full => Offered::Full(item),
            ItemOffer::Unwanted => Offered::Unwanted(item),
            ItemOffer::Refused(kind, why) => {
                // Its drop settles it.
                self.consumer = Consumer::Nobody;
                self.reply.fail(kind, &why);
                Offered::Unwanted(item)
            }
        }
    }

    /// Sends an item, waiting for credit.
    ///
    /// # Errors
    /// [`Unwanted`], with the item, when the consumer has gone.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, the item is not sent and is dropped with it.
    pub async fn send(&mut self, item: T) -> Result<(), Unwanted<T>> {
        let mut left = Some(item);
        poll_fn(|context| {
            // A future that was ready is not polled again.
            let Some(item) = left.take() else { return Poll::Pending };
            match self.offer(item, Some(context.waker())) {
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
        match self.offer(item, None) {
            Offered::In => Ok(()),
            Offered::Full(item) => Err(NotSent::NoCredit(item)),
            Offered::Unwanted(item) => Err(NotSent::Unwanted(item)),
        }
    }

    /// The number of items that may be sent without waiting; 0 when the consumer has gone. For a
    /// consumer in another process, the number of short ones.
    pub fn credit(&self) -> usize {
        match &self.consumer {
            Consumer::Nobody => 0,
            Consumer::Here(flow) => flow.credit(),
            Consumer::Elsewhere(sink, _) => usize::try_from(sink.credit()).unwrap_or(usize::MAX),
        }
    }

    /// False when the consumer has gone, or when the call was told.
    pub fn is_wanted(&self) -> bool {
        match &self.consumer {
            Consumer::Nobody => false,
            Consumer::Here(flow) => flow.is_wanted(),
            Consumer::Elsewhere(sink, _) => sink.is_wanted(),
        }
    }

    /// Waits until the consumer has gone.
    ///
    /// # Cancellation
    /// The future may be dropped at any time without effect.
    pub async fn closed(&mut self) {
        poll_fn(|context| match &self.consumer {
            Consumer::Nobody => Poll::Ready(()),
            Consumer::Here(flow) => flow.poll_unwanted(context.waker()),
            Consumer::Elsewhere(sink, _) => sink.poll_unwanted(context.waker()),
        })
        .await;
    }

    /// Ends the stream: the consumer gets `None` after the last item.
    pub fn finish(mut self) {
        match &mut self.consumer {
            Consumer::Nobody => {}
            Consumer::Here(flow) => flow.end(Ok(())),
            // The end of the ask is that of the stream.
            Consumer::Elsewhere(sink, _) => {
                sink.settle();
                self.reply.send(());
            }
        }
    }

    /// Ends the stream with an error of the application's own: its number, 0x8000 and above, and a
    /// detail for the reader.
    pub fn fail(mut self, code: u16, detail: &str) {
        if let Consumer::Elsewhere(sink, _) = &mut self.consumer {
            sink.settle();
        }
        self.reply.fail(CallErrorKind::Application(code | 0x8000), detail);
    }
}

impl<T> fmt::Debug for Yield<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = match &self.consumer {
            Consumer::Nobody => false,
            Consumer::Here(flow) => flow.is_wanted(),
            Consumer::Elsewhere(sink, _) => sink.is_wanted(),
        };
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
