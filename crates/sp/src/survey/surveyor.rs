//! surveyor: asks all peers at once, and receives the answers that arrive in time.
//!
//! A survey carries a word with the top bit set in front of its body, and each answer carries the
//! same word, as with req. It goes to every peer that is connected at that moment, best effort;
//! answers count until the survey's time is over, which [`recv`](Protocol::recv) reports once. Only
//! peers that were connected when the survey was sent may answer it: ids count up, so a later peer
//! could guess one. A new survey ends the previous one: its unread answers are abandoned, and
//! further answers to it are late. Each context has a survey of its own, with its own time and its
//! own queue of answers.

use core::time::Duration;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::{Buf, Bytes};
use wigwag_wire::{ProtocolNumber, Time};

use crate::contexts::Contexts;
use crate::headers::backtrace::LAST_WORD;
use crate::limits::SURVEY_TIME;
use crate::pipe_queues::context_inbox::ContextInbox;
use crate::pipe_queues::outbound_queues::OutboundQueues;
use crate::stream::BatchBuilder;
use crate::{
    CloseReason, ContextError, ContextId, Counters, DropReason, Head, Message, PipeId, Priority,
    Protocol, ProtocolEvent, Received, RecvError, Refusal, Refused, Setting, SettingError,
};

/// State of the survey of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SurveyState {
    /// No survey was sent.
    None,
    /// Answers count until this time; `None`: until the next survey.
    Open(Option<Time>),
    /// The survey's time is over, and the user has not been told yet.
    Over,
}

/// The survey of one context, and its answers.
#[derive(Debug)]
struct Asker {
    survey: SurveyState,
    /// The survey's id, top bit set; only valid while there is a survey.
    id: u32,
    /// The number of surveys that the socket had sent, this one included.
    number: u64,
    round: u64,
    /// `None`: a survey ends only with the next one.
    time: Option<Duration>,
    /// Answers to the current survey.
    inbox: ContextInbox,
}

impl Asker {
    fn new(context: ContextId) -> Asker {
        let (survey, inbox) = (SurveyState::None, ContextInbox::new(context));
        Asker { survey, id: 0, number: 0, round: 0, time: Some(SURVEY_TIME), inbox }
    }

    fn is_open(&self, now: Time) -> bool {
        match self.survey {
            SurveyState::Open(end) => end.is_none_or(|end| now < end),
            SurveyState::None | SurveyState::Over => false,
        }
    }
}

/// A surveyor socket.
#[derive(Debug)]
pub struct Surveyor {
    outbound: OutboundQueues,
    contexts: Contexts<Asker>,
    /// The contexts of the surveys whose answers count. Invariant: exactly those that are `Open`.
    asked: BTreeMap<u32, ContextId>,
    /// The ends of the surveys, without those that have no end.
    ends: BTreeSet<(Time, u32)>,
    /// For each open pipe, the number of surveys sent before it opened: it was sent only later
    /// ones.
    missed: BTreeMap<PipeId, u64>,
    last_id: u32,
    events: VecDeque<ProtocolEvent>,
    counters: Counters,
}

