use super::*;
use crate::QueueLength;

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
fn all_peers_are_asked_and_answers_count_until_the_time_is_over() {
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
    // An answer that arrived in time is still received afterwards.
    assert_eq!(surveyor.recv(at(1001)).unwrap(), "I");
    assert_eq!(surveyor.recv(at(1001)), Err(RecvError::SurveyOver));
    assert_eq!(surveyor.recv(at(1001)), Err(RecvError::NoSurvey));
}

/// The deadline decides, not the tick that reports it: a tick may come later.
#[test]
fn an_answer_between_the_deadline_and_its_tick_is_late() {
    let mut surveyor = surveyor();
    ask(&mut surveyor, at(0));
    for time in [at(1000), at(1001)] {
        let late = answer(&mut surveyor, 1, ID, b"me too", time);
        assert_eq!(late, Received::Dropped(DropReason::Late));
    }
    assert_eq!(surveyor.recv(at(1001)), Err(RecvError::SurveyOver));
    assert_eq!(surveyor.counters().dropped_late, 2);
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
fn malformed_answers_are_counted() {
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

/// Ids count up, so a peer that was asked before can guess the next: it comes back under its old
/// number and answers a survey that was sent in between.
#[test]
fn an_answer_of_a_peer_that_was_not_asked_is_late() {
    let mut surveyor = surveyor();
    let context = surveyor.open_context().unwrap();
    ask(&mut surveyor, at(0));
    surveyor.open(PipeId(3), at(1)).unwrap();
    surveyor.close(PipeId(2), at(1));
    surveyor.open(PipeId(2), at(2)).unwrap();
    for stranger in [2, 3] {
        let guessed = answer(&mut surveyor, stranger, ID, b"guessed", at(3));
        assert_eq!(guessed, Received::Dropped(DropReason::Late));
    }
    assert_eq!(answer(&mut surveyor, 1, ID, b"I", at(3)), Received::Queued);
    // The next survey asks all three, in another context; the first one goes on without them.
    surveyor.send_in(context, Bytes::from_static(b"and now?"), at(4)).unwrap();
    for pipe in [1, 2, 3] {
        assert_eq!(answer(&mut surveyor, pipe, ID + 1, b"I", at(5)), Received::Queued);
    }
    let still = answer(&mut surveyor, 3, ID, b"guessed", at(6));
    assert_eq!(still, Received::Dropped(DropReason::Late));
    assert_eq!(surveyor.counters().dropped_late, 3);
}

/// Two contexts ask at once: each receives its own answers, in its own time.
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
    while surveyor.next_event().is_some() {}
    assert_eq!(surveyor.deadline(), Some(at(10)));
    assert_eq!(answer(&mut surveyor, 1, ID + 1, b"to the patient", at(5)), Received::Queued);
    assert_eq!(surveyor.next_event(), Some(ProtocolEvent::ContextRecvReady(patient)));
    assert_eq!(answer(&mut surveyor, 2, ID, b"to the quick", at(5)), Received::Queued);
    assert_eq!(surveyor.next_event(), Some(ProtocolEvent::ContextRecvReady(quick)));
    surveyor.tick(at(10));
    assert_eq!(surveyor.next_event(), Some(ProtocolEvent::ContextRecvReady(quick)));
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

#[test]
fn a_longer_queue_of_answers_resumes_its_peer() {
    let mut surveyor = surveyor();
    ask(&mut surveyor, at(0));
    while !surveyor.is_paused(PipeId(1)) {
        assert_eq!(answer(&mut surveyor, 1, ID, b"I", at(1)), Received::Queued);
    }
    while surveyor.next_event().is_some() {}
    surveyor.set(Setting::ReceiveQueue(QueueLength::MAX)).unwrap();
    assert_eq!(surveyor.next_event(), Some(ProtocolEvent::Resume(PipeId(1))));
    assert_eq!(answer(&mut surveyor, 1, ID, b"I", at(1)), Received::Queued);
}

#[test]
fn a_new_context_resumes_the_peers_whose_answers_were_held_back() {
    let mut surveyor = surveyor();
    ask(&mut surveyor, at(0));
    while !surveyor.is_paused(PipeId(1)) {
        assert_eq!(answer(&mut surveyor, 1, ID, b"I", at(1)), Received::Queued);
    }
    while surveyor.next_event().is_some() {}
    surveyor.open_context().unwrap();
    assert_eq!(surveyor.next_event(), Some(ProtocolEvent::Resume(PipeId(1))));
    assert!(!surveyor.is_paused(PipeId(1)));
}

#[test]
fn nothing_is_kept_of_a_peer_that_left_and_a_survey_that_is_over() {
    let mut surveyor = surveyor();
    ask(&mut surveyor, at(0));
    surveyor.tick(at(1000));
    for pipe in [1, 2] {
        surveyor.close(PipeId(pipe), at(1000));
    }
    assert!(surveyor.missed.is_empty() && surveyor.asked.is_empty() && surveyor.ends.is_empty());
}
