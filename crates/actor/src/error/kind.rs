//! The kinds of failure of a call: whose fault each is, and what mends it.

use std::fmt;
use std::time::Duration;

use wigwag_wire::Fault;

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
    /// encoded and with a few bytes of header; [`CallError::detail`](crate::CallError::detail) has both sizes. If
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
pub(super) const CODES: [(u16, CallErrorKind); 15] = [
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
    /// [`AskError::is_safe_to_retry`](crate::AskError::is_safe_to_retry) knows.
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
                "raise the limit that the error names; if it names none, try again later, and look for \
                 handlers that wait in a circle"
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
            K::Overloaded => "the target is overloaded",
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
}
