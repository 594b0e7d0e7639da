//! Peers that share the work: each message goes to one of them, and none is lost when one leaves.
//!
//! push works like this, and so do the raw forms of push, req and pair, the last one with a single
//! peer.

use alloc::collections::VecDeque;

use crate::outbound_queues::OutboundQueues;
use crate::{Counters, DropReason, Message, PipeId, ProtocolEvent, Refusal};

/// Outboxes, and what found no place in one.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    outbound: OutboundQueues,
    /// What peers that left had not been sent. Invariant: empty while a pipe has room. So it goes
    /// out before anything new is taken, and never holds more than the outboxes of the pipes that
    /// were open together.
    unassigned: VecDeque<Message>,
}

impl Pool {
    pub(crate) fn open(&mut self, pipe: PipeId) {
        self.outbound.open(pipe);
        self.assign();
    }

    /// What lies unwritten for the pipe goes to the others, now or when they have room.
    pub(crate) fn close(&mut self, pipe: PipeId) {
        if let Some(unsent) = self.outbound.close(pipe) {
            self.unassigned.extend(unsent);
            self.assign();
        }
    }

    /// The socket is closed: whatever is left is thrown away, and counted.
    pub(crate) fn finish(&mut self, counters: &mut Counters) {
        counters.drop_some(DropReason::Unsent, self.unassigned.len());
        self.unassigned.clear();
        self.outbound.finish(counters);
    }

    /// The outboxes, for messages that go another way than to one of the peers; those are never
    /// homeless.
    pub(crate) fn outbound(&mut self) -> &mut OutboundQueues {
        &mut self.outbound
    }

    /// The pipe whose turn it is; asking takes no turn.
    pub(crate) fn choose(&self) -> Result<PipeId, Refusal> {
        self.outbound.choose()
    }

    /// Gives the message to the pipe whose turn it is, or hands it back.
    pub(crate) fn send(&mut self, message: Message) -> Result<(), (Message, Refusal)> {
        let pipe = match self.outbound.choose() {
            Ok(pipe) => pipe,
            Err(why) => return Err((message, why)),
        };
        self.outbound.push(pipe, message).map_err(|message| (message, Refusal::Full))
    }

    pub(crate) fn transmit(&mut self, pipe: PipeId) -> Option<Message> {
        let message = self.outbound.transmit(pipe)?;
        if !self.unassigned.is_empty() {
            self.assign();
        }
        Some(message)
    }

    pub(crate) fn next_event(&mut self) -> Option<ProtocolEvent> {
        self.outbound.next_event()
    }

    /// Gives homeless messages to the pipes that have room.
    fn assign(&mut self) {
        while let Some(message) = self.unassigned.pop_front() {
            if let Err((message, _)) = self.send(message) {
                self.unassigned.push_front(message);
                return;
            }
        }
    }
}
