//! TLS sessions are resumed, with a ticket or by their id: with other programs that use rustls.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, ServerConfig, ServerConnection,
    StreamOwned, SupportedProtocolVersion,
};
use wigwag_net::{DialOptions, transport};
use wigwag_wire::ProtocolNumber;

use crate::certificates::Issued;
use crate::ends::{Party, listen, shake};

/// The header of PUSH.
const HEADER: &[u8; 8] = b"\0SP\0\0\x50\0\0";

const RESUMED: [Option<HandshakeKind>; 2] =
    [Some(HandshakeKind::Full), Some(HandshakeKind::Resumed)];

const VERSIONS: [&[&SupportedProtocolVersion]; 2] =
    [&[&rustls::version::TLS13], &[&rustls::version::TLS12]];

fn chain_of(issued: &Issued) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let chain = CertificateDer::pem_slice_iter(issued.chain.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
    (chain.collect::<Result<_, _>>().unwrap(), key)
}

/// The kind of each of two handshakes of one client of rustls with a listener.
async fn handshakes(
    party: &Party,
    versions: &[&'static SupportedProtocolVersion],
) -> [Option<HandshakeKind>; 2] {
    let server = party.server().tls12(true).build().unwrap();
    let (listener, address) = listen(server).await;
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(party.authority.pem().as_bytes()).unwrap()).unwrap();
    let (chain, key) = chain_of(&party.client);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    let mut kinds = [None; 2];
    for kind in &mut kinds {
        let (config, place) = (config.clone(), address.rest().to_owned());
        let talk = tokio::task::spawn_blocking(move || {
            let name = ServerName::try_from("localhost").unwrap();
            let connection = ClientConnection::new(config, name).unwrap();
            let mut stream = StreamOwned::new(connection, TcpStream::connect(place).unwrap());
            stream.write_all(HEADER).unwrap();
            // The header of the listener comes behind its tickets.
            stream.read_exact(&mut [0; 8]).unwrap();
            stream.conn.handshake_kind()
        });
        let accepted = listener.accept().await.unwrap();
        shake(accepted, ProtocolNumber::PULL).await.unwrap();
        *kind = talk.await.unwrap();
    }
    kinds
}

#[tokio::test]
async fn a_client_resumes_its_session_at_a_listener() {
    let party = Party::new();
    for versions in VERSIONS {
        let kinds = handshakes(&party, versions).await;
        assert_eq!(kinds, RESUMED, "{versions:?}");
    }
}

#[tokio::test]
async fn a_dialer_resumes_its_session() {
    let party = Party::new();
    for versions in VERSIONS {
        let (chain, key) = chain_of(&party.server);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tls+tcp://{}", listener.local_addr().unwrap()).parse().unwrap();
        let talk = tokio::task::spawn_blocking(move || {
            [(); 2].map(|()| {
                let connection = ServerConnection::new(config.clone()).unwrap();
                let mut stream = StreamOwned::new(connection, listener.accept().unwrap().0);
                stream.write_all(HEADER).unwrap();
                stream.read_exact(&mut [0; 8]).unwrap();
                stream.conn.handshake_kind()
            })
        });
        let client = party.stranger().tls12(true).build().unwrap();
        for _ in 0..2 {
            let options = DialOptions::default().tls(client.clone());
            let dialled = transport::dial_with(&address, options).await.unwrap();
            shake(dialled, ProtocolNumber::PULL).await.unwrap();
        }
        assert_eq!(talk.await.unwrap(), RESUMED, "{versions:?}");
    }
}
