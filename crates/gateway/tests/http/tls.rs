//! `https://`: certificates as identities, and both versions of HTTP. The client is curl.

use std::process::Stdio;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio::process::Command;
use wigwag::NodeOptions;
use wigwag::access::{Access, Principal};
use wigwag::transport::{TlsServerConfig, TlsSource};
use wigwag_gateway::{Gateway, GatewayError, GatewayOptions};

use crate::service::Service;

/// The files of certificates, for as long as it lives.
pub(crate) struct Files {
    folder: std::path::PathBuf,
}

impl Files {
    /// An authority, and the certificates of a server and of a client named `reporter`.
    pub(crate) fn new(test: &str) -> Files {
        let folder =
            std::env::temp_dir().join(format!("wigwag-gateway-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.distinguished_name.push(DnType::CommonName, "authority");
        let authority =
            CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        std::fs::write(folder.join("authority"), authority.pem()).unwrap();
        for (name, host) in [("server", "localhost"), ("client", "reporter")] {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
            let certificate = params.signed_by(&key, &authority).unwrap();
            std::fs::write(folder.join(name), certificate.pem()).unwrap();
            std::fs::write(folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
        }
        Files { folder }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The output of curl with these options: the body, and behind it the version of HTTP and the status.
async fn curl(options: &[&str]) -> String {
    let output = Command::new("curl")
        .args([
            "--silent",
            "--show-error",
            "--max-time",
            "20",
            "--write-out",
            " %{http_version} %{http_code}",
        ])
        .args(options)
        .stdin(Stdio::null())
        .output()
        .await
        .expect("curl is installed by `cargo xtask test`");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[tokio::test]
async fn a_certificate_is_an_identity_over_both_versions() {
    let files = Files::new("tls");
    let access = Access::new().allow(Principal::certificate("reporter"), "desk");
    let service =
        Service::with(NodeOptions::default().access(access), GatewayOptions::default()).await;
    let tls = TlsServerConfig::builder()
        .certificate(
            TlsSource::file(files.path("server")),
            TlsSource::file(files.path("server.key")),
        )
        .client_authority(TlsSource::file(files.path("authority")))
        .application_protocols(["h2", "http/1.1"])
        .build()
        .unwrap();
    let gateway = Gateway::with(&service.node, GatewayOptions::default().tls(tls));
    // Certificates identify the clients, so it may listen beyond this machine.
    let bound = gateway.listen("https://0.0.0.0:0").await.unwrap();
    let port = bound.rest().rsplit_once(':').unwrap().1;
    let url = format!("https://localhost:{port}/desk/ask/caller");
    let (authority, client, key) =
        (files.path("authority"), files.path("client"), files.path("client.key"));
    let known = ["--cacert", &authority, "--cert", &client, "--key", &key, "-X", "POST", &url];
    for (version, printed) in [("--http1.1", " 1.1 200"), ("--http2", " 2 200")] {
        let output = curl(&[&[version][..], &known].concat()).await;
        assert!(output.contains("reporter") && output.contains(printed), "{output}");
    }
    let output = curl(&["--cacert", &authority, "-X", "POST", &url]).await;
    assert!(output.contains(" 000"), "without a certificate: {output}");
}

/// Where anonymous requests are allowed, a token keeps nobody out.
#[tokio::test]
async fn tokens_protect_an_address_of_other_machines_only_if_each_request_needs_one() {
    let files = Files::new("tokens");
    let service = Service::start().await;
    let (certificate, key) = (files.path("server"), files.path("server.key"));
    let tls = TlsServerConfig::builder()
        .certificate(TlsSource::file(certificate), TlsSource::file(key))
        .build()
        .unwrap();
    for is_open in [false, true] {
        let options = GatewayOptions::default().tls(tls.clone()).token("1234", "owner");
        let gateway = Gateway::with(&service.node, options.allow_anonymous(is_open));
        let listening = gateway.listen("https://0.0.0.0:0").await;
        let is_refused = matches!(listening, Err(GatewayError::Unprotected { .. }));
        assert_eq!(is_refused, is_open, "{listening:?}");
    }
}

#[tokio::test]
async fn http_2_works_without_tls_too() {
    let service = Service::start().await;
    let url = format!("http://{}/desk/ask/add", service.host);
    let output = curl(&["--http2-prior-knowledge", "-d", "[2,3]", &url]).await;
    assert_eq!(output, "5 2 200");
    // A page of the same host, which HTTP/2 names by the authority.
    for (origin, status) in [(&*service.host, "200"), ("evil.example", "403")] {
        let origin = format!("origin: http://{origin}");
        let url = format!("http://{}/desk", service.host);
        let output = curl(&["--http2-prior-knowledge", "-H", &origin, &url]).await;
        assert!(output.ends_with(&format!(" 2 {status}")), "{origin}: {output}");
    }
    let url = format!("http://{}/desk/stream/count?end=2", service.host);
    let output = curl(&["--http2-prior-knowledge", &url]).await;
    assert_eq!(output, "data: 0\n\ndata: 1\n\nevent: end\ndata: null\n\n 2 200");
}
