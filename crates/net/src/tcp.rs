//! `tcp://host:port`: the SP mapping onto TCP.
//!
//! `TCP_NODELAY` is on: batching is done above, by what piles up while a write is under way. The
//! host may be a name, an IPv4 or a bracketed IPv6 address; `*` listens on every IPv4 address.

use std::io::{self, IoSlice};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use wigwag_wire::Framing;

use crate::address::Address;
use crate::error::{NetError, NetErrorKind};
use crate::transport::{Boxed, Connection, ListenOptions, Listener, Outlet, Transport};

/// Between two looks for room when a thread waits to write: little beside the time it may wait.
const WRITE_PAUSE: Duration = Duration::from_millis(1);

/// The transport.
pub struct Tcp;

impl Transport for Tcp {
    fn scheme(&self) -> &'static str {
        "tcp"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let local = resolve(address).await?;
            let listener =
                bind(local[0], options).map_err(|error| NetError::new(address, error))?;
            let bound = listener.local_addr().map_err(|error| NetError::new(address, error))?;
            let bound = Address::new("tcp", bound.to_string());
            Ok(Box::new(Accepting { listener, address: bound }) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(&'a self, address: &'a Address) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let mut refused = None;
            for target in resolve(address).await? {
                match TcpStream::connect(target).await {
                    Ok(stream) => {
                        return connection(stream, address.to_string().into())
                            .map_err(|error| NetError::new(address, error));
                    }
                    Err(error) => refused = Some(NetError::new(address, error)),
                }
            }
            Err(refused.unwrap_or_else(|| NetError::new(address, NetErrorKind::UnknownHost)))
        })
    }
}

/// Never an empty list.
async fn resolve(address: &Address) -> Result<Vec<SocketAddr>, NetError> {
    let rest = match address.rest().strip_prefix("*:") {
        Some(port) => format!("0.0.0.0:{port}"),
        None => address.rest().to_owned(),
    };
    if let Ok(numeric) = rest.parse() {
        return Ok(vec![numeric]);
    }
    let rule = "tcp wants host:port with a port from 0 to 65535";
    if rest.rsplit_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
        return Err(NetError::new(address, NetErrorKind::BadAddress { rule }));
    }
    let found: Vec<SocketAddr> = match lookup_host(rest).await {
        Ok(found) => found.collect(),
        Err(_) => Vec::new(),
    };
    if found.is_empty() {
        return Err(NetError::new(address, NetErrorKind::UnknownHost));
    }
    Ok(found)
}

fn bind(local: SocketAddr, options: ListenOptions) -> io::Result<TcpListener> {
    let socket = if local.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted service must get its port back while old connections are still in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(local)?;
    socket.listen(options.backlog)
}

fn connection(stream: TcpStream, peer: Arc<str>) -> io::Result<Connection> {
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.into_split();
    Ok(Connection {
        reader: Box::new(reader),
        outlet: Arc::new(TcpOutlet(writer)),
        framing: Framing::Tcp,
        peer,
    })
}

struct Accepting {
    listener: TcpListener,
    address: Address,
}

impl Listener for Accepting {
    fn address(&self) -> &Address {
        &self.address
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            let accepted = self.listener.accept().await;
            accepted
                .and_then(|(stream, from)| connection(stream, format!("tcp://{from}").into()))
                .map_err(|error| NetError::new(&self.address, NetErrorKind::Io(error)))
        })
    }
}

struct TcpOutlet(OwnedWriteHalf);

impl Outlet for TcpOutlet {
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(parts)
    }

    fn writable(&self) -> Boxed<'_, io::Result<()>> {
        Box::pin(self.0.writable())
    }

    fn write_blocking(&self, bytes: &[u8], limit: Duration) -> io::Result<usize> {
        write_blocking(SockRef::from(self.0.as_ref()), bytes, limit)
    }

    fn close(&self) {
        // The peer may be gone already; then there is nothing left to end.
        let _ = SockRef::from(self.0.as_ref()).shutdown(Shutdown::Both);
    }
}

/// Writes `bytes` with the calling thread until all are gone, the limit is over, or an error.
pub(crate) fn write_blocking(
    socket: SockRef<'_>,
    bytes: &[u8],
    limit: Duration,
) -> io::Result<usize> {
    let begun = std::time::Instant::now();
    let mut written = 0;
    while written < bytes.len() {
        match socket.send(&bytes[written..]) {
            Ok(0) => break,
            Ok(more) => written += more,
            // The socket stays as it is: another thread may be reading from it, and must not stop.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && begun.elapsed() < limit => {
                std::thread::sleep(WRITE_PAUSE);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    Ok(written)
}
