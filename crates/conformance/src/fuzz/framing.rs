//! Handshake and framing: any split of the same bytes gives the same events, the events encode to
//! the bytes that were received, and memory grows only with received bytes.

use wigwag_sp::{Event, Stream, StreamError};
use wigwag_wire::read_buf::READ_BYTES;
use wigwag_wire::{ConnectionStateMachine, Framing, Header, ProtocolNumber, ReadBuf, Time};

use crate::fuzz::driver::Random;
use crate::fuzz::{Verdict, ensure};

/// The receive limit, so small that inputs exceed it.
const LIMIT: usize = 600;

/// The function that asks a stream for its next event.
pub type ReceiveEvent = fn(&mut Stream, &mut ReadBuf) -> Result<Option<Event>, StreamError>;

/// All events of a stream, and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Transcript {
    events: Vec<Event>,
    end: Option<StreamError>,
}

/// Checks the stream.
pub fn check(input: &[u8]) -> Verdict {
    check_with(|stream, input| stream.receive(input, Time::START), input)
}

/// Checks the stream with any `receive`. The first byte chooses framing and protocol, the second
/// how the rest is split.
pub fn check_with(receive: ReceiveEvent, input: &[u8]) -> Verdict {
    let Some((&[choice, cuts], bytes)) = input.split_first_chunk::<2>() else {
        return Ok(());
    };
    let framing = if choice & 1 == 0 { Framing::Tcp } else { Framing::Ipc };
    let ours = OURS[usize::from(choice >> 1) % OURS.len()];
    let read = |pieces| read(receive, ours, framing, pieces);
    let whole = read(vec![bytes])?;
    let single = read(bytes.chunks(1).collect())?;
    ensure(whole == single, || format!("byte by byte {single:?}, whole {whole:?}"))?;
    let split = read(split(bytes, cuts))?;
    ensure(whole == split, || format!("torn {split:?}, whole {whole:?}"))?;
    let encoded = encode(&whole.events, framing);
    ensure(bytes.starts_with(&encoded), || format!("{whole:?} encodes to {encoded:02x?}"))
}

const OURS: [ProtocolNumber; 4] =
    [ProtocolNumber::REP, ProtocolNumber::PULL, ProtocolNumber::PAIR1, ProtocolNumber::STAR];

fn read(
    receive: ReceiveEvent,
    ours: ProtocolNumber,
    framing: Framing,
    pieces: Vec<&[u8]>,
) -> Result<Transcript, String> {
    let mut stream = Stream::new(ours, framing, LIMIT, Time::START);
    let mut input = ReadBuf::new();
    let mut transcript = Transcript { events: Vec::new(), end: None };
    for piece in pieces {
        input.fill(piece);
        loop {
            match receive(&mut stream, &mut input) {
                Ok(Some(event)) => transcript.events.push(event),
                Ok(None) => break,
                Err(error) => {
                    transcript.end = Some(error);
                    return Ok(transcript);
                }
            }
        }
        let claimed = input.space().capacity();
        ensure(claimed <= 2 * READ_BYTES, || format!("{claimed} bytes for what was announced"))?;
    }
    Ok(transcript)
}

fn split(mut bytes: &[u8], cuts: u8) -> Vec<&[u8]> {
    let mut random = Random::new(cuts.into());
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let (piece, rest) = bytes.split_at((1 + random.below(24)).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

fn encode(events: &[Event], framing: Framing) -> Vec<u8> {
    let mut bytes = Vec::new();
    for event in events {
        match event {
            Event::Open(header) => bytes.extend(header.to_bytes()),
            Event::Message(message) => {
                let (prefix, used) = framing.prefix(message.len());
                bytes.extend_from_slice(&prefix[..used]);
                bytes.extend_from_slice(message);
            }
        }
    }
    bytes
}

/// A partner that sends three messages, for each protocol and framing.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (index, ours) in OURS.into_iter().enumerate() {
        let Some(protocol) = ours.partner() else { continue };
        for (bit, framing) in [(0, Framing::Tcp), (1, Framing::Ipc)] {
            let messages = [&b""[..], b"\x80\0\0\x07body", &[7; 300]];
            let messages = messages.map(|body| Event::Message(body.to_vec().into()));
            let events = [&[Event::Open(Header { protocol })][..], &messages].concat();
            let choice = (index as u8) << 1 | bit;
            seeds.push([&[choice, 3][..], &encode(&events, framing)].concat());
        }
    }
    seeds
}
