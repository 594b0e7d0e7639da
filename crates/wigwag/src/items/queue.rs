//! The queue between the sender of a stream and the reader of it.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};

use wigwag_actor::reply::flow::{Flow, Offered};
use wigwag_actor::reply::kind_of_drop;
use wigwag_actor::{CallError, CallErrorKind, NotSent, Unwanted};

use crate::streams::inbox::Failure;

/// The detail of the error of a stream whose sender was dropped.
const NOT_FINISHED: &str = "the sender was dropped and had not finished the stream";
/// The detail for a sender whose reader was dropped.
const NOT_READ: &str = "the reader of the stream has gone";

struct Queue<T> {
    flow: Flow<T>,
    /// Why the reader has gone.
    gone: OnceLock<Failure>,
}

/// The sender of a stream that is an argument of a call: the other end of an
/// [`Items`](crate::Items), whose [`channel`](crate::Items::channel) makes both.
///
/// Items may be sent before the call is sent, as far as the queue has room.
///
/// # The end
/// The reader gets every item that was sent, in order, and then one end: that of
/// [`finish`](Self::finish), the error of [`fail`](Self::fail), or, if the sender is dropped before
/// either, `Cancelled`; `Panicked` if a panic drops it.
///
/// # Limits
/// An item for a reader in another process is at most one frame of its node, 64 KiB encoded. A longer
/// one ends the stream with [`TooLarge`](CallErrorKind::TooLarge) at both ends.
pub struct ItemSender<T: Send + 'static>(Arc<Queue<T>>);

/// The reader's end of the queue of an [`ItemSender`].
pub(crate) struct QueueReader<T: Send + 'static> {
    queue: Arc<Queue<T>>,
    /// Items that were taken out of it together.
    taken: VecDeque<T>,
}

/// Makes a queue with room for so many items.
pub(crate) fn queue<T: Send + 'static>(ahead: usize) -> (ItemSender<T>, QueueReader<T>) {
    let queue = Arc::new(Queue { flow: Flow::new(), gone: OnceLock::new() });
    queue.flow.set_ahead(ahead);
    (ItemSender(queue.clone()), QueueReader { queue, taken: VecDeque::new() })
}

impl<T: Send + 'static> ItemSender<T> {
    /// Sends an item, waiting for room in the queue.
    ///
    /// # Errors
    /// [`Unwanted`], with the item, when the reader has gone; [`closed`](Self::closed) says why.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, the item is not sent and is dropped with it.
    pub async fn send(&mut self, item: T) -> Result<(), Unwanted<T>> {
        let mut left = Some(item);
        poll_fn(|context| {
            // A future that was ready is not polled again.
            let Some(item) = left.take() else { return Poll::Pending };
            match self.0.flow.offer(item, Some(context.waker())) {
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

    /// Sends an item if there is room in the queue.
    ///
    /// # Errors
    /// [`NotSent`], with the item: `NoCredit` is worth another attempt, `Unwanted` is not.
    pub fn try_send(&mut self, item: T) -> Result<(), NotSent<T>> {
        match self.0.flow.offer(item, None) {
            Offered::In => Ok(()),
            Offered::Full(item) => Err(NotSent::NoCredit(item)),
            Offered::Unwanted(item) => Err(NotSent::Unwanted(item)),
        }
    }

    /// False when the reader has gone.
    pub fn is_wanted(&self) -> bool {
        self.0.flow.is_wanted()
    }

    /// Waits until the reader has gone, and returns why: the error of the call that the stream was an
    /// argument of if it was not handled, as `NoSuchMethod` or `BadArguments`; `ActorStopped` or
    /// `Panicked` if the actor has dropped the stream with its state; `Cancelled` if the handler has
    /// dropped it; `Unknown` if the session has ended.
    ///
    /// # Cancellation
    /// The future may be dropped at any time without effect.
    pub async fn closed(&mut self) -> CallError {
        poll_fn(|context| self.0.flow.poll_unwanted(context.waker())).await;
        let (kind, text) = self
            .0
            .gone
            .get()
            .cloned()
            .unwrap_or_else(|| (CallErrorKind::Cancelled, NOT_READ.into()));
        failed(kind, &text, &"the reader of a stream".into())
    }

    /// Ends the stream: the reader gets `None` after the last item.
    pub fn finish(self) {
        self.0.flow.end(Ok(()));
    }

    /// Ends the stream with an error of the application's own: its number, 0x8000 and above, and a
    /// detail for the reader.
    pub fn fail(self, code: u16, detail: &str) {
        let kind = CallErrorKind::Application(code | 0x8000);
        self.0.flow.end(Err((kind, Some(detail.into()))));
    }
}

/// The error of a stream with this text.
pub(crate) fn failed(kind: CallErrorKind, text: &str, target: &Arc<str>) -> CallError {
    let error = CallError::new(kind, target);
    if text.is_empty() { error } else { error.with_detail(text) }
}

impl<T: Send + 'static> Drop for ItemSender<T> {
    fn drop(&mut self) {
        // Only the first end counts.
        let kind = kind_of_drop(CallErrorKind::Cancelled);
        self.0.flow.end(Err((kind, Some(NOT_FINISHED.into()))));
    }
}

impl<T: Send + 'static> fmt::Debug for ItemSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemSender").field("wanted", &self.is_wanted()).finish()
    }
}

impl<T: Send + 'static> QueueReader<T> {
    pub(crate) fn poll_next(&mut self, waker: &Waker) -> Poll<Option<Result<T, Failure>>> {
        let next = self.queue.flow.poll_next(&mut self.taken, waker);
        next.map(|next| Some(next?.map_err(|(kind, text)| (kind, text.unwrap_or_default()))))
    }

    /// Tells the sender why it is read no further.
    pub(crate) fn leave(&self, why: Failure) {
        // Before the queue is abandoned. Only the first reason counts.
        let _ = self.queue.gone.set(why);
    }
}

impl<T: Send + 'static> Drop for QueueReader<T> {
    fn drop(&mut self) {
        self.leave((kind_of_drop(CallErrorKind::Cancelled), NOT_READ.into()));
        self.queue.flow.abandon();
    }
}
