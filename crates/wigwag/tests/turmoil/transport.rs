//! `turmoil://host:port`: the streams of turmoil's network, as a transport.

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::thread::{self, ThreadId};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use turmoil::net::{TcpListener, TcpStream};
use wigwag_net::transport::{Boxed, register};
use wigwag_net::{
    Address, Connection, DialOptions, ListenOptions, Listener, NetError, NetErrorKind, Outlet,
    Transport,
};
use wigwag_wire::Framing;

/// Bytes of one packet. A turmoil stream has up to 64 packets under way, each with a delay of its
/// own; so a large batch is sent in parts, and a cut may come between them.
const PACKET_BYTES_MAX: usize = 1400;

/// Registers the `turmoil://` transport, once.
pub(crate) fn make_known() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| register(&Turmoil).expect("nobody else has the scheme"));
}

struct Turmoil;

impl Transport for Turmoil {
    fn scheme(&self) -> &'static str {
        "turmoil"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        _options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let (_, port) = split(address)?;
            let listening = TcpListener::bind(("0.0.0.0", port)).await;
            let listener = listening.map_err(|error| NetError::new(address, error))?;
            Ok(Box::new(Accepting { listener, address: address.clone() }) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        _options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let dialed = TcpStream::connect(split(address)?).await;
            let stream = dialed.map_err(|error| NetError::new(address, error))?;
            Ok(connection(stream, address.to_string()))
        })
    }
}

fn split(address: &Address) -> Result<(&str, u16), NetError> {
    let parts = address.rest().split_once(':');
    let parts = parts.and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let rule = "turmoil wants host:port";
    parts.ok_or_else(|| NetError::new(address, NetErrorKind::BadAddress { rule }))
}

struct Accepting {
    listener: TcpListener,
    address: Address,
}

impl Listener for Accepting {
    fn address(&self) -> &Address {
        &self.address
    }

    /// The hosts are those of one simulation.
    fn is_local(&self) -> bool {
        true
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            let accepted = self.listener.accept().await;
            let (stream, from) = accepted.map_err(|error| NetError::new(&self.address, error))?;
            Ok(connection(stream, format!("turmoil://{from}")))
        })
    }
}

fn connection(stream: TcpStream, peer: String) -> Connection {
    let state = Mutex::new(State { stream, is_closed: false, reader: None });
    let ends = Arc::new(Ends { state, simulation: thread::current().id() });
    Connection::new(Incoming(ends.clone()), Outgoing(ends), Framing::Tcp, peer)
}

/// Both directions of a stream. Turmoil's halves cannot be written by reference, but the whole
/// stream can.
struct Ends {
    state: Mutex<State>,
    /// The thread of the simulation, which alone knows the network.
    simulation: ThreadId,
}

struct State {
    stream: TcpStream,
    is_closed: bool,
    reader: Option<Waker>,
}

impl Ends {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Incoming(Arc<Ends>);

impl AsyncRead for Incoming {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.0.state();
        if state.is_closed {
            return Poll::Ready(Ok(()));
        }
        state.reader = Some(context.waker().clone());
        let read = ready!(Pin::new(&mut state.stream).poll_read(context, into));
        state.reader = None;
        Poll::Ready(read)
    }
}

struct Outgoing(Arc<Ends>);

impl Outlet for Outgoing {
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let state = self.0.state();
        if thread::current().id() != self.0.simulation {
            // The driver writes it.
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // Nodes are dropped after the last step, when there is no network any more.
        if state.is_closed || !turmoil::in_simulation() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let mut packet = Vec::new();
        for part in parts {
            let room = PACKET_BYTES_MAX - packet.len();
            packet.extend_from_slice(&part[..part.len().min(room)]);
        }
        state.stream.try_write(&packet)
    }

    fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let state = self.0.state();
        if state.is_closed {
            return Poll::Ready(Ok(()));
        }
        pin!(state.stream.writable()).poll(context)
    }

    fn writes_on_any_thread(&self) -> bool {
        false
    }

    /// A node calls this when its runtime ends, and here a runtime ends only because its host
    /// crashes: a crashed host sends nothing more.
    fn write_blocking(&self, _bytes: &[u8], _limit: Duration) -> io::Result<usize> {
        Err(io::ErrorKind::NotConnected.into())
    }

    fn close(&self) {
        let mut state = self.0.state();
        if state.is_closed {
            return;
        }
        state.is_closed = true;
        let reader = state.reader.take();
        if turmoil::in_simulation() {
            let context = &mut Context::from_waker(Waker::noop());
            // The peer may be gone already; then there is nothing left to shut down.
            let _ = Pin::new(&mut state.stream).poll_shutdown(context);
        }
        drop(state);
        reader.into_iter().for_each(Waker::wake);
    }
}
