use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use proptest::prelude::*;

use super::*;

const NOW: Time = Time::START;
const LIMIT: usize = 2 * SHARE_BYTES_MIN;

fn push_stream(framing: Framing) -> Stream {
    Stream::new(ProtocolNumber::PUSH, framing, LIMIT, NOW)
}

fn pull_stream(framing: Framing) -> Stream {
    Stream::new(ProtocolNumber::PULL, framing, LIMIT, NOW)
}

fn output(stream: &mut Stream) -> Vec<u8> {
    let mut batch = Batch::new();
    stream.take_output(&mut batch);
    batch.slices().flatten().copied().collect()
}

/// The bytes that a push end writes to send `bodies`.
fn wire(framing: Framing, bodies: &[&[u8]]) -> Vec<u8> {
    let mut stream = push_stream(framing);
    let mut bytes = output(&mut stream);
    stream.handshake_until = None;
    for body in bodies {
        let message = Message { head: Head::Empty, body: Bytes::copy_from_slice(body) };
        stream.send(message).unwrap();
        bytes.extend(output(&mut stream));
    }
    bytes
}

fn events(stream: &mut Stream, input: &mut ReadBuf) -> Result<Vec<Event>, StreamError> {
    let mut events = Vec::new();
    while let Some(event) = stream.receive(input, NOW)? {
        events.push(event);
    }
    Ok(events)
}

fn whole(framing: Framing, bytes: &[u8]) -> Vec<Event> {
    let mut input = ReadBuf::new();
    input.fill(bytes);
    events(&mut pull_stream(framing), &mut input).unwrap()
}

/// RFC sp-tcp-mapping-01, sections 3 and 4; sp-ipc-mapping-01.
#[test]
fn the_bytes_are_header_length_and_body() {
    let tcp = wire(Framing::Tcp, &[b"hello", b""]);
    assert_eq!(tcp, b"\0SP\0\0\x50\0\0\0\0\0\0\0\0\0\x05hello\0\0\0\0\0\0\0\0");
    let ipc = wire(Framing::Ipc, &[b"hi"]);
    assert_eq!(ipc, b"\0SP\0\0\x50\0\0\x01\0\0\0\0\0\0\0\x02hi");
}

#[test]
fn messages_go_out_only_after_the_partners_header() {
    let mut stream = pull_stream(Framing::Tcp);
    stream.send(Message::default()).unwrap();
    assert_eq!(output(&mut stream), b"\0SP\0\0\x51\0\0");
    assert!(output(&mut stream).is_empty());
    let mut input = ReadBuf::new();
    input.fill(b"\0SP\0\0\x50\0\0");
    assert!(matches!(stream.receive(&mut input, NOW), Ok(Some(Event::Open(_)))));
    assert_eq!(output(&mut stream), [0; 8]);
}

/// A split at every byte, in two pieces, gives the same events.
#[test]
fn every_split_gives_the_same_events() {
    let bodies: [&[u8]; 4] = [b"one", b"", &[7; 300], b"four"];
    for framing in [Framing::Tcp, Framing::Ipc] {
        let bytes = wire(framing, &bodies);
        let expected = whole(framing, &bytes);
        assert_eq!(expected.len(), 5);
        for cut in 0..=bytes.len() {
            let mut stream = pull_stream(framing);
            let mut input = ReadBuf::new();
            input.fill(&bytes[..cut]);
            let mut seen = events(&mut stream, &mut input).unwrap();
            input.fill(&bytes[cut..]);
            seen.extend(events(&mut stream, &mut input).unwrap());
            assert_eq!(seen, expected, "{framing:?} torn at {cut}");
        }
    }
}

/// The peer is cut off after each byte: only whole messages are returned.
#[test]
fn a_connection_cut_at_each_byte_gives_only_whole_messages() {
    let bytes = wire(Framing::Tcp, &[b"one", b"two"]);
    let expected = whole(Framing::Tcp, &bytes);
    for cut in 0..bytes.len() {
        let mut input = ReadBuf::new();
        input.fill(&bytes[..cut]);
        let seen = events(&mut pull_stream(Framing::Tcp), &mut input).unwrap();
        let count = [8, 8 + 11, 8 + 22].iter().filter(|end| **end <= cut).count();
        assert_eq!(seen, expected[..count], "cut at {cut}");
    }
}

