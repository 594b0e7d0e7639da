//! Forwarders: messages received on one raw socket are sent on another. SP calls them devices.
//!
//! A forwarder joins peers that are not connected directly: clients of one network with servers of
//! another, tcp with ipc, many publishers with many subscribers behind one address. The header
//! carries the way back, so a forwarder keeps no state, and a request that is lost with it is sent
//! again by its sender.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use wigwag_net::socket::{Forwarder, Rep, Req, raw};
//!
//! let (front, back) = (raw::Rep::new(), raw::Req::new());
//! let clients = front.listen("tcp://127.0.0.1:0").await?.to_string();
//! let workers = back.listen("tcp://127.0.0.1:0").await?.to_string();
//! let forwarder = Forwarder::between(&front, &back)?;
//! let running = tokio::spawn(async move { forwarder.run().await });
//!
//! let (client, worker) = (Req::new(), Rep::new());
//! client.dial(&clients).await?;
//! worker.dial(&workers).await?;
//! client.send("question").await?;
//! assert_eq!(worker.recv().await?, "question");
//! worker.send("answer").await?;
//! assert_eq!(client.recv().await?, "answer");
//!
//! front.close().await;
//! assert_eq!(running.await?.forwarded, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! # Pairs of sockets
//!
//! A socket can be joined with its partner: req and rep, push and pull, pub and sub, surveyor and
//! respondent; pair, pair0, bus and star each with its own kind. Bus, star and pair with many peers
//! can also be joined with themselves ([`Forwarder::reflecting`]): bus and star then forward each
//! message to all peers but its origin, pair sends it back to its origin.
//!
//! Publishers never see a subscription, so a raw sub receives everything, and messages that no
//! subscriber behind the forwarder wants come this far in vain.
//!
//! # Back-pressure
//!
//! A message is received only when the other socket has room for it; until then it waits where it
//! is, and in the end its sender waits. Messages that never wait by themselves (pub, bus, star,
//! surveys, replies of rep and respondent) do not wait here either: they are dropped and counted.
//!
//! # Loops
//!
//! Each forwarder is a hop, and a message over the hop limit is dropped and counted: eight hops
//! unless the receiving socket sets another limit. This ends loops of req, survey, pair1 and star.
//! The other protocols have no hop count on the wire (the SP RFCs give them no header), so a loop
//! of their forwarders passes the same messages around for ever: do not build one.

use std::error::Error;
use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, ready};

use bytes::Bytes;
use wigwag_sp::RawMessage;
use wigwag_sp::raw::RawKind;
use wigwag_wire::hint::{write_debug, write_hint};
use wigwag_wire::{Fault, ProtocolNumber};

use crate::socket::calls::waiter::{QueueKey, Waiter};
use crate::socket::calls::{Caller, attempt_recv, attempt_send};
use crate::socket::core::{Core, Phase};
use crate::socket::error::SocketErrorKind;
use crate::socket::kinds::raw::End;
use crate::socket::race::until;

/// Messages that one direction forwards before it yields: a full outbox of small ones takes some 64
/// turns.
const MESSAGES_PER_POLL: u32 = 64;

/// Bytes of the word that names a pipe in a raw header.
const PIPE_BYTES: usize = 4;

/// Why two sockets cannot be joined.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForwardError {
    /// The sockets are no partners: each cannot talk to the other's peers.
    NoPartners {
        /// The protocol of the first socket.
        front: ProtocolNumber,
        /// The protocol of the second socket.
        back: ProtocolNumber,
    },
    /// Both are the same socket.
    SameSocket {
        /// Its protocol.
        of: ProtocolNumber,
    },
    /// The protocol cannot send a message back on the socket that received it.
    NoReflector {
        /// Its protocol.
        of: ProtocolNumber,
    },
}

