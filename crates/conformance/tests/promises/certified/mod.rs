//! `tls+tcp://` with certificates, for tests whose calls have no options: both ends have one of the
//! same authority, and the listener wants that of the dialer.
//!
//! TLS shakes hands in the first reads and writes of both ends, as sockets and nodes do them. Here it
//! has done so before anybody gets a connection, because some promises are about ends that only write.

use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, Once, Weak};
use std::task::{Context, Poll, ready};

use tokio::sync::Notify;
use wigwag_net::transport::{self, Boxed, register};
use wigwag_net::{
    Address, Connection, DialOptions, Inlet, ListenOptions, Listener, NetError, TlsClientConfig,
    TlsServerConfig, TlsSource, Transport,
};
use wigwag_wire::ReadBuf;

#[path = "../../../../net/tests/support/certificates.rs"]
mod certificates;

use certificates::{Authority, Request};

/// Registers `certified+tcp://`, once.
pub(crate) fn make_known() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| register(&Certified).expect("nobody else has the scheme"));
}

/// The options of both ends.
static CONFIGS: LazyLock<(TlsServerConfig, TlsClientConfig)> = LazyLock::new(|| {
    let authority = Authority::new("the authority");
    let root = || TlsSource::pem(authority.pem());
    let issued = authority.issue(Request::default());
    let (chain, key) = (TlsSource::pem(issued.chain), TlsSource::pem(issued.key));
    let server =
        TlsServerConfig::builder().certificate(chain.clone(), key.clone()).client_authority(root());
    let client = TlsClientConfig::builder().certificate(chain, key).authority(root());
    (server.build().expect("a server"), client.build().expect("a client"))
});

fn inner(address: &Address) -> Address {
    Address::new("tls+tcp", address.rest())
}

/// The error with the address that the tests use.
fn renamed(address: &Address) -> impl Fn(NetError) -> NetError {
    move |error| NetError::new(address, error.kind)
}

async fn listen(address: &Address, options: ListenOptions) -> Result<Renamed, NetError> {
    let options = options.tls(CONFIGS.0.clone());
    let inner = transport::listen(&inner(address), options).await.map_err(renamed(address))?;
    let address = Address::new(address.scheme(), inner.address().rest());
    Ok(Renamed { inner, address })
}

async fn dial(address: &Address, options: DialOptions) -> Result<Connection, NetError> {
    let options = options.tls(CONFIGS.1.clone());
    let dialled = transport::dial_with(&inner(address), options).await;
    let mut connection = dialled.map_err(renamed(address))?;
    connection.peer = address.to_string().into();
    Ok(connection)
}

/// A listener with the address that the tests use.
struct Renamed {
    inner: Box<dyn Listener>,
    address: Address,
}

impl Listener for Renamed {
    fn address(&self) -> &Address {
        &self.address
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        self.inner.accept()
    }
}

struct Certified;

/// The listeners of `certified+tcp://`, by address: a dialer accepts for them until it is connected.
static LISTENERS: LazyLock<Mutex<HashMap<Address, Weak<Arrivals>>>> = LazyLock::new(Mutex::default);

impl Transport for Certified {
    fn scheme(&self) -> &'static str {
        "certified+tcp"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let listener = listen(address, options).await?;
            let arrivals = Arc::new(Arrivals { listener, queue: Arc::default() });
            let mut listeners = LISTENERS.lock().expect("no panic under the lock");
            listeners.insert(arrivals.listener.address.clone(), Arc::downgrade(&arrivals));
            Ok(Box::new(Owner(arrivals)) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let connection = dial(address, options).await?;
            let listener = LISTENERS.lock().expect("no panic under the lock").get(address).cloned();
            let arrivals = listener.and_then(|listener| listener.upgrade());
            let accepting = async {
                match arrivals {
                    Some(arrivals) => arrivals.accept_all().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                shaken = shake(connection) => {
                    shaken.map_err(|error| NetError::new(address, error))
                }
                error = accepting => Err(error),
            }
        })
    }
}

/// A listener, and the connections that it has accepted and that have shaken hands.
struct Arrivals {
    listener: Renamed,
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    connections: Mutex<VecDeque<Connection>>,
    arrived: Notify,
}

impl Arrivals {
    /// Accepts until an error.
    async fn accept_all(&self) -> NetError {
        loop {
            let connection = match self.listener.accept().await {
                Ok(connection) => connection,
                Err(error) => return error,
            };
            let queue = self.queue.clone();
            tokio::spawn(async move {
                if let Ok(shaken) = shake(connection).await {
                    queue.connections.lock().expect("no panic under the lock").push_back(shaken);
                    queue.arrived.notify_one();
                }
            });
        }
    }

    async fn next(&self) -> Connection {
        loop {
            let next = self.queue.connections.lock().expect("no panic under the lock").pop_front();
            match next {
                Some(connection) => return connection,
                None => self.queue.arrived.notified().await,
            }
        }
    }
}

/// The owner of the arrivals: without it the address is free.
struct Owner(Arc<Arrivals>);

impl Listener for Owner {
    fn address(&self) -> &Address {
        &self.0.listener.address
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            tokio::select! {
                connection = self.0.next() => Ok(connection),
                error = self.0.accept_all() => Err(error),
            }
        })
    }
}

/// Has both ends send a byte and read the other's, after which TLS has shaken hands.
async fn shake(mut connection: Connection) -> io::Result<Connection> {
    connection.outlet.try_write(&[IoSlice::new(&[0])])?;
    let mut input = ReadBuf::new();
    if connection.reader.fill(&mut input).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    input.skip(1);
    let placeholder = Box::new(transport::ByteInlet(tokio::io::empty()));
    let reader = std::mem::replace(&mut connection.reader, placeholder);
    connection.reader = Box::new(Behind { front: input, reader });
    Ok(connection)
}

/// A reader behind bytes that were read already.
struct Behind {
    front: ReadBuf,
    reader: Box<dyn Inlet>,
}

impl Inlet for Behind {
    fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        input: &mut ReadBuf,
    ) -> Poll<io::Result<usize>> {
        let front = self.front.take(usize::MAX);
        if front.is_empty() {
            return self.reader.poll_fill(context, input);
        }
        input.append(&front);
        Poll::Ready(Ok(front.len()))
    }
}

impl tokio::io::AsyncRead for Behind {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.front.is_empty() {
            ready!(Pin::new(&mut self.reader).poll_read(context, into))?;
            return Poll::Ready(Ok(()));
        }
        let part = self.front.take(into.remaining());
        into.put_slice(&part);
        Poll::Ready(Ok(()))
    }
}
