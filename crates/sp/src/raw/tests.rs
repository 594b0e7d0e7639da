use bytes::Bytes;
use wigwag_wire::Time;

use crate::limits::{INBOX_MESSAGES_MAX, OUTBOX_MESSAGES_MAX, REPLY_BYTES_MAX, REPLY_MESSAGES_MAX};
use crate::*;

use super::*;

const NOW: Time = Time::START;
const FIRST: PipeId = PipeId(0x0a);
const SECOND: PipeId = PipeId(0x0b);

fn connected(kind: RawKind, pipes: &[PipeId]) -> Raw {
    let mut raw = Raw::new(kind);
    for pipe in pipes {
        raw.open(*pipe, NOW).unwrap();
    }
    raw
}

fn message(header: &'static [u8], body: &'static [u8]) -> RawMessage {
    RawMessage { header: Bytes::from_static(header), body: Bytes::from_static(body) }
}

fn heard(raw: &mut Raw, pipe: PipeId, bytes: &'static [u8]) -> Received {
    raw.receive(pipe, Bytes::from_static(bytes), NOW)
}

/// Input on `FIRST`, the header the user sees, and the output when the user sends it back.
#[test]
fn each_protocol_returns_its_header_ready_to_be_sent_on() {
    type Case = (RawKind, &'static [u8], &'static [u8], &'static [u8]);
    let cases: [Case; 9] = [
        (RawKind::Pair0, b"body", b"", b"body"),
        (RawKind::Pair1, b"\0\0\0\x01body", b"\0\0\0\x02", b"\0\0\0\x02body"),
        (RawKind::Pair1Many, b"\0\0\0\0body", b"\0\0\0\x0a\0\0\0\x01", b"\0\0\0\x01body"),
        (RawKind::Req, b"\0\0\0\x07\x80\0\0\x01body", b"\0\0\0\x07\x80\0\0\x01", b""),
        (RawKind::Surveyor, b"\x80\0\0\x01body", b"\x80\0\0\x01", b""),
        (RawKind::Rep, b"\x80\0\0\x01body", b"\0\0\0\x0a\x80\0\0\x01", b"\x80\0\0\x01body"),
        (RawKind::Respondent, b"\x80\0\0\x01body", b"\0\0\0\x0a\x80\0\0\x01", b""),
        (RawKind::Bus, b"body", b"\0\0\0\x0a", b"none"),
        (RawKind::Star, b"\0\0\0\x03body", b"\0\0\0\x0a\0\0\0\x04", b"none"),
    ];
    for (kind, wire, header, echo) in cases {
        let mut raw = connected(kind, &[FIRST]);
        assert_eq!(heard(&mut raw, FIRST, wire), Received::Queued, "{kind:?}");
        let got = raw.recv_raw(NOW).unwrap();
        assert_eq!(got, message(header, b"body"), "{kind:?}");
        raw.send_raw(got, NOW).unwrap();
        let sent = raw.transmit(FIRST);
        match echo {
            b"none" => assert_eq!(sent, None, "{kind:?} does not echo to the origin"),
            b"" => assert_eq!(sent.unwrap().to_vec(), wire, "{kind:?}"),
            _ => assert_eq!(sent.unwrap().to_vec(), echo, "{kind:?}"),
        }
    }
}

#[test]
fn one_way_protocols_stay_one_way() {
    for kind in [RawKind::Pub, RawKind::Push] {
        let mut raw = connected(kind, &[FIRST]);
        let unexpected = heard(&mut raw, FIRST, b"x");
        assert_eq!(unexpected, Received::Dropped(DropReason::Unexpected));
        assert_eq!(raw.recv_raw(NOW), Err(RecvError::OnlySends(raw.number())));
        raw.send_raw(message(b"", b"x"), NOW).unwrap();
        assert_eq!(raw.transmit(FIRST).unwrap().to_vec(), b"x");
    }
    for kind in [RawKind::Sub, RawKind::Pull] {
        let mut raw = connected(kind, &[FIRST]);
        assert_eq!(heard(&mut raw, FIRST, b"any topic"), Received::Queued);
        assert_eq!(raw.recv_raw(NOW).unwrap(), message(b"", b"any topic"));
        let refused = raw.send_raw(message(b"", b"x"), NOW).unwrap_err();
        assert_eq!(refused.why, Refusal::OnlyReceives(raw.number()));
    }
}

#[test]
fn a_reply_goes_to_the_pipe_that_its_first_word_names() {
    let mut rep = connected(RawKind::Rep, &[FIRST, SECOND]);
    rep.send_raw(message(b"\0\0\0\x0b\0\0\0\x07\x80\0\0\x01", b"A"), NOW).unwrap();
    assert_eq!(rep.transmit(FIRST), None);
    assert_eq!(rep.transmit(SECOND).unwrap().to_vec(), b"\0\0\0\x07\x80\0\0\x01A");
    rep.close(SECOND, NOW);
    rep.send_raw(message(b"\0\0\0\x0b\x80\0\0\x01", b"A"), NOW).unwrap();
    assert_eq!(rep.counters().dropped_pipe_gone, 1);
}

#[test]
fn a_header_that_no_peer_would_accept_is_returned() {
    let cases: [(RawKind, &'static [u8]); 12] = [
        (RawKind::Push, b"x"),
        (RawKind::Pair0, b"\0\0\0\x01"),
        (RawKind::Pair1, b""),
        (RawKind::Pair1, b"\0\0\x01\0"),
        (RawKind::Pair1, b"\0\0\0\x0a\0\0\0\x01"),
        (RawKind::Req, b""),
        (RawKind::Req, b"\0\0\0\x01"),
        (RawKind::Req, b"\x80\0\0\x01\0\0\0\x01"),
        (RawKind::Rep, b"\x80\0\0\x01"),
        (RawKind::Rep, b"\0\0\0\x0a"),
        (RawKind::Bus, b"\0\0\0\x0a\0\0\0\x01"),
        (RawKind::Star, b""),
    ];
    for (kind, header) in cases {
        let mut raw = connected(kind, &[FIRST]);
        let refused = raw.send_raw(message(header, b"x"), NOW).unwrap_err();
        assert_eq!(refused.why, Refusal::BadHeader(header.len()), "{kind:?} {header:?}");
        assert_eq!(refused.message, message(header, b"x"));
        assert_eq!((raw.transmit(FIRST), raw.counters().sent), (None, 0));
    }
}

/// A request with this many words, the id included.
fn request(words: usize) -> Bytes {
    let mut bytes = alloc::vec![0; (words - 1) * 4];
    bytes.extend_from_slice(b"\x80\0\0\x01body");
    Bytes::from(bytes)
}

/// Seven, eight and nine words: a forwarder adds one, so the next hop gets eight, nine and nothing.
#[test]
fn requests_over_the_limit_of_hops_are_dropped() {
    for kind in [RawKind::Rep, RawKind::Respondent] {
        let mut raw = connected(kind, &[FIRST]);
        for words in [7, 8] {
            assert_eq!(raw.receive(FIRST, request(words), NOW), Received::Queued);
            assert_eq!(raw.recv_raw(NOW).unwrap().header.len(), (words + 1) * 4);
        }
        let over = raw.receive(FIRST, request(9), NOW);
        assert_eq!(over, Received::Dropped(DropReason::TooManyHops));
    }
    // A reply comes back over every hop of its request.
    let mut req = connected(RawKind::Req, &[FIRST]);
    let most = usize::from(REPLY_WORDS_MAX);
    assert_eq!(req.receive(FIRST, request(most), NOW), Received::Queued);
    let over = req.receive(FIRST, request(most + 1), NOW);
    assert_eq!(over, Received::Dropped(DropReason::TooManyHops));
    // The hop count is one byte, and is incremented once more.
    let mut far = Raw::with_hops(RawKind::Pair1, Hops::MAX);
    far.open(FIRST, NOW).unwrap();
    let at = |hops: u8| Bytes::copy_from_slice(&[0, 0, 0, hops]);
    assert_eq!(far.receive(FIRST, at(254), NOW), Received::Queued);
    assert_eq!(far.recv_raw(NOW).unwrap().header, at(255));
    let over = far.receive(FIRST, at(255), NOW);
    assert_eq!(over, Received::Dropped(DropReason::TooManyHops));
    for (kind, last) in [(RawKind::Pair1, 8), (RawKind::Pair1Many, 8), (RawKind::Star, 7)] {
        let mut raw = connected(kind, &[FIRST]);
        let at = |hops: u8| Bytes::copy_from_slice(&[0, 0, 0, hops]);
        assert_eq!(raw.receive(FIRST, at(last), NOW), Received::Queued, "{kind:?}");
        let over = raw.receive(FIRST, at(last + 1), NOW);
        assert_eq!(over, Received::Dropped(DropReason::TooManyHops), "{kind:?}");
    }
}

/// The outbox of the first peer is full: its requests wait, the second's do not. Replies to
/// requests received before that have far more room, and beyond it they are dropped and counted.
#[test]
fn a_peer_that_does_not_read_its_replies_stops_only_itself() {
    let mut rep = connected(RawKind::Rep, &[FIRST, SECOND]);
    let reply = || message(b"\0\0\0\x0a\x80\0\0\x01", b"A");
    for _ in 0..OUTBOX_MESSAGES_MAX {
        rep.send_raw(reply(), NOW).unwrap();
    }
    heard(&mut rep, FIRST, b"\x80\0\0\x01waits");
    assert_eq!(rep.recv_raw(NOW), Err(RecvError::Empty));
    heard(&mut rep, SECOND, b"\x80\0\0\x01served");
    assert_eq!(rep.recv_raw(NOW).unwrap().body, "served");
    for _ in OUTBOX_MESSAGES_MAX..REPLY_MESSAGES_MAX + 3 {
        rep.send_raw(reply(), NOW).unwrap();
    }
    assert_eq!(rep.counters().dropped_peer_slow, 3);
    while rep.next_event().is_some() {}
    while rep.transmit(FIRST).is_some() {}
    assert_eq!(rep.next_event(), Some(ProtocolEvent::RecvReady));
    assert_eq!(rep.recv_raw(NOW).unwrap().body, "waits");
}

#[test]
fn long_replies_to_a_peer_that_does_not_read_are_bounded_in_bytes() {
    let mut rep = connected(RawKind::Rep, &[FIRST]);
    let header = Bytes::from_static(b"\0\0\0\x0a\x80\0\0\x01");
    let half = Bytes::from(alloc::vec![0; REPLY_BYTES_MAX / 2]);
    for dropped in [0, 0, 1, 2] {
        rep.send_raw(RawMessage { header: header.clone(), body: half.clone() }, NOW).unwrap();
        assert_eq!(rep.counters().dropped_peer_slow, dropped);
    }
}

#[test]
fn a_longer_send_queue_lets_the_requests_that_waited_for_room_be_received() {
    let mut rep = connected(RawKind::Rep, &[FIRST]);
    for _ in 0..OUTBOX_MESSAGES_MAX {
        rep.send_raw(message(b"\0\0\0\x0a\x80\0\0\x01", b"A"), NOW).unwrap();
    }
    heard(&mut rep, FIRST, b"\x80\0\0\x01waits");
    assert_eq!(rep.recv_raw(NOW), Err(RecvError::Empty));
    while rep.next_event().is_some() {}
    let longer = QueueLength::new(OUTBOX_MESSAGES_MAX + 1).unwrap();
    rep.set(Setting::SendQueue(longer)).unwrap();
    assert_eq!(rep.next_event(), Some(ProtocolEvent::RecvReady));
    assert_eq!(rep.recv_raw(NOW).unwrap().body, "waits");
}

#[test]
fn unsent_raw_messages_of_a_peer_that_left_go_to_another() {
    for (kind, header) in [(RawKind::Req, &b"\x80\0\0\x01"[..]), (RawKind::Push, b"")] {
        let mut raw = connected(kind, &[FIRST]);
        raw.send_raw(message(header, b"x"), NOW).unwrap();
        raw.close(FIRST, NOW);
        let refused = raw.send_raw(message(header, b"x"), NOW).unwrap_err();
        assert_eq!((refused.why, raw.has_room()), (Refusal::NoPipe, false));
        raw.open(SECOND, NOW).unwrap();
        assert_eq!(raw.transmit(SECOND).unwrap().to_vec(), [header, b"x"].concat(), "{kind:?}");
    }
}

#[test]
fn a_raw_pair_has_one_peer_and_stops_when_it_is_full() {
    let mut pair = connected(RawKind::Pair0, &[FIRST]);
    assert_eq!(pair.open(SECOND, NOW), Err(CloseReason::HasPeer));
    while pair.has_room() {
        pair.send_raw(message(b"", b"x"), NOW).unwrap();
    }
    assert_eq!(pair.counters().sent as usize, OUTBOX_MESSAGES_MAX);
    let refused = pair.send_raw(message(b"", b"x"), NOW).unwrap_err();
    assert_eq!(refused.why, Refusal::Full);
    for _ in 0..INBOX_MESSAGES_MAX {
        heard(&mut pair, FIRST, b"x");
    }
    assert!(pair.is_paused(FIRST));
    pair.close(FIRST, NOW);
    assert_eq!(pair.open(SECOND, NOW), Ok(()));
}

#[test]
fn a_broadcast_leaves_out_only_its_origin() {
    for (kind, header) in
        [(RawKind::Bus, &b"\0\0\0\x0a"[..]), (RawKind::Star, b"\0\0\0\x0a\0\0\0\x01")]
    {
        let mut raw = connected(kind, &[FIRST, SECOND]);
        raw.send_raw(message(header, b"x"), NOW).unwrap();
        assert_eq!(raw.transmit(FIRST), None);
        assert!(raw.transmit(SECOND).is_some());
        raw.send_raw(message(&header[4..], b"x"), NOW).unwrap();
        assert!(raw.transmit(FIRST).is_some() && raw.transmit(SECOND).is_some(), "{kind:?}");
    }
}
