use bytes::Bytes;
use wigwag_wire::Time;

use crate::limits::{INBOX_MESSAGES_MAX, OUTBOX_MESSAGES_MAX};
use crate::*;

const NOW: Time = Time::START;
const FIRST: PipeId = PipeId(1);
const SECOND: PipeId = PipeId(2);

fn connected(pipes: &[PipeId]) -> Rep {
    let mut rep = Rep::new();
    for pipe in pipes {
        rep.open(*pipe, NOW).unwrap();
    }
    rep
}

fn ask(rep: &mut Rep, pipe: PipeId, bytes: &'static [u8]) -> Received {
    rep.receive(pipe, Bytes::from_static(bytes), NOW)
}

fn answer(rep: &mut Rep, body: &'static [u8]) -> Result<(), Refused> {
    rep.send(Bytes::from_static(body), NOW)
}

/// The exact bytes that were sent to nanomsg, NNG and mangos, with the reply that all three gave.
#[test]
fn the_backtrace_is_echoed_to_the_pipe_it_came_from() {
    let mut rep = connected(&[FIRST, SECOND]);
    ask(&mut rep, SECOND, b"\0\0\0\x07\x0b\xad\xca\xfe\x80\0\0\x01Q");
    assert_eq!(rep.recv(NOW).unwrap().as_ref(), b"Q");
    answer(&mut rep, b"A").unwrap();
    assert_eq!(rep.transmit(FIRST), None);
    assert_eq!(rep.transmit(SECOND).unwrap().to_vec(), b"\0\0\0\x07\x0b\xad\xca\xfe\x80\0\0\x01A");
}

#[test]
fn a_reply_without_a_request_is_returned() {
    let mut rep = connected(&[FIRST]);
    let refused = answer(&mut rep, b"A").unwrap_err();
    assert_eq!((refused.why, refused.body.as_ref()), (Refusal::NoRequest, &b"A"[..]));
    ask(&mut rep, FIRST, b"\x80\0\0\0");
    rep.recv(NOW).unwrap();
    answer(&mut rep, b"A").unwrap();
    assert_eq!(answer(&mut rep, b"B").unwrap_err().why, Refusal::NoRequest);
}

#[test]
fn malformed_requests_are_dropped_and_the_pipe_stays_open() {
    let mut rep = connected(&[FIRST]);
    for malformed in [&b""[..], b"abc", b"\0\0\0\x01", b"\0\0\0\x01abc"] {
        let received = ask(&mut rep, FIRST, malformed);
        assert_eq!(received, Received::Dropped(DropReason::Malformed));
    }
    let far = ask(&mut rep, FIRST, &[0; 64]);
    assert_eq!(far, Received::Dropped(DropReason::TooManyHops));
    assert_eq!(ask(&mut rep, FIRST, b"\x80\0\0\0"), Received::Queued);
    let counters = rep.counters();
    assert_eq!((counters.dropped_malformed, counters.dropped_too_many_hops), (4, 1));
}

#[test]
fn a_reply_to_a_peer_that_left_is_dropped_and_counted() {
    let mut rep = connected(&[FIRST]);
    ask(&mut rep, FIRST, b"\x80\0\0\0taken");
    ask(&mut rep, FIRST, b"\x80\0\0\x01waiting");
    rep.recv(NOW).unwrap();
    rep.close(FIRST, NOW);
    assert_eq!(rep.counters().dropped_pipe_gone, 1, "the waiting request");
    assert_eq!(answer(&mut rep, b"A"), Ok(()));
    assert_eq!(rep.counters().dropped_pipe_gone, 2, "the reply");
    assert_eq!(rep.recv(NOW), Err(RecvError::Empty));
}

#[test]
fn taking_the_next_request_abandons_the_one_under_way() {
    let mut rep = connected(&[FIRST, SECOND]);
    ask(&mut rep, FIRST, b"\x80\0\0\0one");
    ask(&mut rep, SECOND, b"\x80\0\0\0two");
    rep.recv(NOW).unwrap();
    rep.recv(NOW).unwrap();
    assert_eq!(rep.counters().dropped_abandoned, 1);
    answer(&mut rep, b"A").unwrap();
    assert_eq!(rep.transmit(FIRST), None);
    assert!(rep.transmit(SECOND).is_some());
}

