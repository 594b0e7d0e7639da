//! `socket://number`: sockets that another program or library has opened.
//!
//! A parent process, a service manager or `socketpair` provides a connected or listening socket;
//! [`hand_over`] takes it and returns an address that can be dialled or listened at once, like any
//! other. An unused descriptor is closed when its [`HandedOver`] is dropped.
//!
//! The framing on a Unix socket: with the type byte of ipc if one of its ends has a name, and
//! without it on a nameless pair, which is what NNG's `socket://` speaks.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::os::unix::net as unix;
use std::sync::{LazyLock, Mutex, PoisonError};

use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use wigwag_wire::Framing;

use crate::addresses::address::Address;
use crate::error::{NetError, NetErrorKind};
use crate::transport::{Boxed, Connection, DialOptions, ListenOptions, Listener, Transport};
use crate::transports::{ipc, stream, tcp};

/// Descriptors that may wait to be dialled or listened at; each is an open file of this process.
pub const WAITING_MAX: usize = 1024;

/// The waiting descriptors, and the number that was given out last.
static WAITING: LazyLock<Mutex<(u64, HashMap<String, OwnedFd>)>> = LazyLock::new(Mutex::default);

/// The `socket://` transport.
pub struct Descriptors;

/// The address of a descriptor that was handed over. Dropping it closes the descriptor if unused.
#[derive(Debug)]
pub struct HandedOver(Address);

impl HandedOver {
    /// The address, which can be dialled or listened at once.
    pub fn address(&self) -> &Address {
        &self.0
    }
}

impl Deref for HandedOver {
    type Target = Address;

    fn deref(&self) -> &Address {
        &self.0
    }
}

impl fmt::Display for HandedOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Drop for HandedOver {
    fn drop(&mut self) {
        lock().1.remove(self.0.rest());
    }
}

/// Takes over a connected or listening stream socket, TCP or Unix, and makes it non-blocking: a
/// `TcpStream`, `TcpListener`, `UnixStream` or `UnixListener` of std, or an [`OwnedFd`].
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use std::os::unix::net::UnixStream;
/// use wigwag_net::descriptor::hand_over;
/// use wigwag_net::socket::Pair;
///
/// let (left, right) = UnixStream::pair()?;
/// let (one, other) = (Pair::new(), Pair::new());
/// let (left, right) = (hand_over(left)?, hand_over(right)?);
/// // Each waits for the other's SP header, so they must begin together.
/// let (left, right) = (left.to_string(), right.to_string());
/// let (dialled, listened) = tokio::join!(one.dial(&left), other.dial(&right));
/// dialled?;
/// listened?;
/// one.send("through the pair").await?;
/// assert_eq!(other.recv().await?, "through the pair");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
///
/// # Errors
/// `BadAddress` if it is no stream socket, `TooMany` if [`WAITING_MAX`] descriptors wait already.
pub fn hand_over(handle: impl Into<OwnedFd>) -> Result<HandedOver, NetError> {
    let socket = Socket::from(handle.into());
    let error = |kind: NetErrorKind| NetError::new("socket://", kind);
    socket.set_nonblocking(true).map_err(|system| error(NetErrorKind::Io(system)))?;
    if !socket.r#type().is_ok_and(|kind| kind == Type::STREAM) {
        let rule = "only a stream socket can be handed over";
        return Err(error(NetErrorKind::BadAddress { rule }));
    }
    let mut waiting = lock();
    if waiting.1.len() >= WAITING_MAX {
        let what = "descriptors that wait to be used";
        return Err(error(NetErrorKind::TooMany { what, most: WAITING_MAX }));
    }
    waiting.0 += 1;
    let number = waiting.0.to_string();
    waiting.1.insert(number.clone(), socket.into());
    Ok(HandedOver(Address::new("socket", number)))
}

fn lock() -> std::sync::MutexGuard<'static, (u64, HashMap<String, OwnedFd>)> {
    // The table is consistent between two calls, so a panic elsewhere has broken nothing.
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the descriptor that waits at `address`.
fn take(address: &Address) -> Result<Socket, NetError> {
    let handle = lock().1.remove(address.rest());
    let none = || NetError::new(address, NetErrorKind::NobodyListens);
    handle.map(Socket::from).ok_or_else(none)
}

impl Transport for Descriptors {
    fn scheme(&self) -> &'static str {
        "socket"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let socket = take(address)?;
            let rule = "this descriptor is not a listening socket: dial it";
            if !socket.is_listener().unwrap_or(false) {
                return Err(NetError::new(address, NetErrorKind::BadAddress { rule }));
            }
            listener(address, socket, options)
                .map_err(|error| NetError::new(address, NetErrorKind::Io(error)))
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let socket = take(address)?;
            let rule = "this descriptor is a listening socket: listen at it";
            if socket.is_listener().unwrap_or(false) {
                return Err(NetError::new(address, NetErrorKind::BadAddress { rule }));
            }
            connection(address, socket, options)
                .map_err(|error| NetError::new(address, NetErrorKind::Io(error)))
        })
    }

    fn redials(&self) -> bool {
        false
    }
}

