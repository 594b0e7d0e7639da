//! pull: receives the messages that its peers push, one peer after the other.
//!
//! No header (RFC sp-pipeline-01). Each peer has its own bounded queue; a full one stops reading
//! from that peer alone, and the peers take turns. Messages of a peer that left are still given to
//! the user.

use alloc::vec::Vec;

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use crate::pipe_queues::inbox::Inbox;
use crate::stream::BatchBuilder;
use crate::{
    CloseReason, ContextId, Counters, InboundRun, PipeId, Priority, Protocol, ProtocolEvent,
    Received, RecvError, Refusal, Refused, RunRoom, Setting, SettingError,
};

/// A pull socket.
#[derive(Debug)]
pub struct Pull {
    inbox: Inbox<InboundRun>,
    counters: Counters,
}

impl Pull {
    /// A socket without peers.
    pub fn new() -> Pull {
        Pull { inbox: Inbox::new(), counters: Counters::default() }
    }
}

impl Default for Pull {
    fn default() -> Pull {
        Pull::new()
    }
}

impl Protocol for Pull {
    fn number(&self) -> ProtocolNumber {
        ProtocolNumber::PULL
    }

    fn open(&mut self, pipe: PipeId, _now: Time) -> Result<(), CloseReason> {
        if self.inbox.is_crowded() {
            return Err(CloseReason::Crowded);
        }
        self.inbox.open(pipe);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, _now: Time) {
        self.inbox.close(pipe);
    }

    fn set_priority(&mut self, pipe: PipeId, _send: Priority, receive: Priority) {
        self.inbox.set_priority(pipe, receive);
    }

    fn finish(&mut self) {
        self.inbox.finish(&mut self.counters);
    }

    fn send(&mut self, body: Bytes, _now: Time) -> Result<(), Refused> {
        let why = Refusal::OnlyReceives(self.number());
        Err(Refused { body, why })
    }

    fn fill(&mut self, _pipe: PipeId, _out: &mut BatchBuilder<'_>) {}

    fn receive(&mut self, pipe: PipeId, message: Bytes, _now: Time) -> Received {
        self.inbox.accept(pipe, message.into(), &mut self.counters)
    }

    fn run_room(&self, pipe: PipeId) -> Option<RunRoom> {
        let (messages, bytes) = self.inbox.room(pipe)?;
        Some(RunRoom { messages, bytes, word_max: None })
    }

    fn receive_run(&mut self, pipe: PipeId, run: InboundRun, _now: Time) {
        self.inbox.accept(pipe, run, &mut self.counters);
    }

    fn is_paused(&self, pipe: PipeId) -> bool {
        self.inbox.is_paused(pipe)
    }

    fn recv(&mut self, now: Time) -> Result<Bytes, RecvError> {
        let mut body = Bytes::new();
        self.recv_into(ContextId::SOCKET, &mut body, now).map(|()| body)
    }

    fn recv_into(
        &mut self,
        _context: ContextId,
        place: &mut Bytes,
        _now: Time,
    ) -> Result<(), RecvError> {
        let (_, body) = self.inbox.pop(|_| true).ok_or(RecvError::Empty)?;
        *place = body;
        self.counters.received += 1;
        Ok(())
    }

    fn recv_many(
        &mut self,
        _context: ContextId,
        bodies: &mut Vec<Bytes>,
        limit: usize,
        _now: Time,
    ) -> Result<(), RecvError> {
        let mut left = limit;
        while left > 0 {
            match self.inbox.pop_some(|_| true, left, |_, body| bodies.push(body)) {
                0 => break,
                popped => left -= popped,
            }
        }
        self.counters.received += (limit - left) as u64;
        if left == limit && limit > 0 { Err(RecvError::Empty) } else { Ok(()) }
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        match setting {
            Setting::ReceiveQueue(length) => self.inbox.set_length(length),
            _ => return Err(SettingError::NotOf(self.number())),
        }
        Ok(())
    }

    fn next_event(&mut self) -> Option<ProtocolEvent> {
        self.inbox.next_event()
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DropReason;
    use crate::limits::{INBOX_MESSAGES_MAX, LEFT_MESSAGES_MAX};

    const NOW: Time = Time::START;

    #[test]
    fn a_full_queue_pauses_its_peer_and_loses_nothing() {
        let mut pull = Pull::new();
        pull.open(PipeId(1), NOW).unwrap();
        let mut given = 0;
        while !pull.is_paused(PipeId(1)) {
            let body = Bytes::copy_from_slice(&[given]);
            assert_eq!(pull.receive(PipeId(1), body, NOW), Received::Queued);
            given += 1;
        }
        assert_eq!(usize::from(given), INBOX_MESSAGES_MAX);
        for expected in 0..given {
            assert_eq!(pull.recv(NOW).unwrap().as_ref(), [expected]);
        }
        assert_eq!(pull.recv(NOW), Err(RecvError::Empty));
        assert!(!pull.is_paused(PipeId(1)));
        assert_eq!(pull.counters().received, u64::from(given));
    }

    #[test]
    fn a_caller_that_does_not_pause_loses_messages_and_they_are_counted() {
        let mut pull = Pull::new();
        pull.open(PipeId(1), NOW).unwrap();
        for _ in 0..INBOX_MESSAGES_MAX {
            pull.receive(PipeId(1), Bytes::new(), NOW);
        }
        let one_more = pull.receive(PipeId(1), Bytes::new(), NOW);
        assert_eq!(one_more, Received::Dropped(DropReason::Overflow));
        assert_eq!(pull.counters().dropped_overflow, 1);
    }

    /// Peers connect, leave messages and go; nothing is lost, and no more peers are accepted while
    /// nobody reads.
    #[test]
    fn unread_messages_of_peers_that_left_are_kept_and_bounded() {
        let mut pull = Pull::new();
        let mut pipes = 0;
        while pull.open(PipeId(pipes), NOW).is_ok() {
            pull.receive(PipeId(pipes), Bytes::from_static(b"last words"), NOW);
            pull.close(PipeId(pipes), NOW);
            pipes += 1;
        }
        assert_eq!(pipes as usize, LEFT_MESSAGES_MAX);
        assert_eq!(pull.open(PipeId(99), NOW), Err(CloseReason::Crowded));
        for _ in 0..pipes {
            assert_eq!(pull.recv(NOW).unwrap().as_ref(), b"last words");
        }
        assert!(pull.open(PipeId(99), NOW).is_ok());
    }

    #[test]
    fn a_pull_socket_returns_a_body_that_it_cannot_send() {
        let refused = Pull::new().send(Bytes::from_static(b"x"), NOW).unwrap_err();
        assert_eq!(refused.body.as_ref(), b"x");
        assert!(!refused.why.is_temporary());
    }
}
