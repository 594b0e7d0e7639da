//! Load balancing: each message goes to one of the peers, and none is lost when a peer leaves.
//!
//! push works like this, and so do the raw forms of push, req and pair, the last with a single
//! peer.

use alloc::collections::VecDeque;

use bytes::Bytes;

use crate::pipe_queues::outbound_queues::OutboundQueues;
use crate::stream::BatchBuilder;
use crate::{Counters, DropReason, Head, Message, PipeId, ProtocolEvent, QueueLength, Refusal};

/// Outboxes, and the messages that no outbox has room for.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    outbound: OutboundQueues,
    /// Unsent messages of peers that left. Invariant: empty while a pipe has room. So they go out
    /// before anything new is accepted, and never exceed the outboxes of the pipes that were open
    /// at the same time.
    unassigned: VecDeque<Message>,
}

impl Pool {
    pub(crate) fn open(&mut self, pipe: PipeId) {
        self.outbound.open(pipe);
        self.assign();
    }

    /// Removes the pipe; its unsent messages go to the other pipes, now or when they have room.
    pub(crate) fn close(&mut self, pipe: PipeId) {
        if let Some(unsent) = self.outbound.close(pipe) {
            self.unassigned.extend(unsent);
            self.assign();
        }
    }

    /// Sets how many messages each outbox may hold; true if a pipe that was full has room now.
    pub(crate) fn set_length(&mut self, length: QueueLength) -> bool {
        let reopened = !self.outbound.reopen_with_length(length).is_empty();
        self.assign();
        reopened
    }

    /// Discards and counts all messages: the socket is closed.
    pub(crate) fn finish(&mut self, counters: &mut Counters) {
        counters.drop_some(DropReason::Unsent, self.unassigned.len());
        self.unassigned.clear();
        self.outbound.finish(counters);
    }

    /// The outboxes, for messages that are not balanced between peers; those are never reassigned.
    pub(crate) fn outbound(&mut self) -> &mut OutboundQueues {
        &mut self.outbound
    }

    /// The pipe for the next message; the call itself takes no turn.
    pub(crate) fn choose(&self) -> Result<PipeId, Refusal> {
        self.outbound.choose()
    }

    /// Gives the message to the next pipe in turn, or returns it.
    pub(crate) fn send(&mut self, mut message: Message) -> Result<(), (Message, Refusal)> {
        let outcome = self.send_from(&message.head, &mut message.body);
        outcome.map_err(|why| (message, why))
    }

    /// [`send`](Self::send) of a header and a body, which is taken only if there is room.
    #[inline]
    pub(crate) fn send_from(&mut self, head: &Head, body: &mut Bytes) -> Result<(), Refusal> {
        let pipe = self.outbound.choose()?;
        if self.outbound.push_from(pipe, head, body) { Ok(()) } else { Err(Refusal::Full) }
    }

    pub(crate) fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>) {
        if self.outbound.fill(pipe, out) && !self.unassigned.is_empty() {
            self.assign();
        }
    }

    pub(crate) fn next_event(&mut self) -> Option<ProtocolEvent> {
        self.outbound.next_event()
    }

    /// Gives unassigned messages to the pipes that have room.
    fn assign(&mut self) {
        while let Some(message) = self.unassigned.pop_front() {
            if let Err((message, _)) = self.send(message) {
                self.unassigned.push_front(message);
                return;
            }
        }
    }
}
