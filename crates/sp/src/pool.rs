//! Peers that share the work: each message goes to one of them, and none is lost when one leaves.
//!
//! push works like this, and so do the raw forms of push, req and pair, the last one with a single
//! peer.

use alloc::collections::VecDeque;

use crate::lanes::Lanes;
use crate::{Attention, Message, PipeId, Refusal};

/// Outboxes, and what found no place in one.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    lanes: Lanes,
    /// What peers that left had not been sent. Invariant: empty while a pipe has room. So it goes
    /// out before anything new is taken, and never holds more than the outboxes of the pipes that
    /// were open together.
    homeless: VecDeque<Message>,
}

impl Pool {
    pub(crate) fn open(&mut self, pipe: PipeId) {
        self.lanes.open(pipe);
        self.rehome();
    }

    /// What lies unwritten for the pipe goes to the others, now or when they have room.
    pub(crate) fn close(&mut self, pipe: PipeId) {
        if let Some(unsent) = self.lanes.close(pipe) {
            self.homeless.extend(unsent);
            self.rehome();
        }
    }

    /// The outboxes, for messages that go another way than to one of the peers; those are never
    /// homeless.
    pub(crate) fn lanes(&mut self) -> &mut Lanes {
        &mut self.lanes
    }

    /// The pipe whose turn it is; asking takes no turn.
    pub(crate) fn choose(&self) -> Result<PipeId, Refusal> {
        self.lanes.choose()
    }

    /// Gives the message to the pipe whose turn it is, or hands it back.
    pub(crate) fn send(&mut self, message: Message) -> Result<(), (Message, Refusal)> {
        let pipe = match self.lanes.choose() {
            Ok(pipe) => pipe,
            Err(why) => return Err((message, why)),
        };
        self.lanes.push(pipe, message).map_err(|message| (message, Refusal::Full))
    }

    pub(crate) fn transmit(&mut self, pipe: PipeId) -> Option<Message> {
        let message = self.lanes.transmit(pipe)?;
        if !self.homeless.is_empty() {
            self.rehome();
        }
        Some(message)
    }

    pub(crate) fn next_attention(&mut self) -> Option<Attention> {
        self.lanes.next_attention()
    }

    /// Gives homeless messages to the pipes that have room.
    fn rehome(&mut self) {
        while let Some(message) = self.homeless.pop_front() {
            if let Err((message, _)) = self.send(message) {
                self.homeless.push_front(message);
                return;
            }
        }
    }
}
