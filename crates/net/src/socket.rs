//! SP sockets: the protocols of `sp` on the transports of this crate.
//!
//! A socket dials and listens at any number of addresses; the protocol decides which peer gets
//! which message. A dialled peer that disconnects is dialled again for as long as the socket lives.
//! Each protocol has a type of socket; [`raw`] has those whose headers the program makes itself.
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
//! # What is sent
//!
//! Calls that send take every type that is the bytes of a message ([`IntoBytes`](wigwag_wire::IntoBytes)):
//! what owns its bytes is not copied, slices, texts and arrays are copied once and need not outlive
//! the call.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use wigwag_net::socket::{Pull, Push};
//!
//! let (push, pull) = (Push::new(), Pull::new());
//! let address = pull.listen("tcp://127.0.0.1:0").await?;
//! push.dial(&address.to_string()).await?;
//! let mut line = String::from("rain");
//! push.send(&line).await?;
//! line.push_str(" and wind");
//! push.send(&line.as_bytes()[..8]).await?;
//! push.send(*b"snow").await?;
//! push.send(line).await?;
//! for expected in ["rain", "rain and", "snow", "rain and wind"] {
//!     assert_eq!(pull.recv().await?, expected);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! # More than one exchange
//!
//! A socket is one conversation: a req socket has one question under way. [`contexts`] allow many
//! on one socket. [`raw`] sockets have no conversation and expose the headers; a [`forwarder`]
//! joins two of them, so that messages pass from one network to another. [`PairMany`] is a pair
//! with many peers. Each of these pages begins with an example.
//!
//! # Performance
//!
//! A send takes one lock and does not copy what owns its bytes; a thread that writes to the peer's connection writes
//! everything that has piled up. push and pair leave the write to the connection's task, so a loop
//! of sends makes few large writes; req and rep write at once, because they wait for an answer.
//!
//! # Cancellation
//!
//! A future that is dropped before it is ready has no effect: a message in `send` is dropped with
//! it (use `try_send` or a send timeout to keep it), a message for `recv` stays in its queue.
//!
//! # Shutdown
//!
//! `close` refuses new calls, ends the waiting ones with [`Closed`](SocketErrorKind::Closed), and
//! writes accepted messages, for at most [`LINGER_MAX`] or the time of `set_linger`; the messages
//! left then are counted. A peer that was sent a message has the rest of that time to read it and
//! to close its end. Dropping a socket does the same in the background; a program that exits right
//! after may cut messages off.
//!
//! # Threads without a runtime
//!
//! A socket works on the tokio runtime that is current where it is created. Without one, the crate
//! starts its own on first use, with a single thread named `wigwag`. The `blocking_` calls are for
//! threads outside of any runtime and for `spawn_blocking`; in an async task they panic, as tokio's
//! own do. A current-thread runtime makes progress only while a thread runs it; without that a
//! `blocking_` call waits for ever.

use std::time::Duration;

pub mod error;
pub mod statistics;
pub mod observe;
mod race;
mod core;
mod effects;
mod calls;
mod pipe;
mod endpoint;
mod kinds;

pub use endpoint::accepted::AcceptedConnection;
pub use endpoint::{Dialer, ENDPOINTS_MAX, Listener};
pub use error::{SendError, SocketError, SocketErrorKind};
pub use kinds::contexts::{RepContext, ReqContext, RespondentContext, SubContext, SurveyorContext};
pub use kinds::forwarder::{ForwardError, Forwarded, Forwarder};
pub use kinds::many::PairMany;
pub use kinds::{Bus, Pair, Pair0, Pub, Pull, Push, Rep, Req, Respondent, Star, Sub, Surveyor};
pub use kinds::{contexts, forwarder, many, raw};
pub use observe::{OpenPipeReport, PipeEnd, PipeInfo, PipeWatcher, Side};
pub use statistics::{HandshakeFailures, PipeStatistics, Statistics, Traffic};
pub use wigwag_sp::limits::Hops;
pub use wigwag_sp::{Counters, OutOfRange, PipeId, Priority, QueueLength};

/// Time in which a closed socket still writes accepted messages, unless set otherwise: a full
/// outbox of 256 KiB at 2 Mbit/s.
pub const LINGER_MAX: Duration = Duration::from_secs(1);

/// Connections of one listener that have not sent their SP header. Each costs a file descriptor for
/// at most the handshake time; at 1,024, silent peers hold a twentieth of 20,000 descriptors.
/// Beyond that a new connection evicts the oldest from the source that has most.
pub const UNAUTHENTICATED_MAX: usize = if cfg!(test) { 4 } else { 1024 };
