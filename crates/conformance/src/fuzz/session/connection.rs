//! A connection: two ends, and the bytes in flight between them.

use std::collections::VecDeque;

use wigwag_sim::peer::{Peer, PeerError};
use wigwag_wire::{Batch, ConnectionStateMachine, ReadBuf, Time};

/// The side that dialed.
pub(crate) const DIALER: usize = 0;
/// The side that was dialed.
pub(crate) const LISTENER: usize = 1;

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) peer: Peer,
    pub(crate) input: ReadBuf,
    /// Output that was taken and is not written yet.
    pub(crate) batch: Batch,
    /// The time when the last byte was received.
    pub(crate) received: Time,
    /// This end neither reads nor writes any more.
    pub(crate) is_closed: bool,
}

impl End {
    /// The end of a new connection.
    pub(crate) fn new(peer: Peer, now: Time) -> End {
        End { peer, input: ReadBuf::new(), batch: Batch::new(), received: now, is_closed: false }
    }

    /// Writes up to `most` bytes of output; takes the peer's next output when the last was written.
    pub(crate) fn write(&mut self, most: usize, now: Time) -> Vec<u8> {
        if self.is_closed {
            return Vec::new();
        }
        if self.batch.is_empty() {
            self.peer.set_now(now);
            self.peer.take_output(&mut self.batch);
        }
        let mut bytes = Vec::new();
        for slice in self.batch.slices() {
            let room = most - bytes.len();
            bytes.extend_from_slice(&slice[..slice.len().min(room)]);
        }
        self.batch.advance(bytes.len());
        bytes
    }

    /// Receives bytes.
    pub(crate) fn fill(&mut self, bytes: &[u8], now: Time) {
        self.input.fill(bytes);
        self.received = now;
    }

    /// Advances the clock.
    pub(crate) fn tick(&mut self, now: Time) -> Result<(), PeerError> {
        if self.is_closed { Ok(()) } else { self.peer.tick(now) }
    }
}

/// A simulated connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) ends: [End; 2],
    /// Bytes that each end has written and the other has not received.
    in_flight: [VecDeque<u8>; 2],
}

impl Connection {
    /// A new connection.
    pub(crate) fn new(peers: [Peer; 2], now: Time) -> Connection {
        Connection { ends: peers.map(|peer| End::new(peer, now)), in_flight: Default::default() }
    }

    /// Lets an end write up to `most` bytes.
    pub(crate) fn write(&mut self, side: usize, most: usize, now: Time) {
        let bytes = self.ends[side].write(most, now);
        self.in_flight[side].extend(bytes);
    }

    /// Delivers up to `most` of the bytes that `side` has written; false if no bytes arrived.
    pub(crate) fn deliver(&mut self, side: usize, most: usize, now: Time) -> bool {
        let most = most.min(self.in_flight[side].len());
        let bytes: Vec<u8> = self.in_flight[side].drain(..most).collect();
        let end = &mut self.ends[1 - side];
        if end.is_closed || bytes.is_empty() {
            return false;
        }
        end.fill(&bytes, now);
        true
    }

    /// Loses the bytes that `side` has written, except for the first `kept`.
    pub(crate) fn drop_in_flight(&mut self, side: usize, kept: usize) {
        self.in_flight[side].truncate(kept);
    }

    /// True when no bytes are in flight or wait to be written.
    pub(crate) fn is_empty(&self) -> bool {
        self.in_flight.iter().all(VecDeque::is_empty)
            && self.ends.iter().all(|end| end.batch.is_empty())
    }
}
