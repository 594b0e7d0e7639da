//! `tls+tcp://` and `wss://` with certificates, for tests whose calls have no options: both ends have
//! one of the same authority, and the listener wants that of the dialer.

use std::sync::{LazyLock, Once};

use wigwag_net::transport::{self, Boxed, register};
use wigwag_net::{
    Address, Connection, DialOptions, ListenOptions, Listener, NetError, TlsClientConfig,
    TlsServerConfig, TlsSource, Transport,
};

#[path = "../../../../net/tests/support/certificates.rs"]
mod certificates;

use certificates::{Authority, Request};

static TLS_TCP: Certified = Certified { scheme: "certified+tcp", inner: "tls+tcp" };
static WSS: Certified = Certified { scheme: "certified+wss", inner: "wss" };

/// Registers `certified+tcp://` and `certified+wss://`, once.
pub(crate) fn make_known() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register(&TLS_TCP).expect("nobody else has the scheme");
        register(&WSS).expect("nobody else has the scheme");
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

/// A transport whose ends get the options of [`CONFIGS`].
struct Certified {
    scheme: &'static str,
    inner: &'static str,
}

impl Transport for Certified {
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
            let listening = transport::listen(&inner, options.tls(CONFIGS.0.clone()));
            let inner = listening.await.map_err(renamed(address))?;
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
            let dialling = transport::dial_with(&inner, options.tls(CONFIGS.1.clone()));
            let mut connection = dialling.await.map_err(renamed(address))?;
            connection.peer = address.to_string().into();
            Ok(connection)
        })
    }
}
