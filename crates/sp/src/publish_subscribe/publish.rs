//! publish: the sending side of pub/sub (`pub` is a keyword, hence the long file name).
//!
//! No header. Every peer gets every message and discards those it has not subscribed to: nothing is
//! ever sent back, so each subscriber filters topics itself. A pub socket never waits for a slow
//! peer: a message that does not fit its queue is dropped for that peer alone, and counted. A
//! message from a peer is dropped and counted, as in mangos; NNG ends the connection.

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use crate::pipe_queues::outbound_queues::OutboundQueues;
use crate::stream::BatchBuilder;
use crate::{
    CloseReason, Counters, DropReason, Head, Message, PipeId, Protocol, ProtocolEvent, Received,
    RecvError, Refused, Setting, SettingError,
};

/// A pub socket.
#[derive(Debug, Default)]
pub struct Pub {
    outbound: OutboundQueues,
    counters: Counters,
}

impl Pub {
    /// A socket without peers.
    pub fn new() -> Pub {
        Pub::default()
    }
}

impl Protocol for Pub {
    fn number(&self) -> ProtocolNumber {
        ProtocolNumber::PUB
    }

    fn open(&mut self, pipe: PipeId, _now: Time) -> Result<(), CloseReason> {
        self.outbound.open(pipe);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, _now: Time) {
        self.outbound.close_and_count(pipe, &mut self.counters);
    }

    fn finish(&mut self) {
        self.outbound.finish(&mut self.counters);
    }

    /// Never refused: without peers the message goes nowhere.
    fn send(&mut self, body: Bytes, _now: Time) -> Result<(), Refused> {
        self.counters.sent += 1;
        self.outbound.broadcast(&Message { head: Head::Empty, body }, &mut self.counters, |_| true);
        Ok(())
    }

    fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>) {
        self.outbound.fill(pipe, out);
    }

    fn receive(&mut self, _pipe: PipeId, _message: Bytes, _now: Time) -> Received {
        self.counters.drop_one(DropReason::Unexpected);
        Received::Dropped(DropReason::Unexpected)
    }

    fn is_paused(&self, _pipe: PipeId) -> bool {
        false
    }

    fn recv(&mut self, _now: Time) -> Result<Bytes, RecvError> {
        Err(RecvError::OnlySends(self.number()))
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        match setting {
            Setting::SendQueue(length) => self.outbound.set_length(length),
            _ => return Err(SettingError::NotOf(self.number())),
        }
        Ok(())
    }

    fn next_event(&mut self) -> Option<ProtocolEvent> {
        self.outbound.next_event()
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::OUTBOX_MESSAGES_MAX;

    const NOW: Time = Time::START;

    fn send(publisher: &mut Pub, body: &'static [u8]) {
        publisher.send(Bytes::from_static(body), NOW).unwrap();
    }

    #[test]
    fn an_outbox_that_becomes_more_than_half_full_is_to_be_written_at_once() {
        let mut publisher = Pub::new();
        publisher.open(PipeId(1), NOW).unwrap();
        while publisher.next_event().is_some() {}
        let pipe = PipeId(1);
        for _ in 0..2 {
            let mut events = [0; OUTBOX_MESSAGES_MAX].map(|_| {
                send(&mut publisher, b"a");
                publisher.next_event()
            });
            assert_eq!(events[0].take(), Some(ProtocolEvent::Transmit(pipe)));
            let over_half = OUTBOX_MESSAGES_MAX / 2;
            assert_eq!(events[over_half].take(), Some(ProtocolEvent::TransmitNow(pipe)));
            assert_eq!(events, [None; OUTBOX_MESSAGES_MAX]);
            while publisher.transmit(pipe).is_some() {}
            while publisher.next_event().is_some() {}
        }
    }

    #[test]
    fn every_peer_gets_every_message_and_sending_without_peers_is_no_error() {
        let mut publisher = Pub::new();
        send(&mut publisher, b"unheard");
        publisher.open(PipeId(1), NOW).unwrap();
        publisher.open(PipeId(2), NOW).unwrap();
        send(&mut publisher, b"a");
        send(&mut publisher, b"b");
        for pipe in [1, 2] {
            for body in [b"a", b"b"] {
                assert_eq!(publisher.transmit(PipeId(pipe)).unwrap().to_vec(), body);
            }
            assert_eq!(publisher.transmit(PipeId(pipe)), None);
        }
        assert_eq!((publisher.counters().sent, publisher.counters().dropped()), (3, 0));
    }

    /// Each pipe asks for a write with its first message after it was empty, also after it was
    /// full.
    #[test]
    fn every_pipe_with_a_new_message_asks_for_a_write() {
        let mut publisher = Pub::new();
        publisher.open(PipeId(1), NOW).unwrap();
        publisher.open(PipeId(2), NOW).unwrap();
        let writes = |publisher: &mut Pub| {
            let next = core::iter::from_fn(|| publisher.next_event());
            let mut pipes: alloc::vec::Vec<u32> = next
                .filter_map(|event| match event {
                    ProtocolEvent::Transmit(pipe) => Some(pipe.0),
                    _ => None,
                })
                .collect();
            pipes.sort_unstable();
            pipes
        };
        send(&mut publisher, b"a");
        assert_eq!(writes(&mut publisher), [1, 2]);
        for _ in 0..OUTBOX_MESSAGES_MAX + 3 {
            send(&mut publisher, b"x");
            while publisher.transmit(PipeId(2)).is_some() {}
            assert_eq!(publisher.transmit(PipeId(2)), None, "it has found itself empty");
            writes(&mut publisher);
        }
        send(&mut publisher, b"b");
        assert_eq!(writes(&mut publisher), [2], "the other one is full and being written");
        while publisher.transmit(PipeId(1)).is_some() {}
        send(&mut publisher, b"c");
        assert_eq!(writes(&mut publisher), [1]);
    }

    #[test]
    fn a_slow_peer_loses_messages_alone_and_they_are_counted() {
        let mut publisher = Pub::new();
        publisher.open(PipeId(1), NOW).unwrap();
        publisher.open(PipeId(2), NOW).unwrap();
        for _ in 0..OUTBOX_MESSAGES_MAX + 3 {
            send(&mut publisher, b"x");
            assert!(publisher.transmit(PipeId(2)).is_some());
        }
        assert_eq!(publisher.counters().dropped_peer_slow, 3);
        publisher.close(PipeId(1), NOW);
        assert_eq!(publisher.counters().dropped_pipe_gone, OUTBOX_MESSAGES_MAX as u64);
    }

    #[test]
    fn a_message_from_a_subscriber_is_counted_and_its_pipe_stays_open() {
        let mut publisher = Pub::new();
        publisher.open(PipeId(1), NOW).unwrap();
        let received = publisher.receive(PipeId(1), Bytes::from_static(b"?"), NOW);
        assert_eq!(received, Received::Dropped(DropReason::Unexpected));
        assert_eq!(publisher.recv(NOW), Err(RecvError::OnlySends(ProtocolNumber::PUB)));
        send(&mut publisher, b"still there");
        assert!(publisher.transmit(PipeId(1)).is_some());
    }
}
