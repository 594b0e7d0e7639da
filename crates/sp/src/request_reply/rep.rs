//! rep: answers requests, each on the pipe it came from.

use wigwag_wire::ProtocolNumber;

use crate::request_reply::answerer::Answerer;

/// A rep socket.
pub type Rep = Answerer<{ ProtocolNumber::REP.0 }>;

#[cfg(test)]
mod tests;
