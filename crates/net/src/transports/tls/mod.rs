//! `tls+tcp://host:port`: TLS over the tcp transport, for SP sockets and nodes.
//!
//! The bytes inside are those of `tcp://`, as in NNG and mangos: the SP mapping, without ALPN. TLS 1.3
//! is spoken unless the configuration also allows 1.2; there is no early data, because it can be
//! replayed. A [`TlsClientConfig`] belongs to the options of a dial, a [`TlsServerConfig`] to those of
//! a listener. The handshake runs within that of the protocol above, in its time and with its limit
//! on pending connections.
//!
//! The cryptography is that of ring, which this module passes to rustls explicitly: the provider that
//! a program installs for its own use of rustls changes nothing here.

mod error;
mod source;
mod reloadable;
mod client;
mod server;
mod output;
mod resumed;
mod unbuffered;
mod layer;
mod transport;

pub use client::{TlsClientBuilder, TlsClientConfig};
pub use error::{CertificateFault, PeerRefusal, TlsError};
pub use server::{TlsServerBuilder, TlsServerConfig};
pub use source::TlsSource;
pub use transport::TlsTcp;

use std::sync::{Arc, LazyLock};

use rustls::SupportedProtocolVersion;
use rustls::crypto::CryptoProvider;
use rustls::version::{TLS12, TLS13};

/// The cryptography of every connection.
fn provider() -> Arc<CryptoProvider> {
    static RING: LazyLock<Arc<CryptoProvider>> =
        LazyLock::new(|| Arc::new(rustls::crypto::ring::default_provider()));
    RING.clone()
}

/// The first DNS name of a certificate, which TLS has checked.
pub(crate) fn first_dns_name(der: &[u8]) -> Option<String> {
    let der = rustls_pki_types::CertificateDer::from(der);
    let certificate = webpki::EndEntityCert::try_from(&der).ok()?;
    certificate.valid_dns_names().next().map(str::to_owned)
}

/// The versions of TLS that a configuration allows.
fn versions(with_tls12: bool) -> &'static [&'static SupportedProtocolVersion] {
    const BOTH: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
    const LATEST: &[&SupportedProtocolVersion] = &[&TLS13];
    if with_tls12 { BOTH } else { LATEST }
}