impl ForwardError {
    /// The party at fault.
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }

    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            ForwardError::NoPartners { .. } => {
                "join a socket with the partner of its protocol, as req with rep"
            }
            ForwardError::SameSocket { .. } => "join two sockets, or use `Forwarder::reflecting`",
            ForwardError::NoReflector { .. } => {
                "reflect with bus, star or pair with many peers, or join two sockets"
            }
        }
    }
}

impl fmt::Display for ForwardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForwardError::NoPartners { front, back } => {
                write!(f, "a raw {front} socket and a raw {back} socket cannot be joined")
            }
            ForwardError::SameSocket { of } => {
                write!(f, "a raw {of} socket cannot be joined with itself as if it were two")
            }
            ForwardError::NoReflector { of } => write!(f, "a raw {of} socket cannot reflect"),
        }?;
        write_hint(f, self.hint())
    }
}

impl fmt::Debug for ForwardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "ForwardError", None, self, self.hint())
    }
}

impl Error for ForwardError {}

/// Counters of a forwarder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Forwarded {
    /// Messages received on one socket and sent on the other, in both directions.
    pub forwarded: u64,
    /// Messages that the sockets have dropped since the forwarder was created, for any reason, and
    /// those that it held when a socket closed. The sockets' statistics have the reasons.
    pub dropped: u64,
}

/// Forwards messages between two raw sockets, or from one back to itself.
pub struct Forwarder {
    front: End,
    back: End,
    counts: Mutex<Forwarded>,
    /// Messages that the sockets had dropped before the forwarder was created.
    before: u64,
}

impl Forwarder {
    /// Joins two sockets. Their owner still dials, listens and closes them; any other code that
    /// sends or receives on them competes with the forwarder for messages.
    pub fn between(front: impl Into<End>, back: impl Into<End>) -> Result<Forwarder, ForwardError> {
        let (front, back) = (front.into(), back.into());
        let numbers = (front.core.number, back.core.number);
        if Arc::ptr_eq(&front.core, &back.core) {
            return Err(ForwardError::SameSocket { of: numbers.0 });
        }
        if numbers.0.partner() != Some(numbers.1) {
            return Err(ForwardError::NoPartners { front: numbers.0, back: numbers.1 });
        }
        Ok(Forwarder::of(front, back))
    }

    /// Joins a socket with itself.
    pub fn reflecting(socket: impl Into<End>) -> Result<Forwarder, ForwardError> {
        let socket = socket.into();
        match socket.kind {
            RawKind::Bus | RawKind::Star | RawKind::Pair1Many => {
                Ok(Forwarder::of(socket.clone(), socket))
            }
            _ => Err(ForwardError::NoReflector { of: socket.core.number }),
        }
    }

    fn of(front: End, back: End) -> Forwarder {
        let counts = Mutex::new(Forwarded::default());
        let mut forwarder = Forwarder { front, back, counts, before: 0 };
        forwarder.before = forwarder.dropped_by_sockets();
        forwarder
    }

    /// Forwards messages until one of the sockets is closed, by its owner or with its runtime, and
    /// returns the counters; the other socket stays open. Dropping a socket closes it. A dropped
    /// future receives nothing more; it only holds a message if another sender has taken the room
    /// that there was for it.
    pub async fn run(&self) -> Forwarded {
        let (front, back) = (&self.front, &self.back);
        tracing::debug!(front = %front.core.number, back = %back.core.number, "forwarder runs");
        let closed =
            until(front.core.reached(Phase::Lingering), back.core.reached(Phase::Lingering));
        let closed = async {
            let _ = closed.await;
        };
        let there = self.direction(front, back);
        let again = async {
            match Arc::ptr_eq(&front.core, &back.core) {
                true => pending().await,
                false => self.direction(back, front).await,
            }
        };
        until(closed, until(there, again)).await;
        let counts = self.counts();
        let Forwarded { forwarded, dropped } = counts;
        tracing::info!(
            front = %front.core.number,
            back = %back.core.number,
            forwarded,
            dropped,
            "forwarder ended"
        );
        counts
    }

