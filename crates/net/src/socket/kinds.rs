//! The sockets, one type for each protocol.
//!
//! A type has only the calls that its protocol supports: a push socket has no `recv`.

mod call_methods;
pub(crate) mod settings;
pub mod contexts;
pub mod many;
pub mod raw;
pub mod forwarder;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use wigwag_sp::limits::Hops;
use wigwag_sp::{Protocol, Setting};
use wigwag_wire::IntoBytes;

use crate::error::{NetError, NetErrorKind};
use crate::options::{DialOptions, ListenOptions};
use crate::socket::Statistics;
use crate::socket::calls::Caller;
use crate::socket::core::{Core, Phase};
use crate::socket::endpoint::accepted::AcceptedConnection;
use crate::socket::endpoint::dialer::random;
use crate::socket::endpoint::{Dialer, Listener};
use crate::socket::error::{SendError, SocketError, SocketErrorKind};
use crate::socket::kinds::call_methods::{
    asks, receive_calls, receive_limit, receives, receives_many, send_calls, send_limit, sends,
    sends_many, subscribes, surveys, takes_turns, turn_calls,
};
use crate::socket::kinds::settings::common;

/// A socket of a user; dropping it closes the socket.
pub(crate) struct SocketHandle(pub(crate) Arc<Core>);

impl SocketHandle {
    pub(crate) fn new(protocol: impl Protocol + 'static) -> SocketHandle {
        SocketHandle(Core::new(Box::new(protocol)))
    }

    /// Calls on a socket belong to its own exchange; a context has another one.
    fn caller(&self) -> Caller {
        Caller::SOCKET
    }

    fn set(&self, setting: Setting) -> Result<(), SocketError> {
        let outcome = self.0.with(|state| state.protocol.set(setting));
        outcome.map_err(|error| self.0.error(error.into()))
    }

    pub(crate) fn net_error(address: &str, kind: SocketErrorKind) -> NetError {
        let kind = match kind {
            SocketErrorKind::NoRuntime(error) => NetErrorKind::Io(error),
            other => NetErrorKind::Io(std::io::Error::other(other)),
        };
        NetError::new(address, kind)
    }
}

impl Drop for SocketHandle {
    fn drop(&mut self) {
        self.0.begin_close();
    }
}

