//! raw: every protocol without its state machine, for whoever passes messages on.
//!
//! A raw socket gives the header apart from the body and sends what it is given
//! ([`RawMessage`] tells which header is whose). It asks nothing again, matches no reply to a
//! request and filters no topics; all it does is to find the pipe. Three things stay as they are:
//! messages that have come over too many hops are dropped, what is dropped is counted, and a full
//! queue stops the reading from its peer alone.
//!
//! rep and respondent put the number of the pipe in front of a request's words and send a reply to
//! the pipe that its first word names (RFC sp-request-reply-01, section 4). Such a reply waits for
//! nobody: one for a peer that has left, or that reads too slowly by far, is dropped and counted.
//! Requests of a peer whose outbox is full are not given out.

use alloc::collections::VecDeque;

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use crate::backtrace::{self, REPLY_WORDS_MAX};
use crate::hops::{self, BadHops};
use crate::inbox::Inbox;
use crate::limits::{Hops, REPLY_BYTES_MAX, REPLY_MESSAGES_MAX};
use crate::pool::Pool;
use crate::queue::Weight;
use crate::{
    Attention, CloseReason, Counters, DropReason, Message, PipeId, Protocol, RawMessage, Received,
    RecvError, Refused, RefusedRaw,
};

mod plan;

pub use plan::RawKind;
use plan::{Inner, Plan, Way};

impl Weight for RawMessage {
    fn weight(&self) -> usize {
        self.header.len() + self.body.len()
    }
}

/// A raw socket of any protocol.
#[derive(Debug)]
pub struct Raw {
    plan: Plan,
    pool: Pool,
    inbox: Inbox<RawMessage>,
    hops_max: Hops,
    attention: VecDeque<Attention>,
    counters: Counters,
}

impl Raw {
    /// A socket without peers that accepts messages over eight hops.
    pub fn new(kind: RawKind) -> Raw {
        Raw::with_hops(kind, Hops::default())
    }

