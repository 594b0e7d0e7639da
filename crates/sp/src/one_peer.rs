//! The part that both versions of pair share: one peer, both directions.
//!
//! A second peer is refused. Messages that were not sent when the peer left wait for the next one.
//! Version 1 has a header, which `pair1.rs` describes; version 0 has none.

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use alloc::collections::VecDeque;

use crate::hops::{self, HopsError};
use crate::limits::{
    Hops, INBOX_BYTES_MAX, INBOX_MESSAGES_MAX, OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX,
};
use crate::queue::Queue;
use crate::{
    CloseReason, Counters, DropReason, Head, Message, PipeId, Protocol, ProtocolEvent, Received,
    RecvError, Refusal, Refused, Setting, SettingError,
};

/// The hop count of a message that comes straight from its sender.
const FIRST_HOP: u32 = 1;

/// A pair socket; `NUMBER` is its protocol number.
#[derive(Debug)]
pub struct OnePeer<const NUMBER: u16> {
    peer: Option<PipeId>,
    outbox: Queue<Message>,
    inbox: Queue<Bytes>,
    /// Set when the inbox is full, cleared when half of it is free.
    paused: bool,
    hops_max: Hops,
    events: VecDeque<ProtocolEvent>,
    counters: Counters,
}

impl<const NUMBER: u16> OnePeer<NUMBER> {
    /// A socket without a peer that accepts messages over eight hops.
    pub fn new() -> Self {
        Self::with_hops(Hops::default())
    }

    /// A socket without a peer that accepts messages over at most `hops_max` hops.
    pub fn with_hops(hops_max: Hops) -> Self {
        Self {
            peer: None,
            outbox: Queue::new(OUTBOX_MESSAGES_MAX, OUTBOX_BYTES_MAX),
            inbox: Queue::new(INBOX_MESSAGES_MAX, INBOX_BYTES_MAX),
            paused: false,
            hops_max,
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    const HAS_HEADER: bool = NUMBER == ProtocolNumber::PAIR1.0;

    /// Removes the header; the error is the outcome of a message that is rejected.
    fn take_header(&mut self, message: &mut Bytes) -> Result<(), Received> {
        match hops::take(message, self.hops_max.get()) {
            Ok(_) => Ok(()),
            Err(HopsError::TooShort(length)) => Err(Received::Close(CloseReason::TooShort(length))),
            Err(HopsError::ReservedBits(word)) => {
                Err(Received::Close(CloseReason::ReservedBits(word)))
            }
            Err(HopsError::TooMany) => Err(self.drop_one(DropReason::TooManyHops)),
        }
    }

    fn drop_one(&mut self, reason: DropReason) -> Received {
        self.counters.drop_one(reason);
        Received::Dropped(reason)
    }
}

impl<const NUMBER: u16> Default for OnePeer<NUMBER> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const NUMBER: u16> Protocol for OnePeer<NUMBER> {
    fn number(&self) -> ProtocolNumber {
        ProtocolNumber(NUMBER)
    }

    fn open(&mut self, pipe: PipeId, _now: Time) -> Result<(), CloseReason> {
        if self.peer.is_some() {
            return Err(CloseReason::HasPeer);
        }
        self.peer = Some(pipe);
        if !self.outbox.is_empty() {
            self.events.push_back(ProtocolEvent::Transmit(pipe));
        }
        self.events.push_back(ProtocolEvent::SendReady);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, _now: Time) {
        if self.peer == Some(pipe) {
            self.peer = None;
        }
    }

    fn finish(&mut self) {
        self.counters.drop_some(DropReason::Unsent, self.outbox.len());
        self.counters.drop_some(DropReason::Unread, self.inbox.len());
        self.outbox.clear();
        self.inbox.clear();
    }

    fn send(&mut self, body: Bytes, _now: Time) -> Result<(), Refused> {
        let Some(pipe) = self.peer else {
            let why = Refusal::NoPipe;
            return Err(Refused { body, why });
        };
        let first = self.outbox.is_empty();
        let head = if Self::HAS_HEADER { Head::Word(FIRST_HOP) } else { Head::Empty };
        if let Err(Message { body, .. }) = self.outbox.push(Message { head, body }) {
            let why = Refusal::Full;
            return Err(Refused { body, why });
        }
        if first {
            self.events.push_back(ProtocolEvent::Transmit(pipe));
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
            self.events.push_back(ProtocolEvent::SendReady);
        }
        Some(message)
    }

    fn receive(&mut self, pipe: PipeId, mut message: Bytes, _now: Time) -> Received {
        if self.peer != Some(pipe) {
            return self.drop_one(DropReason::PipeGone);
        }
        if Self::HAS_HEADER
            && let Err(other) = self.take_header(&mut message)
        {
            return other;
        }
        let first = self.inbox.is_empty();
        if self.inbox.push(message).is_err() {
            return self.drop_one(DropReason::Overflow);
        }
        self.paused = !self.inbox.has_room();
        if first {
            self.events.push_back(ProtocolEvent::RecvReady);
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
            self.events.extend(self.peer.map(ProtocolEvent::Resume));
        }
        self.counters.received += 1;
        Ok(body)
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        match setting {
            Setting::HopsMax(hops) if Self::HAS_HEADER => self.hops_max = hops,
            Setting::SendQueue(length) => {
                let had_room = self.outbox.has_room();
                self.outbox.set_length(length.get());
                if !had_room && self.outbox.has_room() {
                    self.events.push_back(ProtocolEvent::SendReady);
                }
            }
            Setting::ReceiveQueue(length) => {
                self.inbox.set_length(length.get());
                let paused = !self.inbox.has_room();
                if self.paused && !paused {
                    self.events.extend(self.peer.map(ProtocolEvent::Resume));
                }
                self.paused = paused;
            }
            _ => return Err(SettingError::NotOf(self.number())),
        }
        Ok(())
    }

    fn next_event(&mut self) -> Option<ProtocolEvent> {
        self.events.pop_front()
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
