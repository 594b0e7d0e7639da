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
//! [`Closed`](SocketErrorKind::Closed), and writes what was accepted, for at most [`LINGER_MAX`].
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

use wigwag_sp::Counters;

pub mod kinds;
pub mod contexts;
pub mod many;
pub mod raw;
pub mod forwarder;
pub mod error;
mod parcel;
mod waiters;
mod race;
pub mod background;
mod core;
mod errands;
mod calls;
mod pipe;
mod dialer;
mod listener;

pub use contexts::{RepContext, ReqContext, RespondentContext, SubContext, SurveyorContext};
pub use error::{SendError, SocketError, SocketErrorKind};
pub use forwarder::{ForwardError, Forwarded, Forwarder};
pub use kinds::{Bus, Pair, Pair0, Pub, Pull, Push, Rep, Req, Respondent, Star, Sub, Surveyor};
pub use many::PairMany;
pub use wigwag_sp::PipeId;
pub use wigwag_sp::limits::Hops;

/// Time that a closed socket goes on writing what it has accepted: a full outbox of 256 KiB at
/// 2 Mbit/s.
pub const LINGER_MAX: Duration = Duration::from_secs(1);

/// Pause before the first redial, as in nanomsg and mangos; it doubles from there.
pub const REDIAL_DELAY_MIN: Duration = Duration::from_millis(100);

/// Longest pause between two dials: a peer that comes back is found within a second.
pub const REDIAL_DELAY_MAX: Duration = Duration::from_secs(1);

/// Connections of one listener that have not shown their SP header. Each costs a file handle for
/// at most the handshake time; at 1,024, silent strangers hold a twentieth of 20,000 handles.
pub const UNAUTHENTICATED_MAX: usize = if cfg!(test) { 4 } else { 1024 };

/// Pause after the system has refused an accept: no file handles left, most likely. They do not
/// come back faster by asking again at once.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a socket has done, in numbers since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// What the protocol counts: messages, and each drop by its reason.
    pub counters: Counters,
    /// Connections that are open now.
    pub pipes_open: u64,
    /// Connections that were opened in all.
    pub pipes_opened: u64,
    /// Connections that the protocol turned away: a second peer of a pair.
    pub pipes_refused: u64,
    /// Connections that were closed because the peer broke a rule.
    pub pipes_punished: u64,
    /// Arrivals whose SP header was wrong or did not come in time.
    pub handshakes_failed: u64,
    /// Redials that failed.
    pub dials_failed: u64,
    /// Accepts that the system refused.
    pub accepts_failed: u64,
    /// Messages that were being written when their connection ended: arrived or not, nobody knows.
    pub messages_cut_off: u64,
}
