//! Mail from other processes: how sessions and local senders share one actor, and what a session is
//! told.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod tally;

use std::fmt::Display;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use wigwag_actor::limits::{INBOUND_CHUNK_CALLS_MAX, RUN_CALLS_MAX};
use wigwag_actor::reply::cancelled::CancelledAsks;
use wigwag_actor::{Actor, CallErrorKind, Exported, InboundQueue, InboundQueueOwner};
use wigwag_wire::call::{ASK, ASK_BY, REPLY, TELL};
use wigwag_wire::run::{Run, RunItems};
use wigwag_wire::small::DynEncode;
use wigwag_wire::{Buffer, Decode, Encode, Reader, Time, varint};

use tally::{Gate, NOTE, PANIC, STAND, SUM, Tally, TallyRef};

/// The credit that a note costs in these tests.
const UNITS: u64 = 3;

/// A session that records what the actor tells it.
#[derive(Default)]
struct Session {
    heard: Mutex<Heard>,
    changed: Notify,
    cancelled: CancelledAsks,
    now: Mutex<Time>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Heard {
    freed: u64,
    handled: u64,
    asks_handled: u64,
    rejected: Vec<(u32, CallErrorKind, String)>,
    stopped: u32,
    replies: Vec<(u32, u32, Vec<u8>)>,
    failures: Vec<(u32, u32, CallErrorKind)>,
}

impl Session {
    fn hear(&self, change: impl FnOnce(&mut Heard)) {
        change(&mut self.heard.lock().unwrap());
        self.changed.notify_one();
    }

    fn heard(&self) -> Heard {
        self.heard.lock().unwrap().clone()
    }

    /// Waits until the session has recorded the given event.
    async fn until(&self, enough: impl Fn(&Heard) -> bool) -> Heard {
        loop {
            let heard = self.heard();
            if enough(&heard) {
                return heard;
            }
            // In virtual time: at once if no task has anything left to do.
            let change = tokio::time::timeout(Duration::from_secs(60), self.changed.notified());
            change.await.expect("the session hears of it");
        }
    }
}

impl InboundQueueOwner for Session {
    fn cancelled(&self) -> &CancelledAsks {
        &self.cancelled
    }

    fn has_passed(&self, deadline: Time) -> bool {
        deadline <= *self.now.lock().unwrap()
    }

    fn joins(&self) -> bool {
        false
    }

    fn freed(&self, units: u64) {
        self.hear(|heard| heard.freed += units);
    }

    fn handled(&self, tells: u64, asks: u64) {
        self.hear(|heard| {
            heard.handled += tells + asks;
            heard.asks_handled += asks;
        });
    }

    fn stopped(&self, _: &wigwag_actor::Reason) {
        self.hear(|heard| heard.stopped += 1);
    }

    fn rejected(&self, method: u32, kind: CallErrorKind, reason: &dyn Display) {
        self.hear(|heard| heard.rejected.push((method, kind, reason.to_string())));
    }

    fn replies(&self, frames: &mut Buffer, count: u64) {
        let mut rest = Reader::new(frames.as_slice());
        for _ in 0..count {
            assert_eq!(rest.u8().unwrap(), REPLY);
            let length = varint::take(&mut rest).unwrap() as usize;
            let mut body = Reader::new(rest.take(length).unwrap());
            let mut number = || u32::try_from(varint::take(&mut body).unwrap()).unwrap();
            let (slot, generation) = (number(), number());
            let bytes = body.take_rest().to_vec();
            self.hear(|heard| heard.replies.push((slot, generation, bytes)));
        }
        assert!(rest.is_empty());
        frames.clear();
    }

    fn reply(&self, slot: u32, generation: u32, value: &dyn DynEncode) {
        let mut out = Buffer::default();
        value.encode(&mut out);
        let bytes = out.as_slice().to_vec();
        self.hear(|heard| heard.replies.push((slot, generation, bytes)));
    }

