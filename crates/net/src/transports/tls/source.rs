//! Where certificates, private keys and revocation lists come from.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use super::{TlsError, provider};

/// Longest file that is read: the longest revocation lists of public authorities have some MiB.
const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Longest kind of an item in PEM that is shown: `ENCRYPTED PRIVATE KEY` has 21 bytes.
const KIND_BYTES_MAX: usize = 32;

/// Lines in PEM by which a private key with a password is known.
const ENCRYPTED_KEY_LINES: [&[u8]; 2] =
    [b"-----BEGIN ENCRYPTED PRIVATE KEY-----", b"Proc-Type: 4,ENCRYPTED"];

/// A file or bytes with certificates, a private key or revocation lists. A file is read when the
/// configuration is built, and again at each reload.
#[derive(Clone, PartialEq, Eq)]
pub enum TlsSource {
    /// A file in PEM.
    File(PathBuf),
    /// Text in PEM.
    Pem(Vec<u8>),
    /// Items in DER, one after the other.
    Der(Vec<Vec<u8>>),
}

impl TlsSource {
    /// A file in PEM.
    pub fn file(path: impl AsRef<Path>) -> TlsSource {
        TlsSource::File(path.as_ref().to_owned())
    }

    /// Text in PEM.
    pub fn pem(text: impl Into<Vec<u8>>) -> TlsSource {
        TlsSource::Pem(text.into())
    }

    /// One item in DER.
    pub fn der(item: impl Into<Vec<u8>>) -> TlsSource {
        TlsSource::Der(vec![item.into()])
    }

    /// Certificates, at least one.
    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        self.items("certificate", |der| Ok(der.into()))
    }

    /// Revocation lists, at least one.
    pub(super) fn revocation_lists(
        &self,
    ) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
        self.items("certificate revocation list", |der| Ok(der.into()))
    }

    /// The first private key.
    pub(super) fn private_key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        let mut keys = self.items("private key", PrivateKeyDer::try_from).map_err(|error| {
            match self.has_encrypted_key() {
                true => TlsError::EncryptedKey { place: self.to_string() },
                false => error,
            }
        })?;
        Ok(keys.swap_remove(0))
    }

    /// True if the text has the lines of a key with a password, of PKCS #8 or of OpenSSL's own form,
    /// both of which look like no key, or like a damaged one, to a reader of keys without.
    fn has_encrypted_key(&self) -> bool {
        let has = |text: &[u8]| {
            ENCRYPTED_KEY_LINES
                .iter()
                .any(|line| text.windows(line.len()).any(|part| part == *line))
        };
        match self {
            TlsSource::File(path) => self.read(path).is_ok_and(|text| has(&text)),
            TlsSource::Pem(text) => has(text),
            TlsSource::Der(_) => false,
        }
    }

    fn items<T: PemObject>(
        &self,
        what: &'static str,
        of_der: impl Fn(Vec<u8>) -> Result<T, &'static str>,
    ) -> Result<Vec<T>, TlsError> {
        let unusable =
            |reason: String| TlsError::Unusable { what, place: self.to_string(), reason };
        let of_pem = |text: &[u8]| {
            let found: Result<Vec<T>, _> = T::pem_slice_iter(text).collect();
            found.map_err(|error| unusable(fault_of(&error)))
        };
        let found = match self {
            TlsSource::File(path) => of_pem(&self.read(path)?)?,
            TlsSource::Pem(text) => of_pem(text)?,
            TlsSource::Der(items) => {
                let made: Result<Vec<T>, _> = items.iter().cloned().map(of_der).collect();
                made.map_err(|error| unusable(error.to_owned()))?
            }
        };
        if found.is_empty() {
            return Err(TlsError::Missing { what, place: self.to_string() });
        }
        Ok(found)
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, TlsError> {
        let unreadable = |reason: String| TlsError::Unreadable { place: self.to_string(), reason };
        let mut text = Vec::new();
        let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
        file.take(FILE_BYTES_MAX + 1)
            .read_to_end(&mut text)
            .map_err(|error| unreadable(error.to_string()))?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(unreadable(format!("it has more than {FILE_BYTES_MAX} bytes")));
        }
        Ok(text)
    }
}

/// Why a text in PEM cannot be used. Shows nothing of the text but the kind of an item: where the ends of
/// lines are lost, the first line is the private key.
fn fault_of(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { end_marker } if is_kind(end_marker) => {
            let kind = String::from_utf8_lossy(end_marker);
            format!("it ends before the line END {kind}: was it read while it was written?")
        }
        pem::Error::MissingSectionEnd { .. } | pem::Error::IllegalSectionStart { .. } => {
            "the line BEGIN is not whole, or has more on it: are the ends of lines lost?".to_owned()
        }
        other => other.to_string(),
    }
}

/// True for what may stand behind BEGIN and END (RFC 7468), as short as the longest kind that is known.
fn is_kind(text: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ';
    text.len() <= KIND_BYTES_MAX && text.iter().all(is_part)
}

/// The place, for errors; never the content, which may be a private key.
impl fmt::Display for TlsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsSource::File(path) => path.display().fmt(f),
            TlsSource::Pem(_) => f.write_str("the PEM text"),
            TlsSource::Der(_) => f.write_str("the DER bytes"),
        }
    }
}

impl fmt::Debug for TlsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TlsSource({self})")
    }
}

/// The authorities in `sources`.
pub(super) fn roots(sources: &[TlsSource]) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for source in sources {
        for authority in source.certificates()? {
            roots.add(authority).map_err(|error| TlsError::Unusable {
                what: "authority",
                place: source.to_string(),
                reason: error.to_string(),
            })?;
        }
    }
    Ok(roots)
}

/// The revocation lists in `sources`.
pub(super) fn revocation_lists(
    sources: &[TlsSource],
) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let mut lists = Vec::new();
    for source in sources {
        lists.extend(source.revocation_lists()?);
    }
    Ok(lists)
}

/// The error of the revocation lists in `sources` if they cannot be used together.
pub(super) fn unusable_lists(sources: &[TlsSource], error: &impl fmt::Display) -> TlsError {
    let places: Vec<String> = sources.iter().map(ToString::to_string).collect();
    TlsError::Unusable {
        what: "certificate revocation list",
        place: places.join(", "),
        reason: error.to_string(),
    }
}

/// A certificate chain, the end entity's certificate first, and its private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) chain: TlsSource,
    pub(super) key: TlsSource,
}

impl Identity {
    pub(super) fn load(
        &self,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
        let (chain, key) = (self.chain.certificates()?, self.key.private_key()?);
        // Asked first, because the later error does not tell the key from the certificate.
        provider()
            .key_provider
            .load_private_key(key.clone_key())
            .map_err(|_| TlsError::UnsupportedKey { place: self.key.to_string() })?;
        Ok((chain, key))
    }

    /// The error of a certificate and key that rustls does not take.
    pub(super) fn refused(&self, error: &rustls::Error) -> TlsError {
        match error {
            rustls::Error::InconsistentKeys(_) => {
                TlsError::KeyMismatch { chain: self.chain.to_string(), key: self.key.to_string() }
            }
            other => TlsError::Unusable {
                what: "certificate or private key",
                place: format!("{} and {}", self.chain, self.key),
                reason: other.to_string(),
            },
        }
    }
}
