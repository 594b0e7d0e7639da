//! Who is connected, and a say in who may be.
//!
//! A [`PipeWatcher`] hears of each connection before it becomes a pipe, when it has, and when it is
//! over. NNG calls these moments `ADD_PRE`, `ADD_POST` and `REM_POST`; mangos attaching, attached
//! and detached.

use std::sync::Arc;

use wigwag_sp::PipeId;

use super::statistics::PipeStatistics;
use crate::address::Address;
use crate::transport::Credentials;

/// Which end began a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// We dialled.
    Dialled,
    /// The peer came to a listener of ours.
    Accepted,
}

/// One connection with a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PipeInfo {
    /// Its number; not given again while it is open.
    pub id: PipeId,
    /// Who is at the other end, as an address.
    pub peer: Arc<str>,
    /// Our own end as an address, if the transport has a word for it.
    pub local: Option<Arc<str>>,
    /// User, group and process of the peer, on Unix sockets.
    pub credentials: Option<Credentials>,
    /// Who began.
    pub side: Side,
    /// The address of the dialer or listener that it came through.
    pub through: Address,
}

/// Why a pipe is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PipeEnd {
    /// The peer closed it.
    #[error("the peer closed the connection")]
    PeerClosed,
    /// The system lost it: reset, timed out.
    #[error("the connection was lost: {0}")]
    Lost(String),
    /// The peer broke a rule, and we closed it.
    #[error("{0}")]
    Punished(String),
    /// It was closed here, alone or with its dialer or listener.
    #[error("it was closed here")]
    ClosedHere,
    /// The socket was closed, or its runtime ended.
    #[error("the socket was closed")]
    SocketClosed,
}

/// Hears of the pipes of a socket.
///
/// The calls come from the socket's tasks, without a lock, and hold up that one connection for as
/// long as they take; they must not block. For one pipe they come in order, for different pipes at
/// the same time.
pub trait PipeWatcher: Send + Sync {
    /// A peer of the right protocol has come. An error, which says why, turns it away.
    fn arriving(&self, _pipe: &PipeInfo) -> Result<(), String> {
        Ok(())
    }

    /// It is a pipe now: messages go and come.
    fn admitted(&self, _pipe: &PipeInfo) {}

    /// It was turned away, by this watcher or by the protocol, and no more is heard of it.
    fn refused(&self, _pipe: &PipeInfo, _why: &str) {}

    /// It is over.
    fn closed(&self, _pipe: &PipeInfo, _end: &PipeEnd, _statistics: &PipeStatistics) {}
}

/// A pipe that is open now, and what went over it so far.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenPipeReport {
    /// Who it is.
    pub info: PipeInfo,
    /// What it has done.
    pub statistics: PipeStatistics,
}
