//! Errors of certificates, configurations and handshakes: the reason, the party at fault,
//! and how to fix it.

use std::io;

use rustls::{AlertDescription, CertificateError};
use wigwag_wire::header::HEADER_BYTES;
use wigwag_wire::{Fault, Header, HeaderError};

use crate::error::NetErrorKind;

/// Why a configuration of TLS cannot be used, or why a connection with TLS was refused or lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A listener has no certificate.
    #[error("a listener with TLS needs a certificate and its private key")]
    NoServerCertificate,
    /// A file of the configuration cannot be read.
    #[error("{place} cannot be read: {reason}")]
    Unreadable {
        /// The file.
        place: String,
        /// The reason that the operating system gives.
        reason: String,
    },
    /// A file, or bytes in memory, has nothing of the expected kind.
    #[error("there is no {what} in {place}")]
    Missing {
        /// The expected content.
        what: &'static str,
        /// The file, or the bytes in memory.
        place: String,
    },
    /// A certificate, private key or revocation list cannot be used.
    #[error("the {what} in {place} cannot be used: {reason}")]
    Unusable {
        /// The expected content.
        what: &'static str,
        /// The file, or the bytes in memory.
        place: String,
        /// The reason.
        reason: String,
    },
    /// The private key is not that of the certificate.
    #[error("the private key in {key} is not that of the certificate in {chain}")]
    KeyMismatch {
        /// The place of the certificate chain.
        chain: String,
        /// The place of the private key.
        key: String,
    },
    /// The private key is encrypted with a password.
    #[error("the private key in {place} is encrypted with a password")]
    EncryptedKey {
        /// The file, or the bytes in memory.
        place: String,
    },
    /// The private key is of a kind, or a length, that cannot be used, or it is damaged.
    #[error("the private key in {place} is of a kind that cannot be used, or damaged")]
    UnsupportedKey {
        /// The file, or the bytes in memory.
        place: String,
    },
    /// Revocation lists of clients, for a listener that asks for no client certificates.
    #[error("revocation lists are of no use to a listener that asks for no client certificates")]
    NoClientAuthority,
    /// The system has no root certificates, and none were given.
    #[error("this system has no root certificates, and no authority was given")]
    NoRoots,
    /// The name that the peer's certificate should have is no name.
    #[error("{name:?} is neither a DNS name nor an IP address")]
    BadName {
        /// The name as given, or the host of the address.
        name: String,
    },
    /// This end refuses the peer's certificate.
    #[error("the peer's certificate {0}")]
    Untrusted(CertificateFault),
    /// The peer has sent no certificate, and this end wants one.
    #[error("the peer has sent no certificate, and this listener wants one")]
    NoPeerCertificate,
    /// The peer has refused this end.
    #[error("the peer has refused the TLS handshake: {0}")]
    RefusedByPeer(PeerRefusal),
    /// The two ends have no version of TLS, or no cipher suite, in common.
    #[error("the two ends have no version of TLS or cipher suite in common: {0}")]
    NothingInCommon(String),
    /// The peer speaks SP without TLS.
    #[error("the peer speaks plain SP, without TLS")]
    SpeaksSp,
    /// The peer speaks HTTP without TLS.
    #[error("the peer speaks HTTP, without TLS")]
    SpeaksHttp,
    /// The peer speaks neither TLS nor another known protocol.
    #[error("the peer does not speak TLS: its first bytes are `{}`", .0.escape_ascii())]
    NotTls([u8; HEADER_BYTES]),
    /// The peer breaks the rules of TLS.
    #[error("the peer breaks TLS: {0}")]
    Protocol(String),
    /// The connection ended without the closing message of TLS, so what the peer sent last may be
    /// missing.
    #[error("the connection was cut: it ended without the closing message of TLS")]
    CutOff,
}

/// Why this end refuses the certificate of its peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateFault {
    /// It is no longer valid.
    #[error("has expired")]
    Expired,
    /// It is not valid yet.
    #[error("is not valid yet")]
    NotYetValid,
    /// No authority that this end trusts has issued it.
    #[error("was issued by no authority that is trusted here")]
    UnknownIssuer,
    /// An authority has the name of its issuer, and not the key.
    #[error("names an authority that is trusted here, whose key has not signed it")]
    BadSignature,
    /// It was issued for other names.
    #[error("is not valid for the name {expected}")]
    WrongName {
        /// The name that was dialled, or the one of the options.
        expected: String,
    },
    /// It was not issued for this end of a connection: a client's needs the usage clientAuth, a
    /// server's serverAuth.
    #[error("was not issued for this end of a connection (extended key usage)")]
    WrongPurpose,
    /// It is the certificate of an authority itself.
    #[error("is that of an authority, which proves no end of a connection")]
    OfAuthority,
    /// Its authority has revoked it.
    #[error("is revoked")]
    Revoked,
    /// Revocation lists are configured, and none of them is of its authority.
    #[error("comes from an authority without a revocation list here")]
    NoRevocationList,
    /// Any other reason.
    #[error("cannot be accepted: {0}")]
    Other(String),
}

