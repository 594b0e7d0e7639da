use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::limits::{REFUSAL_BYTES_MIN, REFUSAL_TIME};

const NOW: Time = Time::START;
const FIRST: PipeId = PipeId(1);
const SECOND: PipeId = PipeId(2);

fn connected(pipes: &[PipeId]) -> Req {
    let mut req = Req::with_first_id(0x7fff_fffe);
    for pipe in pipes {
        req.open(*pipe, NOW).unwrap();
    }
    req
}

fn ask(req: &mut Req, body: &'static [u8]) {
    req.send(Bytes::from_static(body), NOW).unwrap();
}

fn written(req: &mut Req, pipe: PipeId) -> Option<Vec<u8>> {
    req.transmit(pipe).map(|message| message.to_vec())
}

fn reply(req: &mut Req, pipe: PipeId, bytes: &'static [u8]) -> Received {
    req.receive(pipe, Bytes::from_static(bytes), NOW)
}

/// RFC sp-request-reply-01: the top bit is set, and stays set when the counter wraps around.
#[test]
fn ids_count_up_and_keep_their_top_bit() {
    let mut req = connected(&[FIRST]);
    ask(&mut req, b"Q");
    assert_eq!(written(&mut req, FIRST).unwrap(), b"\xff\xff\xff\xffQ");
    ask(&mut req, b"R");
    assert_eq!(written(&mut req, FIRST).unwrap(), b"\x80\0\0\0R");
}

#[test]
fn a_reply_is_received_once_and_then_a_request_is_needed() {
    let mut req = connected(&[FIRST]);
    assert_eq!(req.recv(NOW), Err(RecvError::NoRequest));
    ask(&mut req, b"Q");
    assert_eq!(req.recv(NOW), Err(RecvError::Empty));
    assert_eq!(reply(&mut req, FIRST, b"\xff\xff\xff\xffA"), Received::Queued);
    let again = reply(&mut req, FIRST, b"\xff\xff\xff\xffB");
    assert_eq!(again, Received::Dropped(DropReason::Late));
    assert_eq!(req.recv(NOW).unwrap().as_ref(), b"A");
    assert_eq!(req.recv(NOW), Err(RecvError::NoRequest));
    assert_eq!(req.deadline(), None);
}

#[test]
fn an_empty_body_is_a_legal_reply() {
    let mut req = connected(&[FIRST]);
    ask(&mut req, b"");
    assert_eq!(reply(&mut req, FIRST, b"\xff\xff\xff\xff"), Received::Queued);
    assert_eq!(req.recv(NOW).unwrap().len(), 0);
}

#[test]
fn late_and_malformed_replies_are_dropped_and_counted() {
    let mut req = connected(&[FIRST]);
    ask(&mut req, b"Q");
    for malformed in [&b""[..], b"abc", b"\x7f\xff\xff\xffA"] {
        let received = reply(&mut req, FIRST, malformed);
        assert_eq!(received, Received::Dropped(DropReason::Malformed));
    }
    let late = reply(&mut req, FIRST, b"\xff\xff\xff\xfeA");
    assert_eq!(late, Received::Dropped(DropReason::Late));
    let counters = req.counters();
    assert_eq!((counters.dropped_malformed, counters.dropped_late), (3, 1));
    assert_eq!(req.recv(NOW), Err(RecvError::Empty));
}

#[test]
fn a_new_request_cancels_the_old_one() {
    let mut req = connected(&[FIRST]);
    ask(&mut req, b"old");
    let round = req.round();
    ask(&mut req, b"new");
    assert_ne!(req.round(), round);
    assert_eq!(written(&mut req, FIRST).unwrap(), b"\x80\0\0\0new");
    assert_eq!(written(&mut req, FIRST), None, "the old one was not written");
    let old = reply(&mut req, FIRST, b"\xff\xff\xff\xffA");
    assert_eq!(old, Received::Dropped(DropReason::Late));
    assert_eq!(req.counters().cancelled, 1);
}

#[test]
fn requests_go_to_the_peers_in_turn() {
    let mut req = connected(&[FIRST, SECOND]);
    for pipe in [FIRST, SECOND, FIRST] {
        ask(&mut req, b"Q");
        assert!(written(&mut req, pipe).is_some());
    }
}

#[test]
fn a_request_is_sent_again_when_its_time_is_over() {
    let mut req = connected(&[FIRST, SECOND]);
    ask(&mut req, b"Q");
    let first = written(&mut req, FIRST);
    let due = req.deadline().unwrap();
    assert_eq!(due - NOW, RESEND_DELAY);
    req.tick(NOW);
    assert_eq!(written(&mut req, SECOND), None, "too early");
    req.tick(due);
    assert_eq!(written(&mut req, SECOND), first, "the same id");
    assert_eq!(req.deadline(), Some(due + RESEND_DELAY));
    assert_eq!(req.counters().resent, 1);
}

#[test]
fn a_request_that_was_never_written_is_not_doubled_by_the_resend() {
    let mut req = connected(&[FIRST]);
    ask(&mut req, b"Q");
    req.tick(req.deadline().unwrap());
    assert!(written(&mut req, FIRST).is_some());
    assert_eq!(written(&mut req, FIRST), None);
}

