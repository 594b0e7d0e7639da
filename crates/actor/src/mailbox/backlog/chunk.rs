//! Chunks: calls that are moved together, either messages of local senders or encoded calls of a
//! session.

use bytes::Bytes;
use wigwag_wire::call::{ASK, ASK_BY, ASK_ITEMS, ASKS, Calls, CallsPosition, MIXED_ASKS};

use crate::limits::{INBOUND_CHUNK_CALLS_MAX, SPARE_BYTES_MAX};
use crate::mailbox::mail_batch::MailBatch;

fn are_asks(calls: &[u8]) -> bool {
    matches!(calls.first(), Some(&(ASK | ASK_BY | ASK_ITEMS | ASKS | MIXED_ASKS)))
}

/// Encoded calls of a session.
#[derive(Default)]
pub(crate) struct Frames {
    pub(crate) bytes: Vec<u8>,
    pub(crate) calls: usize,
    /// The asks among the calls that were not handled yet.
    pub(crate) asks: usize,
    /// Credit that the calls have used.
    pub(crate) units: u64,
    /// The number of calls at the front that were handled before the chunk was put back, and the place
    /// of the next one.
    pub(crate) skip: usize,
    pub(crate) position: Option<Box<CallsPosition>>,
    /// The calls, if they were not copied into `bytes`.
    pub(crate) shared: Option<Bytes>,
}

impl Frames {
    /// True if `calls` more may be added. Shared calls stay alone.
    pub(crate) fn has_room(&self, calls: usize) -> bool {
        self.calls + calls <= INBOUND_CHUNK_CALLS_MAX && self.shared.is_none()
    }

    /// Calls of one kind, whose memory is shared.
    pub(crate) fn of_shared(bytes: Bytes, calls: usize, units: u64) -> Frames {
        let asks = if are_asks(&bytes) { calls } else { 0 };
        Frames { calls, asks, units, shared: Some(bytes), ..Frames::default() }
    }

    /// Adds calls of one kind: all are tells, or all are asks.
    pub(crate) fn add(&mut self, bytes: &[u8], calls: usize, units: u64) {
        self.bytes.extend_from_slice(bytes);
        self.calls += calls;
        if are_asks(bytes) {
            self.asks += calls;
        }
        self.units += units;
    }

    /// The calls that were not handled yet.
    pub(crate) fn left(&self) -> Calls<'_> {
        let bytes = self.shared.as_deref().unwrap_or(&self.bytes);
        match &self.position {
            None => Calls::new(bytes),
            Some(position) => Calls::at(bytes, position),
        }
    }
}

/// A chunk of calls of one queue, in order: up to
/// [`RUN_CALLS_MAX`](crate::limits::RUN_CALLS_MAX) of local senders, or up to
/// [`INBOUND_CHUNK_CALLS_MAX`](crate::limits::INBOUND_CHUNK_CALLS_MAX) of a session.
pub(crate) enum Chunk<M> {
    Mails(MailBatch<M>),
    Frames(Frames),
}

impl<M> Chunk<M> {
    /// The number of calls that were not handled yet.
    pub(crate) fn calls(&self) -> usize {
        match self {
            Chunk::Mails(mails) => mails.len(),
            Chunk::Frames(frames) => frames.calls - frames.skip,
        }
    }

    /// Credit that the calls have used; zero for local calls.
    pub(crate) fn units(&self) -> u64 {
        match self {
            Chunk::Mails(_) => 0,
            Chunk::Frames(frames) => frames.units,
        }
    }

    /// Empties the chunk; false when it holds so much memory that it should not be kept.
    pub(crate) fn clear(&mut self) -> bool {
        match self {
            Chunk::Mails(mails) => {
                mails.clear();
                true
            }
            Chunk::Frames(frames) => {
                frames.bytes.clear();
                (frames.calls, frames.asks, frames.units, frames.skip) = (0, 0, 0, 0);
                frames.position = None;
                frames.shared = None;
                frames.bytes.capacity() <= SPARE_BYTES_MAX
            }
        }
    }
}
