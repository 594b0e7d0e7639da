//! raw: every protocol without its state machine, for programs that forward messages.
//!
//! A raw socket returns the header apart from the body and sends the header it is given;
//! [`RawMessage`] lists the headers. It sends no request again, matches no reply to a request and
//! filters no topics; it only chooses the pipe. Three things work as in the other sockets: messages
//! over the hop limit are dropped, every drop is counted, and a full queue stops reading from its
//! peer alone.
//!
//! rep and respondent put the number of the pipe in front of a request's words and send a reply to
//! the pipe that its first word names (RFC sp-request-reply-01, section 4). Such a reply never
//! waits: one for a peer that has left, or that reads far too slowly, is dropped and counted.
//! Requests of a peer whose outbox is full are not returned.

use alloc::collections::VecDeque;

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use crate::headers::backtrace::{self, REPLY_WORDS_MAX};
use crate::headers::hops::{self, HopsError};
use crate::limits::{Hops, REPLY_BYTES_MAX, REPLY_MESSAGES_MAX};
use crate::pipe_queues::inbox::Inbox;
use crate::pipe_queues::pool::Pool;
use crate::queue::one_message;
use crate::stream::BatchBuilder;
use crate::{
    CloseReason, Counters, DropReason, Message, PipeId, Priority, Protocol, ProtocolEvent,
    RawMessage, Received, RecvError, Refused, RefusedRaw, Setting, SettingError,
};

/// The largest hop count that can be incremented within its byte.
const HOPS_COUNTED_MAX: u8 = u8::MAX - 1;

mod profile;

pub use profile::RawKind;
use profile::{Profile, Routing, WireHeader};

one_message!(RawMessage: |message| message.header.len() + message.body.len());

/// A raw socket of any protocol.
#[derive(Debug)]
pub struct Raw {
    profile: Profile,
    pool: Pool,
    inbox: Inbox<RawMessage>,
    hops_max: Hops,
    events: VecDeque<ProtocolEvent>,
    counters: Counters,
}

impl Raw {
    /// A socket without peers that accepts messages over eight hops.
    pub fn new(kind: RawKind) -> Raw {
        Raw::with_hops(kind, Hops::default())
    }