#[test]
fn a_request_goes_to_another_peer_as_soon_as_its_carrier_dies() {
    let mut req = connected(&[FIRST, SECOND]);
    ask(&mut req, b"Q");
    let first = written(&mut req, FIRST);
    req.close(SECOND, NOW);
    assert_eq!(written(&mut req, FIRST), None, "the end of another pipe changes nothing");
    req.open(SECOND, NOW).unwrap();
    req.close(FIRST, NOW);
    assert_eq!(written(&mut req, SECOND), first);
    assert_eq!(reply(&mut req, SECOND, b"\xff\xff\xff\xffA"), Received::Queued);
}

#[test]
fn a_request_without_a_peer_waits_for_one() {
    let mut req = connected(&[FIRST]);
    ask(&mut req, b"Q");
    req.close(FIRST, NOW);
    assert_eq!((req.deadline(), req.counters().resent), (None, 0));
    let refused = req.send(Bytes::from_static(b"R"), NOW).unwrap_err();
    assert_eq!((refused.why, refused.body.as_ref()), (Refusal::NoPipe, &b"R"[..]));
    req.open(SECOND, NOW).unwrap();
    assert_eq!(written(&mut req, SECOND).unwrap(), b"\xff\xff\xff\xffQ");
    assert_eq!(req.counters().resent, 1);
}

#[test]
fn with_resending_off_a_dead_carrier_ends_the_request() {
    let mut req = Req::new(0, None);
    req.open(FIRST, NOW).unwrap();
    req.open(SECOND, NOW).unwrap();
    ask(&mut req, b"Q");
    assert_eq!(req.deadline(), None);
    while req.next_event().is_some() {}
    req.close(FIRST, NOW);
    assert_eq!(req.next_event(), Some(ProtocolEvent::RecvReady));
    assert_eq!(written(&mut req, SECOND), None);
    assert_eq!(req.recv(NOW), Err(RecvError::RequestLost));
    assert_eq!(req.recv(NOW), Err(RecvError::NoRequest));
}

/// The first carrier was slow, not dead: its reply counts although the request was sent again.
#[test]
fn a_reply_from_an_earlier_carrier_is_accepted() {
    let mut req = connected(&[FIRST, SECOND]);
    ask(&mut req, b"Q");
    assert!(written(&mut req, FIRST).is_some());
    req.tick(req.deadline().unwrap());
    assert_eq!(reply(&mut req, FIRST, b"\xff\xff\xff\xffA"), Received::Queued);
    assert_eq!(written(&mut req, SECOND), None, "the copy is withdrawn");
}

/// A peer that was sent one request knows the ids that follow.
#[test]
fn a_reply_of_a_peer_that_was_not_asked_is_dropped() {
    let mut req = connected(&[FIRST, SECOND]);
    ask(&mut req, b"Q");
    let (asked, other) = match written(&mut req, FIRST) {
        Some(_) => (FIRST, SECOND),
        None => (SECOND, FIRST),
    };
    let forged = reply(&mut req, other, b"\xff\xff\xff\xffme");
    assert_eq!(forged, Received::Dropped(DropReason::Late));
    assert_eq!(req.recv(NOW), Err(RecvError::Empty));
    assert_eq!(reply(&mut req, asked, b"\xff\xff\xff\xffyou"), Received::Queued);
    assert_eq!(req.recv(NOW).unwrap().as_ref(), b"you");
}

/// The number of a pipe that carried the request is reused for another peer.
#[test]
fn a_new_peer_under_a_reused_number_was_not_asked() {
    let mut req = connected(&[FIRST]);
    ask(&mut req, b"Q");
    written(&mut req, FIRST).unwrap();
    req.open(SECOND, NOW).unwrap();
    req.close(FIRST, NOW);
    written(&mut req, SECOND).unwrap();
    req.open(FIRST, NOW).unwrap();
    let forged = reply(&mut req, FIRST, b"\xff\xff\xff\xffme");
    assert_eq!(forged, Received::Dropped(DropReason::Late));
}

/// A pipe that carried the request before a resend closes: its replies would have counted.
#[test]
fn a_new_peer_under_the_number_of_an_earlier_carrier_was_not_asked() {
    let mut req = connected(&[FIRST]);
    ask(&mut req, b"Q");
    written(&mut req, FIRST).unwrap();
    req.open(SECOND, NOW).unwrap();
    req.tick(req.deadline().unwrap());
    assert_eq!(written(&mut req, SECOND).unwrap(), b"\xff\xff\xff\xffQ");
    req.close(FIRST, NOW);
    req.open(FIRST, NOW).unwrap();
    let forged = reply(&mut req, FIRST, b"\xff\xff\xff\xffme");
    assert_eq!(forged, Received::Dropped(DropReason::Late));
    assert_eq!(reply(&mut req, SECOND, b"\xff\xff\xff\xffyou"), Received::Queued);
}

