//! One message through a raw socket and back out, and through the ordinary socket of the same
//! protocol. A second, simple reader of the headers predicts what both must do.

use bytes::Bytes;
use wigwag_sp::raw::RawKind;
use wigwag_sp::{
    Bus, DropReason, Pair0, Pair1, Pair1Many, PipeId, Protocol, Pull, Raw, Received, Rep,
    Respondent, Star,
};
use wigwag_wire::Time;

use crate::fuzz::{Verdict, ensure};

const NOW: Time = Time::START;

/// The pipe that the message comes from, and another open pipe.
const FROM: PipeId = PipeId(1);
const OTHER: PipeId = PipeId(2);

/// The function that passes a message to a socket.
pub type ReceiveMessage = fn(&mut dyn Protocol, Bytes) -> Received;

/// A protocol that receives: its raw kind, its ordinary socket, and the header of its bodies.
struct ForwardCase {
    kind: RawKind,
    ordinary: fn() -> Box<dyn Protocol>,
    header: HeaderKind,
    /// The user's header begins with the pipe.
    origin: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderKind {
    None,
    Words,
    /// The highest count of hops that passes, and whether a malformed word ends the connection.
    Hops(u8, bool),
}

const CASES: [ForwardCase; 8] = [
    case(RawKind::Pair0, || Box::new(Pair0::new()), HeaderKind::None, false),
    case(RawKind::Pull, || Box::new(Pull::new()), HeaderKind::None, false),
    case(RawKind::Bus, || Box::new(Bus::new()), HeaderKind::None, true),
    case(RawKind::Rep, || Box::new(Rep::new()), HeaderKind::Words, true),
    case(RawKind::Respondent, || Box::new(Respondent::new()), HeaderKind::Words, true),
    case(RawKind::Pair1, || Box::new(Pair1::new()), HeaderKind::Hops(8, true), false),
    case(RawKind::Pair1Many, || Box::new(Pair1Many::new()), HeaderKind::Hops(8, true), true),
    case(RawKind::Star, || Box::new(Star::new()), HeaderKind::Hops(7, false), true),
];

const fn case(
    kind: RawKind,
    ordinary: fn() -> Box<dyn Protocol>,
    header: HeaderKind,
    origin: bool,
) -> ForwardCase {
    ForwardCase { kind, ordinary, header, origin }
}

/// The expected outcome of a message.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    /// The message passes; the number of bytes of its header.
    Forwarded(usize),
    Dropped(DropReason),
    Closed,
}

/// Checks the sockets.
pub fn check(input: &[u8]) -> Verdict {
    check_with(|protocol, message| protocol.receive(FROM, message, NOW), input)
}

/// Checks the sockets with any `receive`. The first byte chooses the protocol.
pub fn check_with(receive: ReceiveMessage, input: &[u8]) -> Verdict {
    let Some((choice, message)) = input.split_first() else {
        return Ok(());
    };
    let case = &CASES[usize::from(*choice) % CASES.len()];
    let expected = expected_outcome(case.header, message);
    let mut ordinary = (case.ordinary)();
    let mut raw: Box<dyn Protocol> = Box::new(Raw::new(case.kind));
    for protocol in [&mut ordinary, &mut raw] {
        let name = protocol.number();
        open(&mut **protocol)?;
        let received = receive(&mut **protocol, Bytes::copy_from_slice(message));
        let agrees = match (&expected, received) {
            (Expected::Forwarded(_), Received::Queued) => true,
            (Expected::Dropped(reason), Received::Dropped(other)) => *reason == other,
            (Expected::Closed, Received::Close(_)) => true,
            _ => false,
        };
        ensure(agrees, || format!("{name}: {expected:?}, and it was {received:?}"))?;
        let dropped = protocol.counters().dropped();
        let counted = u64::from(matches!(expected, Expected::Dropped(_)));
        ensure(dropped == counted, || format!("{name}: {dropped} drops counted"))?;
    }
    let Expected::Forwarded(length) = expected else {
        return ensure(ordinary.recv(NOW).is_err() && raw.recv_raw(NOW).is_err(), || {
            format!("{:?}: delivered what was refused", case.kind)
        });
    };
    let body = match case.kind {
        // Its bodies come with the pipe.
        RawKind::Pair1Many => ordinary.recv_raw(NOW).map(|message| message.body),
        _ => ordinary.recv(NOW),
    };
    ensure(body.as_deref() == Ok(&message[length..]), || format!("{:?}: {body:?}", case.kind))?;
    ensure(ordinary.recv(NOW).is_err(), || format!("{:?}: delivered twice", case.kind))?;
    check_forwarding(case, &mut *raw, message, length)
}

