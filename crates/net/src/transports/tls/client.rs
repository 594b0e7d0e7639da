//! The authorities that a dialer trusts, and the certificate that it presents.

use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};

use super::reloadable::{Reloadable, Settings};
use super::resumed::Recheck;
use super::source::{Identity, revocation_lists, roots, unusable_lists};
use super::{TlsError, TlsSource, provider, versions};

/// The authorities that a dialer of `tls+tcp://` trusts, and the certificate that it presents.
/// Clones share both, so one [`reload`](Self::reload) is for all dialers that have them. Two are equal
/// if one is a clone of the other.
///
/// The [default](Self::system) trusts the authorities of the system and presents nothing.
///
/// ```no_run
/// use wigwag_net::DialOptions;
/// use wigwag_net::tls::{TlsClientConfig, TlsSource};
///
/// let tls = TlsClientConfig::builder()
///     .authority(TlsSource::file("ca.pem"))
///     .certificate(TlsSource::file("node.pem"), TlsSource::file("node.key"))
///     .build()?;
/// let options = DialOptions::default().tls(tls);
/// # let _ = options;
/// # Ok::<(), wigwag_net::tls::TlsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsClientConfig(Reloadable<TlsClientBuilder>);

/// The loaded configuration of dialers.
pub(super) struct Trusted {
    config: Arc<ClientConfig>,
    verifier: Arc<WebPkiServerVerifier>,
}

/// Builds a [`TlsClientConfig`].
#[derive(Clone, Debug, Default)]
pub struct TlsClientBuilder {
    authorities: Vec<TlsSource>,
    identity: Option<Identity>,
    revocations: Vec<TlsSource>,
    name: Option<String>,
    tls12: bool,
}

impl TlsClientConfig {
    /// Begins a configuration.
    pub fn builder() -> TlsClientBuilder {
        TlsClientBuilder::default()
    }

    /// The configuration of a dialer without options: the authorities of the system, no client
    /// certificate. It is loaded once.
    ///
    /// # Errors
    /// [`NoRoots`](TlsError::NoRoots) if the system has no authorities.
    pub fn system() -> Result<TlsClientConfig, TlsError> {
        static SYSTEM: OnceLock<TlsClientConfig> = OnceLock::new();
        if let Some(loaded) = SYSTEM.get() {
            return Ok(loaded.clone());
        }
        let loaded = TlsClientConfig::builder().build()?;
        Ok(SYSTEM.get_or_init(|| loaded).clone())
    }

    /// Loads certificate, key, authorities and revocation lists again, for the connections that are
    /// dialled from now on.
    ///
    /// # Errors
    /// The fault of what was to be loaded; then everything stays as it was.
    pub fn reload(&self) -> Result<(), TlsError> {
        self.0.reload()
    }

    /// The configuration and the name with which rustls dials `host`, and the check of a listener that
    /// resumes a session.
    pub(super) fn dialling(
        &self,
        host: &str,
    ) -> Result<(Arc<ClientConfig>, ServerName<'static>, Recheck), TlsError> {
        let name = server_name(self.0.settings().name.as_deref().unwrap_or(host))?;
        let Trusted { config, verifier } = &*self.0.current();
        let clock = config.time_provider.clone();
        let recheck = Recheck::server(verifier.clone(), name.clone(), clock);
        Ok((config.clone(), name, recheck))
    }
}

impl TlsClientBuilder {
    /// Trusts the authorities in `source`, and those of the system no longer. May be called several
    /// times.
    #[must_use]
    pub fn authority(mut self, source: TlsSource) -> TlsClientBuilder {
        self.authorities.push(source);
        self
    }

    /// Presents a certificate to peers that want one: its chain, without the root, and its key.
    #[must_use]
    pub fn certificate(mut self, chain: TlsSource, key: TlsSource) -> TlsClientBuilder {
        self.identity = Some(Identity { chain, key });
        self
    }

    /// Refuses peers whose certificates are in these revocation lists. With any, each authority of a
    /// peer's chain needs one.
    #[must_use]
    pub fn revocations(mut self, source: TlsSource) -> TlsClientBuilder {
        self.revocations.push(source);
        self
    }

    /// Expects a certificate for this name, DNS or IP, instead of the host that is dialled.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> TlsClientBuilder {
        self.name = Some(name.into());
        self
    }

    /// Also speaks TLS 1.2, for older peers. Off by default.
    #[must_use]
    pub fn tls12(mut self, on: bool) -> TlsClientBuilder {
        self.tls12 = on;
        self
    }

    /// Loads everything.
    ///
    /// # Errors
    /// A file that cannot be read, something in it that cannot be used, or a name that is none.
    pub fn build(self) -> Result<TlsClientConfig, TlsError> {
        if let Some(name) = &self.name {
            server_name(name)?;
        }
        Ok(TlsClientConfig(Reloadable::new(self)?))
    }

    fn roots(&self) -> Result<Arc<RootCertStore>, TlsError> {
        match self.authorities.is_empty() {
            true => system_roots(),
            false => roots(&self.authorities).map(Arc::new),
        }
    }
}

impl Settings for TlsClientBuilder {
    type Loaded = Trusted;

    fn load(&self) -> Result<Trusted, TlsError> {
        let verifier = WebPkiServerVerifier::builder_with_provider(self.roots()?, provider())
            .with_crls(revocation_lists(&self.revocations)?)
            .build()
            .map_err(|error| unusable_lists(&self.revocations, &error))?;
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(versions(self.tls12))?
            .with_webpki_verifier(verifier.clone());
        let config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = identity.load()?;
                let made = builder.with_client_auth_cert(chain, key);
                made.map_err(|error| identity.refused(&error))?
            }
        };
        Ok(Trusted { config: Arc::new(config), verifier })
    }
}

fn server_name(name: &str) -> Result<ServerName<'static>, TlsError> {
    let bad = |_| TlsError::BadName { name: name.to_owned() };
    ServerName::try_from(name.to_owned()).map_err(bad)
}

/// The authorities of the system. They are read once, because there are hundreds of them.
fn system_roots() -> Result<Arc<RootCertStore>, TlsError> {
    static SYSTEM: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    if let Some(read) = SYSTEM.get() {
        return Ok(read.clone());
    }
    let mut roots = RootCertStore::empty();
    // Some systems have certificates that webpki does not accept; the others are of use.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(TlsError::NoRoots);
    }
    Ok(SYSTEM.get_or_init(|| Arc::new(roots)).clone())
}
