//! `ws://host:port/path`: the SP mapping onto WebSocket.
//!
//! The addresses are those of tcp with a path behind them; without one it is `/`. The path of a
//! request must be that of the listener, whatever query follows it. Where an address names an actor
//! of a node, the last segment is the name and what is in front of it the path: with `ws://host:1`
//! listening, `ws://host:1/counter` is its actor `counter`.
//!
//! The upgrade names the protocol (`rep.sp.nanomsg.org`), and a BINARY message is an SP message.
//! nanomsg, NNG and mangos speak it, and so do browsers, whose script has to add the header of the
//! protocol, such as the id of a request.

mod close;
mod endpoint;
mod error;
mod frame;
mod layer;
mod options;
mod receiving;
mod sending;
mod upgrade;

use std::io;
use std::sync::Arc;

use self::endpoint::{Arrival, Arrivals};
pub use self::endpoint::{HttpEndpoint, NotTaken};
pub use self::error::WsError;
use self::layer::{Place, WebSocket};
use self::options::Pages;
pub use self::options::{BadHeader, Origins, WsDialOptions, WsListenOptions};
use crate::addresses::address::Address;
use crate::error::{NetError, NetErrorKind};
use crate::options::ReceiveLimit;
use crate::transport::{Boxed, Connection, DialOptions, ListenOptions, Listener, Transport};
use crate::transports::layered;
use crate::transports::tcp::Tcp;

/// A WebSocket transport: HTTP and frames over another transport.
pub struct Ws {
    scheme: &'static str,
    below: &'static dyn Transport,
}

/// The `ws://` transport.
pub static WS: Ws = Ws { scheme: "ws", below: &Tcp };

/// The `wss://` transport: the same over TLS, with the certificates of its options.
#[cfg(feature = "tls")]
pub static WSS: Ws = Ws { scheme: "wss", below: &crate::transports::tls::TlsTcp };

impl Transport for Ws {
    fn scheme(&self) -> &'static str {
        self.scheme
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let (authority, path) = split(address)?;
            if path.contains(['?', '#']) {
                let rule = "a listener's path has no ? and no #";
                return Err(NetError::new(address, NetErrorKind::BadAddress { rule }));
            }
            if authority.starts_with('@') {
                let (below, path) = (Below::Http(Arrivals::at(address)?), path.to_owned());
                let listener = WsListener { below, address: address.clone(), path, options };
                return Ok(Box::new(listener) as Box<dyn Listener>);
            }
            let below = Address::new(self.below.scheme(), authority);
            let listening = self.below.listen(&below, options.clone());
            let below = listening.await.map_err(|error| at(address, error))?;
            let rest = format!("{}{}", below.address().rest(), &address.rest()[authority.len()..]);
            let address = Address::new(self.scheme, rest);
            let below = Below::Transport(below);
            Ok(Box::new(WsListener { below, address, path: path.to_owned(), options })
                as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let (authority, target) = split(address)?;
            let limit = ReceiveLimit::of(options.receive_limit, options.socket_limit.as_ref());
            let ws = options.ws.clone();
            let below = Address::new(self.below.scheme(), authority);
            let dialling = self.below.dial(&below, options);
            let mut below = dialling.await.map_err(|error| at(address, error))?;
            below.peer = address.to_string().into();
            // The part in front of the host says where to dial from.
            let host = authority.split_once(';').map_or(authority, |(_, host)| host);
            let place = Place { authority: host.to_owned(), target: target.to_owned() };
            let layer = WebSocket::dialer(place, ws, limit);
            over(self.scheme, below, layer, &[]).map_err(|error| NetError::new(address, error))
        })
    }
}

/// `layer` over a connection whose ends get addresses of `scheme`.
fn over(
    scheme: &str,
    mut below: Connection,
    layer: WebSocket,
    read: &[u8],
) -> io::Result<Connection> {
    below.peer = renamed(scheme, below.peer);
    below.local = below.local.map(|local| renamed(scheme, local));
    let layer = if scheme == "wss" { layer.over_layer() } else { layer };
    layered::over_read(below, layer, read)
}

fn renamed(scheme: &str, address: Arc<str>) -> Arc<str> {
    match address.split_once("://") {
        Some((_, rest)) => format!("{scheme}://{rest}").into(),
        None => address,
    }
}

/// Splits an address into host and port, and the path with its query.
fn split(address: &Address) -> Result<(&str, &str), NetError> {
    let rest = address.rest();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    let is_graphic = target.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_graphic
        || target.starts_with('?')
        || target.contains('#')
        || authority.find('@').is_some_and(|at| at > 0)
    {
        let rule = "the path of a ws address begins with / and is printable ASCII without #, and no \
                    user is named before the host";
        return Err(NetError::new(address, NetErrorKind::BadAddress { rule }));
    }
    Ok((authority, if target.is_empty() { "/" } else { target }))
}

/// An error of the transport below, at our address.
fn at(address: &Address, error: NetError) -> NetError {
    NetError { address: address.to_string(), ..error }
}

/// Where the connections of a listener come from.
enum Below {
    Transport(Box<dyn Listener>),
    /// An HTTP server, which has read the requests.
    Http(Arrivals),
}

struct WsListener {
    below: Below,
    address: Address,
    path: String,
    options: ListenOptions,
}

impl Listener for WsListener {
    fn address(&self) -> &Address {
        &self.address
    }

    fn is_local(&self) -> bool {
        match &self.below {
            Below::Transport(below) => below.is_local(),
            // Every client that reaches the HTTP server of the program.
            Below::Http(arrivals) => arrivals.is_local(),
        }
    }

    fn has_ended(&self) -> bool {
        match &self.below {
            Below::Transport(below) => below.has_ended(),
            Below::Http(arrivals) => arrivals.have_ended(),
        }
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            let Arrival { below, read } = match &self.below {
                Below::Http(arrivals) => arrivals
                    .next()
                    .await
                    .ok_or_else(|| NetError::new(&self.address, NetErrorKind::ClosedHere))?,
                Below::Transport(below) => {
                    let below = below.accept().await.map_err(|error| at(&self.address, error))?;
                    Arrival { below, read: Vec::new() }
                }
            };
            let options = &self.options;
            let limit = ReceiveLimit::of(options.receive_limit, options.socket_limit.as_ref());
            let pages = Pages {
                origins: options.ws.origins.clone(),
                // An HTTP server checks the names by which it is called; wss proves its own.
                is_loopback: match &self.below {
                    Below::Transport(below) => below.is_local() && self.address.scheme() == "ws",
                    Below::Http(_) => false,
                },
            };
            let layer = WebSocket::listener(self.path.clone(), pages, limit);
            over(self.address.scheme(), below, layer, &read)
                .map_err(|error| NetError::new(&self.address, error))
        })
    }

    fn takes_descriptors(&self) -> bool {
        match &self.below {
            Below::Transport(below) => below.takes_descriptors(),
            // They are open already.
            Below::Http(_) => false,
        }
    }
}
