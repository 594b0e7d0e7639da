//! The errors of a call: what failed, whose fault it is, and how to fix it.
//!
//! A refused message comes back: [`Refused`] holds it, and `reference.call(message)` makes a new
//! call of it.

mod disconnection;

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use wigwag_wire::Fault;
use wigwag_wire::hint::{write_debug, write_error};

pub use disconnection::{Disconnection, NextAttempt};

/// The error of a call: what failed, and which actor was called.
///
/// `{}` prints the target and the failure in one line; `{:#}` prints the failure, the target and a
/// hint how to fix it on three.
///
/// ```
/// # use wigwag_actor::{Call, CallErrorKind, Interface};
/// # fn add<I: Interface>(call: Call<'_, I, ()>) {
/// match call.try_tell() {
///     Err(refused) if refused.error.kind == CallErrorKind::Full => { /* send less */ }
///     Err(refused) => eprintln!("{}", refused.error),
///     Ok(()) => {}
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct CallError {
    /// The kind of the failure.
    pub kind: CallErrorKind,
    /// The actor that was called: its type when it lives in this process, its address otherwise.
    pub target: Arc<str>,
    /// The other side's own words about the failure; for people, never parsed.
    pub detail: Option<Box<str>>,
    /// Why the actor's process could not be reached, if it could not: when a call had waited in
    /// vain ([`Timeout`](CallErrorKind::Timeout), [`Overloaded`](CallErrorKind::Overloaded)), so that
    /// the actor may be innocent, or when a call would not wait for a reference that comes back
    /// ([`NotDelivered`](CallErrorKind::NotDelivered)).
    pub disconnection: Option<Box<Disconnection>>,
}

/// The kind of failure of a call.
///
/// [`fault`](Self::fault) says whose fault it is, [`hint`](Self::hint) what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallErrorKind {
    /// The mailbox has no room, or the sender has no credit on the way to it.
    Full,
    /// There was no answer, or no room, within the time that the caller set.
    Timeout(Duration),
    /// A limit was reached. A call inside a handler found no room for
    /// [`HANDLER_WAIT_MAX`](crate::limits::HANDLER_WAIT_MAX), 5 s; a full mailbox has
    /// [dropped](crate::WhenFull) the call; a peer has no channel or slot left, or does not read
    /// its replies.
    Overloaded,
    /// No actor of that name is exported there, or this caller may not call it.
    NoSuchActor,
    /// The actor has no method of that name or number.
    NoSuchMethod,
    /// The actor's method takes other arguments.
    BadArguments,
    /// The reply is not of the type that the caller expected.
    BadReply,
    /// The actor has stopped.
    ActorStopped,
    /// The handler panicked; the actor has stopped.
    Panicked,
    /// The handler ended without a reply.
    ReplyDropped,
    /// The node takes no new calls because it is closing.
    Draining,
    /// The call or its reply is larger than the other process accepts, which is 16 MiB by default,
    /// encoded and with a few bytes of header; [`CallError::detail`] has both sizes. If
    /// the message comes back with the error, the call was meant and nothing was sent; otherwise the
    /// call was handled and the reply is lost. Within a process there is no such limit.
    TooLarge,
    /// The caller had given the call up before its turn came, and it was not handled.
    Cancelled,
    /// The calls form a circle, in which each would wait for the next for ever.
    CallCycle,
    /// The deadline had passed before the call began.
    DeadlinePassed,
    /// The session ended before the message was handed to the network: it was not handled.
    NotDelivered,
    /// The session ended in between: the message may or may not have been handled.
    Unknown,
    /// A blocking call inside an actor or a `wigwag::spawn` task, which would block its thread.
    BlockingInTurn,
    /// The operation is only possible for an actor of the same process.
    Remote,
    /// An argument or the reply cannot leave its process, as a [`Local`](crate::Local) or a
    /// reference to an actor, and the other side is another process. If the message comes back with
    /// the error, an argument was meant and nothing was sent; otherwise the call was handled and
    /// the reply is lost.
    NotSerializable,
    /// An error of the application's own, with its number.
    Application(u16),
}

