//! The messages that a hand-written peer sends, as bytes.

use std::sync::atomic::{AtomicU64, Ordering};

use wigwag_link::batch::BatchHeader;
use wigwag_link::frame::Frame;
use wigwag_link::{Identity, Limits, Opening, write};
use wigwag_wire::{Buffer, Framing, Header, ProtocolNumber};

/// The PAIR1 header of a message that comes straight from its sender.
pub(super) const ONE_HOP: [u8; 4] = [0, 0, 0, 1];

/// The SP header: the eight bytes that begin a connection.
pub fn header(protocol: ProtocolNumber) -> Vec<u8> {
    Header { protocol }.to_bytes().to_vec()
}

/// Frames `body` as an SP message on a stream.
pub fn message(framing: Framing, body: &[u8]) -> Vec<u8> {
    let (prefix, used) = framing.prefix(ONE_HOP.len() + body.len());
    [&prefix[..used], &ONE_HOP, body].concat()
}

/// Frames `body` as an SP message over TCP.
pub fn pair(body: &[u8]) -> Vec<u8> {
    message(Framing::Tcp, body)
}

/// A new identity, which no node has met before.
pub fn identity() -> Identity {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = u128::from(NEXT.fetch_add(1, Ordering::Relaxed));
    Identity {
        node: number,
        incarnation: number << 64,
        nonce: number,
        offered: 0,
        required: 0,
        limits: Limits::default(),
    }
}

/// A HELLO with the identity `who`.
pub fn hello(who: Identity) -> Vec<u8> {
    Opening::dial(who, 7).1.as_slice().to_vec()
}

/// OPEN of session 7.
pub fn open() -> Vec<u8> {
    let mut message = vec![3];
    message.extend(7_u128.to_le_bytes());
    message.extend([0, 0]);
    message
}

/// OPENED with token 0.
pub fn opened() -> Vec<u8> {
    [&[4][..], &[0; 16], &[0]].concat()
}

/// A batch whose header need not match its frames.
pub fn batch(ack: u64, first_seq: u64, count: u64, frames: &[u8]) -> Vec<u8> {
    let mut out = Buffer::new();
    BatchHeader { ack, first_seq, count }.encode(&mut out);
    out.extend(frames);
    out.as_slice().to_vec()
}

/// Encodes frames.
pub fn frames(frames: &[Frame<'_>]) -> Vec<u8> {
    let mut out = Buffer::new();
    frames.iter().for_each(|frame| write::any(&mut out, frame));
    out.as_slice().to_vec()
}
