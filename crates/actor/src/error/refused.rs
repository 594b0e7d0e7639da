//! The errors that give a message back.

use std::error::Error;
use std::fmt;

use super::{CallError, CallErrorKind};

/// A message that was not sent, with the reason.
///
/// ```
/// # use wigwag_actor::{Call, Interface, Ref, Refused};
/// # async fn again<I: Interface>(
/// #     reference: &Ref<I>, refused: Refused<I::Message>,
/// # ) -> Result<(), Refused<I::Message>> {
/// // With a reference that the macros generate: `reference.call::<()>(refused.message)`.
/// Call::<I, ()>::new(reference, refused.message).tell().await
/// # }
/// ```
pub struct Refused<M> {
    /// The message; `reference.call(message)` makes a new call of it.
    pub message: M,
    /// The reason why it was not sent.
    pub error: CallError,
}

impl<M> Refused<M> {
    /// Takes the error and drops the message: with `.map_err(Refused::into_error)?` a function may
    /// return the error whatever the message holds.
    pub fn into_error(self) -> CallError {
        self.error
    }
}

/// The error of an ask that has no reply, and of a tell that is not
/// [confirmed](crate::Tell::sent).
///
/// [`Refused`] and [`CallError`] are its cases; their examples show how to tell them apart.
pub enum AskError<M> {
    /// The request was not sent and comes back.
    Refused(Refused<M>),
    /// The request was sent, and no reply will arrive, or no acknowledgement in time.
    Failed(CallError),
}

impl<M> AskError<M> {
    /// The error, whether or not the request was sent.
    pub fn error(&self) -> &CallError {
        match self {
            AskError::Refused(refused) => &refused.error,
            AskError::Failed(error) => error,
        }
    }

    /// The kind of the failure, whether or not the request was sent.
    pub fn kind(&self) -> CallErrorKind {
        self.error().kind
    }

    /// True if the request was certainly not handled and never will be, so that it is not handled
    /// twice if it is sent again: because it was not sent, or by the
    /// [kind](CallErrorKind::is_safe_to_retry) of the failure.
    ///
    /// ```
    /// # use wigwag_actor::AskError;
    /// # fn look<M>(outcome: Result<u64, AskError<M>>) -> Option<u64> {
    /// match outcome {
    ///     Ok(balance) => Some(balance),
    ///     Err(error) if error.is_safe_to_retry() => None, // send it again
    ///     Err(error) => panic!("the money may have moved: {error}"),
    /// }
    /// # }
    /// ```
    pub fn is_safe_to_retry(&self) -> bool {
        match self {
            AskError::Refused(_) => true,
            AskError::Failed(error) => error.kind.is_safe_to_retry(),
        }
    }

    /// Takes the error and drops the request, if that was not sent: with
    /// `.map_err(AskError::into_error)?` a function may return the error whatever the request
    /// holds.
    pub fn into_error(self) -> CallError {
        match self {
            AskError::Refused(refused) => refused.error,
            AskError::Failed(error) => error,
        }
    }

    /// Takes the request, if it was not sent.
    pub fn into_message(self) -> Option<M> {
        match self {
            AskError::Refused(refused) => Some(refused.message),
            AskError::Failed(_) => None,
        }
    }
}

/// An ask that a [`Pipeline`](crate::Pipeline) did not send, with the context that the caller gave.
pub struct Unsent<M, C> {
    /// The message and the reason why it was not sent.
    pub refused: Refused<M>,
    /// The context that the caller gave with the ask.
    pub context: C,
}

impl<M, C> Unsent<M, C> {
    /// Takes the error and drops the message and the context.
    pub fn into_error(self) -> CallError {
        self.refused.error
    }
}

impl<M, C> fmt::Debug for Unsent<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unsent").field("refused", &self.refused).finish_non_exhaustive()
    }
}

impl<M, C> fmt::Display for Unsent<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refused.fmt(f)
    }
}

impl<M, C> Error for Unsent<M, C> {}

impl<M> fmt::Debug for Refused<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refused").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<M> fmt::Display for Refused<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<M> Error for Refused<M> {}

impl<M> fmt::Debug for AskError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if matches!(self, AskError::Refused(_)) { "Refused" } else { "Failed" };
        f.debug_tuple(name).field(self.error()).finish()
    }
}

impl<M> fmt::Display for AskError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

impl<M> Error for AskError<M> {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::kind::CODES;

    /// Each kind, with what its documentation promises of a call that was sent.
    #[test]
    fn a_call_may_be_sent_again_where_its_kind_promises_that_it_was_not_handled() {
        use CallErrorKind as K;
        let table = [
            (K::Full, true),
            (K::Timeout(Duration::ZERO), false),
            (K::Overloaded, false),
            (K::NoSuchActor, true),
            (K::NoSuchMethod, true),
            (K::BadArguments, true),
            (K::BadReply, false),
            (K::ActorStopped, false),
            (K::Panicked, false),
            (K::ReplyDropped, false),
            (K::Draining, true),
            (K::TooLarge, false),
            (K::Cancelled, true),
            (K::CallCycle, true),
            (K::DeadlinePassed, true),
            (K::NotDelivered, true),
            (K::Unknown, false),
            (K::BlockingInTurn, true),
            (K::Remote, true),
            (K::NotSerializable, false),
            (K::Application(0x8001), false),
        ];
        for (kind, is_safe) in table {
            let error = || CallError::new(kind, &"Counter".into());
            let failed = AskError::<()>::Failed(error());
            assert_eq!((failed.kind(), failed.is_safe_to_retry()), (kind, is_safe));
            let refused = AskError::Refused(Refused { message: (), error: error() });
            assert_eq!((refused.kind(), refused.is_safe_to_retry()), (kind, true));
        }
        let is_listed = |kind| table.iter().any(|(listed, _)| *listed == kind);
        assert!(CODES.iter().all(|(_, kind)| is_listed(*kind)));
    }

    /// A message that borrows and cannot be sent to another thread, so the errors that hold it can
    /// neither outlive it nor be boxed as they are.
    #[test]
    fn an_error_leaves_its_message_behind() {
        let text = String::from("text");
        let message = (std::rc::Rc::new(()), text.as_str());
        let error = || CallError::new(CallErrorKind::Full, &"Counter".into());
        let refused = || Refused { message: message.clone(), error: error() };
        let boxed: [Box<dyn Error + Send + Sync>; 4] = [
            refused().into_error().into(),
            AskError::Refused(refused()).into_error().into(),
            AskError::<&str>::Failed(error()).into_error().into(),
            Unsent { refused: refused(), context: message.clone() }.into_error().into(),
        ];
        assert!(boxed.iter().all(|boxed| boxed.to_string() == error().to_string()));
    }
}
