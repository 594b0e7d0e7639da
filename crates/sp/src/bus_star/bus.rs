//! bus: every message goes to every directly connected peer, and no further.
//!
//! No header. Delivery is best effort both ways: a message that does not fit a slow peer's queue is
//! dropped for that peer alone, and counted. A full receive queue stops reading from that peer
//! alone.

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use crate::pipe_queues::inbox::Inbox;
use crate::pipe_queues::outbound_queues::OutboundQueues;
use crate::stream::BatchBuilder;
use crate::{
    CloseReason, Counters, Head, Message, PipeId, Priority, Protocol, ProtocolEvent, Received,
    RecvError, Refused, Setting, SettingError,
};

/// A bus socket.
#[derive(Debug)]
pub struct Bus {
    outbound: OutboundQueues,
    inbox: Inbox<Bytes>,
    counters: Counters,
}

impl Bus {
    /// A socket without peers.
    pub fn new() -> Bus {
        Bus {
            outbound: OutboundQueues::default(),
            inbox: Inbox::new(),
            counters: Counters::default(),
        }
    }
}

impl Default for Bus {
    fn default() -> Bus {
        Bus::new()
    }
}

impl Protocol for Bus {
    fn number(&self) -> ProtocolNumber {
        ProtocolNumber::BUS
    }

    fn open(&mut self, pipe: PipeId, _now: Time) -> Result<(), CloseReason> {
        if self.inbox.is_crowded() {
            return Err(CloseReason::Crowded);
        }
        self.outbound.open(pipe);
        self.inbox.open(pipe);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, _now: Time) {
        self.outbound.close_and_count(pipe, &mut self.counters);
        self.inbox.close(pipe);
    }

    fn set_priority(&mut self, pipe: PipeId, _send: Priority, receive: Priority) {
        self.inbox.set_priority(pipe, receive);
    }

    fn finish(&mut self) {
        self.outbound.finish(&mut self.counters);
        self.inbox.finish(&mut self.counters);
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

    fn receive(&mut self, pipe: PipeId, message: Bytes, _now: Time) -> Received {
        self.inbox.accept(pipe, message, &mut self.counters)
    }

    fn is_paused(&self, pipe: PipeId) -> bool {
        self.inbox.is_paused(pipe)
    }

    fn recv(&mut self, _now: Time) -> Result<Bytes, RecvError> {
        let (_, body) = self.inbox.pop(|_| true).ok_or(RecvError::Empty)?;
        self.counters.received += 1;
        Ok(body)
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        match setting {
            Setting::SendQueue(length) => self.outbound.set_length(length),
            Setting::ReceiveQueue(length) => self.inbox.set_length(length),
            _ => return Err(SettingError::NotOf(self.number())),
        }
        Ok(())
    }

    fn next_event(&mut self) -> Option<ProtocolEvent> {
        self.inbox.next_event().or_else(|| self.outbound.next_event())
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DropReason;
    use crate::limits::OUTBOX_MESSAGES_MAX;

    const NOW: Time = Time::START;

    #[test]
    fn a_message_goes_to_all_peers_and_their_messages_are_not_forwarded() {
        let mut bus = Bus::new();
        bus.send(Bytes::from_static(b"unheard"), NOW).unwrap();
        for pipe in [1, 2, 3] {
            bus.open(PipeId(pipe), NOW).unwrap();
        }
        bus.send(Bytes::from_static(b"hello"), NOW).unwrap();
        bus.receive(PipeId(2), Bytes::from_static(b"hi"), NOW);
        for pipe in [1, 2, 3] {
            assert_eq!(bus.transmit(PipeId(pipe)).unwrap().to_vec(), b"hello");
            assert_eq!(bus.transmit(PipeId(pipe)), None);
        }
        assert_eq!(bus.recv(NOW).unwrap(), "hi");
        assert_eq!(bus.recv(NOW), Err(RecvError::Empty));
    }

    #[test]
    fn a_peer_that_does_not_read_loses_messages_alone() {
        let mut bus = Bus::new();
        bus.open(PipeId(1), NOW).unwrap();
        bus.open(PipeId(2), NOW).unwrap();
        for _ in 0..OUTBOX_MESSAGES_MAX + 2 {
            bus.send(Bytes::from_static(b"x"), NOW).unwrap();
            assert!(bus.transmit(PipeId(1)).is_some());
        }
        assert_eq!(bus.counters().dropped_peer_slow, 2);
        bus.close(PipeId(2), NOW);
        assert_eq!(bus.counters().dropped_pipe_gone, OUTBOX_MESSAGES_MAX as u64);
        let late = bus.receive(PipeId(2), Bytes::new(), NOW);
        assert_eq!(late, Received::Dropped(DropReason::PipeGone));
    }
}
