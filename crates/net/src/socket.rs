//! SP sockets: the protocols of `sp` on the transports of this crate.
//!
//! A socket dials and listens at any number of addresses; the protocol decides which peer gets
//! which message. A dialled peer that goes away is dialled again for as long as the socket lives.
//! Read [`kinds`] for what a user sees; the other modules each hold one part of it.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use wigwag_net::socket::{Rep, Req};
//!
//! let (rep, req) = (Rep::new(), Req::new());
//! let address = rep.listen("tcp://127.0.0.1:0").await?;
//! req.dial(&address.to_string()).await?;
//! req.send("ping").await?;
//! assert_eq!(rep.recv().await?, "ping");
//! rep.send("pong").await?;
//! assert_eq!(req.recv().await?, "pong");
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! # More than one exchange
//!
//! A socket is one conversation: a req socket has one question under way. [`contexts`] hold many on
//! one socket. [`raw`] sockets have no conversation at all and show the headers; a [`forwarder`]
//! joins two of them, so that messages pass from one network to another. [`PairMany`] is a pair
//! whose peers are many. Each of these pages begins with an example.
//!
//! # Performance
//!
//! A send takes one lock and copies nothing; the peer's connection is written by whoever is at it,
//! with all that has piled up. push and pair leave the write to the connection's task, so that a
//! loop of sends makes few large writes; req and rep write at once, because they wait for an
//! answer.
//!
//! # Cancellation
//!
//! A future that is dropped before it is ready has done nothing: a message in `send` goes with it
//! (use `try_send` or a send timeout to keep it), a message for `recv` stays in its queue.
//!
//! # Shutdown
//!
//! `close` refuses new calls, ends the waiting ones with
//! [`Closed`](SocketErrorKind::Closed), and writes what was accepted, for at most [`LINGER_MAX`] or
//! what `set_linger` says; what is left then is counted. A peer that was sent something has the
//! rest of that time to read it and to close its end.
//! Dropping a socket does the same without waiting for it; a program that ends then may cut the
//! tail off.
//!
//! # Threads without a runtime
//!
//! A socket works on the tokio runtime that is current where it is made. Where there is none, the
//! crate starts one of its own on first use, with a single thread named `wigwag`. The `blocking_`
//! calls are for threads outside of any runtime and for `spawn_blocking`; in an async task they
//! panic, as tokio's own do. A current-thread runtime does nothing while nobody runs it, so
//! a `blocking_` call waits for ever then.

use std::time::Duration;

pub mod settings;
pub mod kinds;
pub mod contexts;
pub mod many;
pub mod raw;
pub mod forwarder;
pub mod error;
mod message;
pub mod statistics;
pub mod observe;
mod waker_queue;
mod race;
pub mod background;
mod core;
mod effects;
mod calls;
mod pipe;
mod admission;
pub mod endpoint;
mod dialer;
mod listener;

pub use contexts::{RepContext, ReqContext, RespondentContext, SubContext, SurveyorContext};
pub use endpoint::{Dialer, Listener};
pub use error::{SendError, SocketError, SocketErrorKind};
pub use forwarder::{ForwardError, Forwarded, Forwarder};
pub use kinds::{Bus, Pair, Pair0, Pub, Pull, Push, Rep, Req, Respondent, Star, Sub, Surveyor};
pub use many::PairMany;
pub use observe::{OpenPipeReport, PipeEnd, PipeInfo, PipeWatcher, Side};
pub use statistics::{HandshakeFailures, PipeStatistics, Statistics, Traffic};
pub use wigwag_sp::limits::Hops;
pub use wigwag_sp::{Counters, OutOfRange, PipeId, Priority, QueueLength};

/// Time that a closed socket goes on writing what it has accepted, unless set otherwise: a full
/// outbox of 256 KiB at 2 Mbit/s.
pub const LINGER_MAX: Duration = Duration::from_secs(1);

/// Connections of one listener that have not shown their SP header. Each costs a file handle for
/// at most the handshake time; at 1,024, silent strangers hold a twentieth of 20,000 handles. Beyond
/// them a newcomer takes the place of the oldest from the source that has most.
pub const UNAUTHENTICATED_MAX: usize = if cfg!(test) { 4 } else { 1024 };
