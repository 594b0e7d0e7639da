//! The messages that wait for one context of sub or surveyor.
//!
//! The socket's own inbox has a queue for each peer, and a full one stops reading from that peer
//! alone. The inbox of a further context is one queue, and a message that does not fit is lost for
//! that context alone and counted: an unread context must not hold up the others. For the same
//! reason the socket's own inbox stops no peer while there are further contexts; `is_paused` of the
//! two protocols sees to that.

use bytes::Bytes;

use crate::pipe_queues::inbox::Inbox;
use crate::{ContextId, Counters, PipeId, ProtocolEvent, QueueLength, Received};

/// The queue that all peers share in the inbox of a further context.
const ALL_PEERS: PipeId = PipeId(0);

/// Messages that wait for the user of one context.
#[derive(Debug)]
pub(crate) struct ContextInbox {
    context: ContextId,
    inbox: Inbox<Bytes>,
}

impl ContextInbox {
    pub(crate) fn new(context: ContextId) -> ContextInbox {
        let mut inbox = Inbox::new();
        if context != ContextId::SOCKET {
            inbox.open(ALL_PEERS);
        }
        ContextInbox { context, inbox }
    }

    /// The queues of the pipes; only the inbox of the socket itself is told of pipes.
    pub(crate) fn pipes(&mut self) -> &mut Inbox<Bytes> {
        &mut self.inbox
    }

    /// Sets how many messages may wait, from each peer or from all.
    pub(crate) fn set_length(&mut self, length: QueueLength) {
        self.inbox.set_length(length);
    }

    /// Discards and counts all messages: the socket is closed.
    pub(crate) fn finish(&mut self, counters: &mut Counters) {
        self.inbox.finish(counters);
    }

    pub(crate) fn is_open(&self, pipe: PipeId) -> bool {
        self.inbox.contains(pipe)
    }

    pub(crate) fn is_paused(&self, pipe: PipeId) -> bool {
        self.inbox.is_paused(pipe)
    }

    pub(crate) fn is_crowded(&self) -> bool {
        self.inbox.is_crowded()
    }

    pub(crate) fn accept(
        &mut self,
        pipe: PipeId,
        body: Bytes,
        counters: &mut Counters,
    ) -> Received {
        let queue = if self.context == ContextId::SOCKET { pipe } else { ALL_PEERS };
        self.inbox.accept(queue, body, counters)
    }

    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        self.inbox.pop(|_| true).map(|(_, body)| body)
    }

    pub(crate) fn next_event(&mut self) -> Option<ProtocolEvent> {
        loop {
            match self.inbox.next_event()? {
                ProtocolEvent::RecvReady => {
                    return Some(ProtocolEvent::recv_ready_in(self.context));
                }
                // Only the socket's own inbox pauses pipes.
                ProtocolEvent::Resume(_) if self.context != ContextId::SOCKET => {}
                other => return Some(other),
            }
        }
    }
}
