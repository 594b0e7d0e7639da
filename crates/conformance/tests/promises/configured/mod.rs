//! Transports with options, for tests whose calls have none: `tls+tcp://` and `wss://` whose ends
//! have certificates of the same authority, which the listener demands, and `ipc://` that stays on its
//! socket.

use std::sync::{LazyLock, Once};

use wigwag_net::transport::{self, Boxed, register};
use wigwag_net::{
    Address, Connection, DialOptions, ListenOptions, Listener, NetError, ShmOptions,
    TlsClientConfig, TlsServerConfig, TlsSource, Transport,
};

#[path = "../../../../net/tests/support/certificates.rs"]
mod certificates;

use certificates::{Authority, Request};

static TLS_TCP: Configured = Configured { scheme: "certified+tcp", inner: "tls+tcp" };
static WSS: Configured = Configured { scheme: "certified+wss", inner: "wss" };
static IPC: Configured = Configured { scheme: "socket+ipc", inner: "ipc" };

/// Registers `certified+tcp://`, `certified+wss://` and `socket+ipc://`, once.
pub(crate) fn make_known() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register(&TLS_TCP).expect("nobody else has the scheme");
        register(&WSS).expect("nobody else has the scheme");
        register(&IPC).expect("nobody else has the scheme");
    });
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

fn on_its_socket() -> ShmOptions {
    ShmOptions::default().upgrade_ipc(false)
}

/// The error with the address that the tests use.
fn renamed(address: &Address) -> impl Fn(NetError) -> NetError {
    move |error| NetError::new(address, error.kind)
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

/// A transport whose ends get the options of [`CONFIGS`], and no shared memory.
struct Configured {
    scheme: &'static str,
    inner: &'static str,
}

impl Transport for Configured {
    fn scheme(&self) -> &'static str {
        self.scheme
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let inner = Address::new(self.inner, address.rest());
            let options = options.tls(CONFIGS.0.clone()).shm(on_its_socket());
            let inner = transport::listen(&inner, options).await.map_err(renamed(address))?;
            let address = Address::new(self.scheme, inner.address().rest());
            Ok(Box::new(Renamed { inner, address }) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let inner = Address::new(self.inner, address.rest());
            let options = options.tls(CONFIGS.1.clone()).shm(on_its_socket());
            let mut connection =
                transport::dial_with(&inner, options).await.map_err(renamed(address))?;
            connection.peer = address.to_string().into();
            Ok(connection)
        })
    }
}
