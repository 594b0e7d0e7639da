//! `tcp://host:port`: the SP mapping onto TCP.
//!
//! `TCP_NODELAY` is on unless an option says otherwise: batching is done above, from the messages
//! that pile up during a write.
//!
//! | address | meaning |
//! |---|---|
//! | `tcp://127.0.0.1:7001`, `tcp://[::1]:7001`, `tcp://host:7001` | that address; all addresses of a name are tried (`happy_eyeballs.rs`) |
//! | `tcp://[fe80::1%eth0]:7001` | an address of a link: behind `%` its interface, by name or number |
//! | `tcp://*:7001`, `tcp://:7001` | to listen on every address; `tcp://0.0.0.0:7001` on those of IPv4 |
//! | `tcp://eth0:7001` | to listen on the address of that interface, IPv4 first |
//! | `tcp://eth0;host:7001`, `tcp://10.0.0.7;host:7001` | to dial from that interface or address |
//! | port 0 | to listen on a free port; the listener says which |
//!
//! nanomsg has the same forms; NNG has no interfaces and prefers the empty host to `*`; mangos
//! has `*` and names.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::SockRef;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::addresses::address::Address;
use crate::addresses::happy_eyeballs;
use crate::addresses::interface;
use crate::addresses::resolve::resolve;
use crate::error::{NetError, NetErrorKind};
use crate::options::TcpOptions;
use crate::transport::{Boxed, Connection, DialOptions, ListenOptions, Listener, Transport};
use crate::transports::stream;

/// The `tcp://` transport.
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
            let bound = listen(address, &options).await?;
            Ok(Box::new(bound) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(dial(address, options.tcp))
    }
}

/// Listens with a socket of tcp, whatever the scheme of `address`.
pub(crate) async fn listen(
    address: &Address,
    options: &ListenOptions,
) -> Result<BoundTcpListener, NetError> {
    let listener = match place_to_listen(address).await? {
        Place::At(local) => bind(local, options.backlog),
        Place::Everywhere(port) => bind_everywhere(port, options.backlog),
    };
    let listener =
        listener.map_err(|error| NetError::new(address, NetErrorKind::of_listen(error)))?;
    let bound = listener.local_addr().map_err(|error| NetError::new(address, error))?;
    let address = Address::new(address.scheme(), bound.to_string());
    Ok(BoundTcpListener { listener, address, options: options.tcp })
}

/// Connects by tcp, whatever the scheme of `address`.
pub(crate) async fn dial(address: &Address, options: TcpOptions) -> Result<Connection, NetError> {
    let (from, (host, port)) = parts_to_dial(address)?;
    let from = from.map_or(Ok(Vec::new()), |from| source(address, from))?;
    let targets = resolve(address, host, port).await?;
    let dialled = happy_eyeballs::first(targets, |target| connect(from.clone(), target)).await;
    dialled
        .and_then(|stream| stream::tcp(stream, address.scheme(), address.to_string(), options))
        .map_err(|error| NetError::new(address, error))
}

/// The host in an address to dial, without brackets.
#[cfg(feature = "tls")]
pub(crate) fn host(address: &Address) -> Result<&str, NetError> {
    parts_to_dial(address).map(|(_, (host, _))| host)
}

/// Splits an address to dial into the place to dial from, if it names one, and host and port.
fn parts_to_dial(address: &Address) -> Result<(Option<&str>, (&str, u16)), NetError> {
    let (from, to) = match address.rest().split_once(';') {
        Some((from, to)) => (Some(from), to),
        None => (None, address.rest()),
    };
    let (host, port) = split(address, to)?;
    if host.is_empty() || host == "*" {
        let rule = "to dial, the port needs a host before it: * is only for listening";
        return Err(NetError::new(address, NetErrorKind::BadAddress { rule }));
    }
    Ok((from, (host, port)))
}

/// Splits text into a host without brackets and a port.
fn split<'a>(address: &Address, text: &'a str) -> Result<(&'a str, u16), NetError> {
    let rule = "host:port is needed, with a port from 0 to 65535";
    let bad = || NetError::new(address, NetErrorKind::BadAddress { rule });
    let (host, port) = text.rsplit_once(':').ok_or_else(bad)?;
    let port = port.parse().map_err(|_| bad())?;
    match host.strip_prefix('[') {
        Some(inner) => Ok((inner.strip_suffix(']').ok_or_else(bad)?, port)),
        None if host.contains(':') => Err(bad()),
        None => Ok((host, port)),
    }
}

/// Where a listener listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    At(SocketAddr),
    /// At this port of every address of both families.
    Everywhere(u16),
}

