//! Two ends that shake hands, and what each of them says.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};
use wigwag_net::error::NetErrorKind;
use wigwag_net::handshake::{greet, within};
use wigwag_net::tls::{TlsClientBuilder, TlsError, TlsServerBuilder};
use wigwag_net::{
    Address, Connection, DialOptions, ListenOptions, Listener, TlsClientConfig, TlsServerConfig,
    TlsSource, transport,
};
use wigwag_wire::{ProtocolNumber, ReadBuf};

use crate::certificates::{Authority, Issued, Request};

/// One authority, and the certificates of a server and a client that it has issued.
pub(crate) struct Party {
    pub(crate) authority: Authority,
    pub(crate) server: Issued,
    pub(crate) client: Issued,
}

impl Party {
    pub(crate) fn new() -> Party {
        let authority = Authority::new("the authority");
        let server = authority.issue(Request { serial: 11, ..Request::default() });
        let client = authority.issue(Request { serial: 12, ..Request::default() });
        Party { authority, server, client }
    }

    pub(crate) fn root(&self) -> TlsSource {
        TlsSource::pem(self.authority.pem())
    }

    /// A server that wants certificates of clients.
    pub(crate) fn server(&self) -> TlsServerBuilder {
        with_server(&self.server).client_authority(self.root())
    }

    /// A client with a certificate.
    pub(crate) fn client(&self) -> TlsClientBuilder {
        let Issued { chain, key, .. } = &self.client;
        self.stranger().certificate(TlsSource::pem(chain.as_str()), TlsSource::pem(key.as_str()))
    }

    /// A client without a certificate.
    pub(crate) fn stranger(&self) -> TlsClientBuilder {
        TlsClientConfig::builder().authority(self.root())
    }
}

pub(crate) fn with_server(issued: &Issued) -> TlsServerBuilder {
    let (chain, key) = (issued.chain.as_str(), issued.key.as_str());
    TlsServerConfig::builder().certificate(TlsSource::pem(chain), TlsSource::pem(key))
}

pub(crate) async fn listen(server: TlsServerConfig) -> (Box<dyn Listener>, Address) {
    let wanted: Address = "tls+tcp://127.0.0.1:0".parse().unwrap();
    let options = ListenOptions::default().tls(server);
    let listener = transport::listen(&wanted, options).await.unwrap();
    let address = listener.address().clone();
    (listener, address)
}

/// Completes the handshake of SP, and closes the connection if it fails.
pub(crate) async fn shake(
    mut connection: Connection,
    ours: ProtocolNumber,
) -> Result<Connection, NetErrorKind> {
    let peer = connection.peer.clone();
    let mut input = ReadBuf::new();
    match within(&peer, greet(&mut connection, &mut input, ours)).await {
        Ok(_) => Ok(connection),
        Err(error) => {
            connection.outlet.close();
            Err(error.kind)
        }
    }
}

/// The outcome at both ends: the server's first.
pub(crate) async fn meet(
    server: TlsServerConfig,
    client: TlsClientConfig,
) -> (Result<Connection, NetErrorKind>, Result<Connection, NetErrorKind>) {
    let (listener, address) = listen(server).await;
    let accepting = async {
        let accepted = listener.accept().await.map_err(|error| error.kind)?;
        shake(accepted, ProtocolNumber::PULL).await
    };
    let dialling = async {
        let options = DialOptions::default().tls(client);
        let dialled = transport::dial_with(&address, options).await.map_err(|error| error.kind)?;
        shake(dialled, ProtocolNumber::PUSH).await
    };
    tokio::join!(accepting, dialling)
}

/// The error of TLS, or what there is instead.
pub(crate) fn tls_error(outcome: Result<Connection, NetErrorKind>) -> Result<TlsError, String> {
    match outcome {
        Ok(_) => Err("no error".to_owned()),
        Err(NetErrorKind::Tls(error)) => Ok(error),
        Err(other) => Err(other.to_string()),
    }
}

/// A client of rustls alone, without a certificate: what it reads after it has sent `says`, until 8
/// bytes have come or the connection has ended.
pub(crate) async fn raw_client(
    party: &Party,
    place: &str,
    versions: &'static [&'static SupportedProtocolVersion],
    says: &'static [u8],
) -> (Vec<u8>, io::Result<()>) {
    let (root, place) = (party.authority.pem(), place.to_owned());
    let talk = move || {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(root.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = StreamOwned::new(connection, TcpStream::connect(place).unwrap());
        // If it is refused, the reason comes when it reads.
        let _ = stream.write_all(says);
        let mut got = Vec::new();
        let ended = Read::by_ref(&mut stream).take(8).read_to_end(&mut got);
        (got, ended.map(drop))
    };
    tokio::task::spawn_blocking(talk).await.unwrap()
}