#[test]
fn a_wrong_header_is_an_error_and_no_message() {
    for wrong in [&b"\0SP\0\0\x30\0\0"[..], b"GET / HT", b"\0SP\x01\0\x50\0\0"] {
        let mut input = ReadBuf::new();
        input.fill(wrong);
        input.fill(&[0; 8]);
        let refused = pull_stream(Framing::Tcp).receive(&mut input, NOW);
        assert!(matches!(refused, Err(StreamError::Header(_))), "{wrong:?}");
    }
}

/// A peer that sends one byte a second is over the time before its eighth.
#[test]
fn the_handshake_is_bounded_as_a_whole() {
    let mut stream = pull_stream(Framing::Tcp);
    let mut input = ReadBuf::new();
    let mut now = NOW;
    let due = stream.deadline().unwrap();
    for byte in b"\0SP\0\0" {
        assert_eq!(stream.tick(now), Ok(()));
        input.fill(&[*byte]);
        assert_eq!(stream.receive(&mut input, now), Ok(None));
        now = now + Duration::from_secs(1);
    }
    assert!(now >= due);
    assert_eq!(stream.tick(now), Err(StreamError::Silent));
    input.fill(b"\x50\0\0");
    assert!(stream.receive(&mut input, now).unwrap().is_some());
    assert_eq!((stream.deadline(), stream.tick(now)), (None, Ok(())));
}

#[test]
fn a_message_over_the_limit_ends_the_connection() {
    let mut stream = pull_stream(Framing::Tcp);
    let mut input = ReadBuf::new();
    input.fill(b"\0SP\0\0\x50\0\0");
    input.fill(&(LIMIT as u64 + 1).to_be_bytes());
    let refused = events(&mut stream, &mut input);
    assert!(matches!(refused, Err(StreamError::Framing(_))));
}

/// A long message shares the block, so its bytes stay where they were read.
#[test]
fn short_messages_are_copied_and_long_ones_shared() {
    for (length, shared) in [(SHARE_BYTES_MIN - 1, false), (SHARE_BYTES_MIN, true)] {
        let mut input = ReadBuf::new();
        let (prefix, used) = Framing::Tcp.prefix(length);
        input.fill(&prefix[..used]);
        input.fill(&vec![7; length]);
        let body = input.as_slice()[used..].as_ptr();
        let message = cut(Framing::Tcp, &mut input, LIMIT).unwrap().unwrap();
        assert_eq!(message.len(), length);
        assert_eq!(message.as_ptr() == body, shared);
    }
}

#[test]
fn one_write_is_bounded_in_bytes_and_slices() {
    let mut batch = Batch::new();
    let mut gather = BatchBuilder::new(&mut batch, Framing::Tcp);
    let long = Message { head: Head::Word(1), body: Bytes::from(vec![0; COPY_BYTES_MAX + 1]) };
    while gather.has_room() {
        gather.put(long.clone());
    }
    assert!(batch.slices().count() <= BATCH_SLICES_MAX);
    assert!(batch.slices().count() > BATCH_SLICES_MAX - 4);
    let mut batch = Batch::new();
    let mut gather = BatchBuilder::new(&mut batch, Framing::Tcp);
    while gather.has_room() {
        gather.put(Message::default());
    }
    assert_eq!((batch.len(), batch.slices().count()), (BATCH_BYTES_MAX, 1));
}

proptest! {
    /// Any bytes in any pieces lead to an error or to events, never to a panic, and never to more
    /// bytes than were received.
    #[test]
    fn any_bytes_in_any_pieces_are_survived(
        right_header in any::<bool>(),
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..12),
    ) {
        let mut stream = pull_stream(Framing::Ipc);
        let mut input = ReadBuf::new();
        if right_header {
            input.fill(b"\0SP\0\0\x50\0\0");
        }
        for piece in &pieces {
            input.fill(piece);
            if events(&mut stream, &mut input).is_err() {
                break;
            }
        }
    }

    /// Any messages, in any pieces, come out as they went in.
    #[test]
    fn any_messages_survive_any_pieces(
        bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8),
        piece in 1_usize..60,
    ) {
        let slices: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).collect();
        let bytes = wire(Framing::Ipc, &slices);
        let mut stream = pull_stream(Framing::Ipc);
        let mut input = ReadBuf::new();
        let mut seen = Vec::new();
        for part in bytes.chunks(piece) {
            input.fill(part);
            seen.extend(events(&mut stream, &mut input).unwrap());
        }
        let messages: Vec<&[u8]> = seen
            .iter()
            .filter_map(|event| match event {
                Event::Message(message) => Some(message.as_ref()),
                Event::Open(_) => None,
            })
            .collect();
        prop_assert_eq!(messages, slices);
    }
}
