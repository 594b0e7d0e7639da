//! What has come for one context of sub or surveyor.
//!
//! The socket's own tray has a queue for each peer, and a full one stops the reading from that peer
//! alone. The tray of a further context is one queue, and what finds it full is lost for that
//! context alone and counted: one that nobody reads must not hold up the others. For the same
//! reason the socket's own tray stops nobody while there are further contexts; `is_paused` of the
//! two protocols sees to that.

use bytes::Bytes;

use crate::inbox::Inbox;
use crate::{Attention, ContextId, Counters, PipeId, Received};

/// The lane that all peers share in the tray of a further context.
const ALL_PEERS: PipeId = PipeId(0);

/// Messages that wait for the user of one context.
#[derive(Debug)]
pub(crate) struct Tray {
    context: ContextId,
    inbox: Inbox<Bytes>,
}

impl Tray {
    pub(crate) fn new(context: ContextId) -> Tray {
        let mut inbox = Inbox::new();
        if context != ContextId::SOCKET {
            inbox.open(ALL_PEERS);
        }
        Tray { context, inbox }
    }

    /// The socket's own tray is told of pipes, the others are not.
    pub(crate) fn pipes(&mut self) -> &mut Inbox<Bytes> {
        &mut self.inbox
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

    pub(crate) fn take_in(
        &mut self,
        pipe: PipeId,
        body: Bytes,
        counters: &mut Counters,
    ) -> Received {
        let lane = if self.context == ContextId::SOCKET { pipe } else { ALL_PEERS };
        self.inbox.take_in(lane, body, counters)
    }

    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        self.inbox.pop(|_| true).map(|(_, body)| body)
    }

    pub(crate) fn next_attention(&mut self) -> Option<Attention> {
        loop {
            match self.inbox.next_attention()? {
                Attention::Receivers => return Some(self.context.receivers()),
                // Only the socket's own tray has paused anybody.
                Attention::Read(_) if self.context != ContextId::SOCKET => {}
                other => return Some(other),
            }
        }
    }
}
