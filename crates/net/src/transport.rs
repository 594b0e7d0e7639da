//! The interface of every transport, and the list of them.
//!
//! A transport makes connections: a reader, an [`Outlet`] to write to, and the framing of SP
//! messages. It decides nothing about protocols. A new transport is one file and one line in
//! [`TRANSPORTS`] (or a call of [`register`], from outside of this crate), and two lines in the
//! conformance tests, for connections and for sockets over them; `docs/transports.md` is a guide.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};
use wigwag_wire::{Batch, Framing, ReadBuf};

use crate::addresses::address::Address;
use crate::error::{NetError, NetErrorKind};
pub use crate::options::{DialOptions, ListenOptions};

/// Every transport that comes with the crate.
pub static TRANSPORTS: &[&dyn Transport] = &[
    &crate::transports::tcp::Tcp,
    #[cfg(feature = "tls")]
    &crate::transports::tls::TlsTcp,
    &crate::transports::ipc::Ipc,
    &crate::transports::abstract_name::Abstract,
    &crate::transports::inproc::Inproc,
    &crate::transports::descriptor::Descriptors,
    #[cfg(feature = "shm")]
    &crate::transports::shm::Shm,
    #[cfg(feature = "ws")]
    &crate::transports::ws::WS,
    #[cfg(all(feature = "ws", feature = "tls"))]
    &crate::transports::ws::WSS,
];

/// Transports that a process may [`register`].
pub const REGISTERED_MAX: usize = 16;

/// Transports added with [`register`].
static REGISTERED: RwLock<Vec<&'static dyn Transport>> = RwLock::new(Vec::new());

/// A boxed future, which trait objects need.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Connections that may wait to be accepted. The kernel limits it to `net.core.somaxconn`.
pub const BACKLOG: u32 = 1024;

/// Slices of one vectored write. Linux takes 1,024; few batches have more than a handful.
pub const SLICES_MAX: usize = 64;

/// Pause between two attempts of [`Outlet::write_blocking`]: short beside the time it may wait.
const WRITE_PAUSE: Duration = Duration::from_millis(1);

/// A way to reach peers, chosen by the scheme of an address.
pub trait Transport: Send + Sync {
    /// The scheme in front of `://`.
    fn scheme(&self) -> &'static str;

    /// Listens at `address`. Dropping the future leaves nothing behind.
    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>>;

    /// Connects to `address`, once. Dropping the future closes what was begun.
    fn dial<'a>(
        &'a self,
        address: &'a Address,
        options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>>;

    /// False if an address can be dialled only once, so that a dialer does not try again.
    fn redials(&self) -> bool {
        true
    }
}

/// A listening address that accepts peers.
pub trait Listener: Send + Sync {
    /// The address it really listens at: port 0 has become a port.
    fn address(&self) -> &Address;

    /// Accepts the next peer. An error concerns one attempt; the listener goes on.
    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>>;

    /// True if no further peer will come: then an error of [`accept`](Self::accept) is its last answer,
    /// and the listener is dropped. A listener whose connections are handed over ends with whoever hands
    /// them over; those of other transports go on until they are dropped.
    fn has_ended(&self) -> bool {
        false
    }

    /// True if only programs of this machine can connect. A node demands that all others prove who
    /// they are.
    fn is_local(&self) -> bool {
        false
    }

    /// True if a connection takes a descriptor of the process.
    fn takes_descriptors(&self) -> bool {
        true
    }
}

/// A connection with one peer: two directions of bytes.
pub struct Connection {
    /// The bytes that the peer sends.
    pub reader: Box<dyn Inlet>,
    /// The writing half.
    pub outlet: Arc<dyn Outlet>,
    /// The framing of SP messages.
    pub framing: Framing,
    /// The address of the other end.
    pub peer: Arc<str>,
    /// The address of our own end, if the transport has one.
    pub local: Option<Arc<str>>,
    /// The credentials of the peer, if the kernel vouches for them: on Unix sockets.
    pub credentials: Option<Credentials>,
    /// The name of the peer, if the server that has handed the connection over vouches for it: it has
    /// identified the peer in a way of its own.
    pub vouched_name: Option<Arc<str>>,
    /// The certificate of the peer, if the transport has one.
    pub certificate: PeerCertificate,
    /// The certificate that a listener has presented to the peer, in DER.
    pub own_certificate: Option<Arc<[u8]>>,
    /// Whether the bytes go through memory that both processes share.
    pub shared_memory: SharedMemory,
}

