//! The `tls+tcp://` transport: a connection of tcp, and the TLS layer over it.

use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;

use super::layer::TlsLayer;
use super::{TlsClientConfig, TlsError, TlsServerConfig};
use crate::addresses::address::Address;
use crate::error::{NetError, NetErrorKind};
use crate::transport::{
    Boxed, Connection, DialOptions, ListenOptions, Listener, PeerCertificate, Transport,
};
use crate::transports::layered;
use crate::transports::tcp::{self, BoundTcpListener};

/// The `tls+tcp://` transport.
pub struct TlsTcp;

impl Transport for TlsTcp {
    fn scheme(&self) -> &'static str {
        "tls+tcp"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let none = || NetError::new(address, TlsError::NoServerCertificate);
            let tls = options.tls.clone().ok_or_else(none)?;
            let below = tcp::listen(address, &options).await?;
            Ok(Box::new(TlsListener { below, tls }) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let failed = |error: TlsError| NetError::new(address, error);
            let tls = match options.tls {
                Some(tls) => tls,
                None => TlsClientConfig::system().map_err(failed)?,
            };
            let (config, name, recheck) = tls.dialling(tcp::host(address)?).map_err(failed)?;
            let below = tcp::dial(address, options.tcp).await?;
            let connection = UnbufferedClientConnection::new(config, name)
                .map_err(|error| failed(error.into()))?;
            over(below, |peer| TlsLayer::new(connection, peer, Some(recheck)))
                .map_err(|error| NetError::new(address, error))
        })
    }
}

struct TlsListener {
    below: BoundTcpListener,
    tls: TlsServerConfig,
}

impl Listener for TlsListener {
    fn address(&self) -> &Address {
        self.below.address()
    }

    fn is_local(&self) -> bool {
        self.below.is_local()
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            let below = self.below.accept().await?;
            let failed = |kind: NetErrorKind| NetError::new(self.address(), kind);
            let presented = self.tls.current();
            let connection = UnbufferedServerConnection::new(presented.config.clone())
                .map_err(|error| failed(TlsError::from(error).into()))?;
            let over = over(below, |peer| TlsLayer::new(connection, peer, presented.recheck()));
            let own_certificate = Some(presented.certificate.clone());
            let over = over.map(|connection| Connection { own_certificate, ..connection });
            over.map_err(|error| failed(error.into()))
        })
    }
}

/// The layer that `make` returns over `below`, with the place where it leaves the peer's certificate.
fn over<L: layered::Layer>(
    mut below: Connection,
    make: impl FnOnce(PeerCertificate) -> L,
) -> std::io::Result<Connection> {
    let certificate = PeerCertificate::default();
    below.certificate = certificate.clone();
    layered::over(below, make(certificate))
}
