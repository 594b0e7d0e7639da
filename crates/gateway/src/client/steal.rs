//! A connection of a transport of wigwag as HTTP sees it. What speaks another protocol on it takes it
//! over, and HTTP ends.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Sleep, sleep};
use wigwag::transport::{Connection, Credentials, Outlet, PeerCertificate};

/// A connection that can be taken over.
pub(crate) struct Stealable {
    /// `None` when it was taken.
    connection: Mutex<Option<Connection>>,
    outlet: Arc<dyn Outlet>,
    stolen: Notify,
}

impl Stealable {
    pub(crate) fn new(connection: Connection) -> Stealable {
        let outlet = connection.outlet.clone();
        Stealable { connection: Mutex::new(Some(connection)), outlet, stolen: Notify::new() }
    }

    /// The address of the peer, and what the connection says of its identity.
    pub(crate) fn peer(&self) -> (Arc<str>, PeerCertificate, Option<Credentials>) {
        match &*self.connection() {
            Some(connection) => {
                let Connection { peer, certificate, credentials, .. } = connection;
                (peer.clone(), certificate.clone(), *credentials)
            }
            None => ("".into(), PeerCertificate::default(), None),
        }
    }

    /// Takes the connection. HTTP does nothing more on it.
    pub(crate) fn steal(&self) -> Option<Connection> {
        let connection = self.connection().take();
        self.stolen.notify_one();
        connection
    }

    /// Waits until it was taken.
    pub(crate) async fn stolen(&self) {
        self.stolen.notified().await;
    }

    fn connection(&self) -> MutexGuard<'_, Option<Connection>> {
        // The place is consistent between two statements, so a panic elsewhere has broken nothing.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection as tokio's traits have it. A peer that does not read for some time ends it.
pub(crate) struct ConnectionIo {
    shared: Arc<Stealable>,
    stall_time: Duration,
    /// When the peer must have read something, while a write waits.
    stall: Option<Pin<Box<Sleep>>>,
}

impl ConnectionIo {
    pub(crate) fn new(shared: Arc<Stealable>, stall_time: Duration) -> ConnectionIo {
        ConnectionIo { shared, stall_time, stall: None }
    }

    /// Waits for room, for a limited time.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(ready) = self.shared.outlet.poll_writable(context) {
            return Poll::Ready(ready);
        }
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(self.stall_time)));
        ready!(stall.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Repeats `write` until it has an outcome other than that there is no room.
    fn poll_with<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl Fn(&dyn Outlet) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            match write(&*self.shared.outlet) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.poll_room(context))?;
                }
                outcome => {
                    self.stall = None;
                    return Poll::Ready(outcome);
                }
            }
        }
    }
}

impl AsyncRead for ConnectionIo {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self.shared.connection() {
            Some(connection) => Pin::new(&mut connection.reader).poll_read(context, into),
            // The end of what HTTP may read.
            None => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for ConnectionIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_with(context, |outlet| outlet.try_write(&[IoSlice::new(bytes)]))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_with(context, |outlet| outlet.try_write(parts))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_with(context, |outlet| outlet.try_flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.shared.connection().is_some() && !self.shared.outlet.finish() {
            self.shared.outlet.close();
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for ConnectionIo {
    fn drop(&mut self) {
        if self.shared.connection().is_some() {
            self.shared.outlet.close();
        }
    }
}
