//! Receipts: the delivery status of one message.
//!
//! A tell is complete when its message is sent. A caller that must know whether one particular
//! message was handled takes a receipt for it. A receipt is sent as an ask whose answer is
//! discarded, so it costs as much as an ask; unlike an ask, it is handled even if the receipt is
//! dropped.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::call::answer::Answer;
use crate::call::ask::Ask;
use crate::call::ask_target::AskTarget;
use crate::call::time_limit::TimeLimit;
use crate::call::{Answerable, Call};
use crate::error::{CallErrorKind, Refused};
use crate::reference::Priority;
use crate::reference::interface::Interface;

/// The delivery status of a message, as a [`Receipt`] reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeliveryStatus {
    /// Its handler has ended: with or without an answer, or by a panic.
    Delivered,
    /// The message was not handled and never will be. It may be sent again.
    NotDelivered,
    /// The message was not understood and not handled, for the reason given: the actor has no such
    /// method ([`NoSuchMethod`](CallErrorKind::NoSuchMethod)), takes other arguments
    /// ([`BadArguments`](CallErrorKind::BadArguments)), or is in another process and an argument
    /// cannot go there ([`NotSerializable`](CallErrorKind::NotSerializable)). Sent again, it will be
    /// rejected again.
    Rejected(CallErrorKind),
    /// Its session or its actor ended in between: it may have been handled, wholly or in part.
    Unknown,
}

impl fmt::Display for DeliveryStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeliveryStatus::Delivered => "delivered",
            DeliveryStatus::NotDelivered => "not delivered",
            DeliveryStatus::Rejected(reason) => return write!(f, "rejected: {reason}"),
            DeliveryStatus::Unknown => "unknown",
        })
    }
}

impl DeliveryStatus {
    /// The status of a message whose ask ended with an error of this kind. An ask through a reference in
    /// an answer that has not come ([`Call::pipe`]) may end with the error of the ask before it: there
    /// `Delivered` may be that of the other message.
    pub fn of(kind: CallErrorKind) -> DeliveryStatus {
        use CallErrorKind as K;
        match kind {
            // The last two concern an answer, so there was one.
            K::Panicked | K::ReplyDropped | K::Application(_) | K::BadReply | K::TooLarge => {
                DeliveryStatus::Delivered
            }
            K::NoSuchMethod | K::BadArguments => DeliveryStatus::Rejected(kind),
            _ if kind.is_safe_to_retry() => DeliveryStatus::NotDelivered,
            // A stopped actor may or may not have begun with the message. `NotSerializable` may
            // concern an argument or the answer.
            _ => DeliveryStatus::Unknown,
        }
    }
}

impl<'a, I: Interface, R: Answerable<I>> Call<'a, I, R> {
    /// Sends the message as [`tell`](Call::tell) does, in order with all other messages, and
    /// returns a receipt: a future of its [`DeliveryStatus`].
    ///
    /// The time limit of the call bounds the wait for room only, as with a tell.
    ///
    /// ```
    /// # use wigwag_actor::{Answerable, Call, DeliveryStatus, Interface};
    /// # async fn store<I: Interface>(call: Call<'_, I, ()>) -> bool where (): Answerable<I> {
    /// let Ok(receipt) = call.receipt().await else { return false };
    /// receipt.await == DeliveryStatus::Delivered
    /// # }
    /// ```
    ///
    /// # Limits
    /// In a session with another process the receipt counts as one of the 65,536 asks that may be
    /// under way; the next one waits.
    ///
    /// # Errors
    /// [`Refused`], with the message, when it was not sent.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits for room, the message is not sent. Dropping the
    /// receipt changes nothing: the message is still handled.
    pub async fn receipt(self) -> Result<Receipt<'a, I, R>, Refused<I::Message>> {
        let limit = TimeLimit::new(self.timeout);
        let target = AskTarget::Borrowed(self.target);
        let answer = Ask::new(target, self.message, limit, Priority::Ordinary).sent().await?;
        Ok(Receipt { answer: Some(answer), is_behind_ask: self.target.is_behind_ask() })
    }
}

/// A future of the [`DeliveryStatus`] of a message that has been sent; see [`Call::receipt`].
///
/// It completes when the message was handled, or when the actor or the session ends. There is no
/// time limit: a session that is cut off is kept for the time its node has set. Inside a handler,
/// the receipt of a message to the same actor waits for itself.
#[must_use = "a receipt that nobody waits for costs an ask and says nothing"]
pub struct Receipt<'a, I: Interface, R: Answerable<I>> {
    answer: Option<Answer<'a, I, R>>,
    /// An error may be that of another ask, whose answer leads to the actor.
    is_behind_ask: bool,
}

impl<I: Interface, R: Answerable<I>> Unpin for Receipt<'_, I, R> {}

impl<I: Interface, R: Answerable<I>> Future for Receipt<'_, I, R> {
    type Output = DeliveryStatus;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<DeliveryStatus> {
        let Some(answer) = &mut self.answer else { return Poll::Pending };
        let outcome = std::task::ready!(Pin::new(answer).poll(context));
        self.answer = None;
        Poll::Ready(match outcome.map_err(|error| DeliveryStatus::of(error.kind)) {
            Ok(_) => DeliveryStatus::Delivered,
            // Where the error is that of the other ask, the message was not handled.
            Err(DeliveryStatus::Delivered) if self.is_behind_ask => DeliveryStatus::Unknown,
            Err(status) => status,
        })
    }
}

impl<I: Interface, R: Answerable<I>> Drop for Receipt<'_, I, R> {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            answer.disown();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_named_as_in_the_guarantees() {
        use DeliveryStatus as S;
        let names = [S::Delivered, S::NotDelivered, S::Unknown].map(|status| status.to_string());
        assert_eq!(names, ["delivered", "not delivered", "unknown"]);
        let rejected = S::of(CallErrorKind::BadArguments);
        assert_eq!(rejected.to_string(), "rejected: the method takes other arguments");
    }
}
