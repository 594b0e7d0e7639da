//! pair1 with many peers: a received message names its peer, and a sent one may name its receiver.
//!
//! NNG calls it polyamorous. The wire format is unchanged: each peer is a pair1 socket, of one peer
//! or of many. The header of [`send_raw`](Protocol::send_raw) and [`recv_raw`](Protocol::recv_raw)
//! is the number of the pipe. A message without a number goes to an idle peer, or to one with room,
//! in turn; it does not go to the peer that spoke last, because with several peers that one changes
//! between two sends. A full peer holds up only its own senders. Messages that wait for a peer that
//! leaves are dropped and counted, because they were meant for no other.

use alloc::collections::VecDeque;

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use crate::headers::hops::{self, HopsError};
use crate::limits::Hops;
use crate::pipe_queues::inbox::Inbox;
use crate::pipe_queues::outbound_queues::OutboundQueues;
use crate::stream::BatchBuilder;
use crate::{
    CloseReason, Counters, DropReason, Head, Message, PipeId, Priority, Protocol, ProtocolEvent,
    RawMessage, Received, RecvError, Refusal, Refused, RefusedRaw, Setting, SettingError,
};

/// The hop count of a message that comes straight from its sender.
const FIRST_HOP: u32 = 1;

/// A pair1 socket with many peers.
#[derive(Debug)]
pub struct Pair1Many {
    outbound: OutboundQueues,
    inbox: Inbox<Bytes>,
    hops_max: Hops,
    events: VecDeque<ProtocolEvent>,
    counters: Counters,
}

impl Pair1Many {
    /// A socket without peers that accepts messages over eight hops.
    pub fn new() -> Pair1Many {
        Pair1Many::with_hops(Hops::default())
    }

