//! Checks the certificates of a peer again when its TLS session is resumed. The peer shows none then, and
//! rustls takes those that it has shown at first as they are: they may have expired since, and each
//! resumption makes another session.

use std::sync::Arc;

use rustls::Error;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::danger::ClientCertVerifier;
use rustls::time_provider::TimeProvider;

/// Checks certificates that were checked before.
pub(super) struct Recheck {
    verifier: Verifier,
    clock: Arc<dyn TimeProvider>,
}

enum Verifier {
    /// Of a dialer, for the name that it dials.
    OfServers(Arc<dyn ServerCertVerifier>, ServerName<'static>),
    /// Of a listener.
    OfClients(Arc<dyn ClientCertVerifier>),
}

impl Recheck {
    /// Checks the listener named `name`.
    pub(super) fn server(
        verifier: Arc<dyn ServerCertVerifier>,
        name: ServerName<'static>,
        clock: Arc<dyn TimeProvider>,
    ) -> Recheck {
        Recheck { verifier: Verifier::OfServers(verifier, name), clock }
    }

    /// Checks dialers.
    pub(super) fn client(
        verifier: Arc<dyn ClientCertVerifier>,
        clock: Arc<dyn TimeProvider>,
    ) -> Recheck {
        Recheck { verifier: Verifier::OfClients(verifier), clock }
    }

    /// Checks names, dates, authorities and revocation lists, as at the first connection.
    pub(super) fn check(&self, chain: &[CertificateDer<'_>]) -> Result<(), Error> {
        let (end_entity, others) = chain.split_first().ok_or(Error::NoCertificatesPresented)?;
        let now = self.clock.current_time().ok_or(Error::FailedToGetCurrentTime)?;
        match &self.verifier {
            Verifier::OfServers(verifier, name) => {
                verifier.verify_server_cert(end_entity, others, name, &[], now).map(drop)
            }
            Verifier::OfClients(verifier) => {
                verifier.verify_client_cert(end_entity, others, now).map(drop)
            }
        }
    }
}
