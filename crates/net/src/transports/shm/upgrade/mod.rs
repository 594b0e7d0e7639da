//! An ipc connection that moves to shared memory if both ends allow it.
//!
//! The dialer passes a segment with its SP header; the kernel closes a descriptor that a peer does
//! not ask for, so other implementations see only the header. A listener holds back its own header
//! until the first bytes of the dialer's, which every SP dialer sends at once, and accepts the segment
//! before it. So an end that has the other's header knows where all bytes behind the headers go: to
//! the rings, with the socket as their bell, or to the socket.

mod inlet;
mod opening;
mod outlet;
pub(crate) mod share;

use std::io;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::net::UnixStream;
use wigwag_shm::{Segment, Side};
use wigwag_wire::Framing;

use super::ShmOptions;
use super::inlet::ShmInlet;
use super::link::{Link, check_user, lock};
use super::outlet::ShmOutlet;
use crate::transport::{Connection, SharedMemory};
use crate::transports::halves::Half;
use crate::transports::stream;
use inlet::UpgradeInlet;
use opening::{Opening, Way};
use outlet::UpgradeOutlet;
use share::Share;

/// A connection over `stream`, which was dialled: offers shared memory.
pub(crate) fn dialled(stream: UnixStream, options: ShmOptions, peer: String) -> Connection {
    let offer = || {
        let segment = Segment::create(options.ring_bytes).ok()?;
        let share = Share::of(segment.bytes())?;
        segment.offer();
        Some((segment, share))
    };
    match offer() {
        // Without memory, descriptors or a share of what all may take, the socket does it.
        None => stream::unix(stream, Framing::Ipc, peer),
        offer => connection(stream, Opening::new(Side::Creator, offer), options, peer),
    }
}

/// A connection over `stream`, which was accepted. `admits_others`: the memory of processes of other
/// users is accepted.
pub(crate) fn accepted(
    stream: UnixStream,
    admits_others: bool,
    options: ShmOptions,
    peer: String,
) -> Connection {
    match admits_others || check_user(&stream).is_ok() {
        false => stream::unix(stream, Framing::Ipc, peer),
        true => connection(stream, Opening::new(Side::Opener, None), options, peer),
    }
}

fn connection(
    stream: UnixStream,
    opening: Opening,
    options: ShmOptions,
    peer: String,
) -> Connection {
    let (local, credentials) = stream::names(&stream);
    let (reader, writer) = stream.into_split();
    let link = Arc::new(Link::without_rings(writer));
    let (inlet, outlet) = (ShmInlet::new(link.clone(), options.spin), ShmOutlet::new(link.clone()));
    let shared_memory = SharedMemory::default();
    let (opening, way) = (Mutex::new(opening), OnceLock::new());
    let upgrade = Arc::new(Upgrade { link, opening, way, used: shared_memory.clone() });
    let inlet = UpgradeInlet::new(upgrade.clone(), reader, inlet);
    let outlet = UpgradeOutlet::new(upgrade, outlet);
    let connection = Connection::with_inlet(inlet, outlet, Framing::Ipc, peer);
    Connection { local: local.map(Arc::from), credentials, shared_memory, ..connection }
}

/// The state that both halves of a connection share.
struct Upgrade {
    link: Arc<Link>,
    opening: Mutex<Opening>,
    /// Where this end writes, once its header has been written.
    way: OnceLock<Way>,
    used: SharedMemory,
}

impl Upgrade {
    /// Ready when it is known where the bytes behind the headers go.
    fn poll_way(&self, half: Half, context: &Context<'_>) -> Poll<io::Result<Way>> {
        loop {
            if let Some(way) = lock(&self.opening).way() {
                return Poll::Ready(Ok(way));
            }
            let readable = self.link.bell.poll_readable(half, context)?;
            let mut opening = lock(&self.opening);
            if opening.way().is_some() {
                // By the other half, which may have looked before this one waited.
                continue;
            }
            ready!(readable);
            match opening.receive(&self.link) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Poll::Ready(Err(error)),
            }
            if opening.way() == Some(Way::Memory) {
                self.used.set();
            }
            self.begin_writing(&opening);
            drop(opening);
            self.link.bell.wake_other(half, context);
        }
    }

    /// Notes where this end writes, if its header is written and the way is known.
    fn begin_writing(&self, opening: &Opening) {
        if let Some(way) = opening.way().filter(|_| opening.is_greeted()) {
            let _ = self.way.set(way);
        }
    }
}
