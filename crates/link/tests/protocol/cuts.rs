//! Published frames arrive once and in order, however often and wherever connections are cut.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::collections::VecDeque;

use proptest::prelude::*;
use wigwag_link::outbox::{Outbox, SegmentBatch};
use wigwag_wire::Buffer;

/// Bytes of a frame in this test, which holds only its number.
const FRAME: usize = 8;

/// An event in one direction of a session.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// One frame is appended.
    Append,
    /// A turn of this many frames is published; above a thousand, its buffer becomes a segment.
    Turn(u16),
    /// A batch of at most this many bytes is written.
    Write(u16),
    /// The next batch in flight arrives.
    Arrive,
    /// The sender learns how much was accepted.
    Ack,
    /// Everything in flight is lost, and a new connection takes over.
    Cut,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => Just(Event::Append),
        2 => (1_u16..1500).prop_map(Event::Turn),
        4 => (1_u16..20_000).prop_map(Event::Write),
        3 => Just(Event::Arrive),
        2 => Just(Event::Ack),
        2 => Just(Event::Cut),
    ]
}

#[derive(Default)]
struct World {
    outbox: Outbox,
    published: u64,
    /// Batches that were written and have not arrived.
    in_flight: VecDeque<(u64, Vec<u8>)>,
    accepted: u64,
    skipped: u64,
}

impl World {
    fn run(&mut self, event: Event) {
        match event {
            Event::Append => {
                let number = self.published.to_le_bytes();
                self.outbox.append(|out| out.extend(&number));
                self.published += 1;
            }
            Event::Turn(frames) => {
                let mut turn = Buffer::new();
                for number in self.published..self.published + u64::from(frames) {
                    turn.extend(&number.to_le_bytes());
                }
                self.published += u64::from(frames);
                self.outbox.publish(&mut turn, u64::from(frames));
                assert!(turn.is_empty());
            }
            Event::Write(bytes_max) => {
                let mut taken = SegmentBatch::default();
                self.outbox.take(usize::from(bytes_max), &mut taken);
                let bytes: Vec<u8> =
                    taken.segments.iter().flat_map(|it| it.flat().into_owned()).collect();
                assert_eq!(bytes.len() as u64, taken.frames * FRAME as u64);
                self.in_flight.push_back((taken.first_seq, bytes));
            }
            Event::Arrive => self.arrive(),
            Event::Ack => drop(self.outbox.acknowledge(self.accepted).unwrap()),
            Event::Cut => {
                self.in_flight.clear();
                self.outbox.rewind(self.accepted).unwrap();
            }
        }
        // Frames that no writer has taken cannot have arrived.
        assert!(self.accepted <= self.published - self.outbox.untaken_frames());
        assert_eq!(self.outbox.next_seq(), self.published);
    }

    /// Receives a batch as the protocol demands: no gaps, and repeated frames are skipped.
    fn arrive(&mut self) {
        let Some((first_seq, bytes)) = self.in_flight.pop_front() else { return };
        assert!(first_seq <= self.accepted, "a gap: {first_seq} after {}", self.accepted);
        for (seq, frame) in (first_seq..).zip(bytes.chunks(FRAME)) {
            assert_eq!(frame, seq.to_le_bytes(), "frame {seq}");
            if seq < self.accepted {
                self.skipped += 1;
            } else {
                self.accepted += 1;
            }
        }
    }
}

proptest! {
    #[test]
    fn frames_arrive_once_in_order_over_any_cuts(
        events in prop::collection::vec(event(), 1..120)
    ) {
        let mut world = World::default();
        events.iter().for_each(|event| world.run(*event));
        world.run(Event::Cut);
        while !world.outbox.is_idle() {
            world.run(Event::Write(u16::MAX));
            world.run(Event::Arrive);
        }
        world.run(Event::Ack);
        prop_assert_eq!(world.accepted, world.published);
        prop_assert!(world.outbox.is_settled());
        prop_assert_eq!((world.outbox.retained(), world.outbox.waiting_bytes()), (0, 0));
    }
}
