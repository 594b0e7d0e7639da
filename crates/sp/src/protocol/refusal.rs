//! Why a protocol did not send a body, or has none for the user.

use bytes::Bytes;
use wigwag_wire::ProtocolNumber;

use crate::RawMessage;
use crate::limits::REFUSALS_MAX;

/// A body that was not sent, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refused {
    /// The user's body, unchanged.
    pub body: Bytes,
    /// The reason.
    pub why: Refusal,
}

/// A message with a header that was not sent, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct RefusedRaw {
    /// The user's message, unchanged.
    pub message: RawMessage,
    /// The reason.
    pub why: Refusal,
}

/// Why a body or message was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No pipe is open; one may open later.
    #[error("no peer is connected")]
    NoPipe,
    /// Every pipe's outbox is full; there will be room when they are written.
    #[error("the send queue is full")]
    Full,
    /// There is no request to reply to.
    #[error("there is no request to reply to")]
    NoRequest,
    /// This side of the protocol never sends.
    #[error("a {0} socket only receives")]
    OnlyReceives(ProtocolNumber),
    /// The peer that the message is for has left, or was never connected.
    #[error("the peer that the message is for is not connected")]
    PeerGone,
    /// The header is malformed: no peer would accept it.
    #[error("the header of {0} bytes does not fit the protocol")]
    BadHeader(usize),
    /// Only raw sockets send headers from the user.
    #[error("the socket is not raw: it makes its headers itself")]
    NotRaw,
    /// The context is closed.
    #[error("the context is closed")]
    NoContext,
}

impl Refusal {
    /// True if the sender may wait and try again.
    pub fn is_temporary(self) -> bool {
        matches!(self, Refusal::NoPipe | Refusal::Full)
    }
}

/// Why there is no body for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecvError {
    /// No message has arrived yet.
    #[error("nothing has come yet")]
    Empty,
    /// No request is waiting for a reply.
    #[error("no request was sent whose reply could come")]
    NoRequest,
    /// No survey is waiting for answers.
    #[error("no survey was sent whose answers could come")]
    NoSurvey,
    /// The survey's time is over; later answers are dropped.
    #[error("the survey's time is over")]
    SurveyOver,
    /// The connection that carried the request is gone, and the socket does not send it again.
    #[error("the connection that carried the request is gone, and resending is off")]
    RequestLost,
    /// Each connection that carried the request was closed by the peer at once, so the request is
    /// not sent again. The bytes are those that count for a receive limit, with the header.
    #[error(
        "the peer closed the connection {} times in a row when it was sent this request of {bytes} \
         bytes; its receive limit is probably smaller",
        REFUSALS_MAX
    )]
    RequestRefused {
        /// Length of the request, protocol header included.
        bytes: usize,
    },
    /// The reply is longer than this side receives, so its connection was closed, and the request is
    /// not sent again: it would bring the same reply. The bytes are those that count for a receive
    /// limit, with the header.
    #[error("the reply has at least {bytes} bytes, more than the receive limit of this socket")]
    ReplyTooLong {
        /// Length of the reply as far as it is known, protocol header included.
        bytes: usize,
    },
    /// This side of the protocol never receives.
    #[error("a {0} socket only sends")]
    OnlySends(ProtocolNumber),
    /// Only raw sockets return headers.
    #[error("the socket is not raw: it returns no headers")]
    NotRaw,
    /// The context is closed.
    #[error("the context is closed")]
    NoContext,
}
