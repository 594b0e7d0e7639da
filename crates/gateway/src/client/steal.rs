//! A connection of a transport of wigwag as HTTP sees it. An upgrade to another protocol takes it over,
//! and HTTP ends.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use wigwag::transport::{Connection, Credentials, PeerCertificate};

use crate::client::first_line::FirstLine;
use crate::client::output::Output;

/// A connection that can be taken over.
pub(crate) struct Stealable {
    /// `None` when it was taken.
    connection: Mutex<Option<Connection>>,
    pub(crate) output: Output,
    stolen: Notify,
}

impl Stealable {
    /// A connection whose peer must read something within `stall_time` when a write waits.
    pub(crate) fn new(connection: Connection, stall_time: Duration) -> Stealable {
        let output = Output::new(connection.outlet.clone(), stall_time);
        Stealable { connection: Mutex::new(Some(connection)), output, stolen: Notify::new() }
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

    /// Takes the connection. HTTP does nothing more on it. `None` if it was taken before, or if the peer
    /// does not read the answers to what it asked before.
    pub(crate) fn steal(&self) -> Option<Connection> {
        if !self.output.send_now() {
            return None;
        }
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

/// The connection as tokio's traits have it.
pub(crate) struct ConnectionIo {
    shared: Arc<Stealable>,
    first_line: FirstLine,
}

impl ConnectionIo {
    pub(crate) fn new(shared: Arc<Stealable>) -> ConnectionIo {
        ConnectionIo { shared, first_line: FirstLine::default() }
    }
}

impl AsyncRead for ConnectionIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let ConnectionIo { shared, first_line } = &mut *self;
        let before = into.filled().len();
        match &mut *shared.connection() {
            Some(connection) => {
                ready!(Pin::new(&mut connection.reader).poll_read(context, into))?;
            }
            // The end of what HTTP may read.
            None => return Poll::Ready(Ok(())),
        }
        if first_line.read(&into.filled()[before..]) {
            shared.output.open();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ConnectionIo {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.shared.output.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.shared.output.poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.shared.output.poll_sent(context))?;
        let outlet = self.shared.output.outlet();
        if self.shared.connection().is_some() && !outlet.finish() {
            outlet.close();
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for ConnectionIo {
    fn drop(&mut self) {
        if self.shared.connection().is_some() {
            self.shared.output.send_now();
            self.shared.output.outlet().close();
        }
    }
}