/// The first peer asks without end and reads no reply; the second is served all the same.
#[test]
fn a_peer_that_does_not_read_its_replies_stops_only_itself() {
    let mut rep = connected(&[FIRST, SECOND]);
    for _ in 0..OUTBOX_MESSAGES_MAX {
        ask(&mut rep, FIRST, b"\x80\0\0\0");
        rep.recv(NOW).unwrap();
        answer(&mut rep, b"A").unwrap();
    }
    while !rep.is_paused(FIRST) {
        assert_eq!(ask(&mut rep, FIRST, b"\x80\0\0\0"), Received::Queued);
    }
    assert_eq!(rep.recv(NOW), Err(RecvError::Empty));
    ask(&mut rep, SECOND, b"\x80\0\0\0hello");
    assert_eq!(rep.recv(NOW).unwrap().as_ref(), b"hello");
    answer(&mut rep, b"A").unwrap();
    while rep.next_event().is_some() {}
    for _ in 0..OUTBOX_MESSAGES_MAX {
        rep.transmit(FIRST).unwrap();
    }
    assert_eq!(rep.next_event(), Some(ProtocolEvent::RecvReady));
    for _ in 0..INBOX_MESSAGES_MAX {
        rep.recv(NOW).unwrap();
    }
    assert_eq!(rep.counters().dropped_overflow, 0);
}

#[test]
fn a_longer_send_queue_lets_the_requests_that_waited_for_room_be_received() {
    let mut rep = connected(&[FIRST]);
    for _ in 0..OUTBOX_MESSAGES_MAX {
        ask(&mut rep, FIRST, b"\x80\0\0\0");
        rep.recv(NOW).unwrap();
        answer(&mut rep, b"A").unwrap();
    }
    ask(&mut rep, FIRST, b"\x80\0\0\0waits");
    assert_eq!(rep.recv(NOW), Err(RecvError::Empty));
    while rep.next_event().is_some() {}
    let longer = QueueLength::new(OUTBOX_MESSAGES_MAX + 1).unwrap();
    rep.set(Setting::SendQueue(longer)).unwrap();
    assert_eq!(rep.next_event(), Some(ProtocolEvent::RecvReady));
    assert_eq!(rep.recv(NOW).unwrap(), "waits");
}

/// Three workers take three requests of one peer and answer them in another order.
#[test]
fn each_context_answers_its_own_request() {
    let mut rep = connected(&[FIRST]);
    let workers = [ContextId::SOCKET, rep.open_context().unwrap(), rep.open_context().unwrap()];
    for request in [b"\x80\0\0\0a", b"\x80\0\0\x01b", b"\x80\0\0\x02c"] {
        ask(&mut rep, FIRST, request);
    }
    let taken = workers.map(|worker| rep.recv_in(worker, NOW).unwrap());
    assert_eq!(taken, ["a", "b", "c"]);
    for (worker, body) in workers.into_iter().zip(taken).rev() {
        rep.send_in(worker, body, NOW).unwrap();
        let again = rep.send_in(worker, Bytes::new(), NOW).unwrap_err();
        assert_eq!(again.why, Refusal::NoRequest);
    }
    for reply in [b"\x80\0\0\x02c", b"\x80\0\0\x01b", b"\x80\0\0\0a"] {
        assert_eq!(rep.transmit(FIRST).unwrap().to_vec(), reply);
    }
    ask(&mut rep, FIRST, b"\x80\0\0\x03d");
    rep.recv_in(workers[1], NOW).unwrap();
    rep.close_context(workers[1], NOW);
    assert_eq!(rep.counters().dropped_abandoned, 1);
    assert_eq!(rep.recv_in(workers[1], NOW), Err(RecvError::NoContext));
}

/// All workers hold a request of a peer that reads nothing: their replies still have room.
#[test]
fn a_reply_is_never_refused_for_lack_of_room() {
    let mut rep = connected(&[FIRST]);
    let mut workers = alloc::vec![ContextId::SOCKET];
    workers.extend([(); 3].map(|()| rep.open_context().unwrap()));
    for _ in 0..OUTBOX_MESSAGES_MAX - 1 {
        ask(&mut rep, FIRST, b"\x80\0\0\0");
        rep.recv(NOW).unwrap();
        answer(&mut rep, b"A").unwrap();
    }
    for worker in &workers {
        ask(&mut rep, FIRST, b"\x80\0\0\0");
        rep.recv_in(*worker, NOW).unwrap();
    }
    for worker in &workers {
        rep.send_in(*worker, Bytes::from_static(b"A"), NOW).unwrap();
    }
    let written = core::iter::from_fn(|| rep.transmit(FIRST)).count();
    assert_eq!(written, OUTBOX_MESSAGES_MAX + 3);
    assert_eq!(rep.counters().dropped(), 0);
}
