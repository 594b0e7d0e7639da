//! surveyor: asks everybody at once, and hears who answers in time.
//!
//! A survey carries a word with the top bit set in front of its body, and each answer the same word,
//! as with req. It goes to every peer that is connected then, best effort; answers count until the
//! survey's time is over, which [`recv`](Protocol::recv) says once. A new survey ends the one
//! before: what it had not given out is abandoned, and answers to it are late. Each context has a
//! survey of its own, with its own time and its own queue of answers.

use core::time::Duration;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::{Buf, Bytes};
use wigwag_wire::{ProtocolNumber, Time};

use crate::backtrace::LAST_WORD;
use crate::contexts::Contexts;
use crate::lanes::Lanes;
use crate::limits::SURVEY_TIME;
use crate::tray::Tray;
use crate::{
    Attention, CloseReason, ContextError, ContextId, Counters, DropReason, Head, Message, PipeId,
    Protocol, Received, RecvError, Refusal, Refused, Setting, SettingError,
};

/// Where the survey stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Survey {
    /// Nothing is asked.
    None,
    /// Answers count until then; `None`: until the next survey.
    Open(Option<Time>),
    /// Its time is over and nobody has been told.
    Over,
}

/// What a context asks, and what was answered.
#[derive(Debug)]
struct Asker {
    survey: Survey,
    /// The survey's id, top bit set; it means something while there is a survey.
    id: u32,
    round: u64,
    /// `None`: a survey has no end but the next one.
    time: Option<Duration>,
    /// Answers to the survey at hand.
    tray: Tray,
}

impl Asker {
    fn new(context: ContextId) -> Asker {
        let (survey, tray) = (Survey::None, Tray::new(context));
        Asker { survey, id: 0, round: 0, time: Some(SURVEY_TIME), tray }
    }

    fn is_open(&self, now: Time) -> bool {
        match self.survey {
            Survey::Open(end) => end.is_none_or(|end| now < end),
            Survey::None | Survey::Over => false,
        }
    }
}

/// A surveyor socket.
#[derive(Debug)]
pub struct Surveyor {
    lanes: Lanes,
    contexts: Contexts<Asker>,
    /// Who asked the surveys whose answers count. Invariant: exactly those that are `Open`.
    asked: BTreeMap<u32, ContextId>,
    /// When they end, those without end left out.
    ends: BTreeSet<(Time, u32)>,
    last_id: u32,
    attention: VecDeque<Attention>,
    counters: Counters,
}

