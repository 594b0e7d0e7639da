//! The versions of TLS: 1.3, and 1.2 only where it is allowed.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::TLS12;
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};
use wigwag_net::tls::{PeerRefusal, TlsError};
use wigwag_net::{Address, DialOptions, transport};
use wigwag_wire::ProtocolNumber;

use crate::ends::{Party, listen, raw_client, shake, tls_error, with_server};

const ONLY_TLS12: &[&SupportedProtocolVersion] = &[&TLS12];

/// The header of a push socket.
const PUSH: &[u8] = b"\0SP\0\0\x50\0\0";

#[tokio::test]
async fn a_client_with_tls12_alone_is_served_only_where_that_is_allowed() {
    let party = Party::new();
    for is_allowed in [false, true] {
        let server = with_server(&party.server).tls12(is_allowed).build().unwrap();
        let (listener, address) = listen(server).await;
        let serving = async { shake(listener.accept().await.unwrap(), ProtocolNumber::PULL).await };
        let (served, (got, _)) =
            tokio::join!(serving, raw_client(&party, address.rest(), ONLY_TLS12, PUSH));
        if is_allowed {
            assert!(served.is_ok());
            assert_eq!(got, b"\0SP\0\0\x51\0\0");
        } else {
            let refused = tls_error(served);
            assert!(matches!(refused, Ok(TlsError::NothingInCommon(_))), "{refused:?}");
            assert_eq!(got, [0; 0]);
        }
    }
}

#[tokio::test]
async fn a_server_with_tls12_alone_is_dialled_only_where_that_is_allowed() {
    let party = Party::new();
    let chain = vec![CertificateDer::from_pem_slice(party.server.chain.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(party.server.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(ONLY_TLS12)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    for is_allowed in [false, true] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let place = format!("tls+tcp://{}", listener.local_addr().unwrap());
        let config = config.clone();
        let serving = tokio::task::spawn_blocking(move || {
            use std::io::{Read, Write};
            let (stream, _) = listener.accept().unwrap();
            let connection = ServerConnection::new(config).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, stream);
            let mut header = [0; 8];
            // A dialer that does not speak it ends here.
            let heard = stream.read_exact(&mut header);
            heard.and_then(|()| stream.write_all(b"\0SP\0\0\x51\0\0")).is_ok()
        });
        let options =
            DialOptions::default().tls(party.stranger().tls12(is_allowed).build().unwrap());
        let address: Address = place.parse().unwrap();
        let dialled = transport::dial_with(&address, options).await.unwrap();
        let outcome = shake(dialled, ProtocolNumber::PUSH).await;
        if is_allowed {
            assert!(outcome.is_ok());
        } else {
            let other = TlsError::RefusedByPeer(PeerRefusal::OtherVersion);
            assert_eq!(tls_error(outcome), Ok(other));
        }
        assert_eq!(serving.await.unwrap(), is_allowed);
    }
}
