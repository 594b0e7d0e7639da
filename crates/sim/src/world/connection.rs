//! One connection between two nodes: two wires, and the state of either end.

use wigwag_wire::{Batch, ReadBuf, Time};

use crate::clock::micros;
use crate::network::Wire;
use crate::peer::Peer;
use crate::random::Random;
use crate::setup::Side;

/// One end of a connection.
#[derive(Debug)]
pub(super) struct End {
    pub(super) peer: Peer,
    pub(super) input: ReadBuf,
    pub(super) batch: Batch,
    /// The node does not use the end any more: it has noticed a cut, has read CLOSE, or the
    /// session has moved on.
    pub(super) is_closed: bool,
    /// The time at which the node will notice that the connection was cut.
    pub(super) notice_at: Option<Time>,
}

impl End {
    fn new(peer: Peer) -> End {
        let (input, batch) = (ReadBuf::new(), Batch::new());
        End { peer, input, batch, is_closed: false, notice_at: None }
    }
}

/// A connection of the world.
#[derive(Debug)]
pub(super) struct Connection {
    /// The pair of nodes that it connects.
    pub(super) pair: usize,
    /// The wires, each named after the side that writes.
    pub(super) wires: [Wire; 2],
    pub(super) ends: [End; 2],
    was_cut: bool,
}

impl Connection {
    pub(super) fn new(pair: usize, wires: [Wire; 2], peers: [Peer; 2]) -> Connection {
        Connection { pair, wires, ends: peers.map(End::new), was_cut: false }
    }

    /// True when nothing can happen on the connection any more.
    pub(super) fn is_closed(&self) -> bool {
        self.ends.iter().all(|end| end.is_closed)
    }

    /// True when neither end uses it any more; bytes in flight still arrive.
    pub(super) fn is_drained(&self) -> bool {
        self.is_closed() && self.wires.iter().all(|wire| wire.next_due().is_none())
    }

    /// Writes as much as the wire takes; returns the numbers of bytes.
    pub(super) fn flush(&mut self, side: Side, now: Time, random: &mut Random) -> Vec<u64> {
        use wigwag_wire::ConnectionStateMachine;
        let (end, wire) = (&mut self.ends[side as usize], &mut self.wires[side as usize]);
        let mut lengths = Vec::new();
        end.peer.set_now(now);
        while !end.is_closed && wire.room() > 0 {
            if end.batch.is_empty() {
                end.peer.take_output(&mut end.batch);
            }
            let Some(slice) = end.batch.slices().next() else {
                break;
            };
            let written = wire.write(slice, now, random);
            end.batch.advance(written);
            lengths.push(written as u64);
        }
        if wire.is_cut() && !std::mem::replace(&mut self.was_cut, true) {
            self.cut(now, random);
        }
        lengths
    }

    /// Cuts the connection: both wires are severed, and each side notices at a time of its own.
    fn cut(&mut self, now: Time, random: &mut Random) {
        for side in Side::BOTH {
            let wire = &mut self.wires[side as usize];
            wire.sever();
            if random.chance(30) {
                wire.drop_in_flight();
            }
            let pause = random.between(0, 200_000);
            self.ends[side as usize].notice_at = Some(now + micros(pause));
        }
    }

    /// Closes one end: bytes that it writes from now on are lost, bytes in flight still arrive, and
    /// the other end notices later.
    pub(super) fn close_end(&mut self, side: Side, now: Time, random: &mut Random) {
        self.ends[side as usize].is_closed = true;
        let other = &mut self.ends[side.other() as usize];
        if !other.is_closed && other.notice_at.is_none() && random.chance(70) {
            other.notice_at = Some(now + micros(random.between(0, 300_000)));
        }
    }
}
