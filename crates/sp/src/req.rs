//! req: one question at a time, asked again until it is answered.
//!
//! A request carries a word with the top bit set in front of its body, and the reply the same word
//! (RFC sp-request-reply-01). The first id is given, so that a restarted program does not take
//! replies to its former self; it counts up from there. The request is kept: when the pipe that
//! carries it closes it goes out on another one at once, and when no reply comes, after the resend
//! delay, under the same id. A new request cancels the old one.

use core::time::Duration;

use bytes::{Buf, Bytes};
use wigwag_wire::{ProtocolNumber, Time};

use alloc::collections::VecDeque;

use crate::backtrace::LAST_WORD;
use crate::lanes::Lanes;
use crate::limits::RESEND_DELAY;
use crate::{
    Attention, CloseReason, Counters, DropReason, Head, Message, PipeId, Priority, Protocol,
    Received, RecvError, Refusal, Refused, Setting, SettingError,
};

/// Where the exchange stands.
#[derive(Debug)]
enum Exchange {
    /// Nothing is asked.
    Idle,
    /// Asked; `pipe` carries it, or none is open that could.
    Asked { body: Bytes, pipe: Option<PipeId>, resend_at: Option<Time> },
    /// Answered; the user has not taken the reply.
    Answered(Bytes),
    /// The pipe closed, and the request is not sent again.
    Lost,
}

/// A req socket.
#[derive(Debug)]
pub struct Req {
    lanes: Lanes,
    exchange: Exchange,
    /// The current or last request's id, top bit set.
    id: u32,
    round: u64,
    /// `None`: a request is sent once.
    resend: Option<Duration>,
    attention: VecDeque<Attention>,
    counters: Counters,
}

