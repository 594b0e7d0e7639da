use wigwag_link::credit::Grant;
use wigwag_link::dispatch::application::{ActorReference, Application, Attach, Attached, Found};
use wigwag_link::frame::Frame;
use wigwag_link::recv_half::ChannelCalls;
use wigwag_link::{Code, write};
use wigwag_wire::Buffer;

use super::*;
use crate::clock::micros;

fn identity(seed: u128) -> Identity {
    Identity {
        node: seed,
        incarnation: seed + 1,
        nonce: seed + 2,
        offered: 0,
        required: 0,
        limits: Limits::default(),
    }
}

fn pair(framing: Framing) -> (Peer, Peer) {
    let dialer = Peer::new(framing, identity(10), Role::Dialer { session: 7 }, Time::START);
    let listener =
        Peer::new(framing, identity(20), Role::Listener { token: 9, ttl_ms: 0 }, Time::START);
    (dialer, listener)
}

/// An application with one actor that records what it receives.
struct RecordingApplication<'a> {
    sender: &'a mut SendHalf,
    seen: &'a mut Vec<String>,
}

impl Application for RecordingApplication<'_> {
    type Actor = ();
    type Channel = usize;
    type SendHalf<'a>
        = &'a mut SendHalf
    where
        Self: 'a;
    type Error = PeerError;

    fn send_half(&mut self) -> &mut SendHalf {
        self.sender
    }

    fn acknowledged(&mut self, _has_room: bool, _is_settled: bool) {}

    fn find(&mut self, _attach: &Attach<'_>) -> Result<Found<()>, Code> {
        Ok(Found {
            actor: (),
            schema_hash: 1,
            codec: 0,
            bound: None,
            reference: Some(ActorReference { number: 1, reference: 1, may_link: true }),
        })
    }

    fn open(&mut self, _actor: (), channel: u64, _use_of: u64) -> usize {
        self.seen.push(format!("open {channel}"));
        channel as usize
    }

    fn close(&mut self, _channel: usize, _grant: Option<Grant>) {}

    fn calls(&mut self, channel: &mut usize, run: &ChannelCalls<'_>) -> Result<(), PeerError> {
        self.seen.push(format!("{} calls on {channel}", run.calls));
        Ok(())
    }

    fn describe(&mut self, _: &mut usize, _asker: (u32, u32), _arguments: &[u8], _units: u64) {}

    fn discarded(&mut self, _channel: &mut usize, _units: u64) {}

    fn reply(&mut self, _asker: (u32, u32), _value: &[u8]) -> Result<bool, PeerError> {
        Ok(false)
    }

    fn failed(&mut self, _: (u32, u32), _: Code, _: &[u8]) -> Result<bool, PeerError> {
        Ok(false)
    }

    fn attached(&mut self, channel: u64, _attached: &Attached<'_>) {
        self.seen.push(format!("attached {channel}"));
    }

    fn credited(&mut self, _: u64, _: u64, _: u64, _: bool) -> Result<(), PeerError> {
        Ok(())
    }

    fn detached(&mut self, channel: u64, _: Code, _: u64, _: &[u8]) -> Result<(), PeerError> {
        let taken = self.sender.window(channel).is_some();
        self.seen.push(format!("detached {channel}, {}", if taken { "taken" } else { "free" }));
        Ok(())
    }

    fn has_room(&mut self) {}
}

fn output(peer: &mut Peer) -> Vec<u8> {
    let mut batch = Batch::new();
    peer.take_output(&mut batch);
    batch.slices().flatten().copied().collect()
}

/// Passes bytes to a peer in chunks of at most `chunk`; returns the events as text.
fn feed(peer: &mut Peer, bytes: &[u8], chunk: usize) -> Result<Vec<String>, PeerError> {
    let (mut input, mut seen) = (ReadBuf::new(), Vec::new());
    for part in bytes.chunks(chunk) {
        input.fill(part);
        while let Some(event) = peer.receive(&mut input, Time::START)? {
            match event {
                Event::Opened(opened) => seen.push(format!("{opened:?}")),
                Event::PeerKnown => seen.push("known".into()),
                Event::ResumeRequested(claim, _) => seen.push(format!("{claim:?}")),
                Event::Resumed(resumed) => seen.push(format!("{resumed:?}")),
                Event::Batch(ReceivedBatch { dispatcher, sender, message }) => {
                    dispatcher.receive(
                        message,
                        Time::START,
                        &mut RecordingApplication { sender, seen: &mut seen },
                    )?;
                }
            }
        }
    }
    Ok(seen)
}

/// Carries bytes both ways until both peers are silent.
fn talk(dialer: &mut Peer, listener: &mut Peer, chunk: usize) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let (there, back) = (output(dialer), output(listener));
        if there.is_empty() && back.is_empty() {
            return seen;
        }
        seen.extend(feed(listener, &there, chunk).expect("the dialer is honest"));
        seen.extend(feed(dialer, &back, chunk).expect("the listener is honest"));
    }
}