    /// A socket without peers that accepts messages over at most `hops_max` hops.
    pub fn with_hops(hops_max: Hops) -> Pair1Many {
        Pair1Many {
            outbound: OutboundQueues::default(),
            inbox: Inbox::new(),
            hops_max,
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    fn send_to(&mut self, pipe: PipeId, body: Bytes) -> Result<(), Refused> {
        let message = Message { head: Head::Word(FIRST_HOP), body };
        match self.outbound.push(pipe, message) {
            Ok(()) => {
                self.counters.sent += 1;
                Ok(())
            }
            Err(Message { body, .. }) => {
                let open = self.outbound.contains(pipe);
                let why = if open { Refusal::Full } else { Refusal::PeerGone };
                Err(Refused { body, why })
            }
        }
    }

    fn next(&mut self) -> Result<(PipeId, Bytes), RecvError> {
        let next = self.inbox.pop(|_| true).ok_or(RecvError::Empty)?;
        self.counters.received += 1;
        Ok(next)
    }

    fn drop_one(&mut self, reason: DropReason) -> Received {
        self.counters.drop_one(reason);
        Received::Dropped(reason)
    }
}

impl Default for Pair1Many {
    fn default() -> Pair1Many {
        Pair1Many::new()
    }
}

impl Protocol for Pair1Many {
    fn number(&self) -> ProtocolNumber {
        ProtocolNumber::PAIR1
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
        // Senders that wait for room in this pipe must learn that the peer is gone.
        self.events.push_back(ProtocolEvent::PipeSendReady(pipe));
    }

    fn set_priority(&mut self, pipe: PipeId, send: Priority, receive: Priority) {
        self.outbound.set_priority(pipe, send);
        self.inbox.set_priority(pipe, receive);
    }

    fn finish(&mut self) {
        self.outbound.finish(&mut self.counters);
        self.inbox.finish(&mut self.counters);
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        match setting {
            Setting::SendQueue(length) => {
                let reopened = self.outbound.reopen_with_length(length);
                self.events.extend(reopened.into_iter().map(ProtocolEvent::PipeSendReady));
            }
            Setting::ReceiveQueue(length) => self.inbox.set_length(length),
            Setting::HopsMax(hops) => self.hops_max = hops,
            _ => return Err(SettingError::NotOf(self.number())),
        }
        Ok(())
    }

    fn send(&mut self, body: Bytes, _now: Time) -> Result<(), Refused> {
        match self.outbound.choose() {
            Ok(pipe) => self.send_to(pipe, body),
            Err(why) => Err(Refused { body, why }),
        }
    }

    fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>) {
        let had_room = self.outbound.has_room(pipe);
        self.outbound.fill(pipe, out);
        if !had_room && self.outbound.has_room(pipe) {
            self.events.push_back(ProtocolEvent::PipeSendReady(pipe));
        }
    }

    fn receive(&mut self, pipe: PipeId, mut message: Bytes, _now: Time) -> Received {
        if !self.inbox.contains(pipe) {
            return self.drop_one(DropReason::PipeGone);
        }
        match hops::take(&mut message, self.hops_max.get()) {
            Ok(_) => self.inbox.accept(pipe, message, &mut self.counters),
            Err(HopsError::TooShort(length)) => Received::Close(CloseReason::TooShort(length)),
            Err(HopsError::ReservedBits(word)) => Received::Close(CloseReason::ReservedBits(word)),
            Err(HopsError::TooMany) => self.drop_one(DropReason::TooManyHops),
        }
    }

    fn is_paused(&self, pipe: PipeId) -> bool {
        self.inbox.is_paused(pipe)
    }

    fn recv(&mut self, _now: Time) -> Result<Bytes, RecvError> {
        self.next().map(|(_, body)| body)
    }

    fn has_room(&self) -> bool {
        self.outbound.choose().is_ok()
    }

    fn send_raw(&mut self, message: RawMessage, now: Time) -> Result<(), RefusedRaw> {
        let RawMessage { header, body } = message;
        let outcome = match <[u8; 4]>::try_from(header.as_ref()) {
            Ok(word) => self.send_to(PipeId(u32::from_be_bytes(word)), body),
            Err(_) if header.is_empty() => self.send(body, now),
            Err(_) => Err(Refused { body, why: Refusal::BadHeader(header.len()) }),
        };
        outcome.map_err(|Refused { body, why }| {
            let message = RawMessage { header, body };
            RefusedRaw { message, why }
        })
    }

    fn recv_raw(&mut self, _now: Time) -> Result<RawMessage, RecvError> {
        let (pipe, body) = self.next()?;
        let header = Bytes::copy_from_slice(&pipe.0.to_be_bytes());
        Ok(RawMessage { header, body })
    }

    fn next_event(&mut self) -> Option<ProtocolEvent> {
        let own = self.events.pop_front();
        own.or_else(|| self.inbox.next_event()).or_else(|| self.outbound.next_event())
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueueLength;
    use crate::limits::OUTBOX_MESSAGES_MAX;

    const NOW: Time = Time::START;

    fn connected(pipes: &[u32]) -> Pair1Many {
        let mut pair = Pair1Many::new();
        for pipe in pipes {
            pair.open(PipeId(*pipe), NOW).unwrap();
        }
        pair
    }

    fn to(pipe: u32, body: &'static [u8]) -> RawMessage {
        let header = Bytes::copy_from_slice(&pipe.to_be_bytes());
        RawMessage { header, body: Bytes::from_static(body) }
    }

    #[test]
    fn a_received_message_names_its_peer_and_the_answer_goes_there() {
        let mut pair = connected(&[1, 2]);
        pair.receive(PipeId(2), Bytes::from_static(b"\0\0\0\x01hello"), NOW);
        let message = pair.recv_raw(NOW).unwrap();
        assert_eq!(message, to(2, b"hello"));
        pair.send_raw(RawMessage { body: Bytes::from_static(b"back"), ..message }, NOW).unwrap();
        assert_eq!(pair.transmit(PipeId(1)), None);
        assert_eq!(pair.transmit(PipeId(2)).unwrap().to_vec(), b"\0\0\0\x01back");
    }

    #[test]
    fn messages_without_a_receiver_go_to_the_peers_in_turn() {
        let mut pair = connected(&[1, 2]);
        for body in [b"a", b"b"] {
            pair.send(Bytes::from_static(body), NOW).unwrap();
        }
        assert_eq!(pair.transmit(PipeId(1)).unwrap().to_vec(), b"\0\0\0\x01a");
        assert_eq!(pair.transmit(PipeId(2)).unwrap().to_vec(), b"\0\0\0\x01b");
        let nobody = Pair1Many::new().send(Bytes::new(), NOW).unwrap_err();
        assert_eq!(nobody.why, Refusal::NoPipe);
    }

    #[test]
    fn a_full_peer_holds_up_only_its_own_senders() {
        let mut pair = connected(&[1, 2]);
        for _ in 0..OUTBOX_MESSAGES_MAX {
            pair.send_raw(to(1, b"x"), NOW).unwrap();
        }
        let full = pair.send_raw(to(1, b"y"), NOW).unwrap_err();
        assert_eq!((full.why, full.message), (Refusal::Full, to(1, b"y")));
        pair.send_raw(to(2, b"z"), NOW).unwrap();
        while pair.next_event().is_some() {}
        pair.transmit(PipeId(1)).unwrap();
        pair.transmit(PipeId(1)).unwrap();
        assert_eq!(pair.next_event(), Some(ProtocolEvent::PipeSendReady(PipeId(1))));
        pair.send_raw(to(1, b"y"), NOW).unwrap();
        while pair.next_event().is_some() {}
        pair.close(PipeId(1), NOW);
        let gone = pair.next_event();
        assert_eq!(
            gone,
            Some(ProtocolEvent::PipeSendReady(PipeId(1))),
            "its senders must learn it"
        );
        assert_eq!(pair.counters().dropped_pipe_gone, OUTBOX_MESSAGES_MAX as u64 - 1);
        assert_eq!(pair.send_raw(to(1, b"y"), NOW).unwrap_err().why, Refusal::PeerGone);
        let odd = RawMessage { header: Bytes::from_static(b"odd"), body: Bytes::new() };
        assert_eq!(pair.send_raw(odd, NOW).unwrap_err().why, Refusal::BadHeader(3));
    }

    #[test]
    fn a_longer_queue_lets_the_waiting_senders_of_a_full_peer_go_on() {
        let mut pair = connected(&[1, 2]);
        for _ in 0..OUTBOX_MESSAGES_MAX {
            pair.send_raw(to(1, b"x"), NOW).unwrap();
        }
        while pair.next_event().is_some() {}
        let longer = QueueLength::new(OUTBOX_MESSAGES_MAX + 1).unwrap();
        pair.set(Setting::SendQueue(longer)).unwrap();
        assert_eq!(pair.next_event(), Some(ProtocolEvent::PipeSendReady(PipeId(1))));
        assert_eq!(pair.next_event(), None, "the other peer was not full");
        pair.send_raw(to(1, b"y"), NOW).unwrap();
    }

    #[test]
    fn hops_and_reserved_bits_are_checked_as_in_pair1() {
        let mut pair = connected(&[1]);
        for hops in [0, 1, 8] {
            let message = Bytes::copy_from_slice(&[0, 0, 0, hops]);
            assert_eq!(pair.receive(PipeId(1), message, NOW), Received::Queued);
        }
        let over = pair.receive(PipeId(1), Bytes::from_static(b"\0\0\0\x09"), NOW);
        assert_eq!(over, Received::Dropped(DropReason::TooManyHops));
        let reserved = pair.receive(PipeId(1), Bytes::from_static(b"\0\0\x01\0"), NOW);
        assert_eq!(reserved, Received::Close(CloseReason::ReservedBits(0x100)));
    }
}