/// The number on the wire of each kind (link protocol, section 8).
const CODES: [(u16, CallErrorKind); 15] = [
    (0x0200, CallErrorKind::NoSuchActor),
    (0x0201, CallErrorKind::NoSuchMethod),
    (0x0202, CallErrorKind::BadArguments),
    (0x0203, CallErrorKind::ActorStopped),
    (0x0204, CallErrorKind::Panicked),
    (0x0205, CallErrorKind::Overloaded),
    (0x0206, CallErrorKind::Cancelled),
    (0x0207, CallErrorKind::ReplyDropped),
    (0x0208, CallErrorKind::Draining),
    (0x0209, CallErrorKind::TooLarge),
    (0x020A, CallErrorKind::CallCycle),
    (0x020B, CallErrorKind::DeadlinePassed),
    (0x020C, CallErrorKind::NotSerializable),
    (0x0304, CallErrorKind::NotDelivered),
    (0x0305, CallErrorKind::Unknown),
];

impl CallErrorKind {
    /// The number on the wire; an error without one is sent as `Overloaded`.
    pub fn code(self) -> u16 {
        if let CallErrorKind::Application(code) = self {
            return code;
        }
        CODES.iter().find(|(_, kind)| *kind == self).map_or(0x0205, |(code, _)| *code)
    }

    /// The kind of a number on the wire; an unknown number counts as `Overloaded`, as the protocol
    /// defines for its range.
    pub fn from_code(code: u16) -> CallErrorKind {
        if code >= 0x8000 {
            return CallErrorKind::Application(code);
        }
        let known = CODES.iter().find(|(known, _)| *known == code);
        known.map_or(CallErrorKind::Overloaded, |(_, kind)| *kind)
    }

    /// The side at fault: the caller, the peer or the network.
    pub fn fault(self) -> Fault {
        use CallErrorKind as K;
        match self {
            K::NoSuchActor
            | K::NoSuchMethod
            | K::BadArguments
            | K::BadReply
            | K::TooLarge
            | K::Cancelled
            | K::CallCycle
            | K::BlockingInTurn
            | K::Remote
            | K::NotSerializable => Fault::Caller,
            K::NotDelivered | K::Unknown => Fault::Network,
            _ => Fault::Peer,
        }
    }

    /// True if a call that failed with this kind was certainly not handled and never will be: sent
    /// again, it is not handled twice. Whether that helps, [`hint`](Self::hint) says; a
    /// call that was not understood is not understood again either.
    ///
    /// Some kinds leave it open, for example `Timeout`. Of a call that was not even sent,
    /// [`AskError::is_safe_to_retry`] knows.
    pub fn is_safe_to_retry(self) -> bool {
        use CallErrorKind as K;
        match self {
            // Known before the call is sent.
            K::Full | K::CallCycle | K::BlockingInTurn | K::Remote => true,
            // Known before the actor is called.
            K::NoSuchActor
            | K::NoSuchMethod
            | K::BadArguments
            | K::Draining
            | K::DeadlinePassed
            | K::Cancelled
            | K::NotDelivered => true,
            // There was a handler.
            K::Panicked | K::ReplyDropped | K::BadReply | K::Application(_) => false,
            // The answer may be meant.
            K::TooLarge | K::NotSerializable => false,
            // A handler may have begun, or may begin later.
            K::Timeout(_) | K::Overloaded | K::ActorStopped | K::Unknown => false,
        }
    }

    /// A hint for the reader how to fix it; names in backticks are those of the API or a command.
    pub fn hint(self) -> &'static str {
        use CallErrorKind as K;
        match self {
            K::Full => {
                "wait with `tell().await`, send less, or raise `ActorOptions::mailbox_calls`"
            }
            K::Timeout(_) => "see what the actor is busy with, or give it more time",
            K::Overloaded => {
                "the target makes no progress: look for handlers that wait in a circle"
            }
            K::NoSuchActor => "check the name, and that the node exports it",
            K::NoSuchMethod => "ask the actor what it understands: `wigwag describe ADDRESS`",
            K::BadArguments | K::BadReply => "use the same version of the interface at both ends",
            K::ActorStopped => "start it again, or look up its successor",
            K::Panicked => "the panic message is in the log of the process it ran in",
            K::ReplyDropped => "the handler must answer: look at its early returns",
            K::Draining => "call another node, or this one after its restart",
            K::TooLarge => "raise `NodeOptions::message_bytes_max` where it is received",
            K::Cancelled => "nothing to hint: the asker has gone",
            K::CallCycle => "let one actor of the circle tell instead of ask",
            K::DeadlinePassed => "give the call more time",
            K::NotDelivered => "it is safe to send it again",
            K::Unknown => "send it again only if handling it twice does no harm",
            K::Remote => "do it in the process where the actor lives",
            K::BlockingInTurn => "use `tell().await` or `ask().await` there",
            K::NotSerializable => {
                "send a name or another plain value, or call the actor from its own process"
            }
            K::Application(_) => "the actor's documentation says what this code means",
        }
    }
}

