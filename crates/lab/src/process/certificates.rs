//! A throw-away authority and a certificate of it, for a trial over TLS.
//!
//! They are made anew for each trial, so that no program can have kept anything of an earlier one, and
//! nothing that is secret stays behind: the folder is removed with the value.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};

/// The names by which a server of a trial is dialled.
const SERVER_NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// A folder with the files of one trial, all in PEM.
pub struct Certificates(PathBuf);

impl Certificates {
    /// A name in the folder for temporary files, which no other trial has. Nothing is there before
    /// [`create`](Self::create).
    pub fn unused() -> Certificates {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("wigwag-lab-{}-{number}.tls", process::id());
        Certificates(std::env::temp_dir().join(name))
    }

    /// The certificate of the authority.
    pub fn authority(&self) -> PathBuf {
        self.0.join("ca.pem")
    }

    /// The certificate of the server.
    pub fn certificate(&self) -> PathBuf {
        self.0.join("server.pem")
    }

    /// The key of the server.
    pub fn key(&self) -> PathBuf {
        self.0.join("server.key")
    }

    /// Makes the authority and the certificate, and writes the files. The authority's key is written
    /// nowhere.
    pub fn create(&self) -> io::Result<()> {
        // The key inside is readable by its owner only, and so is the folder.
        DirBuilder::new().mode(0o700).create(&self.0)?;
        let issued = issue().map_err(io::Error::other)?;
        fs::write(self.authority(), issued.authority)?;
        fs::write(self.certificate(), issued.certificate)?;
        fs::write(self.key(), issued.key)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        // It is not there if nothing was created.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The contents of the files.
struct Issued {
    authority: String,
    certificate: String,
    key: String,
}

fn issue() -> Result<Issued, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, "authority of one trial");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let mut params = CertificateParams::new(SERVER_NAMES.map(str::to_owned).to_vec())?;
    params.distinguished_name.push(DnType::CommonName, SERVER_NAMES[0]);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &*authority)?;
    Ok(Issued {
        authority: authority.pem(),
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_there_once_created_and_gone_with_the_value() {
        let (one, two) = (Certificates::unused(), Certificates::unused());
        assert_ne!(one.path(), two.path());
        one.create().unwrap();
        for (file, begins) in [
            (one.authority(), "-----BEGIN CERTIFICATE-----"),
            (one.certificate(), "-----BEGIN CERTIFICATE-----"),
            (one.key(), "-----BEGIN PRIVATE KEY-----"),
        ] {
            assert!(fs::read_to_string(&file).unwrap().starts_with(begins), "{file:?}");
        }
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists());
    }
}
