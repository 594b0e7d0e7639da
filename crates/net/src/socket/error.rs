//! Errors of calls on a socket: the reason, the party at fault, and how to fix it.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use wigwag_sp::limits::REFUSALS_MAX;
use wigwag_sp::{ContextError, RecvError, Refusal, SettingError};
use wigwag_wire::Fault;
use wigwag_wire::hint::{write_debug, write_error};

/// An error of one call, with the socket and the addresses it is connected to.
///
/// `{}` prints the socket and the reason in one line; `{:#}` prints the reason, the socket and a hint
/// how to fix it on three.
pub struct SocketError {
    /// The socket: its protocol and the addresses that it dials and listens at.
    pub at: String,
    /// The reason.
    pub kind: SocketErrorKind,
}

/// A message that was not sent, and why: a body, or a [`RawMessage`](wigwag_sp::RawMessage).
pub struct SendError<M = Bytes> {
    /// The message, unchanged.
    pub message: M,
    /// The reason.
    pub error: SocketError,
}

/// The reason of a [`SocketError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocketErrorKind {
    /// The socket was closed, here or by the end of its runtime.
    #[error("the socket is closed")]
    Closed,
    /// No message has arrived; only returned by calls that do not wait.
    #[error("no message has come yet")]
    Empty,
    /// The peers do not read as fast as messages are sent.
    #[error("the send queue is full")]
    Full,
    /// No peer is connected.
    #[error("no peer is connected{}", last_of(.last))]
    NoPeer {
        /// The error of the last attempt to connect.
        last: Option<String>,
    },
    /// A rep socket has no request to reply to.
    #[error("there is no request to reply to")]
    NoRequest,
    /// A req socket has sent no request.
    #[error("no request was sent whose reply could come")]
    NothingAsked,
    /// A surveyor socket has sent no survey.
    #[error("no survey was sent whose answers could come")]
    NothingSurveyed,
    /// The survey's time is over, and all its answers have been received.
    #[error("the survey's time is over")]
    SurveyOver,
    /// A sub socket has no such topic.
    #[error("there is no subscription to that topic")]
    NoSuchTopic,
    /// A sub socket has reached its limit of topics.
    #[error("there are {} topics already, which is the limit", wigwag_sp::limits::TOPICS_MAX)]
    TooManyTopics,
    /// A socket has reached its limit of contexts.
    #[error("there are {} contexts already, which is the limit", wigwag_sp::limits::CONTEXTS_MAX)]
    TooManyContexts,
    /// The peer that the message is for has left, or was never connected.
    #[error("the peer that the message is for is not connected")]
    PeerGone,
    /// The header does not fit the raw socket's protocol.
    #[error("the header of {0} bytes does not fit the protocol")]
    BadHeader(usize),
    /// A new request replaced the one that was waited for.
    #[error("another request was sent before the reply came")]
    Cancelled,
    /// The connection that carried the request is gone, and resending is off.
    #[error("the connection that carried the request is gone, and resending is off")]
    RequestLost,
    /// The peer closed its connection each time it was sent the request, which is not sent again.
    /// Its receive limit is probably smaller.
    #[error(
        "the peer closed the connection {REFUSALS_MAX} times in a row when it was sent this request \
         of {bytes} bytes; its receive limit is probably smaller"
    )]
    RequestRefused {
        /// Length of the request, with the protocol header, which counts for a receive limit too.
        bytes: usize,
    },
    /// The reply is longer than the receive limit of this socket, or of its dialer or listener. Its
    /// connection was closed, and the request is not sent again, since it would bring the same reply.
    #[error("the reply has at least {bytes} bytes, more than the receive limit of this socket")]
    ReplyTooLong {
        /// Length of the reply, or over WebSocket of as much as was announced, with the protocol header,
        /// which counts for the limit too.
        bytes: usize,
    },
    /// The time limit of the call has passed, although a peer is connected.
    #[error("nothing happened within {0:?}")]
    TimedOut(Duration),
    /// The socket's protocol only works in the other direction.
    #[error("this socket does not work in that direction")]
    WrongDirection,
    /// The crate's own runtime could not be started.
    #[error("the background runtime could not be started: {0}")]
    NoRuntime(io::Error),
}

fn last_of(last: &Option<String>) -> String {
    match last {
        Some(last) => format!("; the last attempt said: {last}"),
        None => String::new(),
    }
}

impl SocketError {
    /// The party at fault.
    pub fn fault(&self) -> Fault {
        match self.kind {
            SocketErrorKind::Closed
            | SocketErrorKind::NoRequest
            | SocketErrorKind::NothingAsked
            | SocketErrorKind::NothingSurveyed
            | SocketErrorKind::NoSuchTopic
            | SocketErrorKind::TooManyTopics
            | SocketErrorKind::TooManyContexts
            | SocketErrorKind::BadHeader(_)
            | SocketErrorKind::Cancelled
            | SocketErrorKind::ReplyTooLong { .. }
            | SocketErrorKind::WrongDirection => Fault::Caller,
            SocketErrorKind::Empty
            | SocketErrorKind::Full
            | SocketErrorKind::RequestLost
            | SocketErrorKind::RequestRefused { .. }
            | SocketErrorKind::PeerGone
            | SocketErrorKind::SurveyOver
            | SocketErrorKind::TimedOut(_) => Fault::Peer,
            SocketErrorKind::NoPeer { .. } => Fault::Network,
            SocketErrorKind::NoRuntime(_) => Fault::Machine,
        }
    }

    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        self.kind.hint()
    }
}