#[test]
fn two_peers_open_a_session_however_their_bytes_are_torn() {
    for framing in [Framing::Tcp, Framing::Ipc] {
        for chunk in [1, 2, 7, 64, 10_000] {
            let (mut dialer, mut listener) = pair(framing);
            let seen = talk(&mut dialer, &mut listener, chunk);
            assert_eq!(seen.len(), 2, "each side hears once that it is open: {seen:?}");
            let sender = dialer.sender().expect("it is open");
            let channel = sender.open_channel().expect("there are some");
            let (how, target, schema_hash, codec) = (0, &b"actor"[..], 1, 0);
            let attach = Frame::Attach { channel, how, target, schema_hash, codec };
            sender.outbox.append(|out| write::any(out, &attach));
            let seen = talk(&mut dialer, &mut listener, chunk);
            assert_eq!(seen, ["open 0", "attached 0"]);
            let sender = dialer.sender().expect("it is open");
            let tell = |out: &mut Buffer| write::tell(out, channel, 1, |out| out.push(0x90));
            sender.call(channel, tell).expect("it has credit");
            let seen = talk(&mut dialer, &mut listener, chunk);
            assert_eq!(seen, ["1 calls on 0"]);
            // Its number may be used again only when the application knows that this use is over.
            let sender = dialer.sender().expect("it is open");
            assert!(sender.detach(channel));
            assert_eq!(talk(&mut dialer, &mut listener, chunk), ["detached 0, taken"]);
            let sender = dialer.sender().expect("it is open");
            assert_eq!(sender.open_channel(), Some(channel));
        }
    }
}

#[test]
fn the_dialer_says_hello_only_to_a_pair1_socket() {
    let (mut dialer, _) = pair(Framing::Tcp);
    assert_eq!(output(&mut dialer), b"\0SP\0\0\x11\0\0");
    assert!(output(&mut dialer).is_empty());
    let wrong = feed(&mut dialer, b"\0SP\0\0\x31\0\0", 8).expect_err("a REP socket");
    assert!(matches!(wrong, PeerError::Header(_)), "{wrong}");
    assert!(output(&mut dialer).is_empty());
}

#[test]
fn a_refusal_says_why_before_the_connection_ends() {
    let (mut dialer, _) = pair(Framing::Tcp);
    let picky = Identity { required: 4, ..identity(20) };
    let mut listener =
        Peer::new(Framing::Tcp, picky, Role::Listener { token: 9, ttl_ms: 0 }, Time::START);
    let header = output(&mut listener);
    let mut wire = output(&mut dialer);
    feed(&mut dialer, &header, 8).expect("a header");
    wire.extend(output(&mut dialer));
    let error = feed(&mut listener, &wire, 100).expect_err("it requires a feature");
    listener.fail(&error);
    let error = feed(&mut dialer, &output(&mut listener), 100).expect_err("refused");
    let PeerError::Link(LinkError::ClosedByPeer { code, .. }) = error else { panic!("{error}") };
    assert_eq!(code, Code::FEATURE_REQUIRED);
}

#[test]
fn a_message_over_two_hops_ends_the_session() {
    let (mut dialer, mut listener) = pair(Framing::Tcp);
    talk(&mut dialer, &mut listener, 100);
    let batch = |hops: u8| {
        let mut out = Buffer::new();
        out.extend(&[0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, hops, 0, 0, 0, 0]);
        out
    };
    for hops in [0, 1] {
        assert_eq!(feed(&mut listener, batch(hops).as_slice(), 100), Ok(Vec::new()));
    }
    let error = feed(&mut listener, batch(2).as_slice(), 100).expect_err("a device");
    listener.fail(&error);
    let error = feed(&mut dialer, &output(&mut listener), 100).expect_err("CLOSE");
    assert!(matches!(error, PeerError::Link(LinkError::ClosedByPeer { .. })), "{error}");
}

#[test]
fn a_silent_partner_has_five_seconds() {
    let (mut dialer, _) = pair(Framing::Tcp);
    let due = dialer.deadline().expect("the opening has one");
    assert_eq!(due, Time::START + HANDSHAKE_MAX);
    assert_eq!(dialer.tick(Time::START + micros(1)), Ok(()));
    assert_eq!(dialer.tick(due), Err(PeerError::OpeningTimeout));
}

/// A message longer than the announced limit is refused on its length alone.
#[test]
fn announced_lengths_are_checked_before_any_byte_is_kept() {
    let (mut dialer, mut listener) = pair(Framing::Tcp);
    let header = output(&mut dialer);
    let opening = [&header[..], &4101_u64.to_be_bytes()].concat();
    let error = feed(&mut listener, &opening, 100).expect_err("too long for an opening");
    assert!(matches!(error, PeerError::Framing(_)), "{error}");
    let (mut dialer, mut listener) = pair(Framing::Tcp);
    talk(&mut dialer, &mut listener, 100);
    let batch_max = Limits::default().batch_max;
    assert!(feed(&mut listener, &(batch_max + 1).to_be_bytes(), 100).is_err());
}
