//! Connections on tokio's streams: shared by tcp, ipc, abstract names and handed-over descriptors.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::unix::SocketAddr as UnixAddress;
use tokio::net::{TcpStream, UnixStream, tcp, unix};
use wigwag_wire::Framing;

use crate::options::TcpOptions;
use crate::transport::{Connection, Credentials, Outlet};

/// Pause between two attempts of a blocking write: short beside the time it may wait.
const WRITE_PAUSE: Duration = Duration::from_millis(1);

/// A connection over tcp; `peer` is the name of the other end in errors.
pub(crate) fn tcp(
    stream: TcpStream,
    peer: impl Into<Arc<str>>,
    options: TcpOptions,
) -> io::Result<Connection> {
    stream.set_nodelay(options.no_delay)?;
    if let Some(keep_alive) = options.keep_alive {
        let silence = TcpKeepalive::new().with_time(keep_alive.silence());
        SockRef::from(&stream).set_tcp_keepalive(&silence)?;
    }
    let local = format!("tcp://{}", stream.local_addr()?);
    let (reader, writer) = stream.into_split();
    let mut connection = Connection::new(reader, TcpOutlet(writer), Framing::Tcp, peer);
    connection.local = Some(local.into());
    Ok(connection)
}

/// A connection over a Unix socket.
pub(crate) fn unix(stream: UnixStream, framing: Framing, peer: impl Into<Arc<str>>) -> Connection {
    let credentials = stream.peer_cred().ok();
    let credentials = credentials.map(|of| Credentials {
        uid: of.uid(),
        gid: of.gid(),
        pid: of.pid().filter(|pid| *pid != 0),
    });
    let local = stream.local_addr().ok().and_then(|address| name(&address));
    let (reader, writer) = stream.into_split();
    let mut connection = Connection::new(reader, UnixOutlet(writer), framing, peer);
    connection.local = local.map(Arc::from);
    connection.credentials = credentials;
    connection
}

/// A Unix address in our notation; `None` for a socket without a name.
pub(crate) fn name(address: &UnixAddress) -> Option<String> {
    if let Some(name) = address.as_abstract_name() {
        return Some(format!("abstract://{}", crate::abstract_name::escape(name)));
    }
    let path = address.as_pathname()?;
    Some(format!("ipc://{}", String::from_utf8_lossy(path.as_os_str().as_bytes())))
}

macro_rules! outlet {
    ($name:ident: $half:ty) => {
        struct $name($half);

        impl Outlet for $name {
            fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
                self.0.try_write_vectored(parts)
            }

            fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.0.as_ref().poll_write_ready(context)
            }

            fn write_blocking(&self, bytes: &[u8], limit: Duration) -> io::Result<usize> {
                write_blocking(SockRef::from(self.0.as_ref()), bytes, limit)
            }

            fn finish(&self) -> bool {
                // A peer that has left shows at the next read.
                let _ = SockRef::from(self.0.as_ref()).shutdown(Shutdown::Write);
                true
            }

            fn close(&self) {
                // The peer may have left already; then there is nothing to end.
                let _ = SockRef::from(self.0.as_ref()).shutdown(Shutdown::Both);
            }
        }
    };
}

outlet!(TcpOutlet: tcp::OwnedWriteHalf);
outlet!(UnixOutlet: unix::OwnedWriteHalf);

/// Writes `bytes` on the calling thread until all are written, the limit has passed, or an error.
fn write_blocking(socket: SockRef<'_>, bytes: &[u8], limit: Duration) -> io::Result<usize> {
    let begun = std::time::Instant::now();
    let mut written = 0;
    while written < bytes.len() {
        match socket.send(&bytes[written..]) {
            Ok(0) => break,
            Ok(more) => written += more,
            // The socket stays non-blocking: another thread may be reading from it, and must not
            // block.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && begun.elapsed() < limit => {
                std::thread::sleep(WRITE_PAUSE);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    Ok(written)
}
