//! The sockets, one type for each protocol.
//!
//! A type has only the calls that its protocol supports: a push socket has no `recv`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use wigwag_sp::limits::Hops;
use wigwag_sp::{Protocol, Setting};
use wigwag_wire::IntoBytes;

use super::Statistics;
use super::accepted::AcceptedConnection;
use super::calls::Caller;
use super::core::{Core, Phase};
use super::dialer::random;
use super::endpoint::{Dialer, Listener};
use super::error::{SendError, SocketError, SocketErrorKind};
use super::settings::common;
use crate::error::{NetError, NetErrorKind};
use crate::options::{DialOptions, ListenOptions};

/// A socket of a user; dropping it closes the socket.
pub(super) struct SocketHandle(pub(super) Arc<Core>);

impl SocketHandle {
    pub(super) fn new(protocol: impl Protocol + 'static) -> SocketHandle {
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

    pub(super) fn net_error(address: &str, kind: SocketErrorKind) -> NetError {
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
        pub struct $name(pub(super) SocketHandle);

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
            /// [`LINGER_MAX`](super::LINGER_MAX) or the time that was set, and then its addresses
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

macro_rules! send_calls {
    () => {
        /// Sends a message, waiting while no peer is connected or has room. Ready means that the
        /// message is in a peer's queue on this side, not that the peer has it. One lock; what
        /// owns its bytes is not copied ([`IntoBytes`]).
        ///
        /// # Cancellation
        ///
        /// A future dropped before it is ready has sent nothing, and the message is dropped with
        /// it.
        pub async fn send(&self, message: impl IntoBytes) -> Result<(), SendError> {
            self.0
                .0
                .send(self.0.caller(), message.into_bytes())
                .await
                .map(drop)
                .map_err(|refused| *refused)
        }

        /// Sends a message now, or returns it.
        pub fn try_send(&self, message: impl IntoBytes) -> Result<(), SendError> {
            self.0.0.try_send(self.0.caller(), message.into_bytes())
        }

        /// [`send`](Self::send) on the calling thread.
        ///
        /// Threads that send on the same socket at the same time take turns. A thread waits for its
        /// turn for at most 1 ms while there is room; the send timeout begins after that.
        pub fn blocking_send(&self, message: impl IntoBytes) -> Result<(), SendError> {
            self.0.0.blocking_send(self.0.caller(), message.into_bytes())
        }
    };
}

macro_rules! send_limit {
    () => {
        /// Sets how long `send` waits at most; no limit unless set.
        pub fn set_send_timeout(&self, limit: Option<Duration>) {
            self.0.0.with(|state| state.send_timeout = limit);
        }
    };
}

macro_rules! sends {
    () => {
        send_calls!();
        send_limit!();
    };
}

macro_rules! receive_calls {
    () => {
        receive_calls!(recv);
    };
    ($recv:ident) => {
        /// Receives the next message, waiting for it.
        ///
        /// # Cancellation
        ///
        /// A future dropped before it is ready has received nothing.
        pub async fn recv(&self) -> Result<Bytes, SocketError> {
            self.0.0.$recv(self.0.caller(), None).await
        }

        /// Receives a message that has already arrived.
        pub fn try_recv(&self) -> Result<Bytes, SocketError> {
            self.0.0.try_recv(self.0.caller())
        }

        /// [`recv`](Self::recv) on the calling thread.
        pub fn blocking_recv(&self) -> Result<Bytes, SocketError> {
            self.0.0.blocking_recv(self.0.caller())
        }
    };
}

macro_rules! receive_limit {
    () => {
        /// Sets how long `recv` waits at most; no limit unless set.
        pub fn set_receive_timeout(&self, limit: Option<Duration>) {
            self.0.0.with(|state| state.receive_timeout = limit);
        }
    };
}

macro_rules! receives {
    () => {
        receive_calls!();
        receive_limit!();
    };
}

/// The receive calls of a socket that takes turns with its peer.
macro_rules! turn_calls {
    () => {
        receive_calls!(recv_in_turn);
    };
}

macro_rules! takes_turns {
    () => {
        turn_calls!();
        receive_limit!();

        /// Sets how long `recv` and `ask` spin before their thread parks: 100 µs unless set, zero
        /// for never. Applies to later calls of the socket and its contexts.
        ///
        /// A thread that waits for one message at a time puts its processor to sleep, and to wake
        /// it costs more than the rest of a round trip. A call that spins lets all other tasks of
        /// its runtime run and then looks again.
        ///
        /// Calls spin where that costs no more processor time, that of the peer included. The
        /// socket finds this out by trials: from time to time some hundred calls spin and some
        /// hundred sleep, and the cheaper of both goes on. Where messages take longer than `limit`,
        /// a call spins ever more rarely; while other threads want all processors, and with a single
        /// processor, none does.
        pub fn set_spin(&self, limit: Duration) {
            if let Some(spin) = &self.0.0.spin {
                spin.set_limit(limit);
            }
        }
    };
}

macro_rules! asks {
    () => {
        /// Sends a request and receives its own reply.
        ///
        /// # Errors
        ///
        /// If another call sends a request here meanwhile, this one ends with
        /// [`Cancelled`](super::SocketErrorKind::Cancelled).
        ///
        /// # Cancellation
        ///
        /// A future dropped before it is ready may have sent the request; it is not sent again
        /// then, and its reply is discarded. The receive timeout has the same effect.
        pub async fn ask(&self, request: impl IntoBytes) -> Result<Bytes, SocketError> {
            self.0.0.ask(self.0.caller(), request.into_bytes()).await
        }

        /// [`ask`](Self::ask) on the calling thread.
        pub fn blocking_ask(&self, request: impl IntoBytes) -> Result<Bytes, SocketError> {
            let core = &self.0.0;
            core.block_on(self.ask(request)).unwrap_or_else(|kind| Err(core.error(kind)))
        }
    };
}

macro_rules! subscribes {
    () => {
        /// Subscribes to bodies that begin with `topic`: everything begins with the empty topic.
        /// Subscribing twice takes unsubscribing twice.
        pub fn subscribe(&self, topic: impl IntoBytes) -> Result<(), SocketError> {
            self.0.set(Setting::Subscribe(topic.into_bytes()))
        }

        /// Removes a subscription; messages that have already arrived stay.
        pub fn unsubscribe(&self, topic: impl IntoBytes) -> Result<(), SocketError> {
            self.0.set(Setting::Unsubscribe(topic.into_bytes()))
        }
    };
}

macro_rules! surveys {
    () => {
        /// Sets how long answers count, from the next survey on; `None`: until the survey after it.
        pub fn set_survey_time(&self, time: Option<Duration>) {
            // Every surveyor has this setting.
            let _ = self.0.set(Setting::SurveyTime(time));
        }
    };
}

pub(super) use {
    asks, receive_calls, receive_limit, send_calls, send_limit, socket, subscribes, surveys,
    turn_calls,
};

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
    Push: wigwag_sp::Push::new(); sends
}

socket! {
    /// Receives the messages that its peers push.
    Pull: wigwag_sp::Pull::new(); receives
}

socket! {
    /// Sends each message to every peer that has subscribed to it. It never waits for a slow peer:
    /// a message that does not fit a peer's queue is dropped for that peer alone, and counted.
    Pub: wigwag_sp::Pub::new(); sends
}

socket! {
    /// Receives messages that begin with one of its topics.
    Sub: wigwag_sp::Sub::new(); receives subscribes
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
    Bus: wigwag_sp::Bus::new(); sends receives
}

socket! {
    /// Like a bus, and forwards each received message to all its other peers; only mangos has it
    /// too.
    Star: wigwag_sp::Star::new(); sends receives
}

socket! {
    /// Talks to one peer in both directions, in nanomsg's version of pair (version 0).
    Pair0: wigwag_sp::Pair0::new(); sends receives
}

socket! {
    /// Talks to one peer in both directions (pair version 1).
    Pair: wigwag_sp::Pair1::new(); sends receives
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
