//! A whole session, compared byte by byte, with both sides run by this crate.

use serde_json::Value;
use wigwag_link::frame::Frame;
use wigwag_link::opening::{Opening, Step};
use wigwag_link::send_half::Outgoing;
use wigwag_link::{Code, Identity, Limits, Opened, RecvHalf, SendHalf, write};
use wigwag_wire::{Buffer, Framing, Header, ProtocolNumber, ReadBuf, Reader, Time, varint};

use super::read::{Fields, hex_of, list, load, number, text};

const WORD: [u8; 4] = [0, 0, 0, 1];

/// The number of steps of an opening.
pub(crate) const OPENING_STEPS: usize = 6;

/// A message with its framing on tcp.
pub(crate) fn framed(body: &[u8]) -> Vec<u8> {
    let (prefix, used) = Framing::Tcp.prefix(WORD.len() + body.len());
    [&prefix[..used], &WORD, body].concat()
}

/// The one message in a step's bytes.
pub(crate) fn unframed(step: &Value) -> Vec<u8> {
    let mut input = ReadBuf::new();
    input.fill(&hex_of(step));
    let message = Framing::Tcp.cut(&mut input, 1 << 20).expect("well formed").expect("whole");
    assert!(input.is_empty());
    assert_eq!(message[..4], WORD);
    message[4..].to_vec()
}

/// The identity in a HELLO.
pub(crate) fn identity_in(hello: &[u8]) -> Identity {
    let anonymous = Identity {
        node: 0,
        incarnation: 0,
        nonce: 0,
        offered: 0,
        required: 0,
        limits: Limits::default(),
    };
    let mut listener = Opening::listen(anonymous);
    assert!(matches!(listener.receive(hello), Ok(Step::Send(_))));
    *listener.peer().expect("HELLO was read")
}

pub(crate) fn sends(step: Result<Step, wigwag_link::LinkError>) -> Buffer {
    match step {
        Ok(Step::Send(message)) => message,
        other => panic!("expected a message, got {other:?}"),
    }
}

/// Replays the first six steps; returns the identities of both sides, and the session.
pub(crate) fn play_opening(steps: &[Value]) -> ([Identity; 2], Opened) {
    let header = Header { protocol: ProtocolNumber::PAIR1 }.to_bytes();
    assert!(steps[..2].iter().all(|step| hex_of(step) == header));
    let messages: Vec<Vec<u8>> = steps[2..6].iter().map(unframed).collect();
    let identities = [identity_in(&messages[0]), identity_in(&messages[1])];
    let session = Reader::new(&messages[2][1..]).u128().expect("the session's id");
    let mut opened = Reader::new(&messages[3][1..]);
    let token = opened.u128().expect("the token");
    let ttl_ms = varint::take(&mut opened).expect("the time");
    let (mut dialer, first) = Opening::dial(identities[0], session);
    let mut listener = Opening::listen(identities[1]);
    let second = sends(listener.receive(first.as_slice()));
    let third = sends(dialer.receive(second.as_slice()));
    assert_eq!(listener.receive(third.as_slice()), Ok(Step::OpenRequested));
    let (fourth, theirs) = listener.accept(token, ttl_ms).expect("OPEN was read");
    let sent = [first, second, third, fourth];
    for (step, message) in steps[2..6].iter().zip(&sent) {
        assert_eq!(framed(message.as_slice()), hex_of(step), "{step}");
    }
    let Ok(Step::Opened(ours)) = dialer.receive(sent[3].as_slice()) else { panic!("not opened") };
    assert_eq!((ours.session, ours.token), (theirs.session, theirs.token));
    assert_eq!((ours.ttl_ms, theirs.ttl_ms), (ttl_ms, ttl_ms));
    (identities, ours)
}

/// The bytes that `sender` writes for the frames of a step. It creates CREDIT by itself.
pub(crate) fn written(sender: &mut SendHalf, frames: &[Fields<'_>]) -> Vec<u8> {
    for frame in frames.iter().map(Fields::frame) {
        match frame {
            Frame::Close { code: Code::BYE, .. } => sender.close(Code::BYE, ""),
            Frame::Credit { .. } => {}
            sequenced => sender.outbox.append(|out| write::any(out, &sequenced)),
        }
    }
    let mut out = Outgoing::default();
    sender.take_output(&mut out, Time::START);
    let segments = out.sequenced.segments.iter().flat_map(|segment| segment.slices());
    framed(&[out.head.as_slice()].into_iter().chain(segments).collect::<Vec<_>>().concat())
}

#[test]
fn a_whole_session_is_as_in_the_vectors() {
    let file = load("transcript.json");
    let steps = list(&file, "steps");
    let (identities, _) = play_opening(steps);
    let side = |step: &Value| usize::from(text(&step["from"]) == "listener");
    let mut senders = [0, 1]
        .map(|at| SendHalf::new(&identities[at].limits, identities[1 - at].limits, Time::START));
    let mut receivers = [0, 1].map(|at| RecvHalf::new(&identities[at].limits));
    for step in &steps[OPENING_STEPS..] {
        let batch = &step["batch"];
        let frames: Vec<Fields<'_>> =
            batch["frames"].as_array().expect("frames").iter().map(Fields::of).collect();
        let from = side(step);
        assert_eq!(written(&mut senders[from], &frames), hex_of(step), "{step}");
        let message = unframed(step);
        let mut incoming = receivers[1 - from].open(&message).expect("a batch");
        assert_eq!(incoming.ack, number(&batch["ack"]));
        for fields in &frames {
            let (frame, _) = incoming.next_frame().expect("well formed").expect("one more");
            assert_eq!(frame, fields.frame(), "{step}");
        }
        assert_eq!(incoming.next_frame(), Ok(None), "{step}");
        let ack = incoming.ack;
        drop(incoming);
        let recv_next = receivers[1 - from].recv_next();
        senders[1 - from].outbox.acknowledge(ack).expect("it was sent");
        senders[1 - from].accepted(recv_next, message.len(), Time::START);
    }
    assert!(senders[0].is_closed() && senders.iter().all(|sender| sender.outbox.is_settled()));
}
