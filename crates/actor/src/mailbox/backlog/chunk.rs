//! Chunks: calls that are moved together, either messages of local senders or encoded calls of a
//! session.

use wigwag_wire::call::{ASK, ASK_BY, ASKS, Calls};

use crate::limits::{INBOUND_CHUNK_CALLS_MAX, SPARE_BYTES_MAX};
use crate::mailbox::mail_batch::MailBatch;

/// Encoded calls of a session.
#[derive(Default)]
pub(crate) struct Frames {
    pub(crate) bytes: Vec<u8>,
    pub(crate) calls: usize,
    /// The asks among the calls that were not handled yet.
    pub(crate) asks: usize,
    /// Credit that the calls have used.
    pub(crate) units: u64,
    /// The number of calls at the front that were handled before the chunk was put back.
    pub(crate) skip: usize,
    /// The chunk is one long call.
    is_long: bool,
}

impl Frames {
    /// True if `calls` more may be added. A long call stays alone, or its memory would grow.
    pub(crate) fn has_room(&self, calls: usize) -> bool {
        self.calls + calls <= INBOUND_CHUNK_CALLS_MAX && !self.is_long
    }

    /// One call, whose memory is kept.
    pub(crate) fn of_one_call(bytes: Vec<u8>, units: u64) -> Frames {
        let asks = usize::from(matches!(bytes.first(), Some(&(ASK | ASK_BY))));
        Frames { bytes, calls: 1, asks, units, skip: 0, is_long: true }
    }

    /// Adds calls of one kind: all are tells, or all are asks.
    pub(crate) fn add(&mut self, bytes: &[u8], calls: usize, units: u64) {
        self.bytes.extend_from_slice(bytes);
        self.calls += calls;
        if let Some(&(ASK | ASK_BY | ASKS)) = bytes.first() {
            self.asks += calls;
        }
        self.units += units;
    }

    /// The calls that were not handled yet.
    pub(crate) fn left(&self) -> Calls<'_> {
        let mut calls = Calls::new(&self.bytes);
        calls.by_ref().take(self.skip).for_each(drop);
        calls
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
                frames.is_long = false;
                frames.bytes.capacity() <= SPARE_BYTES_MAX
            }
        }
    }
}
