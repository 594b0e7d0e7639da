//! Raw sockets: header and body apart, and no state machine.
//!
//! They are for programs that forward messages instead of asking and answering: a
//! [`Forwarder`](crate::socket::Forwarder), a broker with rules of its own, a monitoring tool. A raw socket
//! returns each message with its header and sends the header that it is given, so a program that
//! forwards a request keeps no state: the way back is in the message. [`RawMessage`] lists the
//! headers.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use wigwag_net::socket::{Req, raw};
//!
//! let (server, req) = (raw::Rep::new(), Req::new());
//! let address = server.listen("tcp://127.0.0.1:0").await?;
//! req.dial(&address.to_string()).await?;
//! req.send("ping").await?;
//!
//! let request = server.recv().await?;
//! // The pipe that it came from, and the id of the request.
//! assert_eq!((request.header.len(), request.body.as_ref()), (8, b"ping".as_slice()));
//! server.send(raw::RawMessage { body: "pong".into(), ..request }).await?;
//! assert_eq!(req.recv().await?, "pong");
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! The names are those of the ordinary sockets. A raw socket only chooses the peer, and drops and
//! counts messages over the hop limit: a raw req sends no request again, a raw rep sends as many
//! replies as it is given, a raw sub receives everything. Replies of a raw rep or respondent never
//! wait: for a peer that has left or that does not read they are dropped and counted
//! (`dropped_pipe_gone`, `dropped_peer_slow`). A header that no peer would accept is refused with
//! [`BadHeader`](crate::socket::SocketErrorKind::BadHeader).

use std::sync::Arc;
use std::time::Duration;

use wigwag_sp::limits::Hops;
use wigwag_sp::raw::RawKind;
use wigwag_sp::{QueueLength, Raw, Setting};

pub use wigwag_sp::RawMessage;

use crate::error::NetError;
use crate::options::{DialOptions, ListenOptions};
use crate::socket::Statistics;
use crate::socket::calls::Caller;
use crate::socket::core::{Core, Phase};
use crate::socket::endpoint::accepted::AcceptedConnection;
use crate::socket::endpoint::{Dialer, Listener};
use crate::socket::error::{SendError, SocketError};
use crate::socket::kinds::call_methods::{receive_limit, send_limit};
use crate::socket::kinds::settings::{common, setting};
use crate::socket::kinds::{SocketHandle, socket};

/// One side of a [`Forwarder`](crate::socket::Forwarder): created from a reference to a raw socket, which
/// it does not keep open.
#[derive(Clone)]
pub struct End {
    pub(crate) core: Arc<Core>,
    pub(crate) kind: RawKind,
}

macro_rules! sends {
    () => {
        /// Sends a message with its header, waiting while no suitable peer is connected or has
        /// room. Ready means that the message is in a peer's queue on this side, or was dropped if
        /// the protocol never waits. A future dropped before it is ready has sent nothing, and the
        /// message is dropped with it.
        pub async fn send(&self, message: RawMessage) -> Result<(), SendError<RawMessage>> {
            self.0.0.send(Caller::SOCKET, message).await.map(drop).map_err(|refused| *refused)
        }

        /// Sends a message now, or returns it.
        pub fn try_send(&self, message: RawMessage) -> Result<(), SendError<RawMessage>> {
            self.0.0.try_send(Caller::SOCKET, message)
        }

        /// [`send`](Self::send) on the calling thread.
        pub fn blocking_send(&self, message: RawMessage) -> Result<(), SendError<RawMessage>> {
            self.0.0.blocking_send(Caller::SOCKET, message)
        }

        send_limit!();
    };
}

macro_rules! receives {
    () => {
        /// Receives the next message with its header, waiting for it. A future dropped before it is
        /// ready has received nothing.
        pub async fn recv(&self) -> Result<RawMessage, SocketError> {
            self.0.0.recv(Caller::SOCKET, None).await
        }

        /// Receives a message that has already arrived.
        pub fn try_recv(&self) -> Result<RawMessage, SocketError> {
            self.0.0.try_recv(Caller::SOCKET)
        }

        /// [`recv`](Self::recv) on the calling thread.
        pub fn blocking_recv(&self) -> Result<RawMessage, SocketError> {
            self.0.0.blocking_recv(Caller::SOCKET)
        }

        receive_limit!();
    };
}

macro_rules! raw {
    ($($(#[$doc:meta])* $name:ident: $kind:ident; $($direction:ident)*,)*) => {
        $(
            socket! {
                $(#[$doc])*
                $name: Raw::new(RawKind::$kind); $($direction)*
            }

            impl From<&$name> for End {
                fn from(socket: &$name) -> End {
                    End { core: socket.0.0.clone(), kind: RawKind::$kind }
                }
            }
        )*
    };
}

macro_rules! counts_hops {
    ($($name:ident: $kind:ident,)*) => {
        $(impl $name {
            /// A socket that accepts messages over at most `hops_max` hops; `new` accepts eight.
            pub fn with_hops(hops_max: Hops) -> $name {
                $name(SocketHandle::new(Raw::with_hops(RawKind::$kind, hops_max)))
            }
        })*
    };
}

raw! {
    /// Sends requests, each to one of its peers, and receives their replies.
    Req: Req; sends receives,
    /// Receives requests, and sends each reply to the pipe that its header names.
    Rep: Rep; sends receives,
    /// Sends each message to one of its peers.
    Push: Push; sends,
    /// Receives the messages that its peers push.
    Pull: Pull; receives,
    /// Sends each message to every peer.
    Pub: Pub; sends,
    /// Receives everything that its peers publish: it has no topics and filters nothing.
    Sub: Sub; receives,
    /// Sends surveys to every peer, and receives their answers.
    Surveyor: Surveyor; sends receives,
    /// Receives surveys, and sends each answer to the pipe that its header names.
    Respondent: Respondent; sends receives,
    /// Receives messages with the pipe they came from, and sends each to every other peer.
    Bus: Bus; sends receives,
    /// Like the raw bus, with hops; unlike the ordinary star it forwards nothing by itself.
    Star: Star; sends receives,
    /// Talks to one peer, in nanomsg's version of pair (version 0).
    Pair0: Pair0; sends receives,
    /// Talks to one peer, with hops (pair version 1).
    Pair: Pair1; sends receives,
    /// Talks to many peers, with hops (pair version 1): the header names the pipe, or none.
    PairMany: Pair1Many; sends receives,
}

counts_hops! {
    Rep: Rep,
    Respondent: Respondent,
    Star: Star,
    Pair: Pair1,
    PairMany: Pair1Many,
}

setting! {
    "Sets how many messages may wait to be written, for each peer; as on the ordinary sockets."
    set_send_queue(QueueLength) = SendQueue;
    Bus Pair Pair0 PairMany Pub Push Rep Req Respondent Star Surveyor
}

setting! {
    "Sets how many messages may wait for `recv`, from each peer; as on the ordinary sockets."
    set_receive_queue(QueueLength) = ReceiveQueue;
    Bus Pair Pair0 PairMany Pull Rep Req Respondent Star Sub Surveyor
}