/// Why the peer has refused this end, as far as TLS tells: many reasons share one alert.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PeerRefusal {
    /// Our certificate is no longer valid there, or not yet.
    #[error("it says that our certificate is not valid now")]
    NotValidNow,
    /// It does not know our authority, or has no revocation list of it.
    #[error("it does not know the authority of our certificate")]
    UnknownAuthority,
    /// Our certificate does not fit, for example has another name.
    #[error("it does not accept our certificate, as for a wrong name")]
    BadCertificate,
    /// Our certificate was not issued for this end of a connection.
    #[error("our certificate was not issued for this end of a connection")]
    WrongPurpose,
    /// Our certificate is revoked.
    #[error("our certificate is revoked")]
    Revoked,
    /// It wants a certificate, and we have sent none.
    #[error("it wants a client certificate, and we have sent none")]
    CertificateRequired,
    /// No version of TLS in common.
    #[error("it speaks other versions of TLS")]
    OtherVersion,
    /// Any other alert.
    #[error("{0}")]
    Other(String),
}

impl TlsError {
    /// The party at fault.
    pub fn fault(&self) -> Fault {
        match self {
            TlsError::Unreadable { .. } | TlsError::NoRoots => Fault::Machine,
            TlsError::NoServerCertificate
            | TlsError::Missing { .. }
            | TlsError::Unusable { .. }
            | TlsError::KeyMismatch { .. }
            | TlsError::EncryptedKey { .. }
            | TlsError::UnsupportedKey { .. }
            | TlsError::NoClientAuthority
            | TlsError::BadName { .. }
            | TlsError::RefusedByPeer(_)
            | TlsError::NothingInCommon(_) => Fault::Caller,
            TlsError::CutOff => Fault::Network,
            _ => Fault::Peer,
        }
    }

    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            TlsError::NoServerCertificate => {
                "give the listener a `TlsServerConfig`, in `ListenOptions::tls`"
            }
            TlsError::Unreadable { .. } => "check the path, and the rights on the file",
            TlsError::Missing { .. } | TlsError::Unusable { .. } => {
                "check that it is the right file, in PEM, with the lines BEGIN and END"
            }
            TlsError::KeyMismatch { .. } => {
                "give the key that the certificate was issued for; in a chain, that certificate is the first"
            }
            TlsError::EncryptedKey { .. } => {
                "decrypt it into a file that its owner alone can read: openssl pkey -in FILE -out NEW-FILE"
            }
            TlsError::UnsupportedKey { .. } => {
                "use a key of Ed25519, of ECDSA P-256 or P-384, or of RSA with 2,048 to 4,096 bits"
            }
            TlsError::NoClientAuthority => "give the authority of the clients as well",
            TlsError::NoRoots => "give the peer's authority, in `TlsClientConfig::builder`",
            TlsError::BadName { .. } => {
                "dial a name or a number, or set `TlsClientBuilder::server_name`"
            }
            TlsError::Untrusted(fault) => fault.hint(),
            TlsError::NoPeerCertificate => {
                "give the dialer a certificate, in its `TlsClientConfig`"
            }
            TlsError::RefusedByPeer(refusal) => refusal.hint(),
            TlsError::NothingInCommon(_) => {
                "allow TLS 1.2 here with `TlsClientBuilder::tls12`, or update the peer"
            }
            TlsError::SpeaksSp => "dial tcp:// instead, or have the peer use tls+tcp://",
            TlsError::SpeaksHttp => {
                "use wss:// at both ends, or ws:// at both; a web server is no SP peer"
            }
            TlsError::NotTls(_) => "check the port: the program there does not speak TLS",
            TlsError::Protocol(_) => "the peer is broken or hostile: look at its version",
            TlsError::CutOff => "look at the peer's log: it died, or the network cut it off",
        }
    }

    /// The error for the first bytes of a peer that are not those of TLS.
    pub(super) fn of_first_bytes(bytes: &[u8]) -> TlsError {
        let mut first = [0; HEADER_BYTES];
        let known = bytes.len().min(HEADER_BYTES);
        first[..known].copy_from_slice(&bytes[..known]);
        match Header::parse(first) {
            Err(HeaderError::SpeaksHttp) => TlsError::SpeaksHttp,
            Err(HeaderError::BadMagic(_) | HeaderError::SpeaksTls) => TlsError::NotTls(first),
            _ => TlsError::SpeaksSp,
        }
    }

    /// The error of a read that carries this one.
    pub(super) fn into_io(self) -> io::Error {
        let kind = match self {
            TlsError::CutOff => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, NetErrorKind::Tls(self))
    }
}