impl Surveyor {
    /// A socket without peers whose surveys take a second. `first_id` should be random.
    pub fn new(first_id: u32) -> Surveyor {
        Surveyor {
            outbound: OutboundQueues::default(),
            contexts: Contexts::new(Asker::new(ContextId::SOCKET)),
            asked: BTreeMap::new(),
            ends: BTreeSet::new(),
            missed: BTreeMap::new(),
            last_id: first_id | LAST_WORD,
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Ids count up, and their top bit stays set.
    fn free_id(&mut self) -> u32 {
        loop {
            self.last_id = self.last_id.wrapping_add(1) | LAST_WORD;
            if !self.asked.contains_key(&self.last_id) {
                return self.last_id;
            }
        }
    }

    /// Ends a survey: further answers to it are late.
    fn forget(&mut self, id: u32, survey: SurveyState) {
        if let SurveyState::Open(end) = survey {
            self.asked.remove(&id);
            self.ends.remove(&(end.unwrap_or(Time::START), id));
        }
    }

    fn drop_one(&mut self, reason: DropReason) -> Received {
        self.counters.drop_one(reason);
        Received::Dropped(reason)
    }
}

impl Protocol for Surveyor {
    fn number(&self) -> ProtocolNumber {
        ProtocolNumber::SURVEYOR
    }

    fn open(&mut self, pipe: PipeId, _now: Time) -> Result<(), CloseReason> {
        let inbox = &mut self.contexts.own_mut().inbox;
        if inbox.is_crowded() {
            return Err(CloseReason::Crowded);
        }
        inbox.pipes().open(pipe);
        self.outbound.open(pipe);
        self.missed.insert(pipe, self.counters.sent);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, _now: Time) {
        self.outbound.close_and_count(pipe, &mut self.counters);
        // The number of the pipe may be reused for another peer.
        self.missed.remove(&pipe);
        self.contexts.own_mut().inbox.pipes().close(pipe);
    }

    fn set_priority(&mut self, pipe: PipeId, _send: Priority, receive: Priority) {
        self.contexts.own_mut().inbox.pipes().set_priority(pipe, receive);
    }

    fn finish(&mut self) {
        self.outbound.finish(&mut self.counters);
        self.missed.clear();
        for asker in self.contexts.all_mut() {
            asker.inbox.finish(&mut self.counters);
        }
    }

    /// Never refused: without peers there are no answers.
    fn send(&mut self, body: Bytes, now: Time) -> Result<(), Refused> {
        self.send_in(ContextId::SOCKET, body, now)
    }

    fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>) {
        self.outbound.fill(pipe, out);
    }

    fn receive(&mut self, pipe: PipeId, mut message: Bytes, now: Time) -> Received {
        let Some((word, _)) = message.split_first_chunk::<4>() else {
            return self.drop_one(DropReason::Malformed);
        };
        let id = u32::from_be_bytes(*word);
        if id & LAST_WORD == 0 {
            return self.drop_one(DropReason::Malformed);
        }
        let asker = self.asked.get(&id).and_then(|context| self.contexts.get_mut(*context));
        let Some(asker) = asker.filter(|asker| asker.is_open(now)) else {
            return self.drop_one(DropReason::Late);
        };
        let Some(missed) = self.missed.get(&pipe) else {
            return self.drop_one(DropReason::PipeGone);
        };
        if asker.number <= *missed {
            return self.drop_one(DropReason::Late);
        }
        message.advance(4);
        let taken = asker.inbox.accept(pipe, message, &mut self.counters);
        self.events.extend(core::iter::from_fn(|| asker.inbox.next_event()));
        taken
    }

    fn is_paused(&self, pipe: PipeId) -> bool {
        self.contexts.is_alone() && self.contexts.own().inbox.is_paused(pipe)
    }

    fn recv(&mut self, now: Time) -> Result<Bytes, RecvError> {
        self.recv_in(ContextId::SOCKET, now)
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        self.set_in(ContextId::SOCKET, setting)
    }

    fn has_rounds(&self) -> bool {
        true
    }

    fn round(&self) -> u64 {
        self.contexts.own().round
    }

    fn open_context(&mut self) -> Result<ContextId, ContextError> {
        let time = self.contexts.own().time;
        let context = self.contexts.open(|context| Asker { time, ..Asker::new(context) })?;
        // From now on no pipe is paused.
        let paused = self.contexts.own_mut().inbox.pipes().paused();
        self.events.extend(paused.map(ProtocolEvent::Resume));
        Ok(context)
    }

    fn close_context(&mut self, context: ContextId, now: Time) {
        let Some(mut asker) = self.contexts.close(context) else {
            return;
        };
        self.counters.cancelled += u64::from(asker.is_open(now));
        self.forget(asker.id, asker.survey);
        while asker.inbox.pop().is_some() {
            self.counters.drop_one(DropReason::Abandoned);
        }
    }

    fn send_in(&mut self, context: ContextId, body: Bytes, now: Time) -> Result<(), Refused> {
        let id = self.free_id();
        let Some(asker) = self.contexts.get_mut(context) else {
            let why = Refusal::NoContext;
            return Err(Refused { body, why });
        };
        self.counters.cancelled += u64::from(asker.is_open(now));
        while asker.inbox.pop().is_some() {
            self.counters.drop_one(DropReason::Abandoned);
        }
        self.events.extend(core::iter::from_fn(|| asker.inbox.next_event()));
        let end = asker.time.map(|time| now + time);
        let before = (asker.id, core::mem::replace(&mut asker.survey, SurveyState::Open(end)));
        self.counters.sent += 1;
        (asker.id, asker.number) = (id, self.counters.sent);
        asker.round += 1;
        self.forget(before.0, before.1);
        self.asked.insert(id, context);
        self.ends.extend(end.map(|end| (end, id)));
        // Receivers that wait for the previous survey must be told that it is over.
        self.events.push_back(ProtocolEvent::recv_ready_in(context));
        let message = Message { head: Head::Word(id), body };
        self.outbound.broadcast(&message, &mut self.counters, |_| true);
        Ok(())
    }

    fn recv_in(&mut self, context: ContextId, now: Time) -> Result<Bytes, RecvError> {
        let asker = self.contexts.get_mut(context).ok_or(RecvError::NoContext)?;
        let body = asker.inbox.pop();
        self.events.extend(core::iter::from_fn(|| asker.inbox.next_event()));
        if let Some(body) = body {
            self.counters.received += 1;
            return Ok(body);
        }
        if asker.is_open(now) {
            return Err(RecvError::Empty);
        }
        let (id, survey) = (asker.id, core::mem::replace(&mut asker.survey, SurveyState::None));
        self.forget(id, survey);
        match survey {
            SurveyState::None => Err(RecvError::NoSurvey),
            SurveyState::Open(_) | SurveyState::Over => Err(RecvError::SurveyOver),
        }
    }

    fn set_in(&mut self, context: ContextId, setting: Setting) -> Result<(), SettingError> {
        let number = self.number();
        let asker = self.contexts.get_mut(context).ok_or(SettingError::NoContext)?;
        match setting {
            Setting::SurveyTime(time) => asker.time = time,
            Setting::ReceiveQueue(length) => {
                asker.inbox.set_length(length);
                self.events.extend(core::iter::from_fn(|| asker.inbox.next_event()));
            }
            // All contexts share the outboxes.
            Setting::SendQueue(length) => self.outbound.set_length(length),
            _ => return Err(SettingError::NotOf(number)),
        }
        Ok(())
    }

    fn round_in(&self, context: ContextId) -> u64 {
        self.contexts.get(context).map_or(0, |asker| asker.round)
    }

    fn uses_time(&self) -> bool {
        true
    }

    fn tick(&mut self, now: Time) {
        while let Some((end, id)) = self.ends.first().copied()
            && end <= now
        {
            self.ends.remove(&(end, id));
            let context = self.asked.remove(&id);
            let asker = context.and_then(|context| self.contexts.get_mut(context));
            if let (Some(asker), Some(context)) = (asker, context) {
                asker.survey = SurveyState::Over;
                self.events.push_back(ProtocolEvent::recv_ready_in(context));
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.ends.first().map(|(end, _)| *end)
    }

    fn next_event(&mut self) -> Option<ProtocolEvent> {
        let own = self.events.pop_front();
        own.or_else(|| self.outbound.next_event())
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
