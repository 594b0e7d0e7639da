//! The error type of nodes.

use std::sync::Arc;

use wigwag_actor::{CallError, CallErrorKind};
use wigwag_link::{Code, LinkError};
use wigwag_net::NetError;
use wigwag_wire::Fault;

/// An error of a [`Node`](crate::Node)'s methods. Its text names the peer, what has happened, and a
/// remedy.
///
/// ```
/// use wigwag::{Actor, Fault, Node, NodeError};
///
/// struct Echo;
///
/// #[wigwag::actor]
/// impl Echo {
///     pub fn say(&self, word: String) -> String {
///         word
///     }
/// }
///
/// # #[wigwag::main]
/// # async fn main() {
/// let node = Node::new();
/// let error = node.actor::<Echo>("tcp://127.0.0.1:7001").await.err();
/// let error = error.expect("the address ends in no name");
/// assert!(matches!(error, NodeError::NoName { .. }));
/// assert_eq!(error.fault(), Fault::Caller);
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The connection could not be made, or the peer is no matching SP program.
    #[error("{0}")]
    Net(#[from] NetError),
    /// The peer speaks SP, but the session could not be opened.
    #[error("{error}\n   at: {peer}\n mend: {}", mend(.error))]
    Session {
        /// The address that was dialed.
        peer: Arc<str>,
        /// The reason.
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
        /// The address that was given.
        address: String,
    },
    /// The name cannot be exported: it is in use, or malformed.
    #[error("the name {name:?} cannot be exported: {rule}\n mend: take another name")]
    BadName {
        /// The name.
        name: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The peer has restarted, so the session is gone.
    #[error(
        "the peer was started anew and knows the session no more\n mend: fetch the reference again"
    )]
    Restarted,
    /// Another node listens at the peer's address now.
    #[error("another node listens at the address of the peer\n mend: look who has taken its place")]
    AnotherNode,
    /// A session has ended before its peer had everything that was sent;
    /// [`Node::flush`](crate::Node::flush) reports it.
    #[error(
        "a session has ended, and its peer may not have everything that was sent: {why}{}\n   at: {peer}\n mend: the session's event counts what was not delivered",
        and_others(*.others)
    )]
    Lost {
        /// The address of the peer.
        peer: Arc<str>,
        /// Why the session has ended.
        why: Arc<str>,
        /// The number of other sessions that were lost.
        others: usize,
    },
    /// This node is closed.
    #[error("this node is closed\n mend: make another one")]
    Closed,
}

fn and_others(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(" (and {count} more)"),
    }
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
    /// Where the cause of the error lies.
    pub fn fault(&self) -> Fault {
        match self {
            NodeError::Net(error) => error.fault(),
            NodeError::Session { error, .. } => error.fault(),
            NodeError::Call(error) => error.fault(),
            NodeError::Restarted | NodeError::AnotherNode => Fault::Peer,
            NodeError::Lost { .. } => Fault::Network,
            NodeError::NoName { .. } | NodeError::BadName { .. } | NodeError::Closed => {
                Fault::Caller
            }
        }
    }

    /// The kind of the call error, if this is a [`Call`](NodeError::Call) error.
    pub fn call_error(&self) -> Option<CallErrorKind> {
        match self {
            NodeError::Call(error) => Some(error.kind),
            _ => None,
        }
    }
}