    fn fail(&self, slot: u32, generation: u32, kind: CallErrorKind, _detail: &str) {
        self.hear(|heard| heard.failures.push((slot, generation, kind)));
    }
}

struct Setting {
    tally: TallyRef,
    exported: Arc<dyn Exported>,
    gate: Arc<Gate>,
}

fn setting() -> Setting {
    let tally = Tally { keep_notes: true, ..Tally::default() };
    let gate = tally.gate.clone();
    let tally = tally.spawn();
    let exported = tally.as_ref().exported().expect("it lives here");
    Setting { tally, exported, gate }
}

impl Setting {
    fn session(&self) -> (Arc<Session>, Box<dyn InboundQueue>) {
        let session = Arc::new(Session::default());
        let queue = self.exported.open_inbound_queue(session.clone());
        (session, queue)
    }
}

fn note(queue: &mut Box<dyn InboundQueue>, number: u64) {
    let mut arguments = Buffer::default();
    Encode::encode(&[number], &mut arguments);
    accept(queue, NOTE, arguments.as_slice(), UNITS, None);
}

/// Accepts one call, as it would arrive over channel 3.
fn accept(
    queue: &mut Box<dyn InboundQueue>,
    method: u32,
    arguments: &[u8],
    units: u64,
    asker: Option<(u32, u32)>,
) {
    let mut body = Buffer::default();
    varint::put(&mut body, 3);
    if let Some((slot, generation)) = asker {
        varint::put(&mut body, u64::from(slot));
        varint::put(&mut body, u64::from(generation));
    }
    varint::put(&mut body, u64::from(method));
    body.extend(arguments);
    let mut frame = Buffer::default();
    frame.push(if asker.is_some() { ASK } else { TELL });
    varint::put(&mut frame, body.len() as u64);
    frame.extend(body.as_slice());
    queue.accept(frame.as_slice(), 1, units);
}

/// An ask without arguments, from `slot`.
fn ask(queue: &mut Box<dyn InboundQueue>, method: u32, slot: u32) {
    accept(queue, method, &[0x90], 1, Some((slot, slot + 100)));
}

#[tokio::test(start_paused = true)]
async fn sessions_and_local_senders_take_turns() {
    const EACH: u64 = 600;
    let setting = setting();
    let (first, mut first_lane) = setting.session();
    let (second, mut second_lane) = setting.session();
    // All of the mail waits before the actor runs for the first time.
    for number in 0..EACH {
        setting.tally.note(number).try_tell().unwrap();
        note(&mut first_lane, 1000 + number);
        note(&mut second_lane, 2000 + number);
    }
    first_lane.publish();
    second_lane.publish();
    let heard = [
        first.until(|heard| heard.handled == EACH).await,
        second.until(|heard| heard.handled == EACH).await,
    ];
    for heard in heard {
        assert_eq!(heard.freed, EACH * UNITS);
    }

    ask(&mut first_lane, STAND, 1);
    first_lane.publish();
    setting.gate.open.notify_one();
    let heard = first.until(|heard| !heard.replies.is_empty()).await;
    let notes: Vec<u64> = Vec::decode(&mut Reader::new(&heard.replies[0].2)).unwrap();
    assert_eq!(notes.len() as u64, 3 * EACH);
    for sender in 0..3 {
        let of_one = notes.iter().filter(|&&number| number / 1000 == sender);
        assert!(of_one.copied().eq(sender * 1000..sender * 1000 + EACH));
    }
    // While all three have mail, each gets one run in turn. The first run of the local senders is
    // the call that found the mailbox empty.
    assert_eq!(notes[0], 0);
    let mut rest = &notes[1..];
    for sender in [1, 2, 0, 1, 2, 0] {
        let calls = if sender == 0 { RUN_CALLS_MAX } else { INBOUND_CHUNK_CALLS_MAX };
        let (run, behind) = rest.split_at(calls);
        assert!(run.iter().all(|number| number / 1000 == sender), "a run of {sender}");
        rest = behind;
    }
}

/// Sends the notes from 1000 on, each published by itself, beside mail of a local sender, and returns
/// the notes in the order in which they were handled.
async fn notes_one_by_one(setting: &Setting, numbers: u64) -> Vec<u64> {
    let (session, mut queue) = setting.session();
    let local = RUN_CALLS_MAX as u64;
    for number in 0..=2 * local {
        setting.tally.note(number).try_tell().unwrap();
    }
    for number in 1000..1000 + numbers {
        note(&mut queue, number);
        queue.publish();
    }
    let heard = session.until(|heard| heard.handled == numbers).await;
    assert_eq!(heard.freed, numbers * UNITS);
    ask(&mut queue, STAND, 1);
    queue.publish();
    setting.gate.open.notify_one();
    let heard = session.until(|heard| !heard.replies.is_empty()).await;
    Vec::decode(&mut Reader::new(&heard.replies[0].2)).unwrap()
}

/// One chunk of each queue is handled in turn, so the first notes of the session are those of its
/// first chunk.
#[tokio::test(start_paused = true)]
async fn calls_that_are_published_one_by_one_share_the_chunk_that_waits() {
    let numbers = INBOUND_CHUNK_CALLS_MAX as u64 + 10;
    let notes = notes_one_by_one(&setting(), numbers).await;
    let of_session = |note: &&u64| **note >= 1000;
    let chunk = notes.iter().skip_while(|note| !of_session(note)).take_while(of_session);
    assert_eq!(chunk.count(), INBOUND_CHUNK_CALLS_MAX);
    assert!(notes.iter().filter(of_session).copied().eq(1000..1000 + numbers));
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_joins_tells_is_answered() {
    let (session, mut queue) = setting().session();
    for slot in 1..4 {
        note(&mut queue, 5);
        queue.publish();
        ask(&mut queue, SUM, slot);
        queue.publish();
    }
    let heard = session.until(|heard| heard.handled == 6).await;
    assert_eq!((heard.freed, heard.asks_handled), (3 * UNITS + 3, 3));
    let answers = [(1, 101, vec![5]), (2, 102, vec![10]), (3, 103, vec![15])];
    assert_eq!(heard.replies, answers);
}

#[tokio::test(start_paused = true)]
async fn calls_join_no_chunk_of_which_some_were_handled() {
    let setting = setting();
    let (session, mut queue) = setting.session();
    note(&mut queue, 1);
    ask(&mut queue, STAND, 1);
    note(&mut queue, 2);
    queue.publish();
    setting.gate.reached.notified().await;
    // Two calls of the first chunk were handled, or begun; the third was put back.
    for number in 3..6 {
        note(&mut queue, number);
        queue.publish();
    }
    setting.gate.open.notify_one();
    let heard = session.until(|heard| heard.handled == 6).await;
    assert_eq!((heard.freed, heard.asks_handled), (5 * UNITS + 1, 1));
    ask(&mut queue, STAND, 2);
    queue.publish();
    setting.gate.open.notify_one();
    let heard = session.until(|heard| heard.replies.len() == 2).await;
    let notes: Vec<u64> = Vec::decode(&mut Reader::new(&heard.replies[1].2)).unwrap();
    assert_eq!(notes, [1, 2, 3, 4, 5]);
}

#[tokio::test(start_paused = true)]
async fn places_are_free_when_a_run_begins_and_calls_count_when_they_have_ended() {
    let setting = setting();
    let (session, mut queue) = setting.session();
    note(&mut queue, 1);
    ask(&mut queue, STAND, 7);
    note(&mut queue, 2);
    assert_eq!(session.heard(), Heard::default());
    queue.publish();
    setting.gate.reached.notified().await;
    let heard = session.heard();
    // The call before the one that waits has ended.
    assert_eq!((heard.freed, heard.handled), (2 * UNITS + 1, 1));
    setting.gate.open.notify_one();
    let heard = session.until(|heard| heard.handled > 2).await;
    assert_eq!((heard.freed, heard.handled), (2 * UNITS + 1, 3));
    // The reply of an async handler is delivered after the turn in which it was asked for.
    assert_eq!(heard.replies, [(7, 107, vec![0x91, 1])]);
    assert_eq!(setting.tally.sum().ask().await.unwrap(), 3);
}

/// The replies of a run go to the session together, but are never delayed by a handler that waits.
#[tokio::test(start_paused = true)]
async fn replies_go_out_before_an_async_handler_waits_and_before_a_panic_is_told() {
    let setting = setting();
    let (session, mut queue) = setting.session();
    ask(&mut queue, SUM, 1);
    ask(&mut queue, SUM, 2);
    ask(&mut queue, STAND, 3);
    ask(&mut queue, SUM, 4);
    ask(&mut queue, PANIC, 5);
    queue.publish();
    setting.gate.reached.notified().await;
    let sum = |slot| (slot, slot + 100, vec![0]);
    assert_eq!(session.heard().replies, [sum(1), sum(2)]);
    setting.gate.open.notify_one();
    let heard = session.until(|heard| !heard.failures.is_empty()).await;
    assert_eq!(heard.replies, [sum(1), sum(2), (3, 103, vec![0x90]), sum(4)]);
    assert_eq!(heard.failures, [(5, 105, CallErrorKind::Panicked)]);
}

/// The asks are single frames, and some of a run. One is cancelled before the actor takes the
/// chunk, the others while a handler of the chunk waits.
#[tokio::test(start_paused = true)]
async fn cancelled_asks_are_answered_and_not_begun_and_free_their_places() {
    for is_shared in [false, true] {
        cancelled_asks(Some(SUM.into()), &[1, 0x90], is_shared).await;
        cancelled_asks(None, &[2, SUM as u8, 0x90], is_shared).await;
    }
}

/// The run has this method, or its items begin with theirs.
async fn cancelled_asks(method: Option<u64>, item: &[u8], is_shared: bool) {
    let setting = setting();
    let (session, mut queue) = setting.session();
    ask(&mut queue, STAND, 1);
    for slot in 2..6 {
        ask(&mut queue, STAND, slot);
    }
    let items = item.repeat(4);
    let run = Run { channel: 3, method, asker: Some((10, 5)), items: RunItems::new(&items) };
    let mut frame = Buffer::default();
    run.write_calls(&mut frame);
    match is_shared {
        true => queue.accept_shared(frame.as_slice().to_vec().into(), 4, 4),
        false => queue.accept(frame.as_slice(), 4, 4),
    }
    note(&mut queue, 7);
    session.cancelled.mark((2, 102));
    queue.publish();
    setting.gate.reached.notified().await;
    for asker in [(3, 103), (5, 105), (10, 5), (12, 5), (13, 4)] {
        session.cancelled.mark(asker);
    }
    setting.gate.open.notify_one();
    setting.gate.reached.notified().await;
    let cancelled = |asker: (u32, u32)| (asker.0, asker.1, CallErrorKind::Cancelled);
    assert_eq!(session.heard().failures, [(2, 102), (3, 103)].map(cancelled));
    setting.gate.open.notify_one();
    let heard = session.until(|heard| heard.handled == 10).await;
    assert_eq!((heard.freed, heard.asks_handled), (9 + UNITS, 9));
    assert_eq!(heard.failures, [(2, 102), (3, 103), (5, 105), (10, 5), (12, 5)].map(cancelled));
    let answered: Vec<u32> = heard.replies.iter().map(|(slot, ..)| *slot).collect();
    assert_eq!(answered, [1, 4, 11, 13]);
}

#[tokio::test(start_paused = true)]
async fn an_ask_whose_deadline_has_passed_is_answered_and_not_begun() {
    let setting = setting();
    let (session, mut queue) = setting.session();
    ask(&mut queue, STAND, 1);
    for (slot, deadline) in [(2, 50), (3, 49), (4, u64::MAX), (5, 51)] {
        let mut body = deadline.to_le_bytes().to_vec();
        body.extend([3, slot, 100, SUM as u8, 0x90]);
        let frame = [&[ASK_BY, body.len() as u8], &body[..]].concat();
        queue.accept(&frame, 1, 1);
    }
    queue.publish();
    setting.gate.reached.notified().await;
    *session.now.lock().unwrap() = Time::from_nanos(50);
    setting.gate.open.notify_one();
    let heard = session.until(|heard| heard.handled == 5).await;
    assert_eq!((heard.freed, heard.asks_handled), (5, 5));
    assert_eq!(heard.failures, [2, 3].map(|slot| (slot, 100, CallErrorKind::DeadlinePassed)));
    let answered: Vec<u32> = heard.replies.iter().map(|(slot, ..)| *slot).collect();
    assert_eq!(answered, [1, 4, 5]);
}

#[tokio::test(start_paused = true)]
async fn replies_reach_the_slot_that_asked() {
    let setting = setting();
    let (first, mut first_lane) = setting.session();
    let (second, mut second_lane) = setting.session();
    note(&mut first_lane, 40);
    ask(&mut first_lane, SUM, 1);
    note(&mut first_lane, 2);
    ask(&mut first_lane, SUM, 2);
    first_lane.publish();
    let heard = first.until(|heard| heard.handled == 4).await;
    assert_eq!(heard.replies, [(1, 101, vec![40]), (2, 102, vec![42])]);
    ask(&mut second_lane, SUM, 1);
    second_lane.publish();
    let heard = second.until(|heard| heard.handled == 1).await;
    assert_eq!(heard.replies, [(1, 101, vec![42])]);
    assert_eq!(first.heard().replies.len(), 2);
    assert_eq!(heard.failures, []);
}

#[tokio::test(start_paused = true)]
async fn unknown_calls_are_answered_and_the_rest_are_handled() {
    let setting = setting();
    let (session, mut queue) = setting.session();
    accept(&mut queue, 99, &[0x90], 1, None);
    accept(&mut queue, 99, &[0x90], 1, Some((1, 1)));
    accept(&mut queue, NOTE, &[0x91], 1, Some((2, 1)));
    accept(&mut queue, NOTE, &[0x91], 1, None);
    note(&mut queue, 1);
    ask(&mut queue, SUM, 3);
    queue.publish();
    let heard = session.until(|heard| heard.handled > 0).await;
    assert_eq!((heard.freed, heard.handled, heard.asks_handled), (UNITS + 5, 6, 3));
    let [(99, CallErrorKind::NoSuchMethod, nothing), (NOTE, CallErrorKind::BadArguments, why)] =
        &heard.rejected[..]
    else {
        panic!("{:?}", heard.rejected)
    };
    assert!(nothing.is_empty() && why.starts_with("note: "), "{why}");
    let no_such = (1, 1, CallErrorKind::NoSuchMethod);
    assert_eq!(heard.failures, [no_such, (2, 1, CallErrorKind::BadArguments)]);
    assert_eq!(heard.replies, [(3, 103, vec![1])]);
    assert_eq!(setting.exported.schema().number("sum"), Some(SUM));
}

#[tokio::test(start_paused = true)]
async fn a_panic_fails_its_asker_stops_the_rest_and_counts_what_was_finished() {
    let setting = setting();
    let (session, mut queue) = setting.session();
    let (other, mut other_lane) = setting.session();
    for number in 0..5 {
        note(&mut queue, number);
    }
    ask(&mut queue, PANIC, 1);
    ask(&mut queue, SUM, 2);
    queue.publish();
    ask(&mut other_lane, SUM, 3);
    other_lane.publish();
    let heard = session.until(|heard| heard.stopped > 0).await;
    assert_eq!(
        heard.failures,
        [(1, 101, CallErrorKind::Panicked), (2, 102, CallErrorKind::ActorStopped)]
    );
    assert_eq!((heard.handled, heard.stopped), (5, 1));
    let heard = other.until(|heard| heard.stopped > 0).await;
    assert_eq!(heard.failures, [(3, 103, CallErrorKind::ActorStopped)]);
    assert_eq!((heard.handled, heard.stopped), (0, 1));
    assert!(setting.exported.is_stopped());

    // Calls that arrive now are refused at once, and their credit returns.
    let before = session.heard().freed;
    note(&mut queue, 9);
    ask(&mut queue, SUM, 4);
    queue.publish();
    let heard = session.heard();
    assert_eq!(heard.freed, before + UNITS + 1);
    assert_eq!(heard.failures.last(), Some(&(4, 104, CallErrorKind::ActorStopped)));
}

#[tokio::test(start_paused = true)]
async fn an_actor_that_ends_tells_its_sessions() {
    let setting = setting();
    let (session, mut queue) = setting.session();
    note(&mut queue, 1);
    queue.publish();
    drop((setting.tally, setting.exported));
    let heard = session.until(|heard| heard.stopped > 0).await;
    // Calls that were there before are handled before the end.
    assert_eq!((heard.handled, heard.stopped), (1, 1));
}

/// Published calls belong to the actor; unpublished ones are dropped with the inbound queue.
#[tokio::test(start_paused = true)]
async fn a_session_that_ends_leaves_the_calls_that_it_has_handed_over() {
    let setting = setting();
    let (session, mut queue) = setting.session();
    note(&mut queue, 5);
    ask(&mut queue, SUM, 1);
    queue.publish();
    note(&mut queue, 6);
    drop(queue);
    let heard = session.until(|heard| heard.handled > 0).await;
    assert_eq!((heard.freed, heard.handled), (UNITS + 1, 2));
    assert_eq!(heard.replies, [(1, 101, vec![5])]);
    assert_eq!(setting.tally.sum().ask().await.unwrap(), 5);
}

#[tokio::test(start_paused = true)]
async fn asks_that_a_session_left_behind_hear_of_the_actors_end() {
    let setting = setting();
    let (session, mut queue) = setting.session();
    let (other, mut other_lane) = setting.session();
    ask(&mut other_lane, PANIC, 1);
    other_lane.publish();
    ask(&mut queue, SUM, 2);
    queue.publish();
    drop(queue);
    other.until(|heard| heard.stopped > 0).await;
    let heard = session.heard();
    assert_eq!(heard.failures, [(2, 102, CallErrorKind::ActorStopped)]);
}

#[tokio::test(start_paused = true)]
async fn a_lane_to_an_actor_that_has_stopped_says_so_and_refuses() {
    let setting = setting();
    let (session, mut queue) = setting.session();
    ask(&mut queue, PANIC, 1);
    queue.publish();
    session.until(|heard| heard.stopped > 0).await;
    let (late, mut late_lane) = setting.session();
    assert_eq!(late.heard().stopped, 1);
    ask(&mut late_lane, SUM, 2);
    late_lane.publish();
    let heard = late.heard();
    assert_eq!(heard.failures, [(2, 102, CallErrorKind::ActorStopped)]);
    assert_eq!(heard.freed, 1);
}
