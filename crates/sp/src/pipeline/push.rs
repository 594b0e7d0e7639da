//! push: sends each message to one of its peers.
//!
//! No header (RFC sp-pipeline-01). Idle peers come first, equal ones in turn. Unsent messages of a
//! peer that leaves go to the others; a message that was being written at that moment may be lost,
//! as in every SP implementation. A message from a pull peer is dropped and counted.

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use crate::pipe_queues::pool::Pool;
use crate::stream::BatchBuilder;
use crate::{
    CloseReason, ContextId, Counters, DropReason, Head, PipeId, Priority, Protocol, ProtocolEvent,
    Received, RecvError, Refusal, Refused, Setting, SettingError,
};

/// A push socket.
#[derive(Debug, Default)]
pub struct Push {
    pool: Pool,
    counters: Counters,
}

impl Push {
    /// A socket without peers.
    pub fn new() -> Push {
        Push::default()
    }
}

impl Protocol for Push {
    fn number(&self) -> ProtocolNumber {
        ProtocolNumber::PUSH
    }

    fn open(&mut self, pipe: PipeId, _now: Time) -> Result<(), CloseReason> {
        self.pool.open(pipe);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, _now: Time) {
        self.pool.close(pipe);
    }

    fn set_priority(&mut self, pipe: PipeId, send: Priority, _receive: Priority) {
        self.pool.outbound().set_priority(pipe, send);
    }

    fn finish(&mut self) {
        self.pool.finish(&mut self.counters);
    }

    fn send(&mut self, mut body: Bytes, now: Time) -> Result<(), Refused> {
        let outcome = self.send_from(ContextId::SOCKET, &mut body, now);
        outcome.map_err(|why| Refused { body, why })
    }

    fn send_from(&mut self, _: ContextId, body: &mut Bytes, _now: Time) -> Result<(), Refusal> {
        self.pool.send_from(&Head::Empty, body)?;
        self.counters.sent += 1;
        Ok(())
    }

    fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>) {
        self.pool.fill(pipe, out);
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
            Setting::SendQueue(length) => {
                self.pool.set_length(length);
            }
            _ => return Err(SettingError::NotOf(self.number())),
        }
        Ok(())
    }

    fn next_event(&mut self) -> Option<ProtocolEvent> {
        self.pool.next_event()
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::QueueLength;
    use crate::limits::OUTBOX_MESSAGES_MAX;

    const NOW: Time = Time::START;

    fn send(push: &mut Push, body: &'static [u8]) -> Result<(), Refused> {
        push.send(Bytes::from_static(body), NOW)
    }

    fn written(push: &mut Push, pipe: u32) -> Vec<Vec<u8>> {
        core::iter::from_fn(|| push.transmit(PipeId(pipe)))
            .map(|message| message.to_vec())
            .collect()
    }

    #[test]
    fn messages_go_to_the_peers_in_turn_and_carry_no_header() {
        let mut push = Push::new();
        push.open(PipeId(1), NOW).unwrap();
        push.open(PipeId(2), NOW).unwrap();
        for body in [b"a", b"b", b"c"] {
            send(&mut push, body).unwrap();
        }
        assert_eq!(written(&mut push, 1), [b"a", b"c"]);
        assert_eq!(written(&mut push, 2), [b"b"]);
    }

    #[test]
    fn a_body_is_returned_without_a_peer_and_when_the_queue_is_full() {
        let mut push = Push::new();
        let refused = send(&mut push, b"x").unwrap_err();
        assert_eq!((refused.body.as_ref(), refused.why), (&b"x"[..], Refusal::NoPipe));
        push.open(PipeId(1), NOW).unwrap();
        for _ in 0..OUTBOX_MESSAGES_MAX {
            send(&mut push, b"x").unwrap();
        }
        let refused = send(&mut push, b"y").unwrap_err();
        assert_eq!((refused.body.as_ref(), refused.why), (&b"y"[..], Refusal::Full));
    }

    #[test]
    fn unsent_messages_of_a_peer_that_left_go_to_another() {
        let mut push = Push::new();
        push.open(PipeId(1), NOW).unwrap();
        for body in [b"a", b"b", b"c"] {
            send(&mut push, body).unwrap();
        }
        assert_eq!(push.transmit(PipeId(1)).unwrap().to_vec(), b"a");
        push.close(PipeId(1), NOW);
        assert_eq!(send(&mut push, b"d").unwrap_err().why, Refusal::NoPipe);
        push.open(PipeId(2), NOW).unwrap();
        send(&mut push, b"d").unwrap();
        assert_eq!(written(&mut push, 2), [b"b", b"c", b"d"]);
    }

    /// A socket whose peers 1 and 2 have as many messages as their outboxes hold.
    fn with_two_full_peers() -> Push {
        let mut push = Push::new();
        push.open(PipeId(1), NOW).unwrap();
        push.open(PipeId(2), NOW).unwrap();
        for _ in 0..2 * OUTBOX_MESSAGES_MAX {
            send(&mut push, b"old").unwrap();
        }
        push
    }

    /// Two full peers leave; the third has room for half of their messages, and no new message may
    /// overtake the rest.
    #[test]
    fn unsent_messages_of_peers_that_left_go_before_new_ones() {
        let mut push = with_two_full_peers();
        push.close(PipeId(1), NOW);
        push.close(PipeId(2), NOW);
        push.open(PipeId(3), NOW).unwrap();
        assert_eq!(send(&mut push, b"new").unwrap_err().why, Refusal::Full);
        assert_eq!(written(&mut push, 3).len(), 2 * OUTBOX_MESSAGES_MAX);
        assert!(send(&mut push, b"new").is_ok());
    }

    #[test]
    fn a_longer_queue_takes_unsent_messages_of_peers_that_left_before_new_ones() {
        let mut push = with_two_full_peers();
        push.close(PipeId(1), NOW);
        let longer = QueueLength::new(2 * OUTBOX_MESSAGES_MAX + 1).unwrap();
        push.set(Setting::SendQueue(longer)).unwrap();
        send(&mut push, b"new").unwrap();
        let last = written(&mut push, 2).split_off(2 * OUTBOX_MESSAGES_MAX - 1);
        assert_eq!(last, [&b"old"[..], b"new"]);
    }

    #[test]
    fn a_message_from_a_peer_is_dropped_and_counted() {
        let mut push = Push::new();
        push.open(PipeId(1), NOW).unwrap();
        let received = push.receive(PipeId(1), Bytes::from_static(b"?"), NOW);
        assert_eq!(received, Received::Dropped(DropReason::Unexpected));
        assert_eq!(push.counters().dropped_unexpected, 1);
        assert_eq!(push.recv(NOW), Err(RecvError::OnlySends(ProtocolNumber::PUSH)));
    }
}