/// Longer than a message that is never blamed.
const LONG: &[u8] = &[7; REFUSAL_BYTES_MIN];

/// Opens a pipe that takes the request and is closed by its peer after `time`.
fn carries_and_is_closed(req: &mut Req, pipe: PipeId, now: &mut Time, time: Duration) {
    req.open(pipe, *now).unwrap();
    assert!(req.transmit(pipe).is_some(), "the request is sent");
    *now = *now + time;
    req.close_by_peer(pipe, *now);
}

#[test]
fn a_long_request_on_which_two_connections_end_at_once_is_not_sent_again() {
    let mut req = connected(&[FIRST]);
    let mut now = NOW;
    ask(&mut req, LONG);
    assert!(req.transmit(FIRST).is_some());
    req.close_by_peer(FIRST, now);
    assert_eq!(req.recv(now), Err(RecvError::Empty));
    carries_and_is_closed(&mut req, SECOND, &mut now, REFUSAL_TIME);
    req.open(FIRST, now).unwrap();
    assert_eq!(req.transmit(FIRST), None);
    let bytes = LONG.len() + 4;
    assert_eq!(req.recv(now), Err(RecvError::RequestRefused { bytes }));
    assert_eq!(req.recv(now), Err(RecvError::NoRequest));
    // The next one has a fresh start.
    ask(&mut req, LONG);
    assert!(req.transmit(FIRST).is_some());
    req.close_by_peer(FIRST, now);
    assert_eq!(req.recv(now), Err(RecvError::Empty));
}

/// Each of these connections may have ended for another reason than the length of the request.
#[test]
fn a_request_is_sent_again_if_its_length_is_not_the_reason() {
    let later = REFUSAL_TIME + Duration::from_millis(1);
    let short = &LONG[..REFUSAL_BYTES_MIN - 5];
    let cases =
        [(LONG, [Duration::ZERO, later, Duration::ZERO, later]), (short, [Duration::ZERO; 4])];
    for (body, times) in cases {
        let mut req = connected(&[]);
        let mut now = NOW;
        req.open(FIRST, now).unwrap();
        ask(&mut req, body);
        req.close(FIRST, now);
        for time in times {
            carries_and_is_closed(&mut req, FIRST, &mut now, time);
        }
        // This side closes the pipe, so the peer refuses nothing.
        for _ in 0..3 {
            req.open(FIRST, now).unwrap();
            assert!(req.transmit(FIRST).is_some());
            req.close(FIRST, now);
        }
        assert_eq!(req.recv(now), Err(RecvError::Empty));
    }
}

#[test]
fn of_several_requests_the_longest_is_blamed() {
    let mut req = connected(&[FIRST]);
    let context = req.open_context().unwrap();
    ask(&mut req, LONG);
    let longer = Bytes::from(vec![7; LONG.len() + 1]);
    req.send_in(context, longer, NOW).unwrap();
    let mut lengths = Vec::new();
    for _ in 0..2 {
        lengths.extend(core::iter::from_fn(|| req.transmit(FIRST)).map(|message| message.len()));
        req.close_by_peer(FIRST, NOW);
        req.open(FIRST, NOW).unwrap();
    }
    let (long, longer) = (LONG.len() + 4, LONG.len() + 5);
    lengths.sort_unstable();
    assert_eq!(lengths, [long, long, longer, longer]);
    assert_eq!(req.recv_in(context, NOW), Err(RecvError::RequestRefused { bytes: longer }));
    assert_eq!(req.recv(NOW), Err(RecvError::Empty));
    assert_eq!(req.transmit(FIRST).map(|message| message.len()), Some(long));
}

/// Two requests on one pipe: that of the socket, and a later one of a context.
fn two_requests() -> (Req, ContextId) {
    let mut req = connected(&[FIRST]);
    let context = req.open_context().unwrap();
    ask(&mut req, b"one");
    req.send_in(context, Bytes::from_static(b"two"), NOW + Duration::from_millis(1)).unwrap();
    while req.transmit(FIRST).is_some() {}
    (req, context)
}

#[test]
fn a_request_whose_reply_is_too_long_is_not_sent_again() {
    const ONE: u32 = 0xffff_ffff;
    const TWO: u32 = 0x8000_0000;
    let too_long = Err(RecvError::ReplyTooLong { bytes: 9 });
    // The word that came, and the request that ends: of an unknown id none, without a word the oldest.
    for (first, ended) in [(Some(ONE), 1), (Some(TWO), 2), (Some(TWO + 1), 0), (None, 1)] {
        let (mut req, context) = two_requests();
        req.close_by_length(FIRST, 9, first, NOW);
        req.open(SECOND, NOW).unwrap();
        let again = core::iter::from_fn(|| req.transmit(SECOND)).count();
        assert_eq!(again, if ended == 0 { 2 } else { 1 }, "{first:?}");
        let expected =
            |number| if ended == number { too_long.clone() } else { Err(RecvError::Empty) };
        assert_eq!(req.recv(NOW), expected(1), "{first:?}");
        assert_eq!(req.recv_in(context, NOW), expected(2), "{first:?}");
    }
}
