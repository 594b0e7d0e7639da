//! The error type of nodes.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use wigwag_actor::{CallError, CallErrorKind, Disconnection};
use wigwag_link::{Code, LinkError};
use wigwag_net::NetError;
use wigwag_wire::Fault;
use wigwag_wire::hint::{write_debug, write_error, write_hint};

/// An error of a [`Node`](crate::Node)'s methods.
///
/// `{}` prints the peer and what has happened in one line; `{:#}` adds a hint how to fix it, on a line
/// of its own.
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
#[non_exhaustive]
pub enum NodeError {
    /// The connection could not be made, or the peer is no matching SP program.
    Net(NetError),
    /// The peer speaks SP, but the session could not be opened.
    Session {
        /// The address that was dialed.
        peer: Arc<str>,
        /// The reason.
        error: LinkError,
    },
    /// The session is open, but the actor cannot be called.
    Call(CallError),
    /// The address does not end in the name of an actor.
    NoName {
        /// The address that was given.
        address: String,
    },
    /// The name cannot be exported: it is in use, or malformed.
    BadName {
        /// The name.
        name: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The session with the peer has lost its connection, and the peer was not reached again within
    /// the time of the call. The session goes on as soon as the peer is back.
    Disconnected {
        /// The address of the peer.
        peer: Arc<str>,
        /// For how long, why, and when the node tries again.
        disconnection: Disconnection,
    },
    /// The peer has restarted, so the session is gone.
    Restarted,
    /// Another node listens at the peer's address now.
    AnotherNode,
    /// A session has ended before its peer had everything that was sent;
    /// [`Node::flush`](crate::Node::flush) reports it.
    Lost {
        /// The address of the peer.
        peer: Arc<str>,
        /// Why the session has ended.
        why: Arc<str>,
        /// The number of other sessions that were lost.
        others: usize,
    },
    /// Other machines reach the address, and nothing identifies the peers that dial there.
    Unprotected {
        /// The address that was to be listened at.
        address: String,
    },
    /// This node is closed.
    Closed,
    /// The tokio runtime that this node was created on has ended, and the node with it.
    RuntimeEnded,
}

fn and_others(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(" (and {count} more)"),
    }
}

const KEYS_HINT: &str =
    "give both sides the same key: `NodeOptions::shared_key` and `NodeOptions::accept_keys`";

fn session_hint(error: &LinkError) -> &'static str {
    match error {
        LinkError::NotWigwag => "dial a wigwag node, or use a Pair socket for this peer",
        LinkError::Misbehaved { code: Code::VERSION, .. } => "use releases that share a version",
        LinkError::Misbehaved { code: Code::AUTH_FAILED, .. } => KEYS_HINT,
        LinkError::Misbehaved { .. } => "look at the peer's version: it breaks the protocol",
        LinkError::ClosedByPeer { code: Code::AUTH_REQUIRED, .. } => {
            "prove who dials: set `NodeOptions::shared_key`, or a certificate with TLS"
        }
        LinkError::ClosedByPeer { code: Code::AUTH_FAILED, .. } => KEYS_HINT,
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
            NodeError::Disconnected { .. } => Fault::Network,
            NodeError::Restarted | NodeError::AnotherNode => Fault::Peer,
            NodeError::Lost { .. } => Fault::Network,
            NodeError::NoName { .. }
            | NodeError::BadName { .. }
            | NodeError::Unprotected { .. }
            | NodeError::Closed
            | NodeError::RuntimeEnded => Fault::Caller,
        }
    }

    /// A hint how to fix it; names in backticks are those of the API or a command.
    pub fn hint(&self) -> &'static str {
        match self {
            NodeError::Net(error) => error.hint(),
            NodeError::Session { error, .. } => session_hint(error),
            NodeError::Call(error) => error.hint(),
            NodeError::NoName { .. } => "write it like tcp://127.0.0.1:7001/counter",
            NodeError::BadName { .. } => "take another name",
            NodeError::Unprotected { .. } => {
                "check the certificates of clients with TLS (`TlsServerBuilder::client_authority`), \
                 or demand a shared key (`NodeOptions::accept_keys`), or let everybody in \
                 (`NodeOptions::insecure`)"
            }
            NodeError::Disconnected { disconnection, .. } => disconnection.hint(),
            NodeError::Lost { .. } => {
                "count what was not delivered with the session's event, from `Node::session_events`"
            }
            NodeError::Restarted => {
                "fetch the reference again with `Node::actor`, or once with `Fetch::reconnecting`"
            }
            NodeError::AnotherNode => "look which program has taken the peer's place",
            NodeError::Closed => "make another node",
            NodeError::RuntimeEnded => {
                "make the node on a runtime that lives as long as the node is used"
            }
        }
    }

    /// The text without the place, for where the peer is named already.
    pub(crate) fn reason(&self) -> String {
        match self {
            NodeError::Net(error) => error.kind.to_string(),
            NodeError::Session { error, .. } => error.to_string(),
            _ => self.to_string(),
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

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            NodeError::Net(error) => return error.fmt(f),
            NodeError::Call(error) => return error.fmt(f),
            NodeError::Session { peer, error } => {
                return write_error(f, peer, format_args!("{error}"), self.hint());
            }
            NodeError::Disconnected { peer, disconnection } => {
                return write_error(f, peer, format_args!("{disconnection}"), self.hint());
            }
            NodeError::Lost { peer, why, others } => {
                let others = and_others(*others);
                let text = format_args!(
                    "a session has ended, and its peer may not have everything that was sent: \
                     {why}{others}"
                );
                return write_error(f, peer, text, self.hint());
            }
            NodeError::NoName { address } => {
                return write_error(
                    f,
                    address,
                    format_args!("the address names no actor"),
                    self.hint(),
                );
            }
            NodeError::BadName { name, rule } => {
                write!(f, "the name {name:?} cannot be exported: {rule}")?;
                return write_hint(f, self.hint());
            }
            NodeError::Unprotected { address } => {
                let text = format_args!(
                    "other machines reach this address, and nothing identifies the peers that dial"
                );
                return write_error(f, address, text, self.hint());
            }
            NodeError::Restarted => "the peer was started anew and knows the session no more",
            NodeError::AnotherNode => "another node listens at the address of the peer",
            NodeError::Closed => "this node is closed",
            NodeError::RuntimeEnded => "the runtime of this node has ended",
        };
        f.write_str(text)?;
        write_hint(f, self.hint())
    }
}

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeError::Net(error) => error.fmt(f),
            NodeError::Call(error) => error.fmt(f),
            _ => write_debug(f, "NodeError", None, self, self.hint()),
        }
    }
}

impl Error for NodeError {}

impl From<NetError> for NodeError {
    fn from(error: NetError) -> NodeError {
        NodeError::Net(error)
    }
}

impl From<CallError> for NodeError {
    fn from(error: CallError) -> NodeError {
        NodeError::Call(error)
    }
}
