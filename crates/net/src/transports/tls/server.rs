//! The certificate that a listener presents, and the clients that it accepts.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use super::reloadable::{Reloadable, Settings};
use super::resumed::Recheck;
use super::source::{Identity, revocation_lists, roots, unusable_lists};
use super::{TlsError, TlsSource, provider, versions};

/// The certificate that a listener of `tls+tcp://` presents, and the clients that it accepts. Clones
/// share it, so one [`reload`](Self::reload) is for all listeners that have it. Two are equal if one is
/// a clone of the other.
///
/// ```no_run
/// use wigwag_net::ListenOptions;
/// use wigwag_net::tls::{TlsServerConfig, TlsSource};
///
/// let tls = TlsServerConfig::builder()
///     .certificate(TlsSource::file("node.pem"), TlsSource::file("node.key"))
///     .client_authority(TlsSource::file("ca.pem"))
///     .build()?;
/// let options = ListenOptions::default().tls(tls.clone());
/// // The files were renewed:
/// tls.reload()?;
/// # let _ = options;
/// # Ok::<(), wigwag_net::tls::TlsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsServerConfig(Reloadable<TlsServerBuilder>);

/// The certificates that are presented to clients now.
pub(super) struct Presented {
    pub(super) config: Arc<ServerConfig>,
    /// The certificate of the end entity, in DER.
    pub(super) certificate: Arc<[u8]>,
    /// Checks the certificates of clients, if they need some.
    verifier: Option<Arc<dyn ClientCertVerifier>>,
}

impl Presented {
    /// The check of a client that resumes a session.
    pub(super) fn recheck(&self) -> Option<Recheck> {
        let verifier = self.verifier.clone()?;
        Some(Recheck::client(verifier, self.config.time_provider.clone()))
    }
}

/// Builds a [`TlsServerConfig`].
#[derive(Clone, Debug, Default)]
pub struct TlsServerBuilder {
    identity: Option<Identity>,
    client_authorities: Vec<TlsSource>,
    revocations: Vec<TlsSource>,
    tls12: bool,
    application_protocols: Vec<Vec<u8>>,
}

impl TlsServerConfig {
    /// Begins a configuration.
    pub fn builder() -> TlsServerBuilder {
        TlsServerBuilder::default()
    }

    /// Loads certificate, key, authorities and revocation lists again, for the connections that are
    /// accepted from now on. TLS sessions of before are not resumed, so their clients are checked
    /// anew.
    ///
    /// # Errors
    /// The fault of what was to be loaded; then everything stays as it was.
    pub fn reload(&self) -> Result<(), TlsError> {
        self.0.reload()
    }

    /// True if clients without a certificate of a trusted authority are refused.
    pub fn checks_clients(&self) -> bool {
        !self.0.settings().client_authorities.is_empty()
    }

    pub(super) fn current(&self) -> Arc<Presented> {
        self.0.current()
    }
}

impl TlsServerBuilder {
    /// Sets the certificate to present: its chain, without the root, and its private key.
    #[must_use]
    pub fn certificate(mut self, chain: TlsSource, key: TlsSource) -> TlsServerBuilder {
        self.identity = Some(Identity { chain, key });
        self
    }

    /// Accepts only clients with a certificate of the authorities in `source`, which is checked at each
    /// connection, also where a TLS session is resumed. May be called several times. Without any, clients
    /// are not asked for certificates.
    #[must_use]
    pub fn client_authority(mut self, source: TlsSource) -> TlsServerBuilder {
        self.client_authorities.push(source);
        self
    }

    /// Refuses clients whose certificates are in these revocation lists. With any, each authority of
    /// a client's chain needs one.
    #[must_use]
    pub fn revocations(mut self, source: TlsSource) -> TlsServerBuilder {
        self.revocations.push(source);
        self
    }

    /// Also speaks TLS 1.2, for older peers. Off by default.
    #[must_use]
    pub fn tls12(mut self, on: bool) -> TlsServerBuilder {
        self.tls12 = on;
        self
    }

    /// Offers these protocols in the handshake (ALPN, RFC 7301), the preferred one first: a server of
    /// HTTP names `h2` and `http/1.1`. A client that names others only is refused. None by default,
    /// as SP has none.
    #[must_use]
    pub fn application_protocols<P: Into<Vec<u8>>>(
        mut self,
        protocols: impl IntoIterator<Item = P>,
    ) -> TlsServerBuilder {
        self.application_protocols = protocols.into_iter().map(Into::into).collect();
        self
    }

    /// Loads everything.
    ///
    /// # Errors
    /// A file that cannot be read, or something in it that cannot be used; no certificate.
    pub fn build(self) -> Result<TlsServerConfig, TlsError> {
        Ok(TlsServerConfig(Reloadable::new(self)?))
    }

    /// The verifier of the certificates of clients; `None` if they need none.
    fn verifier(&self) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsError> {
        if self.client_authorities.is_empty() {
            return match self.revocations.is_empty() {
                true => Ok(None),
                false => Err(TlsError::NoClientAuthority),
            };
        }
        let roots = Arc::new(roots(&self.client_authorities)?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
            .with_crls(revocation_lists(&self.revocations)?)
            .build();
        verifier.map(Some).map_err(|error| unusable_lists(&self.revocations, &error))
    }
}

impl Settings for TlsServerBuilder {
    type Loaded = Presented;

    fn load(&self) -> Result<Presented, TlsError> {
        let identity = self.identity.as_ref().ok_or(TlsError::NoServerCertificate)?;
        let (chain, key) = identity.load()?;
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(versions(self.tls12))?;
        let verifier = self.verifier()?;
        let builder = match &verifier {
            None => builder.with_no_client_auth(),
            Some(verifier) => builder.with_client_cert_verifier(verifier.clone()),
        };
        // A source has at least one certificate.
        let certificate = chain.first().map(|end_entity| end_entity.as_ref().into());
        let config = builder.with_single_cert(chain, key);
        let mut config = config.map_err(|error| identity.refused(&error))?;
        config.alpn_protocols = self.application_protocols.clone();
        let config = Arc::new(config);
        Ok(Presented { config, certificate: certificate.unwrap_or_default(), verifier })
    }
}