impl fmt::Display for CallErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use CallErrorKind as K;
        let text = match self {
            K::Timeout(limit) => return write!(f, "no answer within {limit:?}"),
            K::Application(code) => return write!(f, "the actor answers with error 0x{code:04x}"),
            K::Full => "no room for the message",
            K::Overloaded => "the target is overloaded and makes no progress",
            K::NoSuchActor => "no actor of that name is exported there",
            K::NoSuchMethod => "the actor has no such method",
            K::BadArguments => "the method takes other arguments",
            K::BadReply => "the reply has another type than expected",
            K::ActorStopped => "the actor has stopped",
            K::Panicked => "the handler panicked",
            K::ReplyDropped => "the handler ended without a reply",
            K::Draining => "the node is closing and takes no new calls",
            K::TooLarge => "the message is larger than the receiver accepts",
            K::Cancelled => "the call was cancelled",
            K::CallCycle => "the calls form a circle, in which each waits for the next",
            K::DeadlinePassed => "the deadline had passed before the call began",
            K::NotDelivered => "the session ended before the message left: it was not handled",
            K::Unknown => "the session ended in between: the message may have been handled",
            K::Remote => "the actor lives in another process",
            K::BlockingInTurn => "a blocking call inside an actor would block its thread",
            K::NotSerializable => "a value of the call lives in its own process only",
        };
        f.write_str(text)
    }
}

impl CallError {
    /// Creates an error without detail.
    pub fn new(kind: CallErrorKind, target: &Arc<str>) -> CallError {
        CallError { kind, target: target.clone(), detail: None, disconnection: None }
    }

    /// Adds the other side's own words.
    pub fn with_detail(mut self, detail: &str) -> CallError {
        if !detail.is_empty() {
            self.detail = Some(detail.into());
        }
        self
    }

    /// Adds that the session with the actor's process has no connection.
    pub fn while_disconnected(mut self, disconnection: Disconnection) -> CallError {
        self.disconnection = Some(Box::new(disconnection));
        self
    }

    /// True if the call cannot be sent now and the same call could wait until it can.
    pub(crate) fn is_only_now(&self) -> bool {
        match self.kind {
            CallErrorKind::Full => true,
            CallErrorKind::NotDelivered => self.disconnection.is_some(),
            _ => false,
        }
    }

    /// The side at fault: the caller, the peer or the network.
    pub fn fault(&self) -> Fault {
        match &self.disconnection {
            Some(_) => Fault::Network,
            None => self.kind.fault(),
        }
    }

    /// A hint for the reader how to fix it; names in backticks are those of the API or a command.
    pub fn hint(&self) -> &'static str {
        self.disconnection.as_ref().map_or_else(|| self.kind.hint(), |gone| gone.hint())
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, target, hint) = (self.kind, &self.target, self.hint());
        match (&self.detail, &self.disconnection) {
            (None, None) => write_error(f, target, format_args!("{kind}"), hint),
            (Some(detail), None) => write_error(f, target, format_args!("{kind}: {detail}"), hint),
            (None, Some(gone)) => write_error(f, target, format_args!("{kind}: {gone}"), hint),
            (Some(detail), Some(gone)) => {
                write_error(f, target, format_args!("{kind}: {detail}; {gone}"), hint)
            }
        }
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "CallError", Some(&self.kind), self, self.hint())
    }
}

impl Error for CallError {}

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
    use super::*;

    #[test]
    fn every_code_comes_back_as_its_kind() {
        for (code, kind) in CODES {
            assert_eq!(kind.code(), code);
            assert_eq!(CallErrorKind::from_code(code), kind);
        }
        assert_eq!(CallErrorKind::from_code(0x8001), CallErrorKind::Application(0x8001));
        assert_eq!(CallErrorKind::from_code(0x02FF), CallErrorKind::Overloaded);
    }

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
