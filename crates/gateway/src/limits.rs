//! The limits of a gateway, each with its reason.

use std::time::Duration;

/// Connections of a gateway. Each holds a descriptor and some 20 KiB; a newcomer evicts the oldest one
/// of the source that has most.
pub const CONNECTIONS_MAX: usize = 4096;

/// Requests that are being answered, of all connections together. A further one is answered with 503.
pub const REQUESTS_MAX: usize = 8192;

/// Streams of one HTTP/2 connection, so requests of it that are being answered.
pub const STREAMS_MAX: u32 = 128;

/// Bytes of the head of a request, and of its header list in HTTP/2.
pub const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Headers of a request of HTTP/1. It is the number that hyper has by default: for any other one it
/// fills and moves 6 KiB in each request, which took 9 % of the processor time of a short answer.
pub const HEADERS_MAX: usize = 100;

/// Bytes of a header `Host` that a connection remembers: as many as a name has, and a port.
pub const HOST_BYTES_KEPT: usize = 261;

/// Bytes of the body of a request unless the options set another number: more than most calls have.
pub const BODY_BYTES: usize = 1024 * 1024;

/// Bytes of all bodies that are held at a time.
pub const BODIES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The time within which the first head of a connection must be complete: that of a handshake.
pub const FIRST_HEAD_TIME: Duration = Duration::from_secs(5);

/// The time within which each further head must come, so that of an idle connection.
pub const HEAD_TIME: Duration = Duration::from_secs(60);

/// The time within which a body must be complete.
pub const BODY_TIME: Duration = Duration::from_secs(30);

/// Bytes of answers that a connection gathers before it writes them.
pub const GATHERED_BYTES_MAX: usize = 16 * 1024;

/// Bytes of memory for answers that a connection keeps while it is idle.
pub const GATHERED_BYTES_KEPT: usize = 4 * 1024;

/// A piece of an answer that HTTP takes at once: long enough that a write costs little for its bytes, and
/// a client that reads 1.1 KB a second reads it within [`HEAD_TIME`].
pub const PIECE_BYTES_MAX: usize = 64 * 1024;

/// How long a client may read nothing of what is sent to it.
pub const WRITE_STALL_MAX: Duration = Duration::from_secs(30);

/// How long an ask waits for its reply unless the request or the options say otherwise.
pub const ASK_TIME: Duration = Duration::from_secs(30);

/// The longest time for which a request may ask to wait.
pub const ASK_TIME_MAX: Duration = Duration::from_secs(300);

/// Items that the producer of a stream may be ahead of the client.
pub const ITEMS_AHEAD: usize = 64;

/// The pause after which a stream without items sends a comment, so that proxies keep it open.
pub const EVENT_PAUSE: Duration = Duration::from_secs(15);

/// The time between two snapshots that a live page is sent.
pub const SNAPSHOT_TIME: Duration = Duration::from_secs(1);

/// How old a snapshot may be that was taken for another live page. Each takes every lock of the node
/// once, so the node pays for two a second at most, however many pages watch.
pub const SNAPSHOT_AGE_MAX: Duration = Duration::from_millis(500);

/// Live pages that watch at a time. A snapshot of a large node has 1 MiB, so all of them together are
/// sent 32 MiB a second at most.
pub const WATCHERS_MAX: usize = 32;

/// Identities of one connection: those of a proxy that passes on the requests of several users. With
/// one more, the oldest is forgotten.
pub const IDENTITIES_MAX: usize = 16;

/// Paths of one connection whose methods are remembered.
pub const PATHS_MAX: usize = 64;

/// Bytes of an answer from which on it is compressed, if the request allows it.
pub const COMPRESSED_BYTES_MIN: usize = 1024;

/// Bytes of an answer from which on another thread compresses it, and other requests go on.
pub const COMPRESSED_BYTES_ELSEWHERE: usize = 64 * 1024;

/// Sessions over long poll that are open.
pub const CARRIERS_MAX: usize = 1024;

/// Bytes of one request or answer of a session over long poll, and those that wait in each direction.
pub const CARRIER_BYTES_MAX: usize = 256 * 1024;

/// How long a long poll waits for something to send.
pub const POLL_TIME: Duration = Duration::from_secs(20);

/// How long a session over long poll keeps its carrier without any request.
pub const CARRIER_IDLE_MAX: Duration = Duration::from_secs(30);

/// Bytes of a token.
pub const TOKEN_BYTES_MAX: usize = 1024;

/// How long the close of a gateway waits for connections that it has cut: far longer than a runtime that
/// runs needs for that.
pub const CUT_TIME: Duration = Duration::from_secs(1);
