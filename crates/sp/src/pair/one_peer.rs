//! The part that both versions of pair share: one peer, both directions.
//!
//! A second peer is refused. Messages that were not sent when the peer left wait for the next one.
//! Version 1 has a header, which `pair1.rs` describes; version 0 has none.

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use alloc::collections::VecDeque;

use crate::headers::hops::{self, HopsError};
use crate::limits::{
    Hops, INBOX_BYTES_MAX, INBOX_MESSAGES_MAX, OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX,
};
use crate::queue::Queue;
use crate::stream::BatchBuilder;
use crate::stream::outbox::Outbox;
use crate::{
    CloseReason, ContextId, Counters, DropReason, Head, InboundRun, PipeId, Protocol,
    ProtocolEvent, Received, RecvError, Refusal, Refused, RunRoom, Setting, SettingError,
};

/// The hop count of a message that comes straight from its sender.
const FIRST_HOP: u32 = 1;

/// A pair socket; `NUMBER` is its protocol number.
#[derive(Debug)]
pub struct OnePeer<const NUMBER: u16> {
    peer: Option<PipeId>,
    outbox: Outbox,
    inbox: Queue<InboundRun>,
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
            outbox: Outbox::new(OUTBOX_MESSAGES_MAX, OUTBOX_BYTES_MAX),
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

    fn accept(&mut self, run: InboundRun) -> Received {
        let first = self.inbox.is_empty();
        if let Err(run) = self.inbox.push(run) {
            self.counters.drop_some(DropReason::Overflow, run.messages());
            return Received::Dropped(DropReason::Overflow);
        }
        self.paused = !self.inbox.has_room();
        if first {
            self.events.push_back(ProtocolEvent::RecvReady);
        }
        Received::Queued
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
        self.outbox.take();
        self.inbox.clear();
    }

    fn send(&mut self, mut body: Bytes, now: Time) -> Result<(), Refused> {
        let outcome = self.send_from(ContextId::SOCKET, &mut body, now);
        outcome.map_err(|why| Refused { body, why })
    }

    fn send_from(&mut self, _: ContextId, body: &mut Bytes, _now: Time) -> Result<(), Refusal> {
        let pipe = self.peer.ok_or(Refusal::NoPipe)?;
        let first = self.outbox.is_empty();
        let head = if Self::HAS_HEADER { Head::Word(FIRST_HOP) } else { Head::Empty };
        if !self.outbox.push_from(&head, body) {
            return Err(Refusal::Full);
        }
        if first {
            self.events.push_back(ProtocolEvent::Transmit(pipe));
        }
        self.counters.sent += 1;
        Ok(())
    }

    fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>) {
        if self.peer != Some(pipe) {
            return;
        }
        let had_room = self.outbox.has_room();
        self.outbox.fill(out);
        if !had_room && self.outbox.has_room() {
            self.events.push_back(ProtocolEvent::SendReady);
        }
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
        self.accept(message.into())
    }

    fn run_room(&self, pipe: PipeId) -> Option<RunRoom> {
        let (messages, bytes) = self.inbox.room();
        let word_max = Self::HAS_HEADER.then(|| self.hops_max.get().into());
        (self.peer == Some(pipe)).then_some(RunRoom { messages, bytes, word_max })
    }

    fn receive_run(&mut self, _pipe: PipeId, run: InboundRun, _now: Time) {
        self.accept(run);
    }

    fn is_paused(&self, _pipe: PipeId) -> bool {
        self.paused
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
        *place = self.inbox.pop().ok_or(RecvError::Empty)?;
        if self.paused && self.inbox.is_half_empty() {
            self.paused = false;
            self.events.extend(self.peer.map(ProtocolEvent::Resume));
        }
        self.counters.received += 1;
        Ok(())
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
