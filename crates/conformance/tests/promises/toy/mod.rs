//! `toy://name`: two ends of a socket pair, in one process.

use std::collections::HashMap;
use std::io::{self, IoSlice, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{LazyLock, Mutex, Once};
use std::task::{Context, Poll};

use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc;
use wigwag::Address;
use wigwag::transport::{
    Boxed, Connection, DialOptions, Framing, ListenOptions, Listener, NetError, NetErrorKind,
    Outlet, Transport, register,
};

/// The listeners by name. The door of a listener that is gone is closed, and may be replaced.
static DOORS: LazyLock<Mutex<HashMap<String, mpsc::Sender<UnixStream>>>> =
    LazyLock::new(Mutex::default);

/// Registers `toy://`, once.
pub(crate) fn make_known() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| register(&Toy).expect("nobody else has the scheme"));
}

struct Toy;

impl Transport for Toy {
    fn scheme(&self) -> &'static str {
        "toy"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let mut doors = DOORS.lock().expect("no panic under the lock");
            let name = address.rest();
            if doors.get(name).is_some_and(|door| !door.is_closed()) {
                return Err(NetError::new(address, NetErrorKind::InUse));
            }
            let (door, arrivals) = mpsc::channel(options.get_backlog().max(1) as usize);
            doors.insert(name.to_owned(), door);
            let arrivals = tokio::sync::Mutex::new(arrivals);
            Ok(Box::new(Arrivals { address: address.clone(), arrivals }) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        _options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let nobody = || NetError::new(address, NetErrorKind::NobodyListens);
            let door = DOORS.lock().expect("no panic under the lock").get(address.rest()).cloned();
            let (ours, theirs) =
                UnixStream::pair().map_err(|error| NetError::new(address, error))?;
            door.ok_or_else(nobody)?.send(theirs).await.map_err(|_| nobody())?;
            connection(ours, address)
        })
    }
}

struct Arrivals {
    address: Address,
    arrivals: tokio::sync::Mutex<mpsc::Receiver<UnixStream>>,
}

impl Listener for Arrivals {
    fn address(&self) -> &Address {
        &self.address
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            let arrived = self.arrivals.lock().await.recv().await;
            let closed = NetErrorKind::Closed { when: "while listening" };
            let stream = arrived.ok_or_else(|| NetError::new(&self.address, closed))?;
            connection(stream, &self.address)
        })
    }
}

fn connection(stream: UnixStream, peer: &Address) -> Result<Connection, NetError> {
    let make = || {
        stream.set_nonblocking(true)?;
        let handle = stream.try_clone()?;
        let (reader, writer) = tokio::net::UnixStream::from_std(stream)?.into_split();
        Ok((reader, ToyOutlet { writer, handle }))
    };
    let (reader, outlet) = make().map_err(|error: io::Error| NetError::new(peer, error))?;
    Ok(Connection::new(reader, outlet, Framing::Tcp, peer.to_string()))
}

struct ToyOutlet {
    writer: OwnedWriteHalf,
    /// A second handle of the socket, for `close`: any thread may call it, and it must not wait.
    handle: UnixStream,
}

impl Outlet for ToyOutlet {
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.writer.try_write_vectored(parts)
    }

    fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer.as_ref().poll_write_ready(context)
    }

    fn try_write_unpolled(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.handle).write(bytes)
    }

    fn finish(&self) -> bool {
        self.handle.shutdown(Shutdown::Write).is_ok()
    }

    fn close(&self) {
        // The peer may be gone already; then there is nothing left to end.
        let _ = self.handle.shutdown(Shutdown::Both);
    }
}
