//! Errors of a WebSocket connection.

use std::io;

use super::close;
use crate::error::NetErrorKind;

/// An error of a WebSocket connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WsError {
    /// The server that was dialled answered with an HTTP error.
    #[error("the server refused the WebSocket upgrade: {status} {text}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's explanation.
        text: String,
    },
    /// The answer of the server that was dialled is not one to a WebSocket upgrade.
    #[error("the server's answer to the WebSocket upgrade is invalid: {rule}")]
    BadAnswer {
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// A peer's request for an upgrade was refused.
    #[error("the peer's request was answered with {status}: {rule}")]
    BadRequest {
        /// The HTTP status of our answer.
        status: u16,
        /// The rule that the request breaks.
        rule: &'static str,
    },
    /// The peer breaks the protocol.
    #[error("the peer breaks the WebSocket protocol: {rule}")]
    BadFrame {
        /// The code with which the connection was closed.
        code: u16,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The peer closed the connection for a reason of its own.
    #[error("the peer closed the WebSocket with {code} {reason}")]
    ClosedByPeer {
        /// The code of RFC 6455.
        code: u16,
        /// The peer's explanation.
        reason: String,
    },
    /// The peer speaks SP without WebSocket.
    #[error("the peer speaks SP without WebSocket")]
    SpeaksSp,
    /// The peer speaks TLS, and this end speaks WebSocket without it.
    #[error("the peer speaks TLS")]
    SpeaksTls,
}

impl WsError {
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            WsError::Refused { .. } => "check the address's path, and what the server's text says",
            WsError::BadAnswer { .. } => {
                "check the port: the server there does not serve SP over ws"
            }
            WsError::BadRequest { .. } => "our answer tells the peer what to change",
            WsError::BadFrame { .. } => "the peer is broken or hostile: look at its version",
            WsError::ClosedByPeer { code: close::TOO_LONG, .. } => {
                "raise the receive limit there, or send smaller messages"
            }
            WsError::ClosedByPeer { .. } => "look at the peer's log for its reason",
            WsError::SpeaksSp => "dial with ws:// instead of tcp://, or listen at tcp://",
            WsError::SpeaksTls => "use wss:// at both ends, or ws:// at both",
        }
    }

    /// True if the fault is that of the caller here, not of the peer.
    pub(crate) fn is_by_caller(&self) -> bool {
        matches!(self, WsError::Refused { .. })
    }
}

/// The error of a read or write.
impl From<WsError> for io::Error {
    fn from(error: WsError) -> io::Error {
        let kind = match &error {
            // As after a reset: the peer has not taken what was sent last.
            WsError::ClosedByPeer { code: close::TOO_LONG, .. } => io::ErrorKind::ConnectionReset,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, NetErrorKind::WebSocket(error))
    }
}
