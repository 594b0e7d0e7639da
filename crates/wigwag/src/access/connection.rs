//! The identity of the peer of a connection, as the connection proves it.

use std::sync::Arc;

use wigwag_actor::Principal;
use wigwag_link::opening::shared_key::Prover;
use wigwag_net::transport::PeerCertificate;
use wigwag_net::{Connection, Credentials, ListenOptions, Listener};

/// The identity of the peer of a connection, which has proven that it has the key named `key`, or
/// none.
pub(crate) fn principal_of(connection: &Connection, key: Option<&Arc<str>>) -> Principal {
    match key.or(connection.vouched_name.as_ref()) {
        Some(name) => Principal::Key(name.clone()),
        None => identify(&connection.certificate, connection.credentials, &connection.peer),
    }
}

/// The identity of the peer of a connection, for a server that has accepted it: by the certificate that
/// TLS has checked, by what the kernel says of it, or none. `peer` is its address.
pub fn identify(
    certificate: &PeerCertificate,
    credentials: Option<Credentials>,
    peer: &str,
) -> Principal {
    if let Some(der) = certificate.get() {
        return Principal::Certificate(certificate_name(certificate, &der));
    }
    match credentials {
        Some(credentials) => Principal::User(credentials.uid),
        None if peer.starts_with("inproc://") => Principal::Process,
        None => Principal::Anonymous,
    }
}

fn certificate_name(place: &PeerCertificate, certificate: &[u8]) -> Arc<str> {
    #[cfg(feature = "tls")]
    if let Some(name) = place.dns_name() {
        return name.into();
    }
    #[cfg(not(feature = "tls"))]
    let _ = place;
    let digest = hmac_sha256::Hash::hash(certificate);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}").into()
}

/// The bytes that bind a proof to the transport of a connection: the digest of the certificate of the
/// listening side (as `tls-server-end-point` of RFC 5929), or none without TLS.
pub(crate) fn binding(connection: &Connection, side: Prover) -> Vec<u8> {
    let certificate = match side {
        Prover::Dialer => connection.certificate.get(),
        Prover::Listener => connection.own_certificate.clone(),
    };
    certificate.map(|der| hmac_sha256::Hash::hash(&der).to_vec()).unwrap_or_default()
}

/// True if only programs of this machine reach a listener, or if TLS identifies each peer.
pub(crate) fn is_protected(listener: &dyn Listener, options: &ListenOptions) -> bool {
    #[cfg(feature = "tls")]
    if matches!(listener.address().scheme(), "tls+tcp" | "wss")
        && options.get_tls().is_some_and(|tls| tls.checks_clients())
    {
        return true;
    }
    #[cfg(not(feature = "tls"))]
    let _ = options;
    listener.is_local()
}