impl Surveyor {
    /// A socket without peers whose surveys take a second. `first_id` should be random.
    pub fn new(first_id: u32) -> Surveyor {
        Surveyor {
            lanes: Lanes::default(),
            contexts: Contexts::new(Asker::new(ContextId::SOCKET)),
            asked: BTreeMap::new(),
            ends: BTreeSet::new(),
            last_id: first_id | LAST_WORD,
            attention: VecDeque::new(),
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

    /// Answers to the survey count no more.
    fn forget(&mut self, id: u32, survey: Survey) {
        if let Survey::Open(end) = survey {
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
        let tray = &mut self.contexts.own_mut().tray;
        if tray.is_crowded() {
            return Err(CloseReason::Crowded);
        }
        tray.pipes().open(pipe);
        self.lanes.open(pipe);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, _now: Time) {
        self.lanes.close_and_count(pipe, &mut self.counters);
        self.contexts.own_mut().tray.pipes().close(pipe);
    }

    /// Never refused: without peers nobody will answer.
    fn send(&mut self, body: Bytes, now: Time) -> Result<(), Refused> {
        self.send_in(ContextId::SOCKET, body, now)
    }

    fn transmit(&mut self, pipe: PipeId) -> Option<Message> {
        self.lanes.transmit(pipe)
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
        if !self.lanes.contains(pipe) {
            return self.drop_one(DropReason::PipeGone);
        }
        message.advance(4);
        let taken = asker.tray.take_in(pipe, message, &mut self.counters);
        self.attention.extend(core::iter::from_fn(|| asker.tray.next_attention()));
        taken
    }

    fn is_paused(&self, pipe: PipeId) -> bool {
        self.contexts.is_alone() && self.contexts.own().tray.is_paused(pipe)
    }

    fn recv(&mut self, now: Time) -> Result<Bytes, RecvError> {
        self.recv_in(ContextId::SOCKET, now)
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        self.set_in(ContextId::SOCKET, setting)
    }

    fn round(&self) -> u64 {
        self.contexts.own().round
    }

    fn open_context(&mut self) -> Result<ContextId, ContextError> {
        let time = self.contexts.own().time;
        let context = self.contexts.open(|context| Asker { time, ..Asker::new(context) })?;
        // From now on nobody is paused.
        let paused = self.contexts.own_mut().tray.pipes().paused();
        self.attention.extend(paused.map(Attention::Read));
        Ok(context)
    }

    fn close_context(&mut self, context: ContextId, now: Time) {
        let Some(mut asker) = self.contexts.close(context) else {
            return;
        };
        self.counters.cancelled += u64::from(asker.is_open(now));
        self.forget(asker.id, asker.survey);
        while asker.tray.pop().is_some() {
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
        while asker.tray.pop().is_some() {
            self.counters.drop_one(DropReason::Abandoned);
        }
        self.attention.extend(core::iter::from_fn(|| asker.tray.next_attention()));
        let end = asker.time.map(|time| now + time);
        let before = (asker.id, core::mem::replace(&mut asker.survey, Survey::Open(end)));
        asker.id = id;
        asker.round += 1;
        self.forget(before.0, before.1);
        self.asked.insert(id, context);
        self.ends.extend(end.map(|end| (end, id)));
        // Whoever waits for the survey before hears that it is over.
        self.attention.push_back(context.receivers());
        self.counters.sent += 1;
        let message = Message { head: Head::Word(id), body };
        self.lanes.broadcast(&message, &mut self.counters, |_| true);
        Ok(())
    }

    fn recv_in(&mut self, context: ContextId, now: Time) -> Result<Bytes, RecvError> {
        let asker = self.contexts.get_mut(context).ok_or(RecvError::NoContext)?;
        let body = asker.tray.pop();
        self.attention.extend(core::iter::from_fn(|| asker.tray.next_attention()));
        if let Some(body) = body {
            self.counters.received += 1;
            return Ok(body);
        }
        if asker.is_open(now) {
            return Err(RecvError::Empty);
        }
        let (id, survey) = (asker.id, core::mem::replace(&mut asker.survey, Survey::None));
        self.forget(id, survey);
        match survey {
            Survey::None => Err(RecvError::NoSurvey),
            Survey::Open(_) | Survey::Over => Err(RecvError::SurveyOver),
        }
    }

    fn set_in(&mut self, context: ContextId, setting: Setting) -> Result<(), SettingError> {
        let number = self.number();
        let asker = self.contexts.get_mut(context).ok_or(SettingError::NoContext)?;
        match setting {
            Setting::SurveyTime(time) => {
                asker.time = time;
                Ok(())
            }
            Setting::Subscribe(_) | Setting::Unsubscribe(_) => Err(SettingError::NotOf(number)),
        }
    }

    fn round_in(&self, context: ContextId) -> u64 {
        self.contexts.get(context).map_or(0, |asker| asker.round)
    }

    fn keeps_time(&self) -> bool {
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
                asker.survey = Survey::Over;
                self.attention.push_back(context.receivers());
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.ends.first().map(|(end, _)| *end)
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
mod tests {
    use super::*;

    const ID: u32 = LAST_WORD | 6;

    fn at(milliseconds: u64) -> Time {
        Time::START + Duration::from_millis(milliseconds)
    }

    fn surveyor() -> Surveyor {
        let mut surveyor = Surveyor::new(5);
        for pipe in [1, 2] {
            surveyor.open(PipeId(pipe), at(0)).unwrap();
        }
        surveyor
    }

    fn ask(surveyor: &mut Surveyor, now: Time) {
        surveyor.send(Bytes::from_static(b"who?"), now).unwrap();
    }

    fn answer(surveyor: &mut Surveyor, pipe: u32, id: u32, body: &[u8], now: Time) -> Received {
        let bytes = [&id.to_be_bytes()[..], body].concat();
        surveyor.receive(PipeId(pipe), Bytes::from(bytes), now)
    }

    #[test]
    fn everybody_is_asked_and_answers_count_until_the_time_is_over() {
        let mut surveyor = surveyor();
        assert_eq!(surveyor.recv(at(0)), Err(RecvError::NoSurvey));
        ask(&mut surveyor, at(0));
        for pipe in [1, 2] {
            let asked = surveyor.transmit(PipeId(pipe)).unwrap().to_vec();
            assert_eq!(asked, b"\x80\0\0\x06who?");
        }
        assert_eq!(surveyor.recv(at(1)), Err(RecvError::Empty));
        assert_eq!(answer(&mut surveyor, 2, ID, b"I", at(999)), Received::Queued);
        assert_eq!(surveyor.deadline(), Some(at(1000)));
        surveyor.tick(at(999));
        assert_eq!(surveyor.deadline(), Some(at(1000)));
        surveyor.tick(at(1000));
        let late = answer(&mut surveyor, 1, ID, b"me too", at(1000));
        assert_eq!(late, Received::Dropped(DropReason::Late));
        // What came in time is given out after it.
        assert_eq!(surveyor.recv(at(1001)).unwrap(), "I");
        assert_eq!(surveyor.recv(at(1001)), Err(RecvError::SurveyOver));
        assert_eq!(surveyor.recv(at(1001)), Err(RecvError::NoSurvey));
    }

    #[test]
    fn a_new_survey_ends_the_old_one() {
        let mut surveyor = surveyor();
        ask(&mut surveyor, at(0));
        answer(&mut surveyor, 1, ID, b"old", at(1));
        ask(&mut surveyor, at(2));
        let late = answer(&mut surveyor, 2, ID, b"old", at(3));
        assert_eq!(late, Received::Dropped(DropReason::Late));
        assert_eq!(answer(&mut surveyor, 2, ID + 1, b"new", at(4)), Received::Queued);
        assert_eq!(surveyor.recv(at(5)).unwrap(), "new");
        let Counters { cancelled, dropped_abandoned, dropped_late, .. } = surveyor.counters();
        assert_eq!((cancelled, dropped_abandoned, dropped_late, surveyor.round()), (1, 1, 1, 2));
    }

    #[test]
    fn a_survey_may_last_until_the_next_one() {
        let mut surveyor = surveyor();
        surveyor.set(Setting::SurveyTime(None)).unwrap();
        ask(&mut surveyor, at(0));
        assert_eq!(surveyor.deadline(), None);
        assert_eq!(answer(&mut surveyor, 1, ID, b"at last", at(1 << 40)), Received::Queued);
        let topic = Setting::Subscribe(Bytes::new());
        assert_eq!(surveyor.set(topic), Err(SettingError::NotOf(ProtocolNumber::SURVEYOR)));
    }

    #[test]
    fn what_is_no_answer_is_counted() {
        let mut surveyor = surveyor();
        ask(&mut surveyor, at(0));
        let short = surveyor.receive(PipeId(1), Bytes::from_static(b"\x80\0"), at(1));
        assert_eq!(short, Received::Dropped(DropReason::Malformed));
        let no_id = answer(&mut surveyor, 1, 6, b"", at(1));
        assert_eq!(no_id, Received::Dropped(DropReason::Malformed));
        surveyor.close(PipeId(1), at(2));
        let gone = answer(&mut surveyor, 1, ID, b"", at(3));
        assert_eq!(gone, Received::Dropped(DropReason::PipeGone));
    }

    /// Two contexts ask at once: each hears its own answers, in its own time.
    #[test]
    fn contexts_survey_side_by_side() {
        let mut surveyor = surveyor();
        let quick = surveyor.open_context().unwrap();
        let patient = surveyor.open_context().unwrap();
        surveyor.set_in(quick, Setting::SurveyTime(Some(Duration::from_millis(10)))).unwrap();
        surveyor.set_in(patient, Setting::SurveyTime(None)).unwrap();
        for context in [quick, patient] {
            surveyor.send_in(context, Bytes::from_static(b"who?"), at(0)).unwrap();
        }
        while surveyor.next_attention().is_some() {}
        assert_eq!(surveyor.deadline(), Some(at(10)));
        assert_eq!(answer(&mut surveyor, 1, ID + 1, b"to the patient", at(5)), Received::Queued);
        assert_eq!(surveyor.next_attention(), Some(Attention::Context(patient)));
        assert_eq!(answer(&mut surveyor, 2, ID, b"to the quick", at(5)), Received::Queued);
        assert_eq!(surveyor.next_attention(), Some(Attention::Context(quick)));
        surveyor.tick(at(10));
        assert_eq!(surveyor.next_attention(), Some(Attention::Context(quick)));
        let late = answer(&mut surveyor, 1, ID, b"", at(10));
        assert_eq!(late, Received::Dropped(DropReason::Late));
        assert_eq!(answer(&mut surveyor, 2, ID + 1, b"too", at(99)), Received::Queued);
        assert_eq!(surveyor.recv_in(quick, at(99)).unwrap(), "to the quick");
        assert_eq!(surveyor.recv_in(quick, at(99)), Err(RecvError::SurveyOver));
        assert_eq!(surveyor.recv_in(patient, at(99)).unwrap(), "to the patient");
        surveyor.close_context(patient, at(99));
        let closed = answer(&mut surveyor, 1, ID + 1, b"", at(99));
        assert_eq!(closed, Received::Dropped(DropReason::Late));
        let Counters { cancelled, dropped_abandoned, .. } = surveyor.counters();
        assert_eq!((cancelled, dropped_abandoned), (1, 1));
        assert_eq!(surveyor.recv(at(99)), Err(RecvError::NoSurvey));
    }
}
