//! The part that rep and respondent share: answering questions, each on the pipe it came from.
//!
//! The backtrace in front of a request is kept and echoed in front of the reply (RFC
//! sp-request-reply-01). Each context has one request under way at a time; taking the next one
//! abandons it. Any context takes any request, so many workers can serve one socket. Requests from
//! a peer that does not read its replies wait until it does, so one slow peer never stops the
//! others. A reply is never refused; a peer's outbox exceeds its bounds by at most one reply for
//! each context.

use alloc::collections::VecDeque;

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use crate::contexts::Contexts;
use crate::headers::backtrace;
use crate::limits::Hops;
use crate::pipe_queues::inbox::Inbox;
use crate::pipe_queues::outbound_queues::OutboundQueues;
use crate::queue::one_message;
use crate::stream::BatchBuilder;
use crate::{
    CloseReason, ContextError, ContextId, Counters, DropReason, Head, Message, PipeId, Priority,
    Protocol, ProtocolEvent, Received, RecvError, Refusal, Refused, Setting, SettingError,
};

/// A request that waits for the user.
#[derive(Debug)]
struct QueuedRequest {
    stack: Bytes,
    body: Bytes,
}

one_message!(QueuedRequest: |request| request.stack.len() + request.body.len());

/// A socket that answers; `NUMBER` is its protocol.
#[derive(Debug)]
pub struct Answerer<const NUMBER: u16> {
    outbound: OutboundQueues,
    inbox: Inbox<QueuedRequest>,
    /// Where each context sends the reply to its current request.
    contexts: Contexts<Option<(PipeId, Bytes)>>,
    hops_max: Hops,
    events: VecDeque<ProtocolEvent>,
    counters: Counters,
}

impl<const NUMBER: u16> Answerer<NUMBER> {
    /// A socket without peers that accepts requests over eight hops.
    pub fn new() -> Self {
        Self::with_hops(Hops::default())
    }

    /// A socket without peers that accepts requests over at most `hops_max` hops.
    pub fn with_hops(hops_max: Hops) -> Self {
        Self {
            outbound: OutboundQueues::default(),
            inbox: Inbox::new(),
            contexts: Contexts::new(None),
            hops_max,
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    fn drop_one(&mut self, reason: DropReason) -> Received {
        self.counters.drop_one(reason);
        Received::Dropped(reason)
    }
}

impl<const NUMBER: u16> Default for Answerer<NUMBER> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const NUMBER: u16> Protocol for Answerer<NUMBER> {
    fn number(&self) -> ProtocolNumber {
        ProtocolNumber(NUMBER)
    }

    fn open(&mut self, pipe: PipeId, _now: Time) -> Result<(), CloseReason> {
        self.outbound.open(pipe);
        self.inbox.open(pipe);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, _now: Time) {
        let replies = self.outbound.close(pipe).unwrap_or_default().len();
        // No peer is left to reply to; a requester that is still alive asks again.
        let requests = self.inbox.remove(pipe).len();
        for _ in 0..replies + requests {
            self.counters.drop_one(DropReason::PipeGone);
        }
    }

    fn set_priority(&mut self, pipe: PipeId, _send: Priority, receive: Priority) {
        self.inbox.set_priority(pipe, receive);
    }

    fn finish(&mut self) {
        for current in self.contexts.all_mut() {
            if current.take().is_some() {
                self.counters.drop_one(DropReason::Abandoned);
            }
        }
        self.outbound.finish(&mut self.counters);
        self.inbox.finish(&mut self.counters);
    }

    fn send(&mut self, body: Bytes, now: Time) -> Result<(), Refused> {
        self.send_in(ContextId::SOCKET, body, now)
    }

    fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>) {
        let had_room = self.outbound.has_room(pipe);
        self.outbound.fill(pipe, out);
        if !had_room && self.outbound.has_room(pipe) {
            // Requests of this pipe may have waited for room.
            self.events.push_back(ProtocolEvent::RecvReady);
        }
    }

    fn receive(&mut self, pipe: PipeId, message: Bytes, _now: Time) -> Received {
        let (stack, body) = match backtrace::split(message, self.hops_max) {
            Ok(parts) => parts,
            Err(reason) => return self.drop_one(reason),
        };
        self.inbox.accept(pipe, QueuedRequest { stack, body }, &mut self.counters)
    }

    fn is_paused(&self, pipe: PipeId) -> bool {
        self.inbox.is_paused(pipe)
    }

    fn recv(&mut self, now: Time) -> Result<Bytes, RecvError> {
        self.recv_in(ContextId::SOCKET, now)
    }

    fn open_context(&mut self) -> Result<ContextId, ContextError> {
        self.contexts.open(|_| None)
    }

    fn close_context(&mut self, context: ContextId, _now: Time) {
        if self.contexts.close(context).flatten().is_some() {
            self.counters.drop_one(DropReason::Abandoned);
        }
    }

    fn send_in(&mut self, context: ContextId, body: Bytes, _now: Time) -> Result<(), Refused> {
        let current = match self.contexts.get_mut(context) {
            Some(current) => current.take().ok_or(Refusal::NoRequest),
            None => Err(Refusal::NoContext),
        };
        let (pipe, stack) = match current {
            Ok(current) => current,
            Err(why) => return Err(Refused { body, why }),
        };
        self.counters.sent += 1;
        let head = Head::Stack(stack);
        // `recv` chose a pipe with room, and each other context can have added at most one reply
        // since.
        if self.outbound.push_unbounded(pipe, Message { head, body }).is_err() {
            self.counters.drop_one(DropReason::PipeGone);
        }
        Ok(())
    }

    fn recv_in(&mut self, context: ContextId, _now: Time) -> Result<Bytes, RecvError> {
        let current = self.contexts.get_mut(context).ok_or(RecvError::NoContext)?;
        let outbound = &self.outbound;
        let (pipe, request) =
            self.inbox.pop(|pipe| outbound.has_room(pipe)).ok_or(RecvError::Empty)?;
        if current.replace((pipe, request.stack)).is_some() {
            self.counters.drop_one(DropReason::Abandoned);
        }
        self.counters.received += 1;
        Ok(request.body)
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        match setting {
            Setting::SendQueue(length) => {
                if !self.outbound.reopen_with_length(length).is_empty() {
                    // Requests of these pipes may have waited for room.
                    self.events.push_back(ProtocolEvent::RecvReady);
                }
            }
            Setting::ReceiveQueue(length) => self.inbox.set_length(length),
            Setting::HopsMax(hops) => self.hops_max = hops,
            _ => return Err(SettingError::NotOf(self.number())),
        }
        Ok(())
    }

    fn next_event(&mut self) -> Option<ProtocolEvent> {
        let own = self.events.pop_front();
        own.or_else(|| self.inbox.next_event()).or_else(|| self.outbound.next_event())
    }

    fn in_lock_step(&self) -> bool {
        true
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
