//! Tells that are sent when they do not depend on their process any more.

use std::future::poll_fn;
use std::task::{Context, Poll};

use super::Tell;
use crate::call::refused;
use crate::error::{AskError, CallError, CallErrorKind};
use crate::reference::interface::Interface;
use crate::reference::route::{Acknowledgement, Attempt};

impl<I: Interface> Tell<'_, I> {
    /// Sends the message as [`tell`](crate::Call::tell) does, in order with all other messages, and
    /// waits until it does not depend on this process any more: until it is in the mailbox of an
    /// actor of this process, or until the process of another actor has acknowledged it. Then it is
    /// in the queue of its actor there, and not even `std::process::exit` or a crash of this
    /// process loses it. Whether it was handled, [`receipt`](crate::Call::receipt) tells.
    ///
    /// ```
    /// # use wigwag_actor::{AskError, Call, Interface};
    /// # async fn last<I: Interface>(call: Call<'_, I, ()>) -> Result<(), AskError<I::Message>> {
    /// // `call` comes from a method of a reference, as in `log.append(line)`.
    /// call.tell().sent().await
    /// # }
    /// ```
    ///
    /// # Limits
    /// To another process it takes a round trip, and up to 10 ms by which a peer may delay its
    /// acknowledgement; so await many of them together, or use `Node::flush`, which waits once for
    /// all that was sent. The time limit of the call covers the whole wait, for room and for the
    /// acknowledgement. Without one the wait lasts as long as the session is kept, and inside a
    /// handler [`HANDLER_WAIT_MAX`](crate::limits::HANDLER_WAIT_MAX), 5 s.
    ///
    /// # Errors
    /// - [`AskError::Refused`], with the message, when it was not sent: what `tell` reports.
    /// - [`AskError::Failed`], when it was sent and is not acknowledged. When the session has ended
    ///   first, the kind is what a receipt would say: `NotDelivered`, so that it may be sent again,
    ///   or `Unknown`. When the time is over first, it is `Timeout`, or `Overloaded` inside a
    ///   handler; the message is sent nevertheless, as long as its session and this process live.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits for room, the message is not sent. If it is dropped
    /// while it waits for the acknowledgement, the message is sent nevertheless.
    ///
    /// # Panics
    /// When it has a time limit, has to wait, and is polled outside a tokio runtime.
    pub async fn sent(mut self) -> Result<(), AskError<I::Message>> {
        if self.message.is_none() {
            let error = CallError::new(CallErrorKind::Unknown, self.target.target());
            return Err(AskError::Failed(error.with_detail("it was sent before, as a tell")));
        }
        let acknowledged = match poll_fn(|context| self.poll_sent(context)).await {
            Ok(None) => return Ok(()),
            Ok(Some(acknowledged)) => acknowledged,
            Err(error) => return Err(AskError::Refused(refused(self.message.take(), error))),
        };
        self.acknowledged(acknowledged).await.map_err(AskError::Failed)
    }

    fn poll_sent(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Acknowledgement>, CallError>> {
        let Tell { target, message, ticket, limit, priority } = self;
        let waker = Some(context.waker());
        match target.tell_acknowledged(*priority, message, ticket, waker) {
            Attempt::Sent(acknowledged) => Poll::Ready(Ok(acknowledged)),
            Attempt::Failed(error) => Poll::Ready(Err(*error)),
            Attempt::Full => limit.poll(context).map(|kind| Err(target.gave_up(kind))),
        }
    }

    /// Waits for `acknowledged` within the time that is left.
    async fn acknowledged(&mut self, mut acknowledged: Acknowledgement) -> Result<(), CallError> {
        poll_fn(|context| match acknowledged.as_mut().poll(context) {
            Poll::Ready(outcome) => Poll::Ready(outcome),
            Poll::Pending => self.limit.poll(context).map(|kind| {
                Err(self.target.gave_up(kind).with_detail("it was sent, and not acknowledged yet"))
            }),
        })
        .await
    }
}
