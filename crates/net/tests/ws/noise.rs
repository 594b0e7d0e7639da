//! Random bytes, and valid transcripts with random changes: the socket goes on with its other peers.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use wigwag_net::socket::{Pull, Push};

use super::raw::{Role, frame, in_time, request};

/// A generator of random numbers (xorshift) with a seed that is printed.
struct Random(u64);

impl Random {
    fn new() -> Random {
        use std::hash::BuildHasher;
        let drawn = std::hash::RandomState::new().hash_one(0) | 1;
        let seed = std::env::var("WIGWAG_SEED").map_or(drawn, |seed| seed.parse().unwrap());
        eprintln!("WIGWAG_SEED={seed}");
        Random(seed)
    }

    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % below
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.next(most)).map(|_| self.next(256) as u8).collect()
    }
}

/// A valid request and frames of every kind, with one to three random changes.
fn mutated(random: &mut Random) -> Vec<u8> {
    let mut bytes = request("/", "Sec-WebSocket-Protocol: pull.sp.nanomsg.org\r\n").into_bytes();
    let head = bytes.len();
    for first in [0x82, 0x02, 0x89, 0x00, 0x8a, 0x80, 0x82, 0x88] {
        bytes.extend(frame(Role::Client, first, &random.bytes(200)));
    }
    for _ in 0..1 + random.next(3) {
        // Mostly in the frames: a changed request is refused as a rule.
        let from = if random.next(4) == 0 { 0 } else { head };
        let place = from + random.next(bytes.len() - from);
        match random.next(3) {
            0 => bytes[place] = random.next(256) as u8,
            1 => drop(bytes.drain(place..(place + 1 + random.next(20)).min(bytes.len()))),
            _ => drop(bytes.splice(place..place, random.bytes(20))),
        }
    }
    bytes
}

/// Sends `bytes` in two parts, waiting for the answer to the request in between, and reads to the end.
async fn send(place: &str, bytes: &[u8], random: &mut Random) {
    let mut stream = TcpStream::connect(place).await.unwrap();
    let head = bytes.windows(4).position(|end| end == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
    let (head, frames) = bytes.split_at(head.min(bytes.len()));
    let _ = stream.write_all(head).await;
    if !frames.is_empty() {
        let _ = stream.read(&mut [0; 4096]).await;
        let (left, right) = frames.split_at(random.next(frames.len() + 1));
        let _ = stream.write_all(left).await;
        let _ = stream.write_all(right).await;
    }
    let _ = stream.shutdown().await;
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise_harms_nobody_else() {
    let rounds = if std::env::var("WIGWAG_NIGHTLY").is_ok() { 200_000 } else { 1000 };
    let mut random = Random::new();
    let pull = Pull::new();
    let address = pull.listen("ws://127.0.0.1:0").await.unwrap().to_string();
    let place = &address["ws://".len()..];
    let drained = tokio::spawn({
        let pull = std::sync::Arc::new(pull);
        async move {
            while pull.recv().await.is_ok_and(|message| message != "the last") {}
            pull
        }
    });
    let push = Push::new();
    push.dial(&address).await.unwrap();
    for round in 0..rounds {
        let bytes = match round % 4 {
            0 => random.bytes(300),
            _ => mutated(&mut random),
        };
        in_time(&format!("round {round}"), send(place, &bytes, &mut random)).await;
    }
    push.send("the last").await.unwrap();
    let pull = in_time("the last", drained).await.unwrap();
    assert_eq!(pull.pipes().len(), 1, "the partner is connected, and nobody else");
    assert_eq!(push.statistics().pipes_opened, 1);
}
