//! The first bytes over the socket: the dialer's offer, with the memory.
//!
//! The offer has 16 bytes: seven letters and a version, and the bytes of a ring as a big-endian u64;
//! with them goes the descriptor of the segment. The dialer may write to its ring at once. All other
//! bytes over the socket, in both directions, are wakes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use tokio::io::Interest;
use tokio::net::UnixStream;
use wigwag_shm::{Segment, SegmentError, pass};
use wigwag_wire::header::MEMORY_OFFER;

use crate::error::NetErrorKind;

/// Bytes of an offer.
const OFFER_BYTES: usize = 16;

/// The version of an offer, behind [`MEMORY_OFFER`].
const VERSION: u8 = 1;

/// The first bytes of an offer.
const MAGIC: [u8; 8] = {
    let mut magic = [VERSION; 8];
    magic.split_at_mut(MEMORY_OFFER.len()).0.copy_from_slice(MEMORY_OFFER);
    magic
};

/// The part of an offer that has arrived.
#[derive(Debug, Default)]
pub(super) struct Offer {
    bytes: [u8; OFFER_BYTES],
    arrived: usize,
    descriptor: Option<OwnedFd>,
}

/// Offers a new segment over `socket`, and returns it.
pub(super) async fn offer(socket: &UnixStream, ring_bytes: usize) -> Result<Segment, NetErrorKind> {
    let segment = Segment::create(ring_bytes).map_err(|error| match error {
        SegmentError::Io(error) => NetErrorKind::Io(error),
        other => NetErrorKind::Io(io::Error::other(other)),
    })?;
    let mut bytes = [0; OFFER_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..].copy_from_slice(&(ring_bytes as u64).to_be_bytes());
    let send = || pass::send(socket.as_fd(), &bytes, segment.descriptor());
    // A fresh socket has room for so few bytes: they go as a whole or not at all.
    socket.async_io(Interest::WRITABLE, send).await.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
            NetErrorKind::Closed { when: "before it had taken the shared memory" }
        }
        _ => error.into(),
    })?;
    Ok(segment)
}

impl Offer {
    /// Reads on; the segment if the offer is whole, `WouldBlock` until then.
    pub(super) fn receive(&mut self, socket: &UnixStream) -> io::Result<Segment> {
        while self.arrived < OFFER_BYTES {
            let rest = &mut self.bytes[self.arrived..];
            let read = || pass::receive(socket.as_fd(), rest);
            let (bytes, descriptor) = socket.try_io(Interest::READABLE, read)?;
            if bytes == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.arrived += bytes;
            self.descriptor = descriptor.or(self.descriptor.take());
            let known = self.arrived.min(MAGIC.len());
            if self.bytes[..known] != MAGIC[..known] {
                return Err(io::Error::other(NetErrorKind::NotShared));
            }
        }
        let ring_bytes = self.bytes[8..].try_into().map(u64::from_be_bytes).unwrap_or(0);
        let descriptor = self.descriptor.take().ok_or_else(|| {
            let rule = "the peer's offer came without its memory";
            io::Error::new(io::ErrorKind::InvalidData, rule)
        })?;
        Segment::open(descriptor, ring_bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}
