//! The limits of streams, files and processes that an actor owns, each with its reason.

use std::time::Duration;

/// Bytes of a line without its terminator: far beyond what people or line-based protocols write.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// Bytes requested in one read: a thousand open streams need 8 MiB for it.
pub const CHUNK_BYTES: usize = 8 * 1024;

/// Lines, chunks or connections that wait for the actor or are held by it: a burst that fits one
/// chunk arrives without a pause.
pub const WAITING_MAX: usize = 64;

/// Bytes that wait for the actor or are held by it: two lines of the greatest length.
pub const WAITING_BYTES_MAX: usize = 128 * 1024;

/// Bytes that wait to be written, each write charged [`WRITE_COST_BYTES`] on top: a peer may be a
/// few thousand short lines behind before writes wait.
pub const WRITING_BYTES_MAX: usize = 256 * 1024;

/// Bytes charged for a write beside its own: its place in the queue and its allocation. It bounds a
/// flood of tiny writes too.
pub const WRITE_COST_BYTES: usize = 64;

/// Bytes written at once when many short writes wait.
pub const BATCH_BYTES_MAX: usize = 64 * 1024;

/// How long waiting output may still be written after the actor has ended normally. After any other
/// end nothing is written.
pub const LINGER_MAX: Duration = Duration::from_secs(1);

/// How long a pipe of an exited child may be silent before it counts as ended: a process that the
/// child has left behind may hold it open for ever.
pub const PIPE_SILENCE_MAX: Duration = Duration::from_secs(1);

/// How often a followed file is looked at without a hint from the system: network file systems give
/// none, and neither do changes behind a symbolic link.
pub const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long a listener pauses when the system has no descriptor or no memory for a connection;
/// there is nothing to wait on for that.
pub const ACCEPT_REST: Duration = Duration::from_millis(50);

/// Pieces that may be granted and unused: more than any stream delivers in a day.
pub const GRANTED_MAX: usize = u32::MAX as usize >> 4;

/// Limits of an input or output. A value out of range becomes the nearest one in range.
///
/// ```
/// use wigwag::io::Limits;
///
/// let limits = Limits::default().line_bytes_max(4096).waiting_max(8).granted_by_hand();
/// # drop(limits);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub(super) line_bytes: usize,
    pub(super) chunk_bytes: usize,
    pub(super) waiting: usize,
    pub(super) waiting_bytes: usize,
    pub(super) writing_bytes: usize,
    pub(super) by_hand: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            line_bytes: LINE_BYTES_MAX,
            chunk_bytes: CHUNK_BYTES,
            waiting: WAITING_MAX,
            waiting_bytes: WAITING_BYTES_MAX,
            writing_bytes: WRITING_BYTES_MAX,
            by_hand: false,
        }
    }
}

/// The most bytes of any limit: half of what a permit count can hold.
const BYTES_MAX: usize = u32::MAX as usize >> 1;

impl Limits {
    /// Sets the bytes of a line without its terminator; [`LINE_BYTES_MAX`] by default. A longer
    /// line is skipped and reported as [too long](super::Event::TooLong).
    #[must_use]
    pub fn line_bytes_max(mut self, bytes: usize) -> Limits {
        self.line_bytes = bytes.clamp(1, BYTES_MAX);
        self
    }

    /// Sets the bytes of one read, and so of a [`Chunk`](super::Chunk); [`CHUNK_BYTES`] by default.
    #[must_use]
    pub fn chunk_bytes(mut self, bytes: usize) -> Limits {
        self.chunk_bytes = bytes.clamp(1, BYTES_MAX);
        self
    }

    /// Sets how many pieces may wait for the actor or be held by it; [`WAITING_MAX`] by default. A
    /// piece is a line, a chunk or a connection, and counts until it is dropped or taken apart.
    #[must_use]
    pub fn waiting_max(mut self, pieces: usize) -> Limits {
        self.waiting = pieces.clamp(1, GRANTED_MAX);
        self
    }

    /// Sets how many bytes those pieces may have; [`WAITING_BYTES_MAX`] by default. A larger piece
    /// is delivered alone. In addition, the reader itself holds at most one line and one read.
    #[must_use]
    pub fn waiting_bytes_max(mut self, bytes: usize) -> Limits {
        self.waiting_bytes = bytes.clamp(1, BYTES_MAX);
        self
    }

    /// Sets how many bytes may wait to be written; [`WRITING_BYTES_MAX`] by default. A single write
    /// can have at most this many less [`WRITE_COST_BYTES`].
    #[must_use]
    pub fn writing_bytes_max(mut self, bytes: usize) -> Limits {
        self.writing_bytes = bytes.clamp(WRITE_COST_BYTES + 1, BYTES_MAX);
        self
    }

    /// Delivers nothing before it is [granted](super::Input::grant); each grant serves once.
    #[must_use]
    pub fn granted_by_hand(mut self) -> Limits {
        self.by_hand = true;
        self
    }
}
