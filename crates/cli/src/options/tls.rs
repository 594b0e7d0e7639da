//! The options of `tls+tcp://` and `wss://`.

use std::path::PathBuf;

use clap::Args;
use wigwag::NodeOptions;
use wigwag::transport::{DialOptions, ListenOptions, TlsClientConfig, TlsServerConfig, TlsSource};

use crate::exit::{Failed, tls_failure};
use crate::options::address;

/// The certificates that an end presents and accepts. Which of them count depends on whether an
/// address is dialled or listened at.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options for tls+tcp:// and wss://")]
pub(crate) struct TlsArguments {
    /// Authority of the listeners that are dialled, in PEM [default: those of the system]
    #[arg(long, value_name = "FILE")]
    tls_ca: Vec<PathBuf>,
    /// Own certificate with its chain, in PEM; needed to listen
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Accept only dialers with a certificate of this authority
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Vec<PathBuf>,
    /// Revocation list, in PEM: of the dialers when listening, otherwise of the listeners
    #[arg(long, value_name = "FILE")]
    tls_crl: Vec<PathBuf>,
    /// Name in the certificate of the listener, if it is not the host of the address
    #[arg(long, value_name = "NAME")]
    tls_name: Option<String>,
    /// Allow TLS 1.2 as well, for older peers
    #[arg(long)]
    tls12: bool,
}

impl TlsArguments {
    /// The options to dial `address`.
    pub(crate) fn dial_options(&self, address: &str) -> Result<DialOptions, Failed> {
        address::check(address)?;
        let options = DialOptions::default();
        if !is_tls(address) {
            return Ok(options);
        }
        let mut tls = TlsClientConfig::builder().tls12(self.tls12);
        for authority in &self.tls_ca {
            tls = tls.authority(TlsSource::file(authority));
        }
        if let Some((chain, key)) = self.identity() {
            tls = tls.certificate(chain, key);
        }
        for list in &self.tls_crl {
            tls = tls.revocations(TlsSource::file(list));
        }
        if let Some(name) = &self.tls_name {
            tls = tls.server_name(name);
        }
        Ok(options.tls(tls.build().map_err(|error| tls_failure(&error, address))?))
    }

    /// The options to listen at `address`.
    pub(crate) fn listen_options(&self, address: &str) -> Result<ListenOptions, Failed> {
        address::check(address)?;
        let options = ListenOptions::default();
        if !is_tls(address) {
            return Ok(options);
        }
        let mut tls = TlsServerConfig::builder().tls12(self.tls12);
        if let Some((chain, key)) = self.identity() {
            tls = tls.certificate(chain, key);
        }
        for authority in &self.tls_client_ca {
            tls = tls.client_authority(TlsSource::file(authority));
        }
        for list in &self.tls_crl {
            tls = tls.revocations(TlsSource::file(list));
        }
        Ok(options.tls(tls.build().map_err(|error| tls_failure(&error, address))?))
    }

    /// The options of a node that dials `address`.
    pub(crate) fn node_options(&self, address: &str) -> Result<NodeOptions, Failed> {
        Ok(NodeOptions::default().dial_options(self.dial_options(address)?))
    }

    fn identity(&self) -> Option<(TlsSource, TlsSource)> {
        Some((TlsSource::file(self.tls_cert.as_ref()?), TlsSource::file(self.tls_key.as_ref()?)))
    }
}

/// False if TLS has no part in `address`, so that its files are not read.
fn is_tls(address: &str) -> bool {
    ["tls+tcp://", "wss://"].iter().any(|scheme| address.starts_with(scheme))
}
