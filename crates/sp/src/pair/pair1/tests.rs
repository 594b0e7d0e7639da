use bytes::Bytes;
use wigwag_wire::Time;

use crate::limits::OUTBOX_MESSAGES_MAX;
use crate::*;
const NOW: Time = Time::START;
const PEER: PipeId = PipeId(1);

fn connected() -> Pair1 {
    let mut pair = Pair1::new();
    pair.open(PEER, NOW).unwrap();
    pair
}

fn receive(pair: &mut Pair1, bytes: &'static [u8]) -> Received {
    pair.receive(PEER, Bytes::from_static(bytes), NOW)
}

#[test]
fn a_message_goes_out_with_one_hop() {
    let mut pair = connected();
    pair.send(Bytes::from_static(b"hello"), NOW).unwrap();
    assert_eq!(pair.transmit(PEER).unwrap().to_vec(), b"\0\0\0\x01hello");
}

/// NNG sends 1, mangos 0, forwarders up to the limit.
#[test]
fn zero_to_eight_hops_are_received_and_more_are_dropped() {
    let mut pair = connected();
    for hops in 0..=255_u8 {
        let message = Bytes::copy_from_slice(&[0, 0, 0, hops, b'x']);
        let received = pair.receive(PEER, message, NOW);
        if hops <= 8 {
            assert_eq!(received, Received::Queued);
            assert_eq!(pair.recv(NOW).unwrap().as_ref(), b"x");
        } else {
            assert_eq!(received, Received::Dropped(DropReason::TooManyHops));
        }
    }
    assert_eq!(pair.counters().dropped_too_many_hops, 247);
    assert_eq!(pair.counters().received, 9);
}

#[test]
fn reserved_bits_and_a_missing_header_close_the_pipe() {
    for reserved in [0x100, 0x8000_0001_u32] {
        let received =
            connected().receive(PEER, Bytes::copy_from_slice(&reserved.to_be_bytes()), NOW);
        assert_eq!(received, Received::Close(CloseReason::ReservedBits(reserved)));
    }
    for length in 0..4 {
        let received = connected().receive(PEER, Bytes::from_static(&[0; 4][..length]), NOW);
        assert_eq!(received, Received::Close(CloseReason::TooShort(length)));
    }
    assert_eq!(receive(&mut connected(), &[0, 0, 0, 1]), Received::Queued);
}

#[test]
fn a_second_peer_is_refused_until_the_first_has_left() {
    let mut pair = connected();
    assert_eq!(pair.open(PipeId(2), NOW), Err(CloseReason::HasPeer));
    pair.close(PipeId(2), NOW);
    assert_eq!(pair.open(PipeId(2), NOW), Err(CloseReason::HasPeer));
    pair.close(PEER, NOW);
    assert_eq!(pair.open(PipeId(2), NOW), Ok(()));
}

#[test]
fn unsent_messages_wait_for_the_next_peer() {
    let mut pair = connected();
    pair.send(Bytes::from_static(b"late"), NOW).unwrap();
    pair.close(PEER, NOW);
    while pair.next_event().is_some() {}
    let refused = pair.send(Bytes::from_static(b"no"), NOW).unwrap_err();
    assert_eq!((refused.why, refused.body.as_ref()), (Refusal::NoPipe, &b"no"[..]));
    pair.open(PipeId(2), NOW).unwrap();
    assert_eq!(pair.next_event(), Some(ProtocolEvent::Transmit(PipeId(2))));
    assert_eq!(pair.transmit(PEER), None);
    assert_eq!(pair.transmit(PipeId(2)).unwrap().to_vec(), b"\0\0\0\x01late");
}

#[test]
fn both_queues_are_bounded_and_report_when_they_have_room() {
    let mut pair = connected();
    while pair.send(Bytes::from_static(b"x"), NOW).is_ok() {}
    assert_eq!(pair.counters().sent as usize, OUTBOX_MESSAGES_MAX);
    while pair.next_event().is_some() {}
    pair.transmit(PEER).unwrap();
    assert_eq!(pair.next_event(), Some(ProtocolEvent::SendReady));
    while !pair.is_paused(PEER) {
        assert_eq!(receive(&mut pair, b"\0\0\0\x01x"), Received::Queued);
    }
    assert_eq!(receive(&mut pair, b"\0\0\0\x01x"), Received::Dropped(DropReason::Overflow));
    while pair.next_event().is_some() {}
    while pair.is_paused(PEER) {
        pair.recv(NOW).unwrap();
    }
    assert_eq!(pair.next_event(), Some(ProtocolEvent::Resume(PEER)));
}
