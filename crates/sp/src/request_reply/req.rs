//! req: one question at a time in each context, sent again until it is answered.
//!
//! A request carries a word with the top bit set in front of its body, and the reply carries the
//! same word (RFC sp-request-reply-01). The first id is given by the caller, so that a restarted
//! program does not accept replies to its predecessor; ids count up from there. The socket keeps
//! the request: when the pipe that carries it closes, the request goes out on another one at once,
//! and when no reply comes, after the resend delay, under the same id. A new request cancels the
//! previous one of its context. A peer that closes its pipe twice when it is sent a long request
//! does not accept it: that request ends, or it would be sent for ever. So does a request whose reply
//! is longer than this side receives.

use core::mem;
use core::time::Duration;

use alloc::collections::VecDeque;

use bytes::{Buf, Bytes};
use wigwag_wire::{ProtocolNumber, Time};

use crate::contexts::Contexts;
use crate::headers::backtrace::LAST_WORD;
use crate::limits::RESEND_DELAY;
use crate::request_reply::requests::Requests;
use crate::stream::BatchBuilder;
use crate::{
    CloseReason, ContextError, ContextId, Counters, DropReason, PipeId, Priority, Protocol,
    ProtocolEvent, Received, RecvError, Refusal, Refused, Setting, SettingError,
};

/// State of the exchange of a context.
#[derive(Debug, Default)]
enum RequestState {
    /// No request was sent.
    #[default]
    Idle,
    /// A request was sent under this id.
    Asked(u32),
    /// The reply arrived; the user has not received it.
    Answered(Bytes),
    /// The pipe closed, and the request is not sent again.
    Lost,
    /// The peer closes its pipe on this request of so many bytes, which is not sent again.
    Refused(usize),
    /// The reply has so many bytes, more than this side receives.
    TooLong(usize),
}

#[derive(Debug, Default)]
struct Exchange {
    state: RequestState,
    round: u64,
}

/// A req socket.
#[derive(Debug)]
pub struct Req {
    requests: Requests,
    contexts: Contexts<Exchange>,
    events: VecDeque<ProtocolEvent>,
    counters: Counters,
}

