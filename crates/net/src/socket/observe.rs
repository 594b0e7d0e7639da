//! Observation of pipes, and a veto on new ones.
//!
//! A [`PipeWatcher`] is told of each connection before it becomes a pipe, when it has, and when it
//! ends. NNG calls these moments `ADD_PRE`, `ADD_POST` and `REM_POST`; mangos calls them attaching,
//! attached and detached.

use std::sync::Arc;

use wigwag_sp::PipeId;

use crate::addresses::address::Address;
use crate::socket::statistics::PipeStatistics;
use crate::transport::Credentials;

/// The end that began a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Our dialer connected to the peer.
    Dialled,
    /// The peer connected to one of our listeners.
    Accepted,
}

/// One connection with a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PipeInfo {
    /// The number of the pipe; not reused while it is open.
    pub id: PipeId,
    /// The address of the other end.
    pub peer: Arc<str>,
    /// The address of our own end, if the transport has one.
    pub local: Option<Arc<str>>,
    /// User, group and process of the peer, on Unix sockets.
    pub credentials: Option<Credentials>,
    /// The certificate that the peer has presented with TLS, in DER. It is valid, and was issued by
    /// an authority that this end trusts.
    pub certificate: Option<Arc<[u8]>>,
    /// True if the bytes go through memory that both processes share: over shm, and over ipc if both
    /// ends allow it.
    pub shared_memory: bool,
    /// The end that began the connection.
    pub side: Side,
    /// The address of the dialer or listener that the connection came through.
    pub through: Address,
}

/// Why a pipe ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PipeEnd {
    /// The peer closed it.
    #[error("the peer closed the connection")]
    PeerClosed,
    /// The operating system lost the connection: reset, timed out.
    #[error("the connection was lost: {0}")]
    Lost(String),
    /// The peer has ended at least two connections in a row right after a message of that length,
    /// or reset one when the socket was closed right after it; its receive limit is probably
    /// smaller, and the message lost.
    #[error(
        "the peer closed the connection when it was sent a message of {bytes} bytes; its receive \
         limit is probably smaller"
    )]
    Refused {
        /// Length of the longest message that was just sent, protocol header included.
        bytes: usize,
    },
    /// The peer broke a rule, and the socket closed the pipe.
    #[error("{0}")]
    Punished(String),
    /// The pipe was closed here, alone or with its dialer or listener.
    #[error("it was closed here")]
    ClosedHere,
    /// The socket was closed, or its runtime ended.
    #[error("the socket was closed")]
    SocketClosed,
}

/// Observes the pipes of a socket.
///
/// The socket's tasks make the calls, without a lock. A call delays only its own connection, for as
/// long as it takes; it must not block. The calls for one pipe come in order, those for different
/// pipes may run at the same time.
pub trait PipeWatcher: Send + Sync {
    /// Called when a peer of the right protocol has connected. An error refuses it and is the
    /// reason.
    fn arriving(&self, _pipe: &PipeInfo) -> Result<(), String> {
        Ok(())
    }

    /// Called when the connection has become a pipe: messages can be sent and received.
    fn admitted(&self, _pipe: &PipeInfo) {}

    /// Called when the connection was refused, by this watcher or by the protocol; no other call
    /// follows.
    fn refused(&self, _pipe: &PipeInfo, _why: &str) {}

    /// Called when the pipe has ended.
    fn closed(&self, _pipe: &PipeInfo, _end: &PipeEnd, _statistics: &PipeStatistics) {}
}

/// An open pipe and its statistics so far.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenPipeReport {
    /// The pipe and its peer.
    pub info: PipeInfo,
    /// The statistics of the pipe.
    pub statistics: PipeStatistics,
}
