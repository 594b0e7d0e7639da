//! TLS sessions that are resumed when a certificate has expired since it was shown.

use std::sync::Mutex;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

use super::certificates::Issued;
use super::*;
use crate::NetErrorKind;
use crate::transports::tls::CertificateFault;

/// 2031-01-01, the end of a certificate that is valid until then.
const END: u64 = 1_924_992_000;

/// A clock that a test sets, in seconds since 1970.
#[derive(Debug)]
struct Clock(Mutex<u64>);

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = *self.0.lock().unwrap();
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}

/// A client and a server which show certificates to each other, and their clock.
struct Party {
    clock: Arc<Clock>,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    of_servers: Arc<WebPkiServerVerifier>,
    of_clients: Arc<dyn ClientCertVerifier>,
}

impl Party {
    /// Certificates that are valid until the beginning of these years, an hour before 2031.
    fn new(years: [i32; 2], versions: &[&'static SupportedProtocolVersion]) -> Party {
        let authority = Authority::new("the authority");
        let identity = |until: i32| {
            let issued = authority.issue(Request { years: (2020, until), ..Request::default() });
            let Issued { chain, key, .. } = &issued;
            let chain = vec![CertificateDer::from_pem_slice(chain.as_bytes()).unwrap()];
            (chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap())
        };
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
        let roots = Arc::new(roots);
        let of_servers =
            WebPkiServerVerifier::builder_with_provider(roots.clone(), provider()).build().unwrap();
        let of_clients =
            WebPkiClientVerifier::builder_with_provider(roots, provider()).build().unwrap();
        let clock = Arc::new(Clock(Mutex::new(END - 3600)));
        let [(client_chain, client_key), (server_chain, server_key)] = years.map(identity);
        let client = ClientConfig::builder_with_details(provider(), clock.clone())
            .with_protocol_versions(versions)
            .unwrap()
            .with_webpki_verifier(of_servers.clone())
            .with_client_auth_cert(client_chain, client_key)
            .unwrap();
        let server = ServerConfig::builder_with_details(provider(), clock.clone())
            .with_protocol_versions(versions)
            .unwrap()
            .with_client_cert_verifier(of_clients.clone())
            .with_single_cert(server_chain, server_key)
            .unwrap();
        let (client, server) = (Arc::new(client), Arc::new(server));
        Party { clock, client, server, of_servers, of_clients }
    }

    /// Connects, and sends a byte each way. The handshake, or the error of the client, or the server.
    fn connect(&self) -> Result<HandshakeKind, Box<[Option<TlsError>; 2]>> {
        let name = ServerName::try_from("localhost").unwrap();
        let connection = UnbufferedClientConnection::new(self.client.clone(), name.clone());
        let recheck = Recheck::server(self.of_servers.clone(), name, self.clock.clone());
        let mut client = End::new(connection.unwrap(), Some(recheck));
        let recheck = Recheck::client(self.of_clients.clone(), self.clock.clone());
        let connection = UnbufferedServerConnection::new(self.server.clone()).unwrap();
        let mut server = End::new(connection, Some(recheck));
        // They wait for the end of the handshake, and come right behind it.
        client.send(b"c");
        server.send(b"s");
        let (mut errors, mut over) = ([None, None], false);
        while !over {
            let [to_server, to_client] =
                [std::mem::take(&mut client.out), std::mem::take(&mut server.out)];
            over = to_server.is_empty() && to_client.is_empty();
            let received = [client.receive(&to_client), server.receive(&to_server)];
            let failed = received.map(|outcome| outcome.err().map(|error| of_io(&error)));
            over |= failed.iter().any(Option::is_some);
            errors = failed;
        }
        if errors != [None, None] {
            let read = [&client.input, &server.input].map(|input| input.as_slice().len());
            assert!(errors.iter().zip(read).all(|(error, read)| error.is_none() || read == 0));
            assert!(
                errors[1].is_none() || server.out.is_empty(),
                "a refused client gets no tickets"
            );
            return Err(Box::new(errors));
        }
        assert_eq!((client.input.as_slice(), server.input.as_slice()), (&b"s"[..], &b"c"[..]));
        Ok(client.layer.connection.common().handshake_kind().unwrap())
    }
}

fn of_io(error: &io::Error) -> TlsError {
    let inner = error.get_ref().unwrap();
    match inner.downcast_ref() {
        Some(NetErrorKind::Tls(error)) => error.clone(),
        _ => panic!("{error}"),
    }
}

#[test]
fn a_session_is_not_resumed_when_a_certificate_of_it_has_expired() {
    let refused = || Some(TlsError::Untrusted(CertificateFault::Expired));
    for versions in [versions(false), &[&rustls::version::TLS12]] {
        for (years, errors) in
            [([2031, 2120], [None, refused()]), ([2120, 2031], [refused(), None])]
        {
            let party = Party::new(years, versions);
            assert_eq!(party.connect(), Ok(HandshakeKind::Full));
            assert_eq!(party.connect(), Ok(HandshakeKind::Resumed), "{versions:?}");
            *party.clock.0.lock().unwrap() = END + 3600;
            assert_eq!(party.connect(), Err(Box::new(errors)), "{versions:?} {years:?}");
        }
    }
}