impl Req {
    /// A socket without peers. `first_id` should be random; `resend` is the delay after which a
    /// request is sent again, or `None` to send it only once.
    pub fn new(first_id: u32, resend: Option<Duration>) -> Req {
        Req {
            requests: Requests::new(first_id, resend),
            contexts: Contexts::new(Exchange::default()),
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// A socket without peers that sends requests again after 60 s.
    pub fn with_first_id(first_id: u32) -> Req {
        Req::new(first_id, Some(RESEND_DELAY))
    }

    /// Ends a request or discards its reply, and counts it.
    fn give_up(&mut self, state: RequestState) {
        match state {
            RequestState::Asked(id) => {
                self.requests.end(id);
                self.counters.cancelled += 1;
            }
            RequestState::Answered(_) => self.counters.drop_one(DropReason::Abandoned),
            RequestState::Idle
            | RequestState::Lost
            | RequestState::Refused(_)
            | RequestState::TooLong(_) => {}
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
        self.requests.connect(pipe, now);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, now: Time) {
        for context in self.requests.disconnect(pipe, now) {
            if let Some(exchange) = self.contexts.get_mut(context) {
                exchange.state = RequestState::Lost;
                self.events.push_back(ProtocolEvent::recv_ready_in(context));
            }
        }
    }

    fn close_by_peer(&mut self, pipe: PipeId, now: Time) {
        if let Some((context, bytes)) = self.requests.blame(pipe, now)
            && let Some(exchange) = self.contexts.get_mut(context)
        {
            exchange.state = RequestState::Refused(bytes);
            self.events.push_back(ProtocolEvent::recv_ready_in(context));
        }
        self.close(pipe, now);
    }

    fn close_by_length(&mut self, pipe: PipeId, bytes: usize, first: Option<u32>, now: Time) {
        if let Some(context) = self.requests.reply_too_long(pipe, first)
            && let Some(exchange) = self.contexts.get_mut(context)
        {
            exchange.state = RequestState::TooLong(bytes);
            self.events.push_back(ProtocolEvent::recv_ready_in(context));
        }
        self.close(pipe, now);
    }

    fn set_priority(&mut self, pipe: PipeId, send: Priority, _receive: Priority) {
        self.requests.outbound().set_priority(pipe, send);
    }

    fn finish(&mut self) {
        for exchange in self.contexts.all_mut() {
            match mem::take(&mut exchange.state) {
                // Sent or not, no caller will receive the reply.
                RequestState::Asked(id) => {
                    self.requests.end(id);
                    self.counters.cancelled += 1;
                }
                RequestState::Answered(_) => self.counters.drop_one(DropReason::Unread),
                RequestState::Idle
                | RequestState::Lost
                | RequestState::Refused(_)
                | RequestState::TooLong(_) => {}
            }
        }
    }

    fn send(&mut self, body: Bytes, now: Time) -> Result<(), Refused> {
        self.send_in(ContextId::SOCKET, body, now)
    }

    fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>) {
        self.requests.fill(pipe, out);
    }

    fn receive(&mut self, pipe: PipeId, mut message: Bytes, _now: Time) -> Received {
        if !self.requests.is_connected(pipe) {
            return self.drop_one(DropReason::PipeGone);
        }
        let Some((word, _)) = message.split_first_chunk::<4>() else {
            return self.drop_one(DropReason::Malformed);
        };
        let id = u32::from_be_bytes(*word);
        if id & LAST_WORD == 0 {
            return self.drop_one(DropReason::Malformed);
        }
        if !self.requests.was_asked(pipe, id) {
            return self.drop_one(DropReason::Late);
        }
        let context = self.requests.end(id);
        let asked = context.and_then(|context| Some((context, self.contexts.get_mut(context)?)));
        let Some((context, exchange)) = asked else {
            return self.drop_one(DropReason::Late);
        };
        message.advance(4);
        exchange.state = RequestState::Answered(message);
        self.events.push_back(ProtocolEvent::recv_ready_in(context));
        Received::Queued
    }

    fn is_paused(&self, _pipe: PipeId) -> bool {
        false
    }

    fn recv(&mut self, now: Time) -> Result<Bytes, RecvError> {
        self.recv_in(ContextId::SOCKET, now)
    }

    fn has_rounds(&self) -> bool {
        true
    }

    fn round(&self) -> u64 {
        self.contexts.own().round
    }

    fn has_room(&self) -> bool {
        self.requests.room().is_ok()
    }

    fn open_context(&mut self) -> Result<ContextId, ContextError> {
        self.contexts.open(|_| Exchange::default())
    }

    fn close_context(&mut self, context: ContextId, _now: Time) {
        if let Some(exchange) = self.contexts.close(context) {
            self.give_up(exchange.state);
        }
    }

    fn send_in(&mut self, context: ContextId, body: Bytes, now: Time) -> Result<(), Refused> {
        let Some(exchange) = self.contexts.get_mut(context) else {
            let why = Refusal::NoContext;
            return Err(Refused { body, why });
        };
        // An unsent request makes room for the one that replaces it.
        let makes_room = match exchange.state {
            RequestState::Asked(id) => self.requests.is_unwritten(id),
            _ => false,
        };
        match self.requests.room() {
            Err(Refusal::Full) if makes_room => {}
            Err(why) => return Err(Refused { body, why }),
            Ok(()) => {}
        }
        let state = mem::take(&mut exchange.state);
        exchange.round += 1;
        self.give_up(state);
        let id = self.requests.ask(context, body, now);
        if let Some(exchange) = self.contexts.get_mut(context) {
            exchange.state = RequestState::Asked(id);
        }
        self.counters.sent += 1;
        // Receivers that wait for the old reply must be woken: it will not come.
        self.events.push_back(ProtocolEvent::recv_ready_in(context));
        Ok(())
    }

    fn recv_in(&mut self, context: ContextId, _now: Time) -> Result<Bytes, RecvError> {
        let exchange = self.contexts.get_mut(context).ok_or(RecvError::NoContext)?;
        match mem::take(&mut exchange.state) {
            RequestState::Answered(body) => {
                self.counters.received += 1;
                Ok(body)
            }
            asked @ RequestState::Asked(_) => {
                exchange.state = asked;
                Err(RecvError::Empty)
            }
            RequestState::Idle => Err(RecvError::NoRequest),
            RequestState::Lost => Err(RecvError::RequestLost),
            RequestState::Refused(bytes) => Err(RecvError::RequestRefused { bytes }),
            RequestState::TooLong(bytes) => Err(RecvError::ReplyTooLong { bytes }),
        }
    }

    fn round_in(&self, context: ContextId) -> u64 {
        self.contexts.get(context).map_or(0, |exchange| exchange.round)
    }

    fn cancel(&mut self, context: ContextId, round: u64, _now: Time) {
        let exchange = self.contexts.get_mut(context);
        if let Some(exchange) = exchange.filter(|exchange| exchange.round == round) {
            let state = mem::take(&mut exchange.state);
            self.give_up(state);
        }
    }

    fn uses_time(&self) -> bool {
        true
    }

    fn tick(&mut self, now: Time) {
        self.requests.tick(now);
    }

    fn deadline(&self) -> Option<Time> {
        self.requests.deadline()
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        match setting {
            Setting::ResendTime(time) => self.requests.set_resend(time),
            Setting::SendQueue(length) => self.requests.outbound().set_length(length),
            _ => return Err(SettingError::NotOf(self.number())),
        }
        Ok(())
    }

    fn next_event(&mut self) -> Option<ProtocolEvent> {
        let own = self.events.pop_front();
        own.or_else(|| self.requests.next_event())
    }

    fn in_lock_step(&self) -> bool {
        true
    }

    fn counters(&self) -> Counters {
        Counters { resent: self.requests.resent(), ..self.counters }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod contexts_tests;
