//! A receipt: what became of one message.
//!
//! A tell is finished when its message is on its way. A caller that needs to know more of a single
//! message takes a receipt for it. Internally that is an ask whose answer is not read, so it costs
//! as much as an ask; unlike an ask, it is handled whether or not anybody still waits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::call::ask::{Answer, Ask};
use crate::call::{Answerable, Call, TimeLimit};
use crate::error::{CallErrorKind, Refused};
use crate::reference::interface::Interface;

/// The outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeliveryStatus {
    /// Its handler has ended: with or without an answer, by a panic too.
    Delivered,
    /// It certainly was not handled and will not be.
    NotDelivered,
    /// Its session or its actor ended in between: it may have been handled, in part too.
    Unknown,
}

impl fmt::Display for DeliveryStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeliveryStatus::Delivered => "delivered",
            DeliveryStatus::NotDelivered => "not delivered",
            DeliveryStatus::Unknown => "unknown",
        })
    }
}

impl DeliveryStatus {
    /// The outcome of a message whose ask has ended with this kind of error.
    fn of(kind: CallErrorKind) -> DeliveryStatus {
        use CallErrorKind as K;
        match kind {
            // The last two are about an answer, so there was one.
            K::Panicked | K::ReplyDropped | K::Application(_) | K::BadReply | K::TooLarge => {
                DeliveryStatus::Delivered
            }
            K::NotDelivered
            | K::NoSuchActor
            | K::NoSuchMethod
            | K::BadArguments
            | K::CallCycle
            | K::Draining
            | K::DeadlinePassed => DeliveryStatus::NotDelivered,
            // A stopped actor may have begun with the message or not. A value that cannot leave its
            // process may be an argument or the answer. Kinds of later releases are unknown here.
            _ => DeliveryStatus::Unknown,
        }
    }
}

impl<'a, I: Interface, R: Answerable> Call<'a, I, R> {
    /// Sends the message as [`tell`](Call::tell) does, in one order with all others, and gives a
    /// receipt for it: a future of what became of it.
    ///
    /// A time limit is for the wait for room, as that of a tell. In a session with another process
    /// the receipt holds a place among the asks under way, of which there are 65,536: the next waits.
    ///
    /// # Errors
    /// The message, when it was not sent.
    ///
    /// # Cancellation
    /// Dropped while it waits for room, the message is not sent. Dropping the receipt changes
    /// nothing: the message is handled all the same.
    pub async fn receipt(self) -> Result<Receipt<'a, I, R>, Refused<I::Message>> {
        let answer =
            Ask::new(self.target, self.message, TimeLimit::new(self.timeout)).sent().await?;
        Ok(Receipt { answer: Some(answer) })
    }
}

/// A future of the [`DeliveryStatus`] of a message that is on its way.
///
/// It ends by itself when the message was handled, or the actor or the session ends. There is no
/// time limit: a session that is cut is kept for as long as its node says. In a handler, the receipt
/// of a message to the same actor waits for itself.
#[must_use = "a receipt that nobody waits for costs an ask and says nothing"]
pub struct Receipt<'a, I: Interface, R: Answerable> {
    answer: Option<Answer<'a, I, R>>,
}

impl<I: Interface, R: Answerable> Unpin for Receipt<'_, I, R> {}

impl<I: Interface, R: Answerable> Future for Receipt<'_, I, R> {
    type Output = DeliveryStatus;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<DeliveryStatus> {
        let Some(answer) = &mut self.answer else { return Poll::Pending };
        let outcome = std::task::ready!(Pin::new(answer).poll(context));
        self.answer = None;
        Poll::Ready(
            outcome
                .map_or_else(|error| DeliveryStatus::of(error.kind), |_| DeliveryStatus::Delivered),
        )
    }
}

impl<I: Interface, R: Answerable> Drop for Receipt<'_, I, R> {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            answer.disown();
        }
    }
}