    /// A socket without peers that accepts messages over at most `hops_max` hops, if the protocol
    /// counts them.
    pub fn with_hops(kind: RawKind, hops_max: Hops) -> Raw {
        Raw {
            profile: Profile::of(kind),
            pool: Pool::default(),
            inbox: Inbox::new(),
            hops_max,
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Splits the header off the message, ready to be sent on.
    fn take_header(&self, message: &mut Bytes) -> Result<Bytes, Received> {
        match self.profile.wire_header {
            WireHeader::Nothing => Ok(Bytes::new()),
            WireHeader::Words => {
                let hops_max = self.hops_max.get().into();
                let words = if self.profile.origin { hops_max } else { REPLY_WORDS_MAX };
                let parts = backtrace::split_within(message.clone(), words);
                let (header, body) = parts.map_err(Received::Dropped)?;
                *message = body;
                Ok(header)
            }
            WireHeader::Hops => {
                // star stops at the limit, pair1 after it, as in mangos.
                let star = self.profile.number == ProtocolNumber::STAR;
                let most = (self.hops_max.get() - u8::from(star)).min(HOPS_COUNTED_MAX);
                match hops::take(message, most) {
                    Ok(hops) => Ok(Bytes::copy_from_slice(&[0, 0, 0, hops + 1])),
                    Err(HopsError::TooMany) => Err(Received::Dropped(DropReason::TooManyHops)),
                    Err(_) if star => Err(Received::Dropped(DropReason::Malformed)),
                    Err(HopsError::TooShort(length)) => {
                        Err(Received::Close(CloseReason::TooShort(length)))
                    }
                    Err(HopsError::ReservedBits(word)) => {
                        Err(Received::Close(CloseReason::ReservedBits(word)))
                    }
                }
            }
        }
    }

    /// Sends to the pipe that the header names. Never refused: a program that forwards messages
    /// cannot wait for one peer among many.
    fn reply(&mut self, pipe: PipeId, message: Message) {
        let outbound = self.pool.outbound();
        let (messages, bytes) = outbound.held(pipe);
        if messages >= REPLY_MESSAGES_MAX || bytes >= REPLY_BYTES_MAX {
            self.counters.drop_one(DropReason::PeerSlow);
        } else if outbound.push_unbounded(pipe, message).is_err() {
            self.counters.drop_one(DropReason::PipeGone);
        }
    }

    fn drop_one(&mut self, reason: DropReason) -> Received {
        self.counters.drop_one(reason);
        Received::Dropped(reason)
    }
}

impl Protocol for Raw {
    fn number(&self) -> ProtocolNumber {
        self.profile.number
    }

    fn open(&mut self, pipe: PipeId, _now: Time) -> Result<(), CloseReason> {
        if self.profile.routing == Routing::OnlyPeer && !self.pool.outbound().is_empty() {
            return Err(CloseReason::HasPeer);
        }
        if self.inbox.is_crowded() {
            return Err(CloseReason::Crowded);
        }
        self.pool.open(pipe);
        self.inbox.open(pipe);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, _now: Time) {
        match self.profile.routing {
            Routing::RoundRobin | Routing::OnlyPeer => self.pool.close(pipe),
            _ => self.pool.outbound().close_and_count(pipe, &mut self.counters),
        }
        if self.profile.routing != Routing::Named {
            self.inbox.close(pipe);
            return;
        }
        // No peer is left to reply to; a requester that is still alive asks again.
        for _ in self.inbox.remove(pipe) {
            self.counters.drop_one(DropReason::PipeGone);
        }
    }

    /// Sends a body without a header.
    fn send(&mut self, body: Bytes, now: Time) -> Result<(), Refused> {
        let outcome = self.send_raw(RawMessage { header: Bytes::new(), body }, now);
        outcome.map_err(|RefusedRaw { message, why }| Refused { body: message.body, why })
    }

    fn set_priority(&mut self, pipe: PipeId, send: Priority, receive: Priority) {
        self.pool.outbound().set_priority(pipe, send);
        self.inbox.set_priority(pipe, receive);
    }

    fn finish(&mut self) {
        self.pool.finish(&mut self.counters);
        self.inbox.finish(&mut self.counters);
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        match setting {
            Setting::SendQueue(length) => {
                let reopened = self.pool.set_length(length);
                if reopened && self.profile.is_gated() {
                    // Messages of these pipes may have waited for room.
                    self.events.push_back(ProtocolEvent::RecvReady);
                }
            }
            Setting::ReceiveQueue(length) => self.inbox.set_length(length),
            Setting::HopsMax(hops) => self.hops_max = hops,
            _ => return Err(SettingError::NotOf(self.number())),
        }
        Ok(())
    }

    fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>) {
        let gated = self.profile.is_gated();
        let had_room = !gated || self.pool.outbound().has_room(pipe);
        self.pool.fill(pipe, out);
        if !had_room && self.pool.outbound().has_room(pipe) {
            // Messages of this pipe may have waited for room.
            self.events.push_back(ProtocolEvent::RecvReady);
        }
    }

    fn receive(&mut self, pipe: PipeId, mut message: Bytes, _now: Time) -> Received {
        if !self.inbox.contains(pipe) {
            return self.drop_one(DropReason::PipeGone);
        }
        if !self.profile.receives {
            return self.drop_one(DropReason::Unexpected);
        }
        let inner = match self.take_header(&mut message) {
            Ok(inner) => inner,
            Err(Received::Dropped(reason)) => return self.drop_one(reason),
            Err(other) => return other,
        };
        let header = match self.profile.origin {
            true => Bytes::from([&pipe.0.to_be_bytes()[..], &inner].concat()),
            false => inner,
        };
        self.inbox.accept(pipe, RawMessage { header, body: message }, &mut self.counters)
    }

    fn is_paused(&self, pipe: PipeId) -> bool {
        self.inbox.is_paused(pipe)
    }

    /// Returns header and body joined.
    fn recv(&mut self, now: Time) -> Result<Bytes, RecvError> {
        self.recv_raw(now).map(RawMessage::joined)
    }

    fn has_room(&self) -> bool {
        match self.profile.routing {
            Routing::RoundRobin | Routing::OnlyPeer | Routing::NamedOrRoundRobin => {
                self.pool.choose().is_ok()
            }
            Routing::Named | Routing::Broadcast | Routing::ReceiveOnly => true,
        }
    }

    fn send_raw(&mut self, message: RawMessage, _now: Time) -> Result<(), RefusedRaw> {
        let (origin, head) = match self.profile.read(&message.header) {
            Ok(parts) => parts,
            Err(why) => return Err(RefusedRaw { message, why }),
        };
        let RawMessage { header, body } = message;
        let outgoing = Message { head, body };
        match (self.profile.routing, origin) {
            (Routing::Named | Routing::NamedOrRoundRobin, Some(pipe)) => self.reply(pipe, outgoing),
            (Routing::Broadcast, origin) => {
                let outbound = self.pool.outbound();
                outbound.broadcast(&outgoing, &mut self.counters, |pipe| Some(pipe) != origin);
            }
            _ => {
                let outcome = self.pool.send(outgoing);
                outcome.map_err(|(Message { body, .. }, why)| {
                    let message = RawMessage { header, body };
                    RefusedRaw { message, why }
                })?;
            }
        }
        self.counters.sent += 1;
        Ok(())
    }

    fn recv_raw(&mut self, _now: Time) -> Result<RawMessage, RecvError> {
        if !self.profile.receives {
            return Err(RecvError::OnlySends(self.profile.number));
        }
        let (gated, outbound) = (self.profile.is_gated(), self.pool.outbound());
        let next = self.inbox.pop(|pipe| !gated || outbound.has_room(pipe));
        let (_, message) = next.ok_or(RecvError::Empty)?;
        self.counters.received += 1;
        Ok(message)
    }

    fn next_event(&mut self) -> Option<ProtocolEvent> {
        let own = self.events.pop_front();
        own.or_else(|| self.inbox.next_event()).or_else(|| self.pool.next_event())
    }

    fn in_lock_step(&self) -> bool {
        self.profile.wire_header == WireHeader::Words
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests;
