//! Hostile peers: the bytes they send, and how they break off.

use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use wigwag_link::frame::Frame;
use wigwag_testkit::raw::{self, Raw, Stream, identity};
use wigwag_wire::{Framing, ProtocolNumber};

use super::draws::Draws;
use super::target::Addresses;

/// The recorded session of a dialer and a listener, byte for byte.
const TRANSCRIPT: &str = include_str!("../../../../../docs/vectors/link/transcript.json");

/// One vector of every frame.
const FRAMES: &str = include_str!("../../../../../docs/vectors/link/frames.json");

/// Bytes of random noise on one connection.
const NOISE_BYTES_MAX: usize = 4096;

/// How long a hostile peer listens for an answer before it continues.
const LISTENS: Duration = Duration::from_millis(2);

/// Silent connections that a hostile peer keeps open; the oldest is closed when one more is added.
const HELD_MAX: usize = 4;

/// One in this many TCP connections is closed rather than reset, so that the local ports last: a
/// closed connection keeps its port for a minute.
const CLOSED_ONE_IN: usize = 16;

/// Counters of the hostile peers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Made {
    pub(crate) connections: u64,
    /// Connections that were torn before everything was sent.
    pub(crate) torn: u64,
    /// Sessions with the node that were open before they were broken.
    pub(crate) sessions: u64,
    /// Connections on which the target sent more than its header.
    pub(crate) answered: u64,
}

impl AddAssign for Made {
    fn add_assign(&mut self, other: Made) {
        self.connections += other.connections;
        self.torn += other.torn;
        self.sessions += other.sessions;
        self.answered += other.answered;
    }
}

/// Makes noise until `silence` is set.
pub(crate) async fn make(addresses: Addresses, mut draws: Draws, silence: Arc<AtomicBool>) -> Made {
    let (mut made, mut held) = (Made::default(), Vec::new());
    while !silence.load(Ordering::Relaxed) {
        let (name, address) = draws.one_of(addresses.all()).clone();
        let Some(mut stranger) = Stranger::connect(&address, &mut draws).await else {
            // Every port is in use for a moment.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        made.connections += 1;
        if name == "node" && draws.below(2) == 0 {
            made.sessions += 1;
            break_session(stranger, &mut draws).await;
            continue;
        }
        let mut said = words(&name, stranger.framing, &mut draws);
        if draws.below(3) == 0 {
            made.torn += 1;
            said.truncate(draws.below(said.len() + 1));
        }
        // The target may have closed already.
        let _ = stranger.stream.write_all(&said).await;
        made.answered +=
            u64::from(stranger.listen().await > raw::header(ProtocolNumber::PAIR1).len());
        if draws.below(8) == 0 {
            held.push(stranger);
            if held.len() > HELD_MAX {
                held.remove(0);
            }
        }
    }
    made
}

struct Stranger {
    stream: Box<dyn Stream>,
    framing: Framing,
}

impl Stranger {
    async fn connect(address: &str, draws: &mut Draws) -> Option<Stranger> {
        if let Some(path) = address.strip_prefix("ipc://") {
            let stream = UnixStream::connect(path).await.ok()?;
            return Some(Stranger { stream: Box::new(stream), framing: Framing::Ipc });
        }
        let stream = TcpStream::connect(address.strip_prefix("tcp://")?).await.ok()?;
        if draws.below(CLOSED_ONE_IN) != 0 {
            stream.set_zero_linger().ok()?;
        }
        Some(Stranger { stream: Box::new(stream), framing: Framing::Tcp })
    }

    /// Bytes that the target sends soon.
    async fn listen(&mut self) -> usize {
        let (mut bytes, mut heard) = ([0; 1024], 0);
        while let Ok(Ok(read @ 1..)) = timeout(LISTENS, self.stream.read(&mut bytes)).await {
            heard += read;
        }
        heard
    }
}

/// The bytes that a hostile peer sends to the node or to a socket.
fn words(name: &str, framing: Framing, draws: &mut Draws) -> Vec<u8> {
    let protocol = match name {
        "node" | "pair" => ProtocolNumber::PAIR1,
        "rep" => ProtocolNumber::REQ,
        "pull" => ProtocolNumber::PUSH,
        _ => ProtocolNumber::PUB,
    };
    let header = raw::header(protocol);
    match draws.below(5) {
        0 => draws.bytes(NOISE_BYTES_MAX),
        1 => [header, draws.bytes(NOISE_BYTES_MAX)].concat(),
        2 => draws.mutated(&header),
        3 if name == "node" => {
            let session = recorded(TRANSCRIPT, "\"from\": \"dialer\"").concat();
            draws.mutated(&session)
        }
        _ => {
            let mut said = header;
            for _ in 0..=draws.below(8) {
                said.extend(sp_message(framing, draws));
            }
            match draws.below(2) {
                0 => draws.mutated(&said),
                _ => said,
            }
        }
    }
}

/// A message with a valid length, a header that may be valid, and any body.
fn sp_message(framing: Framing, draws: &mut Draws) -> Vec<u8> {
    let words: Vec<u8> = (0..draws.below(4))
        .flat_map(|_| {
            let last = [0x8000_0000, 0, 1, 0xFF][draws.below(4)];
            (draws.word() as u32 & 0x00FF_FFFF | last).to_be_bytes()
        })
        .collect();
    let body = [words, draws.bytes(64)].concat();
    let (prefix, used) = framing.prefix(body.len());
    [&prefix[..used], &body].concat()
}

/// Opens a session correctly, and then sends batches of valid, mutated and random frames.
async fn break_session(stranger: Stranger, draws: &mut Draws) {
    let mut raw = Raw::new(stranger.stream, stranger.framing);
    raw.open(identity()).await;
    let attach = Frame::Attach { channel: 0, how: 0, target: b"counter", schema_hash: 0, codec: 0 };
    if draws.below(2) == 0 {
        raw.tell(&[attach]).await;
    }
    let all = recorded(FRAMES, "\"frame\":");
    for _ in 0..=draws.below(8) {
        let chosen: Vec<u8> =
            (0..=draws.below(6)).flat_map(|_| draws.one_of(&all).clone()).collect();
        let frames = match draws.below(4) {
            0 => draws.bytes(256),
            1 => chosen,
            _ => draws.mutated(&chosen),
        };
        let sequence = if draws.below(4) == 0 { draws.word() >> 40 } else { raw.sent };
        let body = raw::batch(0, sequence, draws.below(8) as u64, &frames);
        let body = if draws.below(4) == 0 { draws.mutated(&body) } else { body };
        if !raw.send(&body).await {
            return;
        }
    }
    // Reads to the end if that comes soon; a peer that the node tolerates closes by itself.
    let _ = timeout(LISTENS, raw.rest()).await;
}

/// The bytes of each line that contains `mark`.
fn recorded(vectors: &str, mark: &str) -> Vec<Vec<u8>> {
    let lines = vectors.lines().filter(|line| line.contains(mark));
    let texts = lines.filter_map(|line| line.rsplit_once("\"hex\": \"")?.1.split('"').next());
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    texts.map(|text| text.as_bytes().chunks(2).map(|pair| byte(pair).unwrap()).collect()).collect()
}