impl CertificateFault {
    fn hint(&self) -> &'static str {
        match self {
            CertificateFault::Expired => "renew the peer's certificate, or check the clock here",
            CertificateFault::NotYetValid => "check the clocks of both machines",
            CertificateFault::UnknownIssuer => {
                "give the authority that issued it, or check which peer answers"
            }
            CertificateFault::BadSignature => {
                "give the authority's present certificate, or issue the peer's anew"
            }
            CertificateFault::WrongName { .. } => {
                "dial by a name of the certificate, or set `TlsClientBuilder::server_name` to one"
            }
            CertificateFault::WrongPurpose => {
                "issue it for clients if it is a dialer's, and for servers if it is a listener's"
            }
            CertificateFault::OfAuthority => {
                "issue one for the peer itself, with the basic constraint CA:FALSE"
            }
            CertificateFault::Revoked => "issue a new certificate for the peer",
            CertificateFault::NoRevocationList => "give the list of that authority as well",
            CertificateFault::Other(_) => "look at the certificate, for example with openssl x509",
        }
    }
}

impl PeerRefusal {
    fn hint(&self) -> &'static str {
        match self {
            PeerRefusal::NotValidNow => "renew our certificate, or check the peer's clock",
            PeerRefusal::UnknownAuthority => "give the peer the authority of our certificate",
            PeerRefusal::BadCertificate => {
                "dial by a name of the certificate; the peer's log has its reason"
            }
            PeerRefusal::WrongPurpose => {
                "issue it for clients if it is a dialer's, and for servers if it is a listener's"
            }
            PeerRefusal::Revoked => "issue a new certificate for this end",
            PeerRefusal::CertificateRequired => {
                "give the dialer a certificate, in its `TlsClientConfig`"
            }
            PeerRefusal::OtherVersion => {
                "allow TLS 1.2 here with `TlsClientBuilder::tls12`, or update the peer"
            }
            PeerRefusal::Other(_) => "look at the peer's log for its reason",
        }
    }
}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> TlsError {
        match error {
            rustls::Error::InvalidCertificate(fault) => TlsError::Untrusted(fault.into()),
            rustls::Error::NoCertificatesPresented => TlsError::NoPeerCertificate,
            rustls::Error::AlertReceived(alert) => TlsError::RefusedByPeer(alert.into()),
            rustls::Error::PeerIncompatible(what) => TlsError::NothingInCommon(format!("{what:?}")),
            other => TlsError::Protocol(other.to_string()),
        }
    }
}

impl From<CertificateError> for CertificateFault {
    fn from(error: CertificateError) -> CertificateFault {
        use CertificateError as Theirs;
        match error {
            Theirs::Expired | Theirs::ExpiredContext { .. } => CertificateFault::Expired,
            Theirs::NotValidYet | Theirs::NotValidYetContext { .. } => {
                CertificateFault::NotYetValid
            }
            Theirs::UnknownIssuer => CertificateFault::UnknownIssuer,
            Theirs::BadSignature => CertificateFault::BadSignature,
            Theirs::NotValidForNameContext { expected, .. } => {
                CertificateFault::WrongName { expected: expected.to_str().into_owned() }
            }
            Theirs::InvalidPurpose | Theirs::InvalidPurposeContext { .. } => {
                CertificateFault::WrongPurpose
            }
            Theirs::Revoked => CertificateFault::Revoked,
            Theirs::UnknownRevocationStatus => CertificateFault::NoRevocationList,
            Theirs::Other(other) => match other.0.downcast_ref() {
                Some(webpki::Error::CaUsedAsEndEntity) => CertificateFault::OfAuthority,
                _ => CertificateFault::Other(other.to_string()),
            },
            other => CertificateFault::Other(other.to_string()),
        }
    }
}

impl From<AlertDescription> for PeerRefusal {
    fn from(alert: AlertDescription) -> PeerRefusal {
        match alert {
            AlertDescription::CertificateExpired => PeerRefusal::NotValidNow,
            AlertDescription::UnknownCA => PeerRefusal::UnknownAuthority,
            AlertDescription::BadCertificate => PeerRefusal::BadCertificate,
            AlertDescription::UnsupportedCertificate => PeerRefusal::WrongPurpose,
            AlertDescription::CertificateRevoked => PeerRefusal::Revoked,
            AlertDescription::CertificateRequired => PeerRefusal::CertificateRequired,
            AlertDescription::ProtocolVersion => PeerRefusal::OtherVersion,
            other => PeerRefusal::Other(format!("{other:?}")),
        }
    }
}
