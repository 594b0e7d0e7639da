//! The reports of a protocol: events for its caller, and the outcome of each received message.

use crate::{ContextId, DropReason, PipeId};

/// An event of a protocol that the caller must act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolEvent {
    /// The pipe's outbox is no longer empty: call [`Protocol::fill`](crate::Protocol::fill).
    Transmit(PipeId),
    /// The pipe's outbox is more than half full, and messages beyond its bounds are dropped: call
    /// [`Protocol::fill`](crate::Protocol::fill) before the next [`Protocol::send`](crate::Protocol::send) if the connection has room.
    TransmitNow(PipeId),
    /// The pipe was paused and has room: read from it again.
    Resume(PipeId),
    /// A sender that was refused with [`Refusal::NoPipe`](crate::Refusal::NoPipe) or [`Refusal::Full`](crate::Refusal::Full) may try again.
    SendReady,
    /// A receiver that got [`RecvError::Empty`](crate::RecvError::Empty) may try again.
    RecvReady,
    /// A receiver that got [`RecvError::Empty`](crate::RecvError::Empty) in this context may try again.
    ContextRecvReady(ContextId),
    /// A sender that was refused with [`Refusal::Full`](crate::Refusal::Full) for this peer may try again.
    PipeSendReady(PipeId),
}

impl ProtocolEvent {
    /// The event that announces a message for a context.
    pub(crate) fn recv_ready_in(context: ContextId) -> ProtocolEvent {
        match context {
            ContextId::SOCKET => ProtocolEvent::RecvReady,
            other => ProtocolEvent::ContextRecvReady(other),
        }
    }
}

/// The outcome of a received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// The message waits for the user.
    Queued,
    /// No topic matches the message; it was discarded as intended.
    Unwanted,
    /// The message was dropped and counted; the pipe stays open.
    Dropped(DropReason),
    /// The peer breaks the protocol: close the pipe.
    Close(CloseReason),
}

/// Why a pipe must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// A pair socket has one peer at a time, and this socket already has one.
    #[error("a pair socket has one peer at a time, and this one has it")]
    HasPeer,
    /// The message is shorter than its protocol header.
    #[error("the peer sent {0} bytes, fewer than the header of its protocol has")]
    TooShort(usize),
    /// Reserved bits, which must be zero, are set.
    #[error("the peer set reserved bits: its header is {0:08x}")]
    ReservedBits(u32),
    /// Closed pipes left too many unread messages, so no further pipe is opened.
    #[error("too many messages are unread from peers that have left")]
    Crowded,
}
