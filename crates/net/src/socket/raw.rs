//! Raw sockets: header and body apart, and no state machine.
//!
//! They are for programs that pass messages on instead of asking and answering: a
//! [`Forwarder`](super::Forwarder), a broker with rules of its own, a tool that watches. A raw
//! socket gives each message with its header and sends the header that it is given, so whoever
//! passes a request on keeps nothing in memory: the way back stands in the message.
//! [`RawMessage`] tells what stands where.
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
//! The names are those of the ordinary sockets. Of what these do, nothing is left but choosing the
//! peer and dropping, counted, what has come over too many hops: a raw req asks nothing again, a raw
//! rep sends as many replies as it is given, a raw sub receives everything. Replies of a raw rep or
//! respondent wait for nobody: for a peer that has left or that does not read they are dropped and
//! counted (`dropped_pipe_gone`, `dropped_peer_slow`). A header that no peer would take is refused
//! with [`BadHeader`](super::SocketErrorKind::BadHeader).

use std::sync::Arc;
use std::time::Duration;

use wigwag_sp::limits::Hops;
use wigwag_sp::raw::RawKind;
use wigwag_sp::{QueueLength, Raw, Setting};

pub use wigwag_sp::RawMessage;

use super::Statistics;
use super::calls::Caller;
use super::core::{Core, Phase};
use super::endpoint::{Dialer, Listener};
use super::error::{SendError, SocketError};
use super::kinds::{SocketHandle, receive_limit, send_limit, socket};
use super::settings::{common, setting};
use crate::error::NetError;
use crate::options::{DialOptions, ListenOptions};

/// A raw socket as a [`Forwarder`](super::Forwarder) takes it: made `from` a reference to one, it
/// does not keep it open.
#[derive(Clone)]
pub struct End {
    pub(super) core: Arc<Core>,
    pub(super) kind: RawKind,
}

macro_rules! sends {
    () => {
        /// Sends a message with the header that it has, waiting while no peer that it could go to
        /// is connected or has room. Ready means that it lies in a peer's queue here, or was dropped
        /// where the protocol waits for nobody. A future dropped before it is ready has sent
        /// nothing, and the message is dropped with it.
        pub async fn send(&self, message: RawMessage) -> Result<(), SendError<RawMessage>> {
            self.0.0.send(Caller::SOCKET, message).await.map(drop)
        }

        /// Sends a message now, or hands it back.
        pub fn try_send(&self, message: RawMessage) -> Result<(), SendError<RawMessage>> {
            self.0.0.try_send(Caller::SOCKET, message)
        }

        /// [`send`](Self::send) with the calling thread.
        pub fn blocking_send(&self, message: RawMessage) -> Result<(), SendError<RawMessage>> {
            let core = &self.0.0;
            match core.block_on(core.send(Caller::SOCKET, message.clone())) {
                Ok(outcome) => outcome.map(drop),
                Err(kind) => Err(SendError { message, error: core.error(kind) }),
            }
        }

        send_limit!();
    };
}

macro_rules! receives {
    () => {
        /// Receives the next message with its header, waiting for it. A future dropped before it is
        /// ready has taken nothing.
        pub async fn recv(&self) -> Result<RawMessage, SocketError> {
            self.0.0.recv(Caller::SOCKET, None).await
        }

        /// Receives a message that has come already.
        pub fn try_recv(&self) -> Result<RawMessage, SocketError> {
            self.0.0.try_recv(Caller::SOCKET)
        }

        /// [`recv`](Self::recv) with the calling thread.
        pub fn blocking_recv(&self) -> Result<RawMessage, SocketError> {
            let core = &self.0.0;
            core.block_on(self.recv()).unwrap_or_else(|kind| Err(core.error(kind)))
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
            /// A socket that accepts messages over at most `hops_max` hops; `new` takes eight.
            pub fn with_hops(hops_max: Hops) -> $name {
                $name(SocketHandle::new(Raw::with_hops(RawKind::$kind, hops_max)))
            }
        })*
    };
}

raw! {
    /// Passes requests to its peers, each to one of them, and gives their replies.
    Req: Req; sends receives,
    /// Gives the requests of its peers, and sends each reply to the pipe that its header names.
    Rep: Rep; sends receives,
    /// Passes each message to one of its peers.
    Push: Push; sends,
    /// Gives what its peers push.
    Pull: Pull; receives,
    /// Passes each message to every peer.
    Pub: Pub; sends,
    /// Gives whatever its peers publish: it has no topics, and nothing is filtered.
    Sub: Sub; receives,
    /// Passes surveys to every peer, and gives their answers.
    Surveyor: Surveyor; sends receives,
    /// Gives surveys, and sends each answer to the pipe that its header names.
    Respondent: Respondent; sends receives,
    /// Gives messages with the pipe that they came from, and passes each to every other peer.
    Bus: Bus; sends receives,
    /// As the raw bus, with hops; unlike the ordinary star it passes nothing on by itself.
    Star: Star; sends receives,
    /// Talks to one peer, as nanomsg has it (pair version 0).
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
    "Messages that may wait to be written, for each peer; as on the ordinary sockets."
    set_send_queue(QueueLength) = SendQueue;
    Bus Pair Pair0 PairMany Pub Push Rep Req Respondent Star Surveyor
}

setting! {
    "Messages that may wait for `recv`, from each peer; as on the ordinary sockets."
    set_receive_queue(QueueLength) = ReceiveQueue;
    Bus Pair Pair0 PairMany Pull Rep Req Respondent Star Sub Surveyor
}