fn open(protocol: &mut dyn Protocol) -> Verdict {
    protocol.open(FROM, NOW).map_err(|why| why.to_string())?;
    // A pair accepts one peer only.
    let _ = protocol.open(OTHER, NOW);
    Ok(())
}

/// A message that is sent with the header it came with reaches its destination unchanged.
fn check_forwarding(
    case: &ForwardCase,
    raw: &mut dyn Protocol,
    message: &[u8],
    length: usize,
) -> Verdict {
    let kind = case.kind;
    let taken = raw.recv_raw(NOW).map_err(|why| format!("{kind:?}: {why}"))?;
    let mut onward = message.to_vec();
    if let (HeaderKind::Hops(..), Some(hops)) = (case.header, onward.get_mut(3)) {
        *hops += 1;
    }
    let origin: &[u8] = if case.origin { &[0, 0, 0, 1] } else { &[] };
    let header = [origin, &onward[..length]].concat();
    ensure(taken.header == header, || format!("{kind:?}: the header {:02x?}", taken.header))?;
    ensure(taken.body == message[length..], || format!("{kind:?}: the body {:02x?}", taken.body))?;
    if kind == RawKind::Pull {
        return Ok(());
    }
    raw.send_raw(taken, NOW).map_err(|refused| format!("{kind:?}: {}", refused.why))?;
    let spreads = matches!(kind, RawKind::Bus | RawKind::Star);
    let (there, elsewhere) = if spreads { (OTHER, FROM) } else { (FROM, OTHER) };
    let written = raw.transmit(there).map(|message| message.to_vec());
    ensure(written.as_ref() == Some(&onward), || format!("{kind:?}: {written:02x?} is written"))?;
    ensure(raw.transmit(elsewhere).is_none(), || format!("{kind:?}: to the wrong peer too"))
}

/// Predicts the outcome by a second reader of the headers of RFC sp-request-reply-01 and of pair1.
fn expected_outcome(header: HeaderKind, message: &[u8]) -> Expected {
    match header {
        HeaderKind::None => Expected::Forwarded(0),
        HeaderKind::Words => {
            let words: Vec<&[u8]> = message.chunks_exact(4).take(8).collect();
            match words.iter().position(|word| word[0] & 0x80 != 0) {
                Some(position) => Expected::Forwarded(4 * (position + 1)),
                None if words.len() == 8 => Expected::Dropped(DropReason::TooManyHops),
                None => Expected::Dropped(DropReason::Malformed),
            }
        }
        HeaderKind::Hops(most, punishes) => match message {
            [0, 0, 0, hops, ..] if *hops <= most => Expected::Forwarded(4),
            [0, 0, 0, _, ..] => Expected::Dropped(DropReason::TooManyHops),
            _ if punishes => Expected::Closed,
            _ => Expected::Dropped(DropReason::Malformed),
        },
    }
}

/// Headers that pass, at and around the limits.
pub fn seeds() -> Vec<Vec<u8>> {
    let words = |count: usize| [vec![0x11; 4 * (count - 1)], b"\x80\0\0\x07body".to_vec()].concat();
    let heads = [b"body".to_vec(), b"\0\0\0\x01body".to_vec(), b"\0\0\0\x08".to_vec()];
    let messages: Vec<Vec<u8>> = [1, 2, 7, 8].into_iter().map(words).chain(heads).collect();
    let choices = 0..CASES.len() as u8;
    choices
        .flat_map(|choice| messages.iter().map(move |tail| [&[choice], &tail[..]].concat()))
        .collect()
}