async fn place_to_listen(address: &Address) -> Result<Place, NetError> {
    let (host, port) = split(address, address.rest())?;
    if host.is_empty() || host == "*" {
        return Ok(Place::Everywhere(port));
    }
    if let Some(own) = interface_address(host).first() {
        return Ok(Place::At((*own, port).into()));
    }
    let found = resolve(address, host, port).await?.first().copied();
    found.map(Place::At).ok_or_else(|| NetError::new(address, NetErrorKind::UnknownHost))
}

/// The local addresses to dial from.
fn source(address: &Address, from: &str) -> Result<Vec<IpAddr>, NetError> {
    let inner = from.strip_prefix('[').and_then(|from| from.strip_suffix(']')).unwrap_or(from);
    if let Ok(numeric) = inner.parse() {
        return Ok(vec![numeric]);
    }
    let own = interface_address(inner);
    if own.is_empty() {
        let rule =
            "before the ; there must be a network interface that is up, or one of its addresses";
        return Err(NetError::new(address, NetErrorKind::BadAddress { rule }));
    }
    Ok(own)
}

/// The addresses of the interface `name`; empty if there is no such interface.
fn interface_address(name: &str) -> Vec<IpAddr> {
    // A numeric address is never an interface, and asking the kernel takes a socket.
    if name.parse::<IpAddr>().is_ok() {
        return Vec::new();
    }
    // If the kernel does not answer, interfaces have no names; the text may still be a host.
    interface::addresses(name).unwrap_or_default()
}

/// Connects from one of `from`; if that is empty, the kernel chooses the local address.
async fn connect(from: Vec<IpAddr>, target: SocketAddr) -> io::Result<TcpStream> {
    if from.is_empty() {
        return TcpStream::connect(target).await;
    }
    let own = from.iter().find(|own| own.is_ipv4() == target.is_ipv4());
    let no_family = || io::Error::from(io::ErrorKind::AddrNotAvailable);
    let own = own.copied().ok_or_else(no_family)?;
    let socket = socket_for(target)?;
    socket.bind((own, 0).into())?;
    socket.connect(target).await
}

fn socket_for(address: SocketAddr) -> io::Result<TcpSocket> {
    if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }
}

/// Listens at `port` of every address: with one socket of IPv6 that takes both families, or with one
/// of IPv4 on a system without IPv6.
fn bind_everywhere(port: u16, backlog: u32) -> io::Result<TcpListener> {
    let with_both = || {
        let socket = TcpSocket::new_v6()?;
        SockRef::from(&socket).set_only_v6(false)?;
        bind_socket(socket, (Ipv6Addr::UNSPECIFIED, port).into(), backlog)
    };
    match with_both() {
        Err(error) if is_without_ipv6(&error) => {
            bind((Ipv4Addr::UNSPECIFIED, port).into(), backlog)
        }
        bound => bound,
    }
}

/// True if the system has no IPv6 at all, or no interface with it.
fn is_without_ipv6(error: &io::Error) -> bool {
    const EAFNOSUPPORT: i32 = 97;
    error.raw_os_error() == Some(EAFNOSUPPORT) || error.kind() == io::ErrorKind::AddrNotAvailable
}

fn bind(local: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    bind_socket(socket_for(local)?, local, backlog)
}

fn bind_socket(socket: TcpSocket, local: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    // A restarted service must get its port back while old connections are still in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(local)?;
    socket.listen(backlog)
}

/// A listening TCP socket and its address.
pub(crate) struct BoundTcpListener {
    pub(crate) listener: TcpListener,
    pub(crate) address: Address,
    pub(crate) options: TcpOptions,
}

impl Listener for BoundTcpListener {
    fn address(&self) -> &Address {
        &self.address
    }

