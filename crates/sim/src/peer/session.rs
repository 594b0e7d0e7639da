//! A session, which goes from connection to connection.

use std::collections::VecDeque;

use wigwag_link::send_half::Outgoing;
use wigwag_link::{Dispatcher, SendHalf};

/// The two halves of a session; the application's part of an inbound channel is a number.
#[derive(Debug)]
pub struct Session {
    /// The reading side.
    pub dispatcher: Dispatcher<usize>,
    /// The sending half.
    pub sender: SendHalf,
    pub(super) outgoing: Outgoing,
    /// The sequenced frames of the last batches.
    last: VecDeque<Sent>,
    /// Some of them that go out once more, as a peer may that is unsure: they must be skipped.
    pub(super) again: Option<Sent>,
}

/// The sequenced frames of a batch.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) first_seq: u64,
    pub(super) count: u64,
    pub(super) bytes: Vec<u8>,
}

/// Batches of which a session keeps the frames.
const LAST_BATCHES: usize = 4;

impl Session {
    /// A session that begins.
    pub(super) fn new(dispatcher: Dispatcher<usize>, sender: SendHalf) -> Session {
        let (outgoing, last) = (Outgoing::default(), VecDeque::new());
        Session { dispatcher, sender, outgoing, last, again: None }
    }

    /// Has the last batch that the other side has accepted before `recv_next` sent once more.
    pub fn repeat_before(&mut self, recv_next: u64) {
        let accepted = |sent: &&Sent| sent.first_seq + sent.count <= recv_next;
        self.again = self.last.iter().rev().find(accepted).cloned();
    }

    pub(super) fn keep(&mut self) {
        let taken = &self.outgoing.sequenced;
        if taken.segments.is_empty() {
            return;
        }
        let bytes = taken.segments.iter().flat_map(|segment| segment.as_slice().to_vec());
        let sent = Sent { first_seq: taken.first_seq, count: taken.frames, bytes: bytes.collect() };
        if self.last.len() == LAST_BATCHES {
            self.last.pop_front();
        }
        self.last.push_back(sent);
    }
}