    /// A socket without peers that accepts messages over at most `hops_max` hops, where the
    /// protocol counts them.
    pub fn with_hops(kind: RawKind, hops_max: Hops) -> Raw {
        Raw {
            plan: Plan::of(kind),
            pool: Pool::default(),
            inbox: Inbox::new(),
            hops_max,
            attention: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Takes what stands in front of the body off the message, ready to be sent on.
    fn take_inner(&self, message: &mut Bytes) -> Result<Bytes, Received> {
        match self.plan.inner {
            Inner::Nothing => Ok(Bytes::new()),
            Inner::Words => {
                let words = if self.plan.origin { self.hops_max.get() } else { REPLY_WORDS_MAX };
                let parts = backtrace::split_within(message.clone(), words);
                let (header, body) = parts.map_err(Received::Dropped)?;
                *message = body;
                Ok(header)
            }
            Inner::Hops => {
                // star ends at the limit, pair1 behind it, as mangos has them.
                let star = self.plan.number == ProtocolNumber::STAR;
                let most = self.hops_max.get() - u8::from(star);
                match hops::take(message, most) {
                    Ok(hops) => Ok(Bytes::copy_from_slice(&[0, 0, 0, hops + 1])),
                    Err(BadHops::TooMany) => Err(Received::Dropped(DropReason::TooManyHops)),
                    Err(_) if star => Err(Received::Dropped(DropReason::Malformed)),
                    Err(BadHops::TooShort(length)) => {
                        Err(Received::Close(CloseReason::TooShort(length)))
                    }
                    Err(BadHops::ReservedBits(word)) => {
                        Err(Received::Close(CloseReason::ReservedBits(word)))
                    }
                }
            }
        }
    }

    /// Sends to the pipe that the header names. Refused never: whoever passes messages on cannot
    /// wait for one peer among many.
    fn reply(&mut self, pipe: PipeId, message: Message) {
        let lanes = self.pool.lanes();
        let (messages, bytes) = lanes.held(pipe);
        if messages >= REPLY_MESSAGES_MAX || bytes >= REPLY_BYTES_MAX {
            self.counters.drop_one(DropReason::PeerSlow);
        } else if lanes.push_over(pipe, message).is_err() {
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
        self.plan.number
    }

    fn open(&mut self, pipe: PipeId, _now: Time) -> Result<(), CloseReason> {
        if self.plan.way == Way::OnlyPeer && !self.pool.lanes().is_empty() {
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
        match self.plan.way {
            Way::OneOf | Way::OnlyPeer => self.pool.close(pipe),
            _ => self.pool.lanes().close_and_count(pipe, &mut self.counters),
        }
        if self.plan.way != Way::Named {
            self.inbox.close(pipe);
            return;
        }
        // Nobody is left to whom a reply could go; a requester that lives asks again.
        for _ in self.inbox.remove(pipe) {
            self.counters.drop_one(DropReason::PipeGone);
        }
    }

    /// Sends without a header.
    fn send(&mut self, body: Bytes, now: Time) -> Result<(), Refused> {
        let outcome = self.send_raw(RawMessage { header: Bytes::new(), body }, now);
        outcome.map_err(|RefusedRaw { message, why }| Refused { body: message.body, why })
    }

    fn transmit(&mut self, pipe: PipeId) -> Option<Message> {
        let gated = self.plan.is_gated();
        let had_room = !gated || self.pool.lanes().has_room(pipe);
        let message = self.pool.transmit(pipe)?;
        if !had_room && self.pool.lanes().has_room(pipe) {
            // Messages of this pipe may have waited for it.
            self.attention.push_back(Attention::Receivers);
        }
        Some(message)
    }

    fn receive(&mut self, pipe: PipeId, mut message: Bytes, _now: Time) -> Received {
        if !self.inbox.contains(pipe) {
            return self.drop_one(DropReason::PipeGone);
        }
        if !self.plan.hears {
            return self.drop_one(DropReason::Unexpected);
        }
        let inner = match self.take_inner(&mut message) {
            Ok(inner) => inner,
            Err(Received::Dropped(reason)) => return self.drop_one(reason),
            Err(other) => return other,
        };
        let header = match self.plan.origin {
            true => Bytes::from([&pipe.0.to_be_bytes()[..], &inner].concat()),
            false => inner,
        };
        self.inbox.take_in(pipe, RawMessage { header, body: message }, &mut self.counters)
    }

    fn is_paused(&self, pipe: PipeId) -> bool {
        self.inbox.is_paused(pipe)
    }

    /// Header and body in one piece.
    fn recv(&mut self, now: Time) -> Result<Bytes, RecvError> {
        self.recv_raw(now).map(RawMessage::joined)
    }

    fn has_room(&self) -> bool {
        match self.plan.way {
            Way::OneOf | Way::OnlyPeer | Way::NamedOrOne => self.pool.choose().is_ok(),
            Way::Named | Way::All | Way::Nobody => true,
        }
    }

    fn send_raw(&mut self, message: RawMessage, _now: Time) -> Result<(), RefusedRaw> {
        let (origin, head) = match self.plan.read(&message.header) {
            Ok(parts) => parts,
            Err(why) => return Err(RefusedRaw { message, why }),
        };
        let RawMessage { header, body } = message;
        let outgoing = Message { head, body };
        match (self.plan.way, origin) {
            (Way::Named | Way::NamedOrOne, Some(pipe)) => self.reply(pipe, outgoing),
            (Way::All, origin) => {
                let lanes = self.pool.lanes();
                lanes.broadcast(&outgoing, &mut self.counters, |pipe| Some(pipe) != origin);
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
        if !self.plan.hears {
            return Err(RecvError::OnlySends(self.plan.number));
        }
        let (gated, lanes) = (self.plan.is_gated(), self.pool.lanes());
        let next = self.inbox.pop(|pipe| !gated || lanes.has_room(pipe));
        let (_, message) = next.ok_or(RecvError::Empty)?;
        self.counters.received += 1;
        Ok(message)
    }

    fn next_attention(&mut self) -> Option<Attention> {
        let own = self.attention.pop_front();
        own.or_else(|| self.inbox.next_attention()).or_else(|| self.pool.next_attention())
    }

    fn in_lock_step(&self) -> bool {
        self.plan.inner == Inner::Words
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests;
