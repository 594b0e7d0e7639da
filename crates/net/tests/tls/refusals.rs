//! Each reason to refuse a certificate: what the end says that refuses, and what the other one says.

use rcgen::ExtendedKeyUsagePurpose;
use wigwag_net::tls::{
    CertificateFault, PeerRefusal, TlsClientBuilder, TlsError, TlsServerBuilder,
};
use wigwag_net::{TlsClientConfig, TlsSource};

use crate::certificates::{Authority, Issued, Request};
use crate::ends::{Party, meet, tls_error, with_server};

/// The lines of keys with a password, without their content, and a key of no kind.
const ENCRYPTED_PKCS8: &str =
    "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n";
const ENCRYPTED_PKCS1: &str = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\
    DEK-Info: AES-128-CBC,00\n\nMAA=\n-----END RSA PRIVATE KEY-----\n";
const DAMAGED_KEY: &str = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n";

/// A certificate that is refused, with the reason; the peer learns `told`.
struct Row {
    name: &'static str,
    request: Request,
    of_stranger: bool,
    revoked: bool,
    fault: CertificateFault,
    told: PeerRefusal,
}

fn rows(wrong_end: &'static [ExtendedKeyUsagePurpose]) -> Vec<Row> {
    let row = |name, fault, told| Row {
        name,
        request: Request { serial: 21, ..Request::default() },
        of_stranger: false,
        revoked: false,
        fault,
        told,
    };
    let years = |row: Row, years| Row { request: Request { years, ..row.request }, ..row };
    vec![
        years(row("expired", CertificateFault::Expired, PeerRefusal::NotValidNow), (2020, 2021)),
        years(
            row("not yet valid", CertificateFault::NotYetValid, PeerRefusal::NotValidNow),
            (2110, 2120),
        ),
        Row {
            of_stranger: true,
            ..row(
                "of an unknown issuer",
                CertificateFault::UnknownIssuer,
                PeerRefusal::UnknownAuthority,
            )
        },
        Row {
            request: Request { usages: wrong_end, ..Request::default() },
            ..row("for the other end", CertificateFault::WrongPurpose, PeerRefusal::WrongPurpose)
        },
        Row { revoked: true, ..row("revoked", CertificateFault::Revoked, PeerRefusal::Revoked) },
    ]
}

impl Row {
    fn issue(&self, party: &Party) -> Issued {
        match self.of_stranger {
            true => Authority::new("a stranger").issue(self.request),
            false => party.authority.issue(self.request),
        }
    }

    /// The revocation lists of the end that decides, if it has any.
    fn list(&self, party: &Party, issued: &Issued) -> Option<TlsSource> {
        self.revoked.then(|| TlsSource::pem(party.authority.revoke(&[issued])))
    }
}

/// The errors of both ends: that which refuses first.
async fn refused(
    server: TlsServerBuilder,
    client: TlsClientBuilder,
) -> [Result<TlsError, String>; 2] {
    let (accepted, dialled) = meet(server.build().unwrap(), client.build().unwrap()).await;
    [tls_error(accepted), tls_error(dialled)]
}

#[tokio::test]
async fn a_server_refuses_each_wrong_client_and_both_ends_say_why() {
    let party = Party::new();
    for row in rows(&[ExtendedKeyUsagePurpose::ServerAuth]) {
        let issued = row.issue(&party);
        let client = party.stranger().certificate(
            TlsSource::pem(issued.chain.as_str()),
            TlsSource::pem(issued.key.as_str()),
        );
        let mut server = party.server();
        if let Some(list) = row.list(&party, &issued) {
            server = server.revocations(list);
        }
        let [accepted, dialled] = refused(server, client).await;
        assert_eq!(accepted, Ok(TlsError::Untrusted(row.fault)), "{}", row.name);
        assert_eq!(dialled, Ok(TlsError::RefusedByPeer(row.told)), "{}", row.name);
    }
    let [accepted, dialled] = refused(party.server(), party.stranger()).await;
    assert_eq!(accepted, Ok(TlsError::NoPeerCertificate));
    assert_eq!(dialled, Ok(TlsError::RefusedByPeer(PeerRefusal::CertificateRequired)));
}

#[tokio::test]
async fn a_client_refuses_each_wrong_server_and_both_ends_say_why() {
    let party = Party::new();
    let other_name = Row {
        name: "for another name",
        request: Request { names: &["other.example"], ..Request::default() },
        of_stranger: false,
        revoked: false,
        fault: CertificateFault::WrongName { expected: "127.0.0.1".to_owned() },
        told: PeerRefusal::BadCertificate,
    };
    for row in rows(&[ExtendedKeyUsagePurpose::ClientAuth]).into_iter().chain([other_name]) {
        let issued = row.issue(&party);
        let server = with_server(&issued);
        let mut client = party.stranger();
        if let Some(list) = row.list(&party, &issued) {
            client = client.revocations(list);
        }
        let [accepted, dialled] = refused(server, client).await;
        assert_eq!(dialled, Ok(TlsError::Untrusted(row.fault)), "{}", row.name);
        assert_eq!(accepted, Ok(TlsError::RefusedByPeer(row.told)), "{}", row.name);
    }
}

