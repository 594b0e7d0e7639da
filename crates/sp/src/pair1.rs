//! pair1: one peer, both directions.
//!
//! A header of one word: three zero bytes and the hops (RFC sp-pair-01). We send 1 and accept 0 as
//! well, against the letter of the RFC, because mangos sends 0 and NNG accepts it. More hops than
//! allowed are dropped; reserved bits or a missing header close the pipe, as in NNG. A second peer
//! is turned away. What waits to be sent when the peer leaves waits for the next one.

use bytes::{Buf, Bytes};
use wigwag_wire::{ProtocolNumber, Time};

use alloc::collections::VecDeque;

use crate::limits::{
    Hops, INBOX_BYTES_MAX, INBOX_MESSAGES_MAX, OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX,
};
use crate::queue::Queue;
use crate::{
    Attention, CloseReason, Counters, DropReason, Head, Message, PipeId, Protocol, Received,
    RecvError, Refusal, Refused,
};

/// Hops of a message that comes straight from its sender.
const FIRST_HOP: u32 = 1;

/// Bits of the header that carry hops; the others are reserved.
const HOPS_MASK: u32 = 0xff;

/// A pair1 socket.
#[derive(Debug)]
pub struct Pair1 {
    peer: Option<PipeId>,
    outbox: Queue<Message>,
    inbox: Queue<Bytes>,
    /// Set when the inbox is full, cleared when half of it is free.
    paused: bool,
    hops_max: Hops,
    attention: VecDeque<Attention>,
    counters: Counters,
}

impl Pair1 {
    /// A socket without a peer that accepts messages over eight hops.
    pub fn new() -> Pair1 {
        Pair1::with_hops(Hops::default())
    }

    /// A socket without a peer that accepts messages over at most `hops_max` hops.
    pub fn with_hops(hops_max: Hops) -> Pair1 {
        Pair1 {
            peer: None,
            outbox: Queue::new(OUTBOX_MESSAGES_MAX, OUTBOX_BYTES_MAX),
            inbox: Queue::new(INBOX_MESSAGES_MAX, INBOX_BYTES_MAX),
            paused: false,
            hops_max,
            attention: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    fn drop_one(&mut self, reason: DropReason) -> Received {
        self.counters.drop_one(reason);
        Received::Dropped(reason)
    }
}

impl Default for Pair1 {
    fn default() -> Pair1 {
        Pair1::new()
    }
}

impl Protocol for Pair1 {
    fn number(&self) -> ProtocolNumber {
        ProtocolNumber::PAIR1
    }

    fn open(&mut self, pipe: PipeId, _now: Time) -> Result<(), CloseReason> {
        if self.peer.is_some() {
            return Err(CloseReason::HasPeer);
        }
        self.peer = Some(pipe);
        if !self.outbox.is_empty() {
            self.attention.push_back(Attention::Write(pipe));
        }
        self.attention.push_back(Attention::Senders);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, _now: Time) {
        if self.peer == Some(pipe) {
            self.peer = None;
        }
    }

    fn send(&mut self, body: Bytes, _now: Time) -> Result<(), Refused> {
        let Some(pipe) = self.peer else {
            let why = Refusal::NoPipe;
            return Err(Refused { body, why });
        };
        let first = self.outbox.is_empty();
        let head = Head::Word(FIRST_HOP);
        if let Err(Message { body, .. }) = self.outbox.push(Message { head, body }) {
            let why = Refusal::Full;
            return Err(Refused { body, why });
        }
        if first {
            self.attention.push_back(Attention::Write(pipe));
        }
        self.counters.sent += 1;
        Ok(())
    }

    fn transmit(&mut self, pipe: PipeId) -> Option<Message> {
        if self.peer != Some(pipe) {
            return None;
        }
        let had_room = self.outbox.has_room();
        let message = self.outbox.pop()?;
        if !had_room && self.outbox.has_room() {
            self.attention.push_back(Attention::Senders);
        }
        Some(message)
    }

    fn receive(&mut self, pipe: PipeId, mut message: Bytes, _now: Time) -> Received {
        if self.peer != Some(pipe) {
            return self.drop_one(DropReason::PipeGone);
        }
        let Some((word, _)) = message.split_first_chunk::<4>() else {
            return Received::Close(CloseReason::TooShort(message.len()));
        };
        let header = u32::from_be_bytes(*word);
        if header & !HOPS_MASK != 0 {
            return Received::Close(CloseReason::ReservedBits(header));
        }
        if header > u32::from(self.hops_max.get()) {
            return self.drop_one(DropReason::TooManyHops);
        }
        message.advance(4);
        let first = self.inbox.is_empty();
        if self.inbox.push(message).is_err() {
            return self.drop_one(DropReason::Overflow);
        }
        self.paused = !self.inbox.has_room();
        if first {
            self.attention.push_back(Attention::Receivers);
        }
        Received::Queued
    }

    fn is_paused(&self, _pipe: PipeId) -> bool {
        self.paused
    }

    fn recv(&mut self, _now: Time) -> Result<Bytes, RecvError> {
        let body = self.inbox.pop().ok_or(RecvError::Empty)?;
        if self.paused && self.inbox.is_half_empty() {
            self.paused = false;
            self.attention.extend(self.peer.map(Attention::Read));
        }
        self.counters.received += 1;
        Ok(body)
    }

    fn next_attention(&mut self) -> Option<Attention> {
        self.attention.pop_front()
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests;
