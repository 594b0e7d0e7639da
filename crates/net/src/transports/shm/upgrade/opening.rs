//! The exchange of the headers, which settles the way of the bytes behind them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use tokio::io::Interest;
use wigwag_shm::{Segment, Side, pass};
use wigwag_wire::header::HEADER_BYTES;

use super::share::Share;
use crate::transports::shm::link::Link;

/// Where the bytes behind the headers go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Socket,
    Memory,
}

pub(super) struct Opening {
    side: Side,
    segment: Option<Segment>,
    /// The share of the segment, as long as the connection.
    share: Option<Share>,
    theirs: [u8; HEADER_BYTES],
    arrived: usize,
    /// Bytes of our header that are still to be written.
    ours_left: usize,
    way: Option<Way>,
}

impl Opening {
    /// `offer`: the dialer's.
    pub(super) fn new(side: Side, offer: Option<(Segment, Share)>) -> Opening {
        let (segment, share) = offer.unzip();
        let (theirs, arrived, ours_left) = ([0; HEADER_BYTES], 0, HEADER_BYTES);
        Opening { side, segment, share, theirs, arrived, ours_left, way: None }
    }

    pub(super) fn way(&self) -> Option<Way> {
        self.way
    }

    /// The part of the peer's header that has arrived.
    pub(super) fn theirs(&self) -> &[u8] {
        &self.theirs[..self.arrived]
    }

    /// Our header is written.
    pub(super) fn is_greeted(&self) -> bool {
        self.ours_left == 0
    }

    /// Whether our header may be written: the dialer's at once, the listener's once the way is known.
    pub(super) fn may_greet(&self) -> bool {
        !self.is_greeted() && (self.side == Side::Creator || self.way.is_some())
    }

    /// Writes the front of `bytes`, as far as it belongs to our header, with the dialer's offer.
    pub(super) fn send(&mut self, link: &Link, bytes: &[u8]) -> io::Result<usize> {
        let socket = link.bell.socket()?;
        let bytes = &bytes[..bytes.len().min(self.ours_left)];
        let offer = self.segment.as_ref().filter(|_| {
            self.side == Side::Creator && self.ours_left == HEADER_BYTES && !bytes.is_empty()
        });
        let sent = match offer {
            Some(segment) => socket.try_io(Interest::WRITABLE, || {
                pass::send(socket.as_fd(), bytes, segment.descriptor())
            }),
            None => socket.try_write(bytes),
        }?;
        self.ours_left -= sent;
        Ok(sent)
    }

    /// Reads from the peer's header.
    pub(super) fn receive(&mut self, link: &Link) -> io::Result<()> {
        let socket = link.bell.socket()?;
        let rest = &mut self.theirs[self.arrived..];
        let (bytes, descriptor) =
            socket.try_io(Interest::READABLE, || pass::receive(socket.as_fd(), rest))?;
        if self.arrived == 0 {
            self.choose(descriptor.filter(|_| bytes > 0));
        }
        self.arrived += bytes;
        if bytes == 0 || self.segment.is_none() {
            self.way = Some(Way::Socket);
        } else if self.arrived == HEADER_BYTES
            && let Some(segment) = self.segment.take()
        {
            link.begin(segment, self.side);
            self.way = Some(Way::Memory);
        }
        Ok(())
    }

    /// Keeps the segment only if both ends use it, which is known with the peer's first bytes.
    fn choose(&mut self, descriptor: Option<OwnedFd>) {
        let accept = |descriptor| {
            // Closes what is no offer, as the kernel would.
            let segment = Segment::open_offered(descriptor).ok()?;
            let share = Share::of(segment.bytes())?;
            segment.accept().ok()?;
            Some((segment, share))
        };
        let is_used = match self.side {
            Side::Creator => self.segment.as_ref().is_some_and(Segment::is_accepted),
            Side::Opener => {
                (self.segment, self.share) = descriptor.and_then(accept).unzip();
                self.segment.is_some()
            }
        };
        if !is_used {
            (self.segment, self.share) = (None, None);
        }
    }
}