    fn is_local(&self) -> bool {
        self.listener.local_addr().is_ok_and(|bound| bound.ip().to_canonical().is_loopback())
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            let accepted = self.listener.accept().await;
            accepted
                .and_then(|(stream, from)| {
                    let scheme = self.address.scheme();
                    let peer = format!("{scheme}://{}", stream::in_own_family(from));
                    stream::tcp(stream, scheme, peer, self.options)
                })
                .map_err(|error| NetError::new(&self.address, NetErrorKind::Io(error)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn every_form_of_a_listening_address_is_understood() {
        for (text, bound) in [
            ("tcp://0.0.0.0:0", "0.0.0.0"),
            ("tcp://127.0.0.1:0", "127.0.0.1"),
            ("tcp://[::1]:0", "::1"),
            ("tcp://lo:0", "127.0.0.1"),
        ] {
            let place = place_to_listen(&address(text)).await.unwrap();
            let bound = SocketAddr::new(bound.parse().unwrap(), 0);
            assert_eq!(place, Place::At(bound), "{text}");
        }
        let named = place_to_listen(&address("tcp://localhost:0")).await.unwrap();
        assert!(matches!(named, Place::At(place) if place.ip().is_loopback()));
        for text in ["tcp://*:7", "tcp://:7"] {
            let place = place_to_listen(&address(text)).await.unwrap();
            assert_eq!(place, Place::Everywhere(7), "{text}");
        }
    }

    #[tokio::test]
    async fn a_listener_everywhere_takes_both_families_and_names_peers_by_their_own() {
        let place = address("tcp://*:0");
        let listener = Tcp.listen(&place, ListenOptions::default()).await.unwrap();
        let port = listener.address().rest().rsplit_once(':').unwrap().1.to_owned();
        for host in ["127.0.0.1", "[::1]"] {
            let to = address(&format!("tcp://{host}:{port}"));
            let _dialled = Tcp.dial(&to, DialOptions::default()).await.unwrap();
            let accepted = listener.accept().await.unwrap();
            let from_host = format!("tcp://{host}:");
            assert!(accepted.peer.starts_with(&from_host), "{}", accepted.peer);
            assert!(accepted.local.unwrap().starts_with(&from_host));
        }
    }

    /// RFC 5737 reserves 192.0.2.0/24 for documentation, so no interface has such an address.
    #[tokio::test]
    async fn an_address_of_another_machine_cannot_be_listened_on() {
        let place = address("tcp://192.0.2.1:0");
        let refused = Tcp.listen(&place, ListenOptions::default()).await.err().unwrap();
        assert!(matches!(refused.kind, NetErrorKind::NotLocal), "{refused}");
        assert!(refused.hint().contains("tcp://:PORT"), "{refused}");
    }

    #[tokio::test]
    async fn a_malformed_tcp_address_says_why() {
        for text in
            ["tcp://host", "tcp://host:x", "tcp://host:70000", "tcp://::1:5", "tcp://[::1:5"]
        {
            let refused = Tcp.dial(&address(text), DialOptions::default()).await.err().unwrap();
            assert!(matches!(refused.kind, NetErrorKind::BadAddress { .. }), "{refused}");
        }
        for text in ["tcp://*:5", "tcp://:5", "tcp://no-such-interface;127.0.0.1:5", "tcp://;h:5"] {
            let refused = Tcp.dial(&address(text), DialOptions::default()).await.err().unwrap();
            assert!(matches!(refused.kind, NetErrorKind::BadAddress { .. }), "{refused}");
        }
    }

    #[tokio::test]
    async fn a_dialer_binds_to_an_interface_or_an_address() {
        let place = address("tcp://127.0.0.1:0");
        let listener = Tcp.listen(&place, ListenOptions::default()).await.unwrap();
        for (from, seen) in [("lo", "127.0.0.1"), ("127.0.0.9", "127.0.0.9")] {
            let to = address(&format!("tcp://{from};{}", listener.address().rest()));
            let dialled = Tcp.dial(&to, DialOptions::default()).await.unwrap();
            let accepted = listener.accept().await.unwrap();
            assert!(accepted.peer.starts_with(&format!("tcp://{seen}:")), "{}", accepted.peer);
            assert_eq!(dialled.local.as_deref(), Some(&*accepted.peer));
            assert_eq!(accepted.local.as_deref(), Some(&*listener.address().to_string()));
        }
        let other = address(&format!("tcp://[::1];{}", listener.address().rest()));
        let refused = Tcp.dial(&other, DialOptions::default()).await.err().unwrap();
        assert!(matches!(refused.kind, NetErrorKind::Io(_)), "{refused}");
    }

    #[tokio::test]
    async fn options_reach_the_socket() {
        let silence = std::time::Duration::from_secs(77);
        let keep_alive = crate::options::KeepAlive::new(silence).unwrap();
        let tcp = TcpOptions::default().no_delay(false).keep_alive(keep_alive);
        let listener = bind("127.0.0.1:0".parse().unwrap(), 1).unwrap();
        let dialled = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let twin = SockRef::from(&dialled).try_clone().unwrap();
        stream::tcp(dialled, "tcp", "peer", tcp).unwrap();
        assert!(!twin.tcp_nodelay().unwrap() && twin.keepalive().unwrap());
        assert_eq!(twin.tcp_keepalive_time().unwrap().as_secs(), 77);
    }
}
