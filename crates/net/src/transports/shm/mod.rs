//! `shm://path` and `shm://@name`: rings of bytes in memory that two processes of one machine share.
//!
//! The address is that of a Unix socket, as of ipc. Over the socket the dialer passes the memory,
//! which has no name of its own; from then on the socket only wakes the other end, and shows when it
//! has died. Messages have the framing of tcp.
//!
//! A process sleeps in its runtime, which waits for descriptors, so one byte over the socket wakes
//! it; a futex would need a thread that waits for nothing else. The byte is sent only to an end that
//! has said that it sleeps. [`ShmOptions::spin`] lets an end look at the ring for a while before it
//! sleeps.
//!
//! The listener lets in only processes of its own user, unless its permissions give the socket file
//! to others.

mod bell;
mod greeting;
mod inlet;
mod link;
mod outlet;
pub(crate) mod upgrade;

use std::sync::Arc;
use std::time::Duration;

use wigwag_shm::{RING_BYTES, RING_BYTES_MAX, RING_BYTES_MIN};
use wigwag_sp::OutOfRange;
use wigwag_wire::Framing;

use crate::addresses::address::Address;
use crate::error::NetError;
use crate::transport::{Boxed, Connection, DialOptions, ListenOptions, Listener, Transport};
use crate::transports::ipc::{self, BoundUnixListener};
use crate::transports::stream;
use inlet::ShmInlet;
use link::Link;
use outlet::ShmOutlet;
use upgrade::share;

/// The `shm://` transport.
pub struct Shm;

impl Transport for Shm {
    fn scheme(&self) -> &'static str {
        "shm"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let admits_others = options.permissions.admit_others();
            let spin = options.shm.spin;
            let listener = ipc::listen_at(address, options)?;
            Ok(Box::new(ShmListener { listener, admits_others, spin }) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let socket = ipc::dial_at(address).await?;
            let segment = greeting::offer(&socket, options.shm.ring_bytes)
                .await
                .map_err(|kind| NetError::new(address, kind))?;
            let link = Link::open(socket, segment);
            Ok(connection(link, options.shm.spin, address.to_string()))
        })
    }
}

struct ShmListener {
    listener: BoundUnixListener,
    /// Processes of other users may connect.
    admits_others: bool,
    spin: Duration,
}

impl Listener for ShmListener {
    fn address(&self) -> &Address {
        &self.listener.address
    }

    fn is_local(&self) -> bool {
        true
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            let (socket, peer) = self.listener.accept_stream().await?;
            // The memory is awaited by the first read or write, so that a slow peer holds up only
            // itself.
            Ok(connection(Link::accepted(socket, self.admits_others), self.spin, peer))
        })
    }
}

fn connection(link: Link, spin: Duration, peer: impl Into<Arc<str>>) -> Connection {
    let link = Arc::new(link);
    let (local, credentials) = link.bell.socket().map(stream::names).unwrap_or_default();
    let inlet = ShmInlet::new(link.clone(), spin);
    let mut connection = Connection::with_inlet(inlet, ShmOutlet::new(link), Framing::Tcp, peer);
    connection.local = local.map(|name| name.replacen("ipc://", "shm://", 1).into());
    connection.credentials = credentials;
    connection.shared_memory.set();
    connection
}

/// Options of connections over shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShmOptions {
    ring_bytes: usize,
    spin: Duration,
    upgrade_ipc: bool,
}

impl Default for ShmOptions {
    fn default() -> ShmOptions {
        ShmOptions { ring_bytes: RING_BYTES, spin: Duration::ZERO, upgrade_ipc: true }
    }
}

impl ShmOptions {
    /// Bytes of the rings of all connections of ipc in this process that have moved to shared memory:
    /// 64 MiB, or 126 connections with rings as large as they are unless set.
    pub const UPGRADED_BYTES_MAX: usize = share::BYTES_MAX;

    /// Longest [`spin`](Self::spin).
    pub const SPIN_MAX: Duration = Duration::from_secs(1);

    /// Sets the bytes of each of the two rings, a power of two from 4 KiB to 16 MiB; 256 KiB unless
    /// set. The dialer decides for both ends.
    pub fn ring_bytes(mut self, bytes: usize) -> Result<ShmOptions, OutOfRange> {
        if !(RING_BYTES_MIN..=RING_BYTES_MAX).contains(&bytes) || !bytes.is_power_of_two() {
            return Err(OutOfRange {
                what: "a ring of shared memory",
                given: bytes as u64,
                least: RING_BYTES_MIN as u64,
                most: RING_BYTES_MAX as u64,
                unit: "bytes, and a power of two",
            });
        }
        self.ring_bytes = bytes;
        Ok(self)
    }

    /// Sets how long this end looks at an empty ring before it sleeps; at most
    /// [`SPIN_MAX`](Self::SPIN_MAX), zero unless set. Other tasks of the runtime run in between.
    /// It keeps one processor busy for that time behind each message, and saves the peer a system
    /// call and this end a wake.
    pub fn spin(mut self, time: Duration) -> Result<ShmOptions, OutOfRange> {
        if time > Self::SPIN_MAX {
            return Err(OutOfRange {
                what: "the time before a sleep",
                given: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
                least: 0,
                most: 1000,
                unit: "milliseconds",
            });
        }
        self.spin = time;
        Ok(self)
    }

    /// Sets whether connections of `ipc://` and `abstract://` move to shared memory if the peer is
    /// wigwag and allows it too; true unless set. They share
    /// [`UPGRADED_BYTES_MAX`](Self::UPGRADED_BYTES_MAX): further connections stay on their socket.
    /// [`PipeInfo::shared_memory`](crate::socket::PipeInfo::shared_memory) tells which one has moved.
    #[must_use]
    pub fn upgrade_ipc(mut self, on: bool) -> ShmOptions {
        self.upgrade_ipc = on;
        self
    }

    pub(crate) fn upgrades_ipc(self) -> bool {
        self.upgrade_ipc
    }
}
