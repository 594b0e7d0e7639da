//! The numbers that bound what an actor owns, each with its reason.

use std::time::Duration;

/// Bytes of a line, its newline not counted: far beyond what people or protocols of lines write.
pub const LINE_BYTES_MAX: usize = 64 * 1024;

/// Bytes that are asked for in one read: a thousand streams that are read have 8 MiB for it.
pub const CHUNK_BYTES: usize = 8 * 1024;

/// Lines, chunks or connections that wait for the actor or are held by it: a burst that fits one
/// chunk goes in without a wait in between.
pub const WAITING_MAX: usize = 64;

/// Bytes of what waits for the actor or is held by it: two lines of the greatest length.
pub const WAITING_BYTES_MAX: usize = 128 * 1024;

/// Bytes that wait to be written, each write with [`WRITE_COST_BYTES`] on top: a peer may be a few
/// thousand short lines behind before writes wait.
pub const WRITING_BYTES_MAX: usize = 256 * 1024;

/// Bytes that a write is charged beside its own: its place in the queue and its allocation. So a
/// flood of tiny writes is bounded too.
pub const WRITE_COST_BYTES: usize = 64;

/// Bytes that are written at once when many short writes wait.
pub const BATCH_BYTES_MAX: usize = 64 * 1024;

/// How long what an actor has written may still be written when the actor has ended as somebody
/// wanted. After any other end nothing is.
pub const LINGER_MAX: Duration = Duration::from_secs(1);

/// How long a pipe of a child that has exited may be silent before it counts as ended: a process
/// that the child has left behind may hold it open for ever.
pub const PIPE_SILENCE_MAX: Duration = Duration::from_secs(1);

/// How often a followed file is looked at without a hint of the system: network file systems give
/// none, and neither do changes behind a symbolic link.
pub const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long a listener rests when the system has no descriptor or no memory for a connection, which
/// is nothing that one could wait for.
pub const ACCEPT_REST: Duration = Duration::from_millis(50);

/// Pieces that an actor may have granted and not used: more than any stream gives in a day.
pub const GRANTED_MAX: usize = u32::MAX as usize >> 4;

/// How long, how many, how much. Values out of range become the nearest that is in it.
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

/// Bytes that any of the limits may be: what a count of permits can hold with room to spare.
const BYTES_MAX: usize = u32::MAX as usize >> 1;

impl Limits {
    /// Bytes of a line at most, its newline not counted; [`LINE_BYTES_MAX`] by default. A longer one
    /// is skipped and said to be [too long](super::Event::TooLong).
    pub fn line_bytes_max(mut self, bytes: usize) -> Limits {
        self.line_bytes = bytes.clamp(1, BYTES_MAX);
        self
    }

    /// Bytes of one read, and of a [`Chunk`](super::Chunk); [`CHUNK_BYTES`] by default.
    pub fn chunk_bytes(mut self, bytes: usize) -> Limits {
        self.chunk_bytes = bytes.clamp(1, BYTES_MAX);
        self
    }

    /// Pieces that wait for the actor or that it holds; [`WAITING_MAX`] by default. A piece is a line,
    /// a chunk or a connection, and counts until it is dropped or taken apart.
    pub fn waiting_max(mut self, pieces: usize) -> Limits {
        self.waiting = pieces.clamp(1, GRANTED_MAX);
        self
    }

    /// The bytes of these; [`WAITING_BYTES_MAX`] by default. A piece that is larger goes alone. Beyond
    /// this, the reader itself has at most one line and one read.
    pub fn waiting_bytes_max(mut self, bytes: usize) -> Limits {
        self.waiting_bytes = bytes.clamp(1, BYTES_MAX);
        self
    }

    /// Bytes that wait to be written; [`WRITING_BYTES_MAX`] by default. Nothing longer than this less
    /// [`WRITE_COST_BYTES`] can be written at once.
    pub fn writing_bytes_max(mut self, bytes: usize) -> Limits {
        self.writing_bytes = bytes.clamp(WRITE_COST_BYTES + 1, BYTES_MAX);
        self
    }

    /// Nothing arrives before it is [granted](super::Input::grant), and each grant serves once.
    pub fn granted_by_hand(mut self) -> Limits {
        self.by_hand = true;
        self
    }
}