macro_rules! socket {
    ($(#[$doc:meta])* $name:ident: $new:expr; $($direction:ident)*) => {
        $(#[$doc])*
        pub struct $name(pub(crate) SocketHandle);

        impl Default for $name {
            fn default() -> $name {
                $name::new()
            }
        }

        impl $name {
            /// Creates an unconnected socket, on the current runtime or the crate's own.
            pub fn new() -> $name {
                $name(SocketHandle::new($new))
            }

            /// Connects to `address`. Waits for the first attempt and returns its error, in which
            /// case the dialer is gone; after a success, the connection is restored whenever it
            /// breaks. Dropping the future before it is ready cancels the attempt.
            pub async fn dial(&self, address: &str) -> Result<Dialer, NetError> {
                self.dial_with(address, DialOptions::default()).await
            }

            /// [`dial`](Self::dial) with options.
            pub async fn dial_with(
                &self,
                address: &str,
                options: DialOptions,
            ) -> Result<Dialer, NetError> {
                self.0.0.dial(address, options).await
            }

            /// Listens at `address`, and returns where it really does: port 0 becomes a free port.
            pub async fn listen(&self, address: &str) -> Result<Listener, NetError> {
                self.listen_with(address, ListenOptions::default()).await
            }

            /// [`listen`](Self::listen) with options.
            pub async fn listen_with(
                &self,
                address: &str,
                options: ListenOptions,
            ) -> Result<Listener, NetError> {
                self.0.0.listen(address, options).await
            }

            /// [`dial`](Self::dial) on the calling thread.
            pub fn blocking_dial(&self, address: &str) -> Result<Dialer, NetError> {
                self.blocking_dial_with(address, DialOptions::default())
            }

            /// [`dial_with`](Self::dial_with) on the calling thread.
            pub fn blocking_dial_with(
                &self,
                address: &str,
                options: DialOptions,
            ) -> Result<Dialer, NetError> {
                let core = &self.0.0;
                core.block_on(core.dial(address, options))
                    .unwrap_or_else(|kind| Err(SocketHandle::net_error(address, kind)))
            }

            /// [`listen`](Self::listen) on the calling thread.
            pub fn blocking_listen(&self, address: &str) -> Result<Listener, NetError> {
                self.blocking_listen_with(address, ListenOptions::default())
            }

            /// [`listen_with`](Self::listen_with) on the calling thread.
            pub fn blocking_listen_with(
                &self,
                address: &str,
                options: ListenOptions,
            ) -> Result<Listener, NetError> {
                let core = &self.0.0;
                core.block_on(core.listen(address, options))
                    .unwrap_or_else(|kind| Err(SocketHandle::net_error(address, kind)))
            }

            /// Serves a connection that was accepted by other means, and is ready when it has
            /// ended. [`AcceptedConnection`] has an example.
            ///
            /// # Errors
            /// If the socket is closed, or refuses the peer; the connection is closed then.
            ///
            /// # Cancellation
            /// Dropping the future closes the connection. Messages that have arrived stay with the
            /// socket.
            pub async fn serve(&self, accepted: AcceptedConnection) -> Result<(), NetError> {
                self.0.0.serve(accepted).await
            }

            /// Bytes that a received message may have, protocol header included; a peer that
            /// announces more is disconnected. 1 MiB unless set; applies to later messages.
            pub fn set_receive_limit(&self, limit: usize) {
                self.0.0.with(|state| state.receive_limit.set(limit));
            }

            /// The statistics so far.
            pub fn statistics(&self) -> Statistics {
                self.0.0.with(|state| {
                    let counters = state.protocol.counters();
                    Statistics { counters, ..state.statistics }
                })
            }

            /// Closes the socket: waiting calls end, accepted messages are written for at most
            /// [`LINGER_MAX`](crate::socket::LINGER_MAX) or the time that was set, and then its addresses
            /// are free. Dropping the future does not undo the close.
            ///
            /// A dropped socket closes in the same way, but in the background: a program that needs
            /// its address again should close it.
            pub async fn close(&self) {
                self.0.0.begin_close();
                self.0.0.reached(Phase::Gone).await;
            }

            /// [`close`](Self::close) on the calling thread.
            pub fn blocking_close(&self) {
                let core = &self.0.0;
                core.begin_close();
                // Without a runtime nothing was ever connected.
                let _ = core.block_on(core.reached(Phase::Gone));
            }

            common!();
            $($direction!();)*
        }
    };
}

pub(crate) use socket;

socket! {
    /// Asks questions, one at a time, and sends each again until it is answered.
    Req: wigwag_sp::Req::with_first_id(random() as u32); sends takes_turns asks
}

socket! {
    /// Answers questions, each to the peer that asked.
    Rep: wigwag_sp::Rep::new(); sends takes_turns
}

socket! {
    /// Sends each message to one of its peers.
    Push: wigwag_sp::Push::new(); sends sends_many
}

socket! {
    /// Receives the messages that its peers push.
    Pull: wigwag_sp::Pull::new(); receives receives_many
}

socket! {
    /// Sends each message to every peer that has subscribed to it. It never waits for a slow peer:
    /// a message that does not fit a peer's queue is dropped for that peer alone, and counted.
    Pub: wigwag_sp::Pub::new(); sends sends_many
}

socket! {
    /// Receives messages that begin with one of its topics.
    Sub: wigwag_sp::Sub::new(); receives receives_many subscribes
}

socket! {
    /// Asks all peers at once; answers count for one second unless set.
    Surveyor: wigwag_sp::Surveyor::new(random() as u32); sends receives surveys
}

socket! {
    /// Answers surveys, each to the peer that asked.
    Respondent: wigwag_sp::Respondent::new(); sends receives
}

socket! {
    /// Sends each message to every connected peer, and receives theirs; best effort.
    Bus: wigwag_sp::Bus::new(); sends receives sends_many receives_many
}

socket! {
    /// Like a bus, and forwards each received message to all its other peers; only mangos has it
    /// too.
    Star: wigwag_sp::Star::new(); sends receives sends_many receives_many
}

socket! {
    /// Talks to one peer in both directions, in nanomsg's version of pair (version 0).
    Pair0: wigwag_sp::Pair0::new(); sends receives sends_many receives_many
}

socket! {
    /// Talks to one peer in both directions (pair version 1).
    Pair: wigwag_sp::Pair1::new(); sends receives sends_many receives_many
}

impl Req {
    /// A socket that sends a request again after `resend`, or, if that is `None`, fails when its
    /// connection breaks. [`Req::new`] uses 60 s.
    pub fn with_resend(resend: Option<Duration>) -> Req {
        Req(SocketHandle::new(wigwag_sp::Req::new(random() as u32, resend)))
    }
}

impl Rep {
    /// A socket that accepts requests over at most `hops_max` hops; [`Rep::new`] accepts eight.
    pub fn with_hops(hops_max: Hops) -> Rep {
        Rep(SocketHandle::new(wigwag_sp::Rep::with_hops(hops_max)))
    }
}

impl Respondent {
    /// A socket that accepts surveys over at most `hops_max` hops; [`Respondent::new`] accepts
    /// eight.
    pub fn with_hops(hops_max: Hops) -> Respondent {
        Respondent(SocketHandle::new(wigwag_sp::Respondent::with_hops(hops_max)))
    }
}

impl Star {
    /// A socket that accepts messages over at most `hops_max` hops; [`Star::new`] accepts eight.
    pub fn with_hops(hops_max: Hops) -> Star {
        Star(SocketHandle::new(wigwag_sp::Star::with_hops(hops_max)))
    }
}

impl Pair {
    /// A socket that accepts messages over at most `hops_max` hops; [`Pair::new`] accepts eight.
    pub fn with_hops(hops_max: Hops) -> Pair {
        Pair(SocketHandle::new(wigwag_sp::Pair1::with_hops(hops_max)))
    }
}
