//! Certificates and revocation lists that are renewed while they are in use.

use std::path::PathBuf;

use wigwag_net::tls::{CertificateFault, TlsError};
use wigwag_net::{TlsClientConfig, TlsServerConfig, TlsSource};

use crate::certificates::{Issued, Request};
use crate::ends::{Party, meet, tls_error, with_server};

/// A folder of one test, which is removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("wigwag-tls-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str) -> TlsSource {
        TlsSource::file(self.0.join(name))
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    fn write_identity(&self, issued: &Issued) {
        self.write("node.pem", &issued.chain);
        self.write("node.key", &issued.key);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_renewed_certificate_is_used_after_a_reload() {
    let party = Party::new();
    let folder = Folder::new("certificate");
    folder.write_identity(
        &party.authority.issue(Request { years: (2020, 2021), ..Request::default() }),
    );
    let server = TlsServerConfig::builder()
        .certificate(folder.file("node.pem"), folder.file("node.key"))
        .build()
        .unwrap();
    let client = party.stranger().build().unwrap();
    let expired = TlsError::Untrusted(CertificateFault::Expired);
    let (_, dialled) = meet(server.clone(), client.clone()).await;
    assert_eq!(tls_error(dialled), Ok(expired.clone()));

    folder.write_identity(&party.server);
    let (_, dialled) = meet(server.clone(), client.clone()).await;
    assert_eq!(tls_error(dialled), Ok(expired), "files are read at a reload only");
    server.reload().unwrap();
    let (accepted, dialled) = meet(server.clone(), client.clone()).await;
    assert!(accepted.is_ok() && dialled.is_ok());

    folder.write("node.key", "no key");
    let failed = server.reload().unwrap_err();
    assert!(matches!(failed, TlsError::Missing { .. }), "{failed}");
    let (accepted, dialled) = meet(server, client).await;
    assert!(accepted.is_ok() && dialled.is_ok(), "a failed reload changes nothing");
}

/// The client's TLS session of before is not resumed, which would go around the new list.
#[tokio::test]
async fn a_client_that_is_revoked_meanwhile_is_refused_after_a_reload() {
    let party = Party::new();
    let folder = Folder::new("list");
    folder.write("list.pem", &party.authority.revoke(&[]));
    let server = party.server().revocations(folder.file("list.pem")).build().unwrap();
    let client = party.client().build().unwrap();
    let (accepted, dialled) = meet(server.clone(), client.clone()).await;
    assert!(accepted.is_ok() && dialled.is_ok());

    folder.write("list.pem", &party.authority.revoke(&[&party.client]));
    server.reload().unwrap();
    let (accepted, _) = meet(server, client).await;
    assert_eq!(tls_error(accepted), Ok(TlsError::Untrusted(CertificateFault::Revoked)));
}

#[tokio::test]
async fn a_client_reloads_its_certificate_too() {
    let party = Party::new();
    let folder = Folder::new("client");
    folder.write_identity(
        &party.authority.issue(Request { years: (2020, 2021), ..Request::default() }),
    );
    let client = TlsClientConfig::builder()
        .authority(party.root())
        .certificate(folder.file("node.pem"), folder.file("node.key"))
        .build()
        .unwrap();
    let server = with_server(&party.server).client_authority(party.root()).build().unwrap();
    let (accepted, _) = meet(server.clone(), client.clone()).await;
    assert_eq!(tls_error(accepted), Ok(TlsError::Untrusted(CertificateFault::Expired)));
    folder.write_identity(&party.client);
    client.reload().unwrap();
    let (accepted, dialled) = meet(server, client).await;
    assert!(accepted.is_ok() && dialled.is_ok());
}