fn listener(
    address: &Address,
    socket: Socket,
    options: ListenOptions,
) -> io::Result<Box<dyn Listener>> {
    if socket.domain()? == Domain::UNIX {
        let listener = UnixListener::from_std(unix::UnixListener::from(socket))?;
        let address = match stream::name(&listener.local_addr()?) {
            Some(text) => text.parse().unwrap_or_else(|_| address.clone()),
            None => address.clone(),
        };
        // The file is not ours to remove.
        return Ok(Box::new(ipc::BoundUnixListener { listener, address, options, _file: None }));
    }
    let listener = TcpListener::from_std(net::TcpListener::from(socket))?;
    let address = Address::new("tcp", listener.local_addr()?.to_string());
    Ok(Box::new(tcp::BoundTcpListener { listener, address, options: options.tcp }))
}

fn connection(address: &Address, socket: Socket, options: DialOptions) -> io::Result<Connection> {
    if socket.domain()? == Domain::UNIX {
        let stream = UnixStream::from_std(unix::UnixStream::from(socket))?;
        let peer = stream::name(&stream.peer_addr()?);
        let nameless = peer.is_none() && stream.local_addr()?.is_unnamed();
        let framing = if nameless { Framing::Tcp } else { Framing::Ipc };
        return Ok(stream::unix(stream, framing, peer.unwrap_or_else(|| address.to_string())));
    }
    let stream = TcpStream::from_std(net::TcpStream::from(socket))?;
    let peer = format!("tcp://{}", stream.peer_addr()?);
    stream::tcp(stream, "tcp", peer, options.tcp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_descriptor_is_used_once_and_closed_when_unused() {
        let (ours, theirs) = unix::UnixStream::pair().unwrap();
        let place = hand_over(ours).unwrap();
        let connection = Descriptors.dial(&place, DialOptions::default()).await.unwrap();
        assert_eq!(connection.framing, Framing::Tcp);
        assert!(connection.credentials.is_some());
        let again = Descriptors.dial(&place, DialOptions::default()).await.err().unwrap();
        assert!(matches!(again.kind, NetErrorKind::NobodyListens), "{again}");
        drop(connection);
        let unused = hand_over(theirs).unwrap();
        let address = unused.address().clone();
        drop(unused);
        let gone = Descriptors.dial(&address, DialOptions::default()).await.err().unwrap();
        assert!(matches!(gone.kind, NetErrorKind::NobodyListens), "{gone}");
    }

    #[tokio::test]
    async fn an_unusable_descriptor_says_why() {
        let datagram = net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let refused = hand_over(datagram).unwrap_err();
        assert!(matches!(refused.kind, NetErrorKind::BadAddress { .. }), "{refused}");
        let (one, other) = unix::UnixStream::pair().unwrap();
        let place = hand_over(one).unwrap();
        let refused = Descriptors.listen(&place, ListenOptions::default()).await.err().unwrap();
        assert!(refused.to_string().contains("dial it"), "{refused}");
        drop(other);
        let listening = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let place = hand_over(listening).unwrap();
        let refused = Descriptors.dial(&place, DialOptions::default()).await.err().unwrap();
        assert!(refused.to_string().contains("listen at it"), "{refused}");
    }

    /// Both kinds of listener, and a stream that another library connected.
    #[tokio::test]
    async fn handed_over_listeners_and_streams_work_like_our_own() {
        let name = format!("wigwag-handed-{}", std::process::id());
        let named = <unix::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(
            name.as_bytes(),
        )
        .unwrap();
        let bound = unix::UnixListener::bind_addr(&named).unwrap();
        let listener = hand_over(bound).unwrap();
        let listener = Descriptors.listen(&listener, ListenOptions::default()).await.unwrap();
        assert_eq!(listener.address().to_string(), format!("abstract://{name}"));
        let made = hand_over(unix::UnixStream::connect_addr(&named).unwrap()).unwrap();
        let dialled = Descriptors.dial(&made, DialOptions::default()).await.unwrap();
        let accepted = listener.accept().await.unwrap();
        assert_eq!((dialled.framing, accepted.framing), (Framing::Ipc, Framing::Ipc));

        let bound = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let place = bound.local_addr().unwrap();
        let listener = hand_over(bound).unwrap();
        let listener = Descriptors.listen(&listener, ListenOptions::default()).await.unwrap();
        assert_eq!(listener.address().to_string(), format!("tcp://{place}"));
        let made = hand_over(net::TcpStream::connect(place).unwrap()).unwrap();
        let dialled = Descriptors.dial(&made, DialOptions::default()).await.unwrap();
        assert_eq!(*dialled.peer, *format!("tcp://{place}"));
        assert_eq!(listener.accept().await.unwrap().framing, Framing::Tcp);
    }
}
