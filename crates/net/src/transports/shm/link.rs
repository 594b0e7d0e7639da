//! The state that both halves of a connection share: the rings, and the bell.

use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use wigwag_shm::{Broken, Consumer, Producer, Segment, Side};

use super::bell::Bell;
use super::greeting::Offer;
use crate::transports::halves::Half;

pub(super) struct Link {
    pub(super) bell: Bell,
    rings: OnceLock<Rings>,
    /// The offer that a listener waits for.
    opening: Mutex<Opening>,
}

struct Rings {
    producer: Mutex<Producer>,
    consumer: Mutex<Consumer>,
}

#[derive(Default)]
struct Opening {
    offer: Offer,
    admits_others: bool,
}

impl Link {
    /// The dialer's side, whose segment the listener has taken.
    pub(super) fn open(socket: UnixStream, segment: Segment) -> Link {
        let link = Link::without_rings(socket.into_split().1);
        link.begin(segment, Side::Creator);
        link
    }

    /// A side that gets its rings later, by [`begin`](Self::begin) or from an offer.
    pub(super) fn without_rings(half: OwnedWriteHalf) -> Link {
        Link { bell: Bell::new(half), rings: OnceLock::new(), opening: Mutex::default() }
    }

    /// The listener's side. `admits_others`: processes of other users may connect.
    pub(super) fn accepted(socket: UnixStream, admits_others: bool) -> Link {
        let opening = Mutex::new(Opening { offer: Offer::default(), admits_others });
        Link { opening, ..Link::without_rings(socket.into_split().1) }
    }

    /// Takes the segment into use.
    pub(super) fn begin(&self, segment: Segment, side: Side) {
        let (producer, consumer) = segment.into_rings(side);
        let rings = Rings { producer: Mutex::new(producer), consumer: Mutex::new(consumer) };
        // One caller only: a constructor, or code that holds the lock of an opening.
        let _ = self.rings.set(rings);
    }

    /// Ready when there are rings.
    pub(super) fn poll_open(&self, half: Half, context: &Context<'_>) -> Poll<io::Result<()>> {
        while self.rings.get().is_none() {
            let readable = self.bell.poll_readable(half, context)?;
            let mut opening = lock(&self.opening);
            if self.rings.get().is_some() {
                // By the other half, which may have looked before this one waited.
                break;
            }
            ready!(readable);
            if !opening.admits_others {
                check_user(self.bell.socket()?)?;
            }
            match opening.offer.receive(self.bell.socket()?) {
                Ok(segment) => self.begin(segment, Side::Opener),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The ring to write to; `None` until there is one.
    pub(super) fn producer(&self) -> Option<MutexGuard<'_, Producer>> {
        self.rings.get().map(|rings| lock(&rings.producer))
    }

    /// The ring to read from; `None` until there is one.
    pub(super) fn consumer(&self) -> Option<MutexGuard<'_, Consumer>> {
        self.rings.get().map(|rings| lock(&rings.consumer))
    }
}

/// The peer of a socket must belong to the user of this process.
pub(super) fn check_user(socket: &UnixStream) -> io::Result<()> {
    let (peer, own) = (socket.peer_cred()?.uid(), rustix::process::geteuid().as_raw());
    if peer == own {
        return Ok(());
    }
    let rule = format!("the peer belongs to user {peer}, only {own} may connect");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, rule))
}

/// A ring whose user has panicked is as good as before: its counters are written last.
pub(super) fn lock<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The peer's fault, as an error of the connection.
pub(super) fn broken(error: Broken) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
