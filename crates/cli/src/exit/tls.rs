//! Errors of `tls+tcp://`: their exit codes, and the options that mend them.

use wigwag::transport::{CertificateFault, PeerRefusal, TlsError};

use super::{Code, Failed};

/// The error of TLS at `address`, with its exit code and a hint for the command line.
pub(crate) fn tls_failure(error: &TlsError, address: &str) -> Failed {
    Failed::with_hint(code(error), &error.to_string(), address, hint(error))
}

fn code(error: &TlsError) -> Code {
    match error {
        TlsError::NoServerCertificate
        | TlsError::Unreadable { .. }
        | TlsError::Missing { .. }
        | TlsError::Unusable { .. }
        | TlsError::KeyMismatch { .. }
        | TlsError::EncryptedKey { .. }
        | TlsError::UnsupportedKey { .. }
        | TlsError::NoClientAuthority
        | TlsError::NoRoots
        | TlsError::BadName { .. } => Code::Usage,
        TlsError::RefusedByPeer(_) => Code::Refused,
        TlsError::CutOff => Code::CannotConnect,
        _ => Code::WrongPeer,
    }
}

/// The hint of the library, or the option of the command that it stands for.
fn hint(error: &TlsError) -> &'static str {
    match error {
        TlsError::NoServerCertificate => {
            "give --tls-cert FILE and --tls-key FILE; for a first try, make them: \
             wigwag cert issue NAME"
        }
        TlsError::NoClientAuthority => "give --tls-client-ca FILE as well",
        TlsError::NoRoots => "give the authority of the listener with --tls-ca FILE",
        TlsError::BadName { .. } => "give the name in the certificate with --tls-name NAME",
        TlsError::Untrusted(CertificateFault::UnknownIssuer) => {
            "give the authority that issued it: --tls-ca FILE to dial, --tls-client-ca FILE to listen"
        }
        TlsError::Untrusted(CertificateFault::WrongName { .. }) => {
            "dial by a name of the certificate, or give one with --tls-name NAME"
        }
        TlsError::NoPeerCertificate | TlsError::RefusedByPeer(PeerRefusal::CertificateRequired) => {
            "the dialer needs --tls-cert FILE and --tls-key FILE"
        }
        TlsError::RefusedByPeer(PeerRefusal::UnknownAuthority) => {
            "the peer needs the authority of our certificate: --tls-client-ca FILE to listen, --tls-ca FILE to dial"
        }
        TlsError::NothingInCommon(_) | TlsError::RefusedByPeer(PeerRefusal::OtherVersion) => {
            "allow TLS 1.2 with --tls12, or update the peer"
        }
        other => other.hint(),
    }
}
