//! A session, which moves from connection to connection.

use std::collections::VecDeque;

use wigwag_link::send_half::Outgoing;
use wigwag_link::{Dispatcher, SendHalf};

/// The two halves of a session; the application's part of an inbound channel is a number.
#[derive(Debug)]
pub struct Session {
    /// The reading half.
    pub dispatcher: Dispatcher<usize>,
    /// The sending half.
    pub sender: SendHalf,
    pub(super) outgoing: Outgoing,
    /// The sequenced frames of the last batches.
    recent: VecDeque<SentBatch>,
    /// A batch to send again, as a peer may do that is unsure: the receiver must skip it.
    pub(super) resend: Option<SentBatch>,
}

/// The sequenced frames of a batch.
#[derive(Clone, Debug)]
pub(super) struct SentBatch {
    pub(super) first_seq: u64,
    pub(super) count: u64,
    pub(super) bytes: Vec<u8>,
}

/// The number of batches of which a session keeps the frames.
const RECENT_BATCHES_MAX: usize = 4;

impl Session {
    /// A new session.
    pub(super) fn new(dispatcher: Dispatcher<usize>, sender: SendHalf) -> Session {
        let (outgoing, recent) = (Outgoing::default(), VecDeque::new());
        Session { dispatcher, sender, outgoing, recent, resend: None }
    }

    /// Sends again the last batch that the other side has accepted before `recv_next`.
    pub fn resend_before(&mut self, recv_next: u64) {
        let accepted = |sent: &&SentBatch| sent.first_seq + sent.count <= recv_next;
        self.resend = self.recent.iter().rev().find(accepted).cloned();
    }

    pub(super) fn remember_batch(&mut self) {
        let taken = &self.outgoing.sequenced;
        if taken.segments.is_empty() {
            return;
        }
        let bytes = taken.segments.iter().flat_map(|segment| segment.flat().into_owned());
        let sent =
            SentBatch { first_seq: taken.first_seq, count: taken.frames, bytes: bytes.collect() };
        if self.recent.len() == RECENT_BATCHES_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(sent);
    }
}
