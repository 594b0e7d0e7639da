//! What every transport promises, and the list of them.
//!
//! A transport makes connections: a reader, an [`Outlet`] to write to, and the way SP messages
//! stand on it. It decides nothing about protocols. A new one is one file and one line in
//! [`TRANSPORTS`], and one line in the conformance tests.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncRead;
use wigwag_wire::Framing;

use crate::address::Address;
use crate::error::NetError;

/// Every transport there is.
pub static TRANSPORTS: [&dyn Transport; 3] =
    [&crate::tcp::Tcp, &crate::ipc::Ipc, &crate::inproc::Inproc];

/// A future in a box, as traits that are used by name of a scheme need it.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Connections that may wait to be accepted. The kernel cuts it to `net.core.somaxconn`.
pub const BACKLOG: u32 = 1024;

/// How to listen.
#[derive(Clone, Copy, Debug)]
pub struct ListenOptions {
    /// Connections that may wait to be accepted.
    pub backlog: u32,
}

impl Default for ListenOptions {
    fn default() -> ListenOptions {
        ListenOptions { backlog: BACKLOG }
    }
}

/// A way to reach peers.
pub trait Transport: Send + Sync {
    /// The word in front of `://`.
    fn scheme(&self) -> &'static str;

    /// Listens at `address`. Dropping the future leaves nothing behind.
    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>>;

    /// Connects to `address`, once. Dropping the future closes what was begun.
    fn dial<'a>(&'a self, address: &'a Address) -> Boxed<'a, Result<Connection, NetError>>;
}

/// An address at which peers arrive.
pub trait Listener: Send + Sync {
    /// Where it really listens: port 0 has become a port.
    fn address(&self) -> &Address;

    /// The next peer. An error speaks of one attempt; the listener goes on.
    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>>;
}

/// Two directions of bytes to one peer.
pub struct Connection {
    /// What the peer sends.
    pub reader: Box<dyn AsyncRead + Send + Sync + Unpin>,
    /// What we send.
    pub outlet: Arc<dyn Outlet>,
    /// How SP messages stand on it.
    pub framing: Framing,
    /// Who is at the other end, as an address.
    pub peer: Arc<str>,
}

/// The writing half, usable from any thread without waiting.
pub trait Outlet: Send + Sync {
    /// Writes what the other side has room for; `WouldBlock` when there is none.
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize>;

    /// Waits until a write may succeed. One waiter at a time.
    fn writable(&self) -> Boxed<'_, io::Result<()>>;

    /// Writes with the calling thread, for at most `limit`: for a process that is about to end.
    fn write_blocking(&self, bytes: &[u8], limit: Duration) -> io::Result<usize>;

    /// Ends both directions; what was written is still delivered if the transport can.
    fn close(&self);
}

/// The transport that serves an address.
pub fn transport(address: &Address) -> &'static dyn Transport {
    TRANSPORTS
        .into_iter()
        .find(|transport| transport.scheme() == address.scheme())
        .expect("an Address is only made with a scheme from TRANSPORTS")
}

/// Listens at `address` by its scheme.
pub async fn listen(
    address: &Address,
    options: ListenOptions,
) -> Result<Box<dyn Listener>, NetError> {
    transport(address).listen(address, options).await
}

/// Connects to `address` by its scheme.
pub async fn dial(address: &Address) -> Result<Connection, NetError> {
    transport(address).dial(address).await
}