impl Req {
    /// A socket without peers. `first_id` should be random; `resend` is the delay after which a
    /// request is sent again, `None` to send it only once.
    pub fn new(first_id: u32, resend: Option<Duration>) -> Req {
        Req {
            lanes: Lanes::default(),
            exchange: Exchange::Idle,
            id: first_id | LAST_WORD,
            round: 0,
            resend,
            attention: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// A socket without peers that sends requests again after 60 s.
    pub fn with_first_id(first_id: u32) -> Req {
        Req::new(first_id, Some(RESEND_DELAY))
    }

    /// Puts the request that is asked into the next outbox; without a pipe it waits for one.
    fn carry(&mut self, now: Time) {
        let Exchange::Asked { body, pipe, resend_at } = &mut self.exchange else {
            return;
        };
        let message = Message { head: Head::Word(self.id), body: body.clone() };
        *pipe = self.lanes.choose().ok().filter(|chosen| self.lanes.push(*chosen, message).is_ok());
        *resend_at = match self.resend {
            Some(delay) if pipe.is_some() => Some(now + delay),
            _ => None,
        };
    }

    /// Takes the current request out of an outbox that it has not left yet.
    fn withdraw(&mut self) {
        if let Exchange::Asked { pipe: Some(pipe), .. } = self.exchange {
            self.lanes.withdraw(pipe);
        }
    }

    fn drop_one(&mut self, reason: DropReason) -> Received {
        self.counters.drop_one(reason);
        Received::Dropped(reason)
    }
}

impl Protocol for Req {
    fn number(&self) -> ProtocolNumber {
        ProtocolNumber::REQ
    }

    fn open(&mut self, pipe: PipeId, now: Time) -> Result<(), CloseReason> {
        self.lanes.open(pipe);
        if matches!(self.exchange, Exchange::Asked { pipe: None, .. }) {
            self.counters.resent += 1;
            self.carry(now);
        }
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, now: Time) {
        self.lanes.close(pipe);
        let Exchange::Asked { pipe: carrier, .. } = &mut self.exchange else {
            return;
        };
        if *carrier != Some(pipe) {
            return;
        }
        *carrier = None;
        if self.resend.is_none() {
            self.exchange = Exchange::Lost;
            self.attention.push_back(Attention::Receivers);
            return;
        }
        self.carry(now);
        if let Exchange::Asked { pipe: Some(_), .. } = self.exchange {
            self.counters.resent += 1;
        }
    }

    fn rank(&mut self, pipe: PipeId, send: Priority, _receive: Priority) {
        self.lanes.rank(pipe, send);
    }

    fn finish(&mut self) {
        match core::mem::replace(&mut self.exchange, Exchange::Idle) {
            // Sent or not, nobody will hear the reply.
            Exchange::Asked { .. } => self.counters.cancelled += 1,
            Exchange::Answered(_) => self.counters.drop_one(DropReason::Unread),
            Exchange::Idle | Exchange::Lost => {}
        }
    }

    fn send(&mut self, body: Bytes, now: Time) -> Result<(), Refused> {
        if self.lanes.choose() == Err(Refusal::NoPipe) {
            let why = Refusal::NoPipe;
            return Err(Refused { body, why });
        }
        match self.exchange {
            Exchange::Asked { .. } => self.counters.cancelled += 1,
            Exchange::Answered(_) => self.counters.drop_one(DropReason::Abandoned),
            Exchange::Idle | Exchange::Lost => {}
        }
        self.withdraw();
        self.id = self.id.wrapping_add(1) | LAST_WORD;
        self.round += 1;
        self.exchange = Exchange::Asked { body, pipe: None, resend_at: None };
        self.carry(now);
        self.counters.sent += 1;
        // Whoever waits for the old reply waits in vain.
        self.attention.push_back(Attention::Receivers);
        Ok(())
    }

    fn transmit(&mut self, pipe: PipeId) -> Option<Message> {
        self.lanes.transmit(pipe)
    }

    fn receive(&mut self, pipe: PipeId, mut message: Bytes, _now: Time) -> Received {
        if !self.lanes.contains(pipe) {
            return self.drop_one(DropReason::PipeGone);
        }
        let Some((word, _)) = message.split_first_chunk::<4>() else {
            return self.drop_one(DropReason::Malformed);
        };
        let id = u32::from_be_bytes(*word);
        if id & LAST_WORD == 0 {
            return self.drop_one(DropReason::Malformed);
        }
        if id != self.id || !matches!(self.exchange, Exchange::Asked { .. }) {
            return self.drop_one(DropReason::Late);
        }
        // After a resend a copy may still lie in an outbox: it is answered.
        self.withdraw();
        message.advance(4);
        self.exchange = Exchange::Answered(message);
        self.attention.push_back(Attention::Receivers);
        Received::Queued
    }

    fn is_paused(&self, _pipe: PipeId) -> bool {
        false
    }

    fn recv(&mut self, _now: Time) -> Result<Bytes, RecvError> {
        match core::mem::replace(&mut self.exchange, Exchange::Idle) {
            Exchange::Answered(body) => {
                self.counters.received += 1;
                Ok(body)
            }
            asked @ Exchange::Asked { .. } => {
                self.exchange = asked;
                Err(RecvError::Empty)
            }
            Exchange::Idle => Err(RecvError::NoRequest),
            Exchange::Lost => Err(RecvError::RequestLost),
        }
    }

    fn round(&self) -> u64 {
        self.round
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn tick(&mut self, now: Time) {
        if self.deadline().is_some_and(|due| due <= now) {
            self.withdraw();
            self.counters.resent += 1;
            self.carry(now);
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self.exchange {
            Exchange::Asked { resend_at, .. } => resend_at,
            _ => None,
        }
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        match setting {
            Setting::ResendTime(time) => self.resend = time,
            Setting::SendQueue(length) => self.lanes.set_length(length),
            _ => return Err(SettingError::NotOf(self.number())),
        }
        Ok(())
    }

    fn next_attention(&mut self) -> Option<Attention> {
        let own = self.attention.pop_front();
        own.or_else(|| self.lanes.next_attention())
    }

    fn in_lock_step(&self) -> bool {
        true
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests;
