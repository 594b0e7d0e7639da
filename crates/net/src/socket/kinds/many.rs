//! A pair socket with many peers: the sender of each message is known, and can be answered.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use wigwag_sp::limits::Hops;
use wigwag_sp::{PipeId, RawMessage};
use wigwag_wire::IntoBytes;

use crate::error::NetError;
use crate::options::{DialOptions, ListenOptions};
use crate::socket::Statistics;
use crate::socket::calls::Caller;
use crate::socket::core::{Core, Phase};
use crate::socket::endpoint::accepted::AcceptedConnection;
use crate::socket::endpoint::{Dialer, Listener};
use crate::socket::error::{SendError, SocketError};
use crate::socket::kinds::call_methods::{receive_limit, send_limit};
use crate::socket::kinds::settings::common;
use crate::socket::kinds::{SocketHandle, socket};

macro_rules! many {
    () => {
        /// Sends a message to an idle peer, or to one that has room, in turn; waits while there is
        /// none. It does not prefer the peer that spoke last, because among several peers that
        /// could be any. Otherwise like [`send_to`](Self::send_to).
        pub async fn send(&self, message: impl IntoBytes) -> Result<(), SendError> {
            send(&self.0.0, None, message.into_bytes()).await
        }

        /// Sends a message to the peer that [`recv`](Self::recv) named, waiting while its queue is
        /// full; other messages do not wait for that. Ready means that the message is in the peer's
        /// queue on this side.
        ///
        /// # Errors
        ///
        /// [`PeerGone`](crate::socket::SocketErrorKind::PeerGone) if the peer has left.
        ///
        /// # Cancellation
        ///
        /// A future dropped before it is ready has sent nothing.
        pub async fn send_to(
            &self,
            peer: PipeId,
            message: impl IntoBytes,
        ) -> Result<(), SendError> {
            send(&self.0.0, Some(peer), message.into_bytes()).await
        }

        /// [`send`](Self::send), now or not at all.
        pub fn try_send(&self, message: impl IntoBytes) -> Result<(), SendError> {
            try_send(&self.0.0, None, message.into_bytes())
        }

        /// [`send_to`](Self::send_to), now or not at all.
        pub fn try_send_to(&self, peer: PipeId, message: impl IntoBytes) -> Result<(), SendError> {
            try_send(&self.0.0, Some(peer), message.into_bytes())
        }

        /// [`send`](Self::send) on the calling thread.
        pub fn blocking_send(&self, message: impl IntoBytes) -> Result<(), SendError> {
            blocking_send(&self.0.0, None, message.into_bytes())
        }

        /// [`send_to`](Self::send_to) on the calling thread.
        pub fn blocking_send_to(
            &self,
            peer: PipeId,
            message: impl IntoBytes,
        ) -> Result<(), SendError> {
            blocking_send(&self.0.0, Some(peer), message.into_bytes())
        }

        /// Receives the next message and the number of the peer that sent it. The number is valid
        /// on this socket only; it is not reused while the peer is connected, and a peer that comes
        /// back has another one. A future dropped before it is ready has received nothing.
        pub async fn recv(&self) -> Result<(PipeId, Bytes), SocketError> {
            self.0.0.recv(Caller::SOCKET, None).await.map(with_peer)
        }

        /// Receives a message that has already arrived.
        pub fn try_recv(&self) -> Result<(PipeId, Bytes), SocketError> {
            self.0.0.try_recv(Caller::SOCKET).map(with_peer)
        }

        /// [`recv`](Self::recv) on the calling thread.
        pub fn blocking_recv(&self) -> Result<(PipeId, Bytes), SocketError> {
            self.0.0.blocking_recv(Caller::SOCKET).map(with_peer)
        }
    };
}

socket! {
    /// Talks to many peers in both directions, in pair version 1; its peers are
    /// [`Pair`](crate::socket::Pair) sockets, or others like it. NNG calls it polyamorous.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use wigwag_net::socket::{Pair, PairMany};
    ///
    /// let (hub, left, right) = (PairMany::new(), Pair::new(), Pair::new());
    /// let address = hub.listen("tcp://127.0.0.1:0").await?.to_string();
    /// left.dial(&address).await?;
    /// right.dial(&address).await?;
    /// right.send("who am I?").await?;
    /// let (peer, question) = hub.recv().await?;
    /// assert_eq!(question, "who am I?");
    /// hub.send_to(peer, "the right one").await?;
    /// assert_eq!(right.recv().await?, "the right one");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    PairMany: wigwag_sp::Pair1Many::new(); many send_limit receive_limit
}

impl PairMany {
    /// A socket that accepts messages over at most `hops_max` hops; [`PairMany::new`] accepts
    /// eight.
    pub fn with_hops(hops_max: Hops) -> PairMany {
        PairMany(SocketHandle::new(wigwag_sp::Pair1Many::with_hops(hops_max)))
    }
}

/// The caller and the header of a message to `peer`.
fn addressed(peer: Option<PipeId>, body: Bytes) -> (Caller, RawMessage) {
    match peer {
        Some(peer) => {
            let header = Bytes::copy_from_slice(&peer.0.to_be_bytes());
            (Caller::to_peer(peer), RawMessage { header, body })
        }
        None => (Caller::SOCKET, RawMessage { header: Bytes::new(), body }),
    }
}

fn without_header(refused: SendError<RawMessage>) -> SendError {
    SendError { message: refused.message.body, error: refused.error }
}

async fn send(core: &Arc<Core>, peer: Option<PipeId>, body: Bytes) -> Result<(), SendError> {
    let (caller, message) = addressed(peer, body);
    core.send(caller, message).await.map(drop).map_err(|refused| without_header(*refused))
}

fn try_send(core: &Arc<Core>, peer: Option<PipeId>, body: Bytes) -> Result<(), SendError> {
    let (caller, message) = addressed(peer, body);
    core.try_send(caller, message).map_err(without_header)
}

fn blocking_send(core: &Arc<Core>, peer: Option<PipeId>, body: Bytes) -> Result<(), SendError> {
    let (caller, message) = addressed(peer, body);
    core.blocking_send(caller, message).map_err(without_header)
}

/// Splits a received message, whose header is the number of the peer.
fn with_peer(message: RawMessage) -> (PipeId, Bytes) {
    let word = message.header.first_chunk().copied().unwrap_or_default();
    (PipeId(u32::from_be_bytes(word)), message.body)
}
