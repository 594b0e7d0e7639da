//! surveyor: asks everybody at once, and hears who answers in time.
//!
//! A survey carries a word with the top bit set in front of its body, and each answer the same word,
//! as with req. It goes to every peer that is connected then, best effort; answers count until the
//! survey's time is over, which [`recv`](Protocol::recv) says once. A new survey ends the one
//! before: what it had not given out is abandoned, and answers to it are late.

use core::time::Duration;

use alloc::collections::VecDeque;

use bytes::{Buf, Bytes};
use wigwag_wire::{ProtocolNumber, Time};

use crate::backtrace::LAST_WORD;
use crate::inbox::Inbox;
use crate::lanes::Lanes;
use crate::limits::SURVEY_TIME;
use crate::{
    Attention, CloseReason, Counters, DropReason, Head, Message, PipeId, Priority, Protocol,
    Received, RecvError, Refused, Setting, SettingError,
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

/// A surveyor socket.
#[derive(Debug)]
pub struct Surveyor {
    lanes: Lanes,
    /// Answers to the survey at hand.
    inbox: Inbox<Bytes>,
    survey: Survey,
    /// The survey's id, top bit set.
    id: u32,
    round: u64,
    /// `None`: a survey has no end but the next one.
    time: Option<Duration>,
    attention: VecDeque<Attention>,
    counters: Counters,
}

impl Surveyor {
    /// A socket without peers whose surveys take a second. `first_id` should be random.
    pub fn new(first_id: u32) -> Surveyor {
        Surveyor {
            lanes: Lanes::default(),
            inbox: Inbox::new(),
            survey: Survey::None,
            id: first_id | LAST_WORD,
            round: 0,
            time: Some(SURVEY_TIME),
            attention: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    fn is_open(&self, now: Time) -> bool {
        match self.survey {
            Survey::Open(end) => end.is_none_or(|end| now < end),
            Survey::None | Survey::Over => false,
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
        if self.inbox.is_crowded() {
            return Err(CloseReason::Crowded);
        }
        self.lanes.open(pipe);
        self.inbox.open(pipe);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, _now: Time) {
        self.lanes.close_and_count(pipe, &mut self.counters);
        self.inbox.close(pipe);
    }

    fn rank(&mut self, pipe: PipeId, _send: Priority, receive: Priority) {
        self.inbox.rank(pipe, receive);
    }

    fn finish(&mut self) {
        self.lanes.finish(&mut self.counters);
        self.inbox.finish(&mut self.counters);
    }

    /// Never refused: without peers nobody will answer.
    fn send(&mut self, body: Bytes, now: Time) -> Result<(), Refused> {
        if self.survey != Survey::None {
            self.counters.cancelled += u64::from(self.is_open(now));
        }
        while self.inbox.pop(|_| true).is_some() {
            self.counters.drop_one(DropReason::Abandoned);
        }
        self.id = self.id.wrapping_add(1) | LAST_WORD;
        self.round += 1;
        self.survey = Survey::Open(self.time.map(|time| now + time));
        // Whoever waits for the survey before hears that it is over.
        self.attention.push_back(Attention::Receivers);
        self.counters.sent += 1;
        let message = Message { head: Head::Word(self.id), body };
        self.lanes.broadcast(&message, &mut self.counters, |_| true);
        Ok(())
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
        if id != self.id || !self.is_open(now) {
            return self.drop_one(DropReason::Late);
        }
        message.advance(4);
        self.inbox.take_in(pipe, message, &mut self.counters)
    }

    fn is_paused(&self, pipe: PipeId) -> bool {
        self.inbox.is_paused(pipe)
    }

    fn recv(&mut self, now: Time) -> Result<Bytes, RecvError> {
        if let Some((_, body)) = self.inbox.pop(|_| true) {
            self.counters.received += 1;
            return Ok(body);
        }
        if self.is_open(now) {
            return Err(RecvError::Empty);
        }
        match core::mem::replace(&mut self.survey, Survey::None) {
            Survey::None => Err(RecvError::NoSurvey),
            Survey::Open(_) | Survey::Over => Err(RecvError::SurveyOver),
        }
    }

    fn round(&self) -> u64 {
        self.round
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn tick(&mut self, now: Time) {
        if self.deadline().is_some_and(|end| end <= now) {
            self.survey = Survey::Over;
            self.attention.push_back(Attention::Receivers);
        }
    }

    fn deadline(&self) -> Option<Time> {
        match self.survey {
            Survey::Open(end) => end,
            Survey::None | Survey::Over => None,
        }
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        match setting {
            Setting::SurveyTime(time) => self.time = time,
            Setting::SendQueue(length) => self.lanes.set_length(length),
            Setting::ReceiveQueue(length) => self.inbox.set_length(length),
            _ => return Err(SettingError::NotOf(self.number())),
        }
        Ok(())
    }

    fn next_attention(&mut self) -> Option<Attention> {
        let own = self.attention.pop_front();
        own.or_else(|| self.inbox.next_attention()).or_else(|| self.lanes.next_attention())
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
}
