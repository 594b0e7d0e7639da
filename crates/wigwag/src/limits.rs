//! The numbers that bound a node, each with its reason.

use std::time::Duration;

pub use wigwag_actor::limits::{ASK_WAIT_MAX, HANDLER_WAIT_MAX};

/// Connections whose handshake is not over. Each holds a file handle and a buffer; a silent
/// stranger loses its place after the handshake's time, or sooner to a newcomer.
pub const HANDSHAKES_MAX: usize = 1024;

/// Sessions that a node lets in: each may hold 4 MiB unacknowledged and 8 MiB of credit (a far one 64 MiB
/// each, of which the credit of all far ones together is at most 1 GiB), and a file handle, of which a process has some ten thousand.
pub const SESSIONS_MAX: usize = 8192;

/// Sessions that one source may have opened, a host or a user of this machine: half, so that the others
/// find some.
pub const SESSIONS_PER_SOURCE_MAX: usize = SESSIONS_MAX / 2;

/// Sessions over which nothing has come yet. A peer that means well says something within a round trip;
/// beyond these the oldest goes for a newcomer.
pub const SILENT_SESSIONS_MAX: usize = 1024;

/// How long such a session lives, with its connection or without: the time of a handshake.
pub const SILENT_SESSION_TTL: Duration = Duration::from_secs(5);

/// The least that peers together may be allowed to make a node hold: a thousand channels, and a few
/// frames of the largest size beside them.
pub const PEER_MEMORY_MIN: u64 = 16 * 1024 * 1024;

/// Codec of a channel whose arguments are MessagePack.
pub const CODEC_MESSAGEPACK: u8 = 0;

/// Codec of a channel whose arguments have fixed widths where their types do, and are MessagePack
/// otherwise.
pub const CODEC_FIXED: u8 = 1;

/// Bytes that a sender encodes in one turn before it publishes them: one segment.
pub const TURN_BYTES: usize = 64 * 1024;

/// Credit that one sender's turn may hold, so that the others find some.
pub const LEASE_UNITS_MAX: u64 = 4096;

/// Asks that one pipeline may have in flight: each is a number, and a round trip of 20 ms holds so
/// many of a fast asker. A power of two.
pub const PIPELINE_ASKS_MAX: usize = 2_097_152;

/// Asks that have no pipeline: each has a slot of 64 bytes, and somebody who waits for it.
pub const SINGLE_ASKS_MAX: usize = 65_536;

/// Asks that a session may have in flight: such a pipeline leaves the others their own.
pub const ASKS_MAX: usize = PIPELINE_ASKS_MAX + SINGLE_ASKS_MAX;

/// Of these, what pipelines leave to asks that have none.
pub const SINGLE_ASKS_MIN: usize = 1024;

/// Slots that a sender's turn takes for its asks at once.
pub const LEASE_SLOTS: usize = 64;

/// Slots that a turn which fetches answers keeps for its next asks.
pub const KEPT_SLOTS_MAX: usize = 512;

/// Links that a thread keeps its buffers for between two turns: a thread that idles may hold on to links
/// that are over meanwhile, so they are few.
pub const LINKS_KEPT_MAX: usize = 64;

/// Characters of an error's text: for people, and far below the smallest frame that a peer accepts
/// by default.
pub const ERROR_TEXT_CHARS_MAX: usize = 512;

/// Bytes of a reply that is always sent: an asker has at most [`ASKS_MAX`] slots, so such replies are
/// at most 132 MiB together.
pub const SMALL_ANSWER: usize = 64;

/// Bytes that wait to be written above which a sender outside a turn writes them itself: below, the
/// driver is woken once and takes what piled up meanwhile.
pub const PILE_BYTES: usize = 128 * 1024;

/// How long a node that is dropped without `close` tries to write what waits, for each link.
pub const DROP_WAIT: Duration = Duration::from_secs(1);

/// How long `#[wigwag::main]` gives the nodes to deliver what they have when `main` returns.
pub const MAIN_CLOSE: Duration = Duration::from_secs(5);

/// How long a session is kept after its connection was cut: a restart of a switch, a laptop's way to the
/// next room.
pub const SESSION_TTL: Duration = Duration::from_secs(60);

/// The longest that it may be: each holds what is not acknowledged.
pub const SESSION_TTL_MAX: Duration = Duration::from_secs(3600);

/// The dialer waits this much longer than the listener keeps the session, because the listener
/// decides.
pub const REDIAL_PATIENCE: Duration = Duration::from_secs(5);

/// The first pause between two dials for a session that was cut, after one without a pause.
pub const REDIAL_LEAST: Duration = Duration::from_millis(10);

/// The longest such pause.
pub const REDIAL_MOST: Duration = Duration::from_secs(1);

/// How long a dial that has come upon another session with its peer waits for that one before it tries
/// again. It comes within a round trip, unless its dial failed or it is one that has ended here and
/// not yet there; the peer learns so when it dials next, a second later at most.
pub const ANOTHER_WAIT: Duration = Duration::from_millis(500);

/// Events of sessions that wait for whoever listens to them.
pub const EVENTS_MAX: usize = 1024;