#[tokio::test]
async fn an_authority_that_listens_with_its_own_certificate_is_named_as_such() {
    let party = Party::new();
    let server = with_server(&party.authority.itself());
    let [accepted, dialled] = refused(server, party.stranger()).await;
    assert_eq!(dialled, Ok(TlsError::Untrusted(CertificateFault::OfAuthority)));
    assert!(matches!(accepted, Ok(TlsError::RefusedByPeer(_))), "{accepted:?}");
}

#[tokio::test]
async fn with_revocation_lists_an_authority_without_one_is_refused() {
    let party = Party::new();
    let other = Authority::new("another authority");
    let client = other.issue(Request::default());
    let client =
        party.stranger().certificate(TlsSource::pem(client.chain), TlsSource::pem(client.key));
    let server = party
        .server()
        .client_authority(TlsSource::pem(other.pem()))
        .revocations(TlsSource::pem(party.authority.revoke(&[])));
    let [accepted, dialled] = refused(server, client).await;
    assert_eq!(accepted, Ok(TlsError::Untrusted(CertificateFault::NoRevocationList)));
    assert_eq!(dialled, Ok(TlsError::RefusedByPeer(PeerRefusal::UnknownAuthority)));
}

#[tokio::test]
async fn the_name_in_the_options_is_expected_instead_of_the_host() {
    let party = Party::new();
    let issued = party.authority.issue(Request { names: &["node.example"], ..Request::default() });
    let server = with_server(&issued).build().unwrap();
    let named = party.stranger().server_name("node.example").build().unwrap();
    let (accepted, dialled) = meet(server, named).await;
    assert!(accepted.is_ok() && dialled.is_ok());
}

#[tokio::test]
async fn each_end_knows_the_certificate_of_the_other() {
    let party = Party::new();
    let (server, client) = (party.server().build().unwrap(), party.client().build().unwrap());
    let (accepted, dialled) = meet(server, client).await;
    let der = |issued: &Issued| {
        use rustls::pki_types::CertificateDer;
        use rustls::pki_types::pem::PemObject;
        CertificateDer::from_pem_slice(issued.chain.as_bytes()).unwrap().to_vec()
    };
    assert_eq!(accepted.unwrap().certificate.get().unwrap().to_vec(), der(&party.client));
    assert_eq!(dialled.unwrap().certificate.get().unwrap().to_vec(), der(&party.server));

    let anonymous =
        meet(with_server(&party.server).build().unwrap(), party.client().build().unwrap());
    let (accepted, _dialled) = anonymous.await;
    assert!(accepted.unwrap().certificate.get().is_none());
}

#[test]
fn a_configuration_says_what_is_wrong_with_it() {
    let party = Party::new();
    let (chain, key) = (party.server.chain.as_str(), party.server.key.as_str());
    let server = |chain: TlsSource, key: TlsSource| {
        wigwag_net::TlsServerConfig::builder().certificate(chain, key).build().err()
    };
    let pem = |text: &str| TlsSource::pem(text);
    let missing = |what| Some(TlsError::Missing { what, place: "the PEM text".to_owned() });
    assert_eq!(server(pem(key), pem(key)), missing("certificate"));
    assert_eq!(server(pem(chain), pem(chain)), missing("private key"));
    let mismatch = server(pem(chain), pem(&party.client.key));
    assert!(matches!(mismatch, Some(TlsError::KeyMismatch { .. })), "{mismatch:?}");
    let unreadable = server(TlsSource::file("/no/such/file.pem"), pem(key));
    assert!(matches!(unreadable, Some(TlsError::Unreadable { .. })), "{unreadable:?}");
    let broken = server(pem("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----"), pem(key));
    assert!(matches!(broken, Some(TlsError::Unusable { .. })), "{broken:?}");

    let place = || "the PEM text".to_owned();
    let half = server(pem(&chain[..chain.len() / 2]), pem(key));
    let reason =
        "it ends before the line END CERTIFICATE: was it read while it was written?".into();
    assert_eq!(half, Some(TlsError::Unusable { what: "certificate", place: place(), reason }));
    // As a variable of the environment often has it. The line is the key, and not shown.
    for one_line in [key.replace('\n', ""), key.replace('\n', "").replace("-----END", "")] {
        let lost = server(pem(chain), pem(&one_line));
        let reason = "the line BEGIN is not whole, or has more on it: are the ends of lines lost?";
        let reason = reason.into();
        assert_eq!(lost, Some(TlsError::Unusable { what: "private key", place: place(), reason }));
    }
    for lines in [ENCRYPTED_PKCS8, ENCRYPTED_PKCS1] {
        let encrypted = server(pem(chain), pem(lines));
        assert_eq!(encrypted, Some(TlsError::EncryptedKey { place: place() }));
    }
    let unknown = server(pem(chain), pem(DAMAGED_KEY));
    assert_eq!(unknown, Some(TlsError::UnsupportedKey { place: place() }));

    let none = wigwag_net::TlsServerConfig::builder().build().err();
    assert_eq!(none, Some(TlsError::NoServerCertificate));
    let useless = with_server(&party.server).revocations(pem(&party.authority.revoke(&[])));
    assert_eq!(useless.build().err(), Some(TlsError::NoClientAuthority));
    let unnamed = TlsClientConfig::builder().authority(party.root()).server_name("a b").build();
    assert_eq!(unnamed.err(), Some(TlsError::BadName { name: "a b".to_owned() }));
}