impl fmt::Display for SocketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_error(f, &self.at, format_args!("{}", self.kind), self.hint())
    }
}

impl fmt::Debug for SocketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "SocketError", Some(&self.kind), self, self.hint())
    }
}

impl Error for SocketError {}

impl<M> fmt::Display for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<M> Error for SendError<M> {}

impl SocketErrorKind {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            SocketErrorKind::Closed => "make a new socket",
            SocketErrorKind::Empty => "try again later, or wait with `recv`",
            SocketErrorKind::Full => "try again later, wait with `send`, or add peers",
            SocketErrorKind::NoPeer { .. } => "start the peer, or dial or listen where it is",
            SocketErrorKind::NoRequest => "receive a request first; each has one reply",
            SocketErrorKind::NothingAsked => "send a request first; each has one reply",
            SocketErrorKind::NothingSurveyed => "send a survey first",
            SocketErrorKind::SurveyOver => "send the next survey, or give each one more time",
            SocketErrorKind::NoSuchTopic => "unsubscribe as often as was subscribed",
            SocketErrorKind::TooManyTopics => {
                "subscribe to shorter prefixes, or use another socket"
            }
            SocketErrorKind::TooManyContexts => {
                "drop contexts that are done, or use another socket"
            }
            SocketErrorKind::PeerGone => {
                "send to a peer that is connected, or wait for it to speak"
            }
            SocketErrorKind::BadHeader(_) => {
                "send a header as it was received, or see `RawMessage` for what it is made of"
            }
            SocketErrorKind::Cancelled => "use a context of the socket for each task that asks",
            SocketErrorKind::RequestLost => "ask again if asking twice does no harm",
            SocketErrorKind::RequestRefused { .. } => {
                "send less at once, or raise the receive limit of the peer"
            }
            SocketErrorKind::ReplyTooLong { .. } => {
                "raise the receive limit of this socket, or ask for less at once"
            }
            SocketErrorKind::TimedOut(_) => "check that the peer is alive, or allow more time",
            SocketErrorKind::WrongDirection => "use the partner's socket type",
            SocketErrorKind::NoRuntime(_) => "make the socket inside a tokio runtime",
        }
    }
}

impl<M> From<SendError<M>> for SocketError {
    fn from(refused: SendError<M>) -> SocketError {
        refused.error
    }
}

impl From<Refusal> for SocketErrorKind {
    fn from(refusal: Refusal) -> SocketErrorKind {
        match refusal {
            Refusal::NoPipe => SocketErrorKind::NoPeer { last: None },
            Refusal::NoRequest => SocketErrorKind::NoRequest,
            Refusal::OnlyReceives(_) | Refusal::NotRaw => SocketErrorKind::WrongDirection,
            Refusal::PeerGone => SocketErrorKind::PeerGone,
            Refusal::BadHeader(length) => SocketErrorKind::BadHeader(length),
            Refusal::NoContext => SocketErrorKind::Closed,
            _ => SocketErrorKind::Full,
        }
    }
}

impl From<RecvError> for SocketErrorKind {
    fn from(error: RecvError) -> SocketErrorKind {
        match error {
            RecvError::NoRequest => SocketErrorKind::NothingAsked,
            RecvError::RequestLost => SocketErrorKind::RequestLost,
            RecvError::RequestRefused { bytes } => SocketErrorKind::RequestRefused { bytes },
            RecvError::ReplyTooLong { bytes } => SocketErrorKind::ReplyTooLong { bytes },
            RecvError::NoSurvey => SocketErrorKind::NothingSurveyed,
            RecvError::SurveyOver => SocketErrorKind::SurveyOver,
            RecvError::OnlySends(_) | RecvError::NotRaw => SocketErrorKind::WrongDirection,
            RecvError::NoContext => SocketErrorKind::Closed,
            _ => SocketErrorKind::Empty,
        }
    }
}

impl From<SettingError> for SocketErrorKind {
    fn from(error: SettingError) -> SocketErrorKind {
        match error {
            SettingError::NoSuchTopic => SocketErrorKind::NoSuchTopic,
            SettingError::TooManyTopics => SocketErrorKind::TooManyTopics,
            SettingError::NoContext => SocketErrorKind::Closed,
            _ => SocketErrorKind::WrongDirection,
        }
    }
}

impl From<ContextError> for SocketErrorKind {
    fn from(error: ContextError) -> SocketErrorKind {
        match error {
            ContextError::TooMany => SocketErrorKind::TooManyContexts,
            _ => SocketErrorKind::WrongDirection,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_socket_the_reason_and_the_hint() {
        let error = SocketError {
            at: "REQ, dials tcp://127.0.0.1:7001".into(),
            kind: SocketErrorKind::NoPeer { last: Some("nobody listens there".into()) },
        };
        let text = format!("{error:#}");
        for part in ["no peer", "nobody listens", "tcp://127.0.0.1:7001", "hint: "] {
            assert!(text.contains(part), "{part} is missing in: {text}");
        }
        assert_eq!(error.fault(), Fault::Network);
    }
}
