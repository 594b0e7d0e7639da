//! star: every message goes to every node of the star, forwarded by the nodes between.
//!
//! The header is one word: three zero bytes and the hop count, 0 from the sender, as in mangos, the
//! only other implementation of this protocol. A node forwards each message to all its other peers
//! with the count incremented; a message over the hop limit is dropped, which is all that ends a
//! loop. Delivery is best effort: a slow peer or user loses messages alone, and they are counted;
//! others are not stopped.

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use crate::headers::hops::{self, HopsError};
use crate::limits::Hops;
use crate::pipe_queues::inbox::Inbox;
use crate::pipe_queues::outbound_queues::OutboundQueues;
use crate::stream::BatchBuilder;
use crate::{
    CloseReason, Counters, DropReason, Head, Message, PipeId, Priority, Protocol, ProtocolEvent,
    Received, RecvError, Refused, Setting, SettingError,
};

/// A star socket.
#[derive(Debug)]
pub struct Star {
    outbound: OutboundQueues,
    inbox: Inbox<Bytes>,
    hops_max: Hops,
    counters: Counters,
}

impl Star {
    /// A socket without peers that accepts messages over eight hops.
    pub fn new() -> Star {
        Star::with_hops(Hops::default())
    }

    /// A socket without peers that accepts messages over at most `hops_max` hops.
    pub fn with_hops(hops_max: Hops) -> Star {
        let (outbound, inbox) = (OutboundQueues::default(), Inbox::new());
        Star { outbound, inbox, hops_max, counters: Counters::default() }
    }

    fn drop_one(&mut self, reason: DropReason) -> Received {
        self.counters.drop_one(reason);
        Received::Dropped(reason)
    }
}

impl Default for Star {
    fn default() -> Star {
        Star::new()
    }
}

impl Protocol for Star {
    fn number(&self) -> ProtocolNumber {
        ProtocolNumber::STAR
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
        self.outbound
            .broadcast(&Message { head: Head::Word(0), body }, &mut self.counters, |_| true);
        Ok(())
    }

    fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>) {
        self.outbound.fill(pipe, out);
    }

    fn receive(&mut self, pipe: PipeId, mut message: Bytes, _now: Time) -> Received {
        if !self.inbox.contains(pipe) {
            return self.drop_one(DropReason::PipeGone);
        }
        let hops = match hops::take(&mut message, self.hops_max.get() - 1) {
            Ok(hops) => hops,
            Err(HopsError::TooMany) => return self.drop_one(DropReason::TooManyHops),
            Err(HopsError::TooShort(_) | HopsError::ReservedBits(_)) => {
                return self.drop_one(DropReason::Malformed);
            }
        };
        let head = Head::Word(u32::from(hops) + 1);
        let onward = Message { head, body: message.clone() };
        self.outbound.broadcast(&onward, &mut self.counters, |other| other != pipe);
        self.inbox.accept(pipe, message, &mut self.counters)
    }

    /// Never paused: a user that does not read must not stop forwarding.
    fn is_paused(&self, _pipe: PipeId) -> bool {
        false
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
            Setting::HopsMax(hops) => self.hops_max = hops,
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
    use alloc::vec::Vec;

    use super::*;
    use crate::limits::INBOX_MESSAGES_MAX;

    const NOW: Time = Time::START;

    fn star() -> Star {
        let mut star = Star::new();
        for pipe in [1, 2, 3] {
            star.open(PipeId(pipe), NOW).unwrap();
        }
        star
    }

    fn receive(star: &mut Star, hops: u8, body: &[u8]) -> Received {
        let bytes: Vec<u8> = [0, 0, 0, hops].into_iter().chain(body.iter().copied()).collect();
        star.receive(PipeId(1), Bytes::from(bytes), NOW)
    }

    #[test]
    fn a_message_is_delivered_and_forwarded_to_all_other_peers() {
        let mut star = star();
        star.send(Bytes::from_static(b"mine"), NOW).unwrap();
        assert_eq!(receive(&mut star, 3, b"theirs"), Received::Queued);
        assert_eq!(star.transmit(PipeId(1)).unwrap().to_vec(), b"\0\0\0\0mine");
        assert_eq!(star.transmit(PipeId(1)), None);
        for pipe in [2, 3] {
            assert_eq!(star.transmit(PipeId(pipe)).unwrap().to_vec(), b"\0\0\0\0mine");
            assert_eq!(star.transmit(PipeId(pipe)).unwrap().to_vec(), b"\0\0\0\x04theirs");
        }
        assert_eq!(star.recv(NOW).unwrap(), "theirs");
    }

    #[test]
    fn eight_hops_end_a_loop() {
        let mut star = star();
        assert_eq!(receive(&mut star, 7, b"x"), Received::Queued);
        for hops in [8, 255] {
            let over = receive(&mut star, hops, b"x");
            assert_eq!(over, Received::Dropped(DropReason::TooManyHops), "{hops}");
        }
        for bytes in [&b"\0\0"[..], b"\0\0\x01\x01x"] {
            let odd = star.receive(PipeId(1), Bytes::from_static(bytes), NOW);
            assert_eq!(odd, Received::Dropped(DropReason::Malformed));
        }
        assert_eq!(star.counters().dropped(), 4);
    }

    #[test]
    fn a_user_that_does_not_read_does_not_stop_forwarding() {
        let mut star = star();
        for _ in 0..INBOX_MESSAGES_MAX + 1 {
            receive(&mut star, 0, b"x");
            assert!(star.transmit(PipeId(2)).is_some());
        }
        assert_eq!(star.counters().dropped_overflow, 1);
        assert!(!star.is_paused(PipeId(1)));
    }
}