impl Connection {
    /// A connection of which only the peer's address is known.
    pub fn new(
        reader: impl AsyncRead + Send + Sync + Unpin + 'static,
        outlet: impl Outlet + 'static,
        framing: Framing,
        peer: impl Into<Arc<str>>,
    ) -> Connection {
        Connection::with_inlet(ByteInlet(reader), outlet, framing, peer)
    }

    /// [`new`](Self::new) with a reading half that hands over memory.
    pub fn with_inlet(
        inlet: impl Inlet + 'static,
        outlet: impl Outlet + 'static,
        framing: Framing,
        peer: impl Into<Arc<str>>,
    ) -> Connection {
        Connection {
            reader: Box::new(inlet),
            outlet: Arc::new(outlet),
            framing,
            peer: peer.into(),
            local: None,
            credentials: None,
            vouched_name: None,
            certificate: PeerCertificate::default(),
            own_certificate: None,
            shared_memory: SharedMemory::default(),
        }
    }
}

/// The process at the other end of a Unix socket, as the kernel saw it when it connected or began
/// to listen (`SO_PEERCRED`). A process can end and its number be reused, so decisions should rest
/// on user and group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The user.
    pub uid: u32,
    /// The user's group.
    pub gid: u32,
    /// The process; `None` if it is in a namespace that this process cannot see.
    pub pid: Option<i32>,
}

/// The place for the certificate of a peer, which is there once a handshake of TLS is complete, and
/// if the peer has presented one. Clones are the same place.
#[derive(Clone, Debug, Default)]
pub struct PeerCertificate(Arc<OnceLock<Arc<[u8]>>>);

impl PeerCertificate {
    /// The certificate of the end entity in DER.
    pub fn get(&self) -> Option<Arc<[u8]>> {
        self.0.get().cloned()
    }

    /// The first DNS name that the certificate is for, among its subject alternative names (RFC 5280
    /// 4.2.1.6). `None` without a certificate, and if it is for no DNS name.
    #[cfg(feature = "tls")]
    pub fn dns_name(&self) -> Option<String> {
        let der = self.0.get()?;
        crate::transports::tls::first_dns_name(der)
    }

    /// Leaves the certificate there, for a transport. Only the first one stays.
    pub fn set(&self, der: &[u8]) {
        let _ = self.0.set(der.into());
    }
}

/// Whether the bytes of a connection go through memory that both processes share, which is known
/// once a handshake is complete. Clones are the same place.
#[derive(Clone, Debug, Default)]
pub struct SharedMemory(Arc<OnceLock<()>>);

impl SharedMemory {
    /// True if they do.
    pub fn is_used(&self) -> bool {
        self.0.get().is_some()
    }

    /// Says so, for a transport.
    pub fn set(&self) {
        let _ = self.0.set(());
    }
}

/// The reading half of a connection.
pub trait Inlet: AsyncRead + Send + Sync + Unpin {
    /// Appends what has arrived to `input`, and returns the number of bytes; 0 at the end of the
    /// stream. Only a transport within one process, which hands over memory, needs its own.
    fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        input: &mut ReadBuf,
    ) -> Poll<io::Result<usize>>;

    /// Frees memory of its own that holds no bytes: nothing has arrived for a while.
    fn release(&mut self) {}
}

impl dyn Inlet {
    /// [`poll_fill`](Inlet::poll_fill) as a future. A future dropped before it is ready has read
    /// nothing.
    pub async fn fill(&mut self, input: &mut ReadBuf) -> io::Result<usize> {
        poll_fn(|context| self.poll_fill(context, input)).await
    }
}

/// The reading half of a transport whose bytes are read into memory of this side: of every one
/// that leaves the process.
pub struct ByteInlet<R>(pub R);

impl<R: AsyncRead + Unpin> AsyncRead for ByteInlet<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<R: AsyncRead + Send + Sync + Unpin> Inlet for ByteInlet<R> {
    fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        input: &mut ReadBuf,
    ) -> Poll<io::Result<usize>> {
        pin!(self.0.read_buf(input.space())).poll(context)
    }
}

/// The writing half of a connection, usable from any thread without waiting.
pub trait Outlet: Send + Sync {
    /// Writes as much as there is room for; `WouldBlock` if there is none.
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize>;