    /// [`run`](Self::run) on the calling thread.
    pub fn blocking_run(&self) -> Forwarded {
        // Without a runtime nothing was ever connected, and no messages arrive.
        self.front.core.block_on(self.run()).unwrap_or_else(|_| self.counts())
    }

    /// The counters so far.
    pub fn counts(&self) -> Forwarded {
        let counts = *self.lock();
        let dropped = counts.dropped + self.dropped_by_sockets() - self.before;
        Forwarded { dropped, ..counts }
    }

    fn lock(&self) -> MutexGuard<'_, Forwarded> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dropped_by_sockets(&self) -> u64 {
        let dropped = |end: &End| end.core.with(|state| state.protocol.counters().dropped());
        match Arc::ptr_eq(&self.front.core, &self.back.core) {
            true => dropped(&self.front),
            false => dropped(&self.front) + dropped(&self.back),
        }
    }

    /// Forwards in one direction, until a socket closes.
    async fn direction(&self, from: &End, to: &End) {
        if matches!(from.kind, RawKind::Push | RawKind::Pub) {
            // Nothing is received on these sockets.
            return pending().await;
        }
        let crossing = !Arc::ptr_eq(&from.core, &to.core);
        let mut count = 0;
        while let Ok(mut message) = receive_when_room(&from.core, &to.core).await {
            if crossing {
                if from.kind == RawKind::Star {
                    // The other peers of its own star have not received it: a raw star forwards
                    // nothing by itself.
                    let _ = from.core.try_send(Caller::SOCKET, message.clone());
                }
                message.header = strip_pipe_number(from.kind, message.header);
            }
            match forward_to(&to.core, message).await {
                Ok(()) => self.lock().forwarded += 1,
                Err(kind) => {
                    tracing::debug!(to = %to.core.number, %kind, "message dropped");
                    self.lock().dropped += 1;
                }
            }
            count += 1;
            if count == MESSAGES_PER_POLL {
                count = 0;
                tokio::task::yield_now().await;
            }
        }
    }
}

/// Removes the number of the pipe, which is valid only on its own socket. rep and respondent keep
/// it: for the next hop it is a word like the others.
fn strip_pipe_number(from: RawKind, mut header: Bytes) -> Bytes {
    match from {
        RawKind::Bus | RawKind::Star | RawKind::Pair1Many => {
            header.split_off(header.len().min(PIPE_BYTES))
        }
        _ => header,
    }
}

/// Receives the next message of `from`, but only while `to` has room.
fn receive_when_room<'a>(
    from: &'a Arc<Core>,
    to: &'a Arc<Core>,
) -> impl Future<Output = Result<RawMessage, SocketErrorKind>> + 'a {
    let mut room = Waiter::new(to, QueueKey::Send);
    let mut incoming = Waiter::new(from, QueueKey::Receive);
    let mut round = None;
    poll_fn(move |context| {
        // Checked each time: the room may be gone when a message arrives.
        let open = ready!(room.poll(context, |state| match state.closing {
            true => Some(Err(SocketErrorKind::Closed)),
            false => state.protocol.has_room().then_some(Ok(())),
        }));
        if let Err(closed) = open {
            return Poll::Ready(Err(closed));
        }
        let mut message = RawMessage::default();
        let received = incoming
            .poll(context, |state| attempt_recv(state, Caller::SOCKET, &mut round, &mut message));
        received.map_ok(|()| message)
    })
}

/// Sends the message to `to`, which has room unless another sender has taken it since.
async fn forward_to(to: &Arc<Core>, mut message: RawMessage) -> Result<(), SocketErrorKind> {
    if let Some(outcome) = to.with(|state| attempt_send(state, Caller::SOCKET, &mut message)) {
        return outcome.map(drop);
    }
    let mut waiter = Waiter::new(to, QueueKey::Send);
    let outcome = poll_fn(|context| {
        waiter.poll(context, |state| attempt_send(state, Caller::SOCKET, &mut message))
    });
    outcome.await.map(drop)
}

#[cfg(test)]
mod tests;
