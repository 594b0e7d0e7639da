//! Why a node cannot reach an actor or listen.

use std::sync::Arc;

use wigwag_actor::{CallError, CallErrorKind};
use wigwag_link::{Code, LinkError};
use wigwag_net::NetError;
use wigwag_wire::Fault;

/// Why a node could not do what it was asked to. The text names the peer, what happened and what
/// mends it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The connection could not be made, or is no SP connection to the right partner.
    #[error("{0}")]
    Net(#[from] NetError),
    /// The peer speaks SP, but the session could not be opened.
    #[error("{error}\n   at: {peer}\n mend: {}", mend(.error))]
    Session {
        /// The address that was dialed.
        peer: Arc<str>,
        /// The error of the session.
        error: LinkError,
    },
    /// The session is open, but the actor cannot be called.
    #[error("{0}")]
    Call(#[from] CallError),
    /// The address does not end in the name of an actor.
    #[error(
        "the address names no actor\n   at: {address}\n mend: write it like tcp://127.0.0.1:7001/counter"
    )]
    NoName {
        /// The address as it was given.
        address: String,
    },
    /// Another actor is exported under that name, or the name cannot be used.
    #[error("the name {name:?} cannot be exported: {rule}\n mend: take another name")]
    BadName {
        /// The name.
        name: String,
        /// The rule that the name breaks.
        rule: &'static str,
    },
    /// The peer was started anew: its session is gone.
    #[error(
        "the peer was started anew and knows the session no more\n mend: fetch the reference again"
    )]
    Restarted,
    /// Another node than before listens at the peer's address.
    #[error("another node listens at the address of the peer\n mend: look who has taken its place")]
    AnotherNode,
    /// The node was closed.
    #[error("this node is closed\n mend: make another one")]
    Closed,
}

fn mend(error: &LinkError) -> &'static str {
    match error {
        LinkError::NotWigwag => "dial a wigwag node, or use a Pair socket for this peer",
        LinkError::Misbehaved { code: Code::VERSION, .. } => "use releases that share a version",
        LinkError::Misbehaved { .. } => "look at the peer's version: it breaks the protocol",
        LinkError::ClosedByPeer { code: Code::TOO_MANY, .. } => {
            "close sessions that are not needed"
        }
        LinkError::ClosedByPeer { .. } => "the peer's reason says what it wants",
        _ => "look at the peer's log",
    }
}

impl NodeError {
    /// Returns the party at fault.
    pub fn fault(&self) -> Fault {
        match self {
            NodeError::Net(error) => error.fault(),
            NodeError::Session { error, .. } => error.fault(),
            NodeError::Call(error) => error.fault(),
            NodeError::Restarted | NodeError::AnotherNode => Fault::Peer,
            NodeError::NoName { .. } | NodeError::BadName { .. } | NodeError::Closed => {
                Fault::Caller
            }
        }
    }

    /// The kind of a call error; `None` when the node did not get that far.
    pub fn call_error(&self) -> Option<CallErrorKind> {
        match self {
            NodeError::Call(error) => Some(error.kind),
            _ => None,
        }
    }
}