    /// [`try_write`](Self::try_write) of the front of `batch`, which it removes from it: one call of
    /// at most [`SLICES_MAX`] slices. Only a transport within one process, which hands over memory,
    /// needs its own.
    fn try_write_batch(&self, batch: &mut Batch) -> io::Result<()> {
        let mut parts = [IoSlice::new(&[]); SLICES_MAX];
        let mut used = 0;
        for (part, slice) in parts.iter_mut().zip(batch.slices()) {
            *part = IoSlice::new(slice);
            used += 1;
        }
        match self.try_write(&parts[..used])? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            written => {
                batch.advance(written);
                Ok(())
            }
        }
    }

    /// Writes what an earlier call has accepted and could not pass on; `WouldBlock` while some of it
    /// is left. Only a transport that changes the bytes on their way, as TLS does, holds any.
    fn try_flush(&self) -> io::Result<()> {
        Ok(())
    }

    /// Ready if a write or [`try_flush`](Self::try_flush) may succeed; otherwise the task is woken
    /// then. One waiter at a time: only the last one is woken.
    fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Waits until a write may succeed. One waiter at a time.
    fn writable(&self) -> Boxed<'_, io::Result<()>> {
        Box::pin(poll_fn(|context| self.poll_writable(context)))
    }

    /// True if [`try_write`](Self::try_write) works on every thread; false for a simulated network
    /// that knows only the thread of its simulation.
    fn writes_on_any_thread(&self) -> bool {
        true
    }

    /// [`try_write`](Self::try_write) without the help of the runtime, which may have stopped. A
    /// transport on a type of tokio needs its own: that type writes nothing more after `WouldBlock`
    /// until the runtime has seen that there is room.
    fn try_write_unpolled(&self, bytes: &[u8]) -> io::Result<usize> {
        self.try_write(&[IoSlice::new(bytes)])
    }

    /// Writes on the calling thread, for at most `limit`, and returns how much; for a process that
    /// is about to exit. Only a transport that holds bytes back, as TLS does, needs its own.
    fn write_blocking(&self, bytes: &[u8], limit: Duration) -> io::Result<usize> {
        let (begun, mut written) = (Instant::now(), 0);
        while written < bytes.len() {
            match self.try_write_unpolled(&bytes[written..]) {
                Ok(0) => break,
                Ok(more) => written += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock && begun.elapsed() < limit =>
                {
                    std::thread::sleep(WRITE_PAUSE);
                }
                Err(_) => break,
            }
        }
        Ok(written)
    }

    /// Ends our direction only: the peer reads everything written and then the end, and can still
    /// write. The connection stays open until [`close`](Self::close). False, without any effect, if
    /// the transport cannot do that.
    fn finish(&self) -> bool {
        false
    }

    /// Ends both directions; written bytes are still delivered if the transport can.
    fn close(&self);

    /// Ends the connection with an error for the peer, if the transport can, so that the peer does
    /// not take a message that was refused for delivered. Takes effect when the reader and this half
    /// are dropped; bytes that the peer has not read by then may be lost.
    fn abort(&self) {
        self.close();
    }
}

/// Adds a custom transport to those that addresses can name, for the life of the process.
///
/// # Errors
/// `InUse` if its scheme is taken, `TooMany` if [`REGISTERED_MAX`] transports are registered.
pub fn register(transport: &'static dyn Transport) -> Result<(), NetError> {
    let place = format!("{}://", transport.scheme());
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    let mut taken = TRANSPORTS.iter().chain(registered.iter());
    if taken.any(|known| known.scheme() == transport.scheme()) {
        return Err(NetError::new(place, NetErrorKind::InUse));
    }
    if registered.len() >= REGISTERED_MAX {
        let what = "registered transports";
        return Err(NetError::new(place, NetErrorKind::TooMany { what, most: REGISTERED_MAX }));
    }
    registered.push(transport);
    Ok(())
}

/// The transport with this scheme.
pub(crate) fn by_scheme(scheme: &str) -> Option<&'static dyn Transport> {
    let built_in = TRANSPORTS.iter().copied().find(|known| known.scheme() == scheme);
    built_in.or_else(|| {
        let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
        registered.iter().copied().find(|known| known.scheme() == scheme)
    })
}

/// The transport that serves an address.
///
/// # Errors
/// `UnknownScheme`, for an address that was constructed by hand.
pub fn transport(address: &Address) -> Result<&'static dyn Transport, NetError> {
    let unknown = || NetError::new(address, NetErrorKind::UnknownScheme);
    by_scheme(address.scheme()).ok_or_else(unknown)
}

/// Listens at `address` with the transport of its scheme.
pub async fn listen(
    address: &Address,
    options: ListenOptions,
) -> Result<Box<dyn Listener>, NetError> {
    transport(address)?.listen(address, options).await
}

/// Connects to `address` with the transport of its scheme.
pub async fn dial(address: &Address) -> Result<Connection, NetError> {
    dial_with(address, DialOptions::default()).await
}

/// Connects to `address` with the transport of its scheme and with options; socket options are
/// ignored.
pub async fn dial_with(address: &Address, options: DialOptions) -> Result<Connection, NetError> {
    transport(address)?.dial(address, options).await
}
