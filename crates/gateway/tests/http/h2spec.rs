//! HTTP/2 as h2spec judges it, a program that breaks each rule of RFC 9113 and RFC 7541 in turn.
//!
//! It is built from the Go module in the folder `h2spec`, whose versions are pinned there. The tests
//! run if `WIGWAG_OUTSIDE=1` is set; then a missing Go is a failure.

use std::io::Write;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::routing::any;
use tokio::process::Command;
use tokio::time::sleep;
use wigwag::NodeOptions;
use wigwag::transport::{TlsServerConfig, TlsSource};
use wigwag_gateway::{Gateway, GatewayOptions};

use crate::service::Service;
use crate::tls::Files;

/// Cases of the version that is built, with those of `--strict`.
const CASES: usize = 146;

const MODULE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/h2spec");

fn is_wanted() -> bool {
    let is_wanted = std::env::var("WIGWAG_OUTSIDE").is_ok_and(|value| value == "1");
    if !is_wanted {
        // The test harness hides output of passing tests unless it bypasses the print macros.
        let told = writeln!(std::io::stdout(), "not run: set WIGWAG_OUTSIDE=1 to run h2spec");
        told.expect("standard output");
    }
    is_wanted
}

/// The program, built once.
fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = concat!(env!("CARGO_TARGET_TMPDIR"), "/h2spec");
        let built = std::process::Command::new("go")
            .args(["build", "-o", program, "github.com/summerwind/h2spec/cmd/h2spec"])
            .current_dir(MODULE)
            .output()
            .unwrap_or_else(|error| panic!("go cannot be started: {error}"));
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "go build ended with {}: {said}", built.status);
        program.to_owned()
    })
}

/// Where the requests of the cases go.
const PATH: &str = "/whole";

/// How long an answer takes. A case that ends a request and breaks a rule behind it, in one write, expects
/// an error; if the answer was faster, the stream has ended without one.
const ANSWER_TIME: Duration = Duration::from_millis(100);

/// A path that answers with a body, as the cases of flow control need it, when the request has come whole
/// and what the case sends behind it has been read.
fn options() -> GatewayOptions {
    let whole = |request: Bytes| async move {
        sleep(ANSWER_TIME).await;
        format!("{} bytes of a request", request.len())
    };
    GatewayOptions::default().router(Router::new().route(PATH, any(whole)))
}

/// Runs all cases against a port of this machine; every one must pass.
async fn assert_conforms(port: &str, options: &[&str]) {
    let mut h2spec = Command::new(program());
    h2spec.args([
        "--strict",
        "--timeout",
        "5",
        "--host",
        "localhost",
        "--path",
        PATH,
        "--port",
        port,
    ]);
    let output =
        h2spec.args(options).stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    let total = format!("{CASES} tests, {CASES} passed, 0 skipped, 0 failed");
    assert!(output.status.success() && report.contains(&total), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn h2spec_finds_no_fault_without_tls() {
    if !is_wanted() {
        return;
    }
    let service = Service::with(NodeOptions::default(), options()).await;
    assert_conforms(service.host.rsplit_once(':').unwrap().1, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn h2spec_finds_no_fault_with_tls() {
    if !is_wanted() {
        return;
    }
    let service = Service::start().await;
    let files = Files::new("h2spec");
    let tls = TlsServerConfig::builder()
        .certificate(
            TlsSource::file(files.path("server")),
            TlsSource::file(files.path("server.key")),
        )
        .application_protocols(["h2", "http/1.1"])
        .build()
        .unwrap();
    let gateway = Gateway::with(&service.node, options().tls(tls));
    let bound = gateway.listen("https://127.0.0.1:0").await.unwrap();
    assert_conforms(bound.rest().rsplit_once(':').unwrap().1, &["--tls", "--insecure"]).await;
}
