//! `wigwag cert`, and the options for `tls+tcp://` and `wss://`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use wigwag::transport::{ListenOptions, TlsServerConfig, TlsSource};
use wigwag::{Actor, Node};

use crate::process::{Said, run};
use crate::running::Running;

/// A folder with an authority and a certificate for this machine, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn empty(name: &str) -> Folder {
        let folder =
            std::env::temp_dir().join(format!("wigwag-cert-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Folder(folder)
    }

    fn new(name: &str) -> Folder {
        let folder = Folder::empty(name);
        for words in [&["new-ca"][..], &["issue", "localhost", "127.0.0.1"]] {
            let said = folder.cert(words);
            assert_eq!(said.code, Some(0), "{said:?}");
        }
        folder
    }

    /// Runs `wigwag cert` in this folder.
    fn cert(&self, words: &[&str]) -> Said {
        let folder = self.0.to_string_lossy();
        let words: Vec<&str> =
            ["cert"].iter().chain(words).chain(&["--folder", &folder]).copied().collect();
        run(words)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    /// The options of an end with a certificate.
    fn identity(&self) -> [String; 4] {
        let [cert, key] = ["localhost.pem", "localhost.key"].map(|name| self.file(name));
        ["--tls-cert".to_owned(), cert, "--tls-key".to_owned(), key]
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the command with `words` and then `more`.
fn run_with(words: &[&str], more: &[String]) -> Said {
    let all: Vec<&str> = words.iter().copied().chain(more.iter().map(String::as_str)).collect();
    run(all)
}

/// An error with `what`, and a line with `hint`.
fn failed(said: &Said, code: i32, what: &str, hint: &str) {
    assert_eq!(said.code, Some(code), "{said:?}");
    assert!(said.err.contains(what), "{said:?}");
    let mut lines = said.err.lines();
    let hinted = lines.any(|line| line.starts_with(" hint: ") && line.contains(hint));
    assert!(hinted, "{said:?}");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("the file is there").permissions().mode() & 0o777
}

#[test]
fn an_authority_and_its_certificates_are_written_once_and_keys_are_private() {
    let folder = Folder::empty("files");
    failed(&folder.cert(&["issue", "a.example"]), 2, "the authority cannot be read", "new-ca");
    let made = folder.cert(&["new-ca"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(
        made.out.contains("valid until 20") && made.out.contains("wigwag cert issue"),
        "{made:?}"
    );
    let issued = folder.cert(&["issue", "a.example", "10.0.0.7", "--days", "30"]);
    assert_eq!(issued.code, Some(0), "{issued:?}");
    assert_eq!(issued.out.lines().count(), 5, "{issued:?}");
    assert!(issued.out.contains("for a.example, 10.0.0.7"), "{issued:?}");
    for (name, expected) in [("ca", 0o600), ("a.example", 0o600)] {
        assert_eq!(mode(&folder.0.join(format!("{name}.key"))), expected, "{name}");
    }

    let before = fs::read(folder.0.join("ca.key")).expect("a key");
    failed(&folder.cert(&["new-ca"]), 2, "is there already", "--force");
    failed(&folder.cert(&["issue", "a.example"]), 2, "is there already", "--force");
    assert_eq!(fs::read(folder.0.join("ca.key")).expect("a key"), before);
    assert_eq!(folder.cert(&["issue", "a.example", "--force"]).code, Some(0));
    assert_eq!(folder.cert(&["new-ca", "--force"]).code, Some(0));
    assert_ne!(fs::read(folder.0.join("ca.key")).expect("a key"), before);
    assert_eq!(mode(&folder.0.join("ca.key")), 0o600);

    fs::copy(folder.0.join("a.example.pem"), folder.0.join("ca.pem")).expect("copied");
    failed(&folder.cert(&["issue", "b.example"]), 2, "not that of ca.key", "new-ca");
    for name in ["../up", "ca", "", "a b"] {
        failed(&folder.cert(&["issue", "--force", name]), 2, "error: ", "");
    }
}

#[test]
fn a_name_of_a_certificate_does_not_replace_the_authority() {
    let folder = Folder::new("authority");
    let before = fs::read(folder.file("ca.key")).expect("a key");
    failed(&folder.cert(&["issue", "--force", "ca"]), 2, "the names of the authority's", "");
    assert_eq!(fs::read(folder.file("ca.key")).expect("a key"), before);
    // A key alone is not replaced either, nor in the way of what a command that was cut has left.
    fs::remove_file(folder.file("localhost.pem")).expect("it was there");
    failed(&folder.cert(&["issue", "localhost"]), 2, "is there already", "--force");
    fs::write(folder.file("localhost.key.new"), "half of a ke").expect("a file");
    let issued = folder.cert(&["issue", "localhost", "--force"]);
    assert_eq!(issued.code, Some(0), "{issued:?}");
    assert!(!fs::exists(folder.file("localhost.key.new")).expect("a folder"));
}

#[test]
fn a_certificate_is_valid_for_as_many_days_as_were_asked_for() {
    let folder = Folder::new("days");
    let day = |days| (time::OffsetDateTime::now_utc() + time::Duration::days(days)).date();
    let first = day(30);
    let issued = folder.cert(&["issue", "a.example", "--days", "30"]);
    let said = |date: time::Date| issued.out.contains(&format!("valid until {date} for"));
    assert!(said(first) || said(day(30)), "{issued:?}");
}

#[test]
fn the_commands_for_a_certificate_with_a_wildcard_dial_a_name_that_it_covers() {
    let folder = Folder::empty("wildcard");
    assert_eq!(folder.cert(&["new-ca"]).code, Some(0));
    let dials = |names: &[&str], host: &str| {
        let issued = folder.cert(&[&["issue", "--force"], names].concat());
        assert_eq!(issued.code, Some(0), "{issued:?}");
        let shown = issued.out.matches("tls+tcp://").count();
        let dialled = issued.out.matches(&format!(" tls+tcp://{host}:7001")).count();
        assert_eq!((shown, dialled), (3, 2), "{issued:?}");
    };
    dials(&["*.example.com"], "node1.example.com");
    dials(&["*.example.com", "db.example.com"], "db.example.com");
    dials(&["::1", "*.example.com"], "[::1]");
}

#[test]
fn a_request_with_certificates_is_answered_and_one_without_learns_why() {
    let folder = Folder::new("sockets");
    let (ca, identity) = (folder.file("ca.pem"), folder.identity());
    let mut words = vec!["rep", "tls+tcp://127.0.0.1:0", "--echo", "--tls-client-ca", &ca];
    words.extend(identity.iter().map(String::as_str));
    let (rep, address) = Running::listening(&words, b"");
    assert!(address.starts_with("tls+tcp://"), "{address}");

    let asked = run_with(&["req", &address, "hello", "--tls-ca", &ca], &identity);
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), "hello\n"), "{asked:?}");
    let anonymous = run(["req", &address, "hello", "--tls-ca", &ca]);
    failed(&anonymous, 8, "it wants a client certificate", "--tls-cert FILE");
    let other = Folder::new("strangers");
    let unknown = run_with(&["req", &address, "hello", "--tls-ca", &ca], &other.identity());
    failed(&unknown, 8, "it does not know the authority", "--tls-client-ca FILE");
    let untrusted =
        run_with(&["req", &address, "hello", "--tls-ca", &other.file("ca.pem")], &identity);
    failed(&untrusted, 5, "issued by no authority that is trusted here", "--tls-ca FILE");
    let named = ["--tls-name", "other.example", "--tls-ca", &ca];
    let misnamed = run_with(&[&["req", &address, "hello"][..], &named].concat(), &identity);
    failed(&misnamed, 5, "is not valid for the name other.example", "--tls-name NAME");
    let plain = run(["req", &address.replace("tls+", ""), "hello"]);
    assert_eq!(plain.code, Some(5), "{plain:?}");
    assert!(plain.err.contains("the peer speaks TLS"), "{plain:?}");
    rep.interrupt();
}

#[test]
fn a_request_over_wss_is_answered_with_the_same_options() {
    let folder = Folder::new("wss");
    let (ca, identity) = (folder.file("ca.pem"), folder.identity());
    let mut words = vec!["rep", "wss://127.0.0.1:0/rep", "--echo", "--tls-client-ca", &ca];
    words.extend(identity.iter().map(String::as_str));
    let (rep, address) = Running::listening(&words, b"");
    assert!(address.starts_with("wss://127.0.0.1:") && address.ends_with("/rep"), "{address}");
    let line = rep.until_err("listening");
    assert!(line.ends_with("(any NNG or mangos REQ can dial)"), "{line}");
    let asked = run_with(&["req", &address, "hello", "--tls-ca", &ca], &identity);
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), "hello\n"), "{asked:?}");
    let anonymous = run(["req", &address, "hello", "--tls-ca", &ca]);
    failed(&anonymous, 8, "it wants a client certificate", "--tls-cert FILE");
    let untrusting = run_with(&["req", &address, "hello"], &identity);
    failed(&untrusting, 5, "issued by no authority that is trusted here", "--tls-ca FILE");
    rep.interrupt();
}

#[test]
fn wrong_options_are_refused_before_anything_is_dialled() {
    let folder = Folder::new("options");
    let bare = run(["rep", "tls+tcp://127.0.0.1:0", "--echo"]);
    failed(&bare, 2, "needs a certificate", "wigwag cert issue");
    let missing = run(["req", "tls+tcp://127.0.0.1:9", "hi", "--tls-ca", "/no/such/file"]);
    failed(&missing, 2, "/no/such/file cannot be read", "");
    let list = ["--tls-crl", "/no/such/list"];
    let dialling = ["req", "tls+tcp://127.0.0.1:9", "hi", "--tls-ca", &folder.file("ca.pem")];
    failed(&run([&dialling, &list[..]].concat()), 2, "/no/such/list cannot be read", "");
    let (client_ca, identity) = (folder.file("ca.pem"), folder.identity());
    let mut listening = vec!["rep", "tls+tcp://127.0.0.1:0", "--echo"];
    listening.extend(["--tls-client-ca", &client_ca].into_iter().chain(list));
    failed(&run_with(&listening, &identity), 2, "/no/such/list cannot be read", "");
    let lone = run(["req", "tls+tcp://127.0.0.1:9", "hi", "--tls-cert", &folder.file("ca.pem")]);
    assert_eq!(lone.code, Some(2), "a certificate needs its key: {lone:?}");
    let ca = folder.file("ca.pem");
    let no_key = ["--tls-cert", &ca, "--tls-key", &folder.file("localhost.key")];
    let words = [&["rep", "tls+tcp://127.0.0.1:0", "--echo"][..], &no_key].concat();
    failed(&run(words), 2, "is not that of the certificate", "issued for");
}

/// An actor behind TLS.
struct Doubler;

#[wigwag::actor]
impl Doubler {
    pub fn double(&self, number: i64) -> i64 {
        2 * number
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_actor_is_asked_over_tls() {
    let folder = Folder::new("actors");
    let file = |name: &str| TlsSource::file(folder.0.join(name));
    let tls = TlsServerConfig::builder()
        .certificate(file("localhost.pem"), file("localhost.key"))
        .client_authority(file("ca.pem"))
        .build()
        .expect("what the command has made");
    let node = Node::new();
    node.export("doubler", &Doubler.spawn()).expect("exported");
    let options = ListenOptions::default().tls(tls);
    let bound = node.listen_with("tls+tcp://127.0.0.1:0", options).await.expect("listens");
    let (address, ca) = (format!("{bound}/doubler"), folder.file("ca.pem"));
    let identity = folder.identity();
    let asking = move || {
        let asked = run_with(&["ask", &address, "double", "21", "--tls-ca", &ca], &identity);
        assert_eq!((asked.code, asked.out.as_str()), (Some(0), "42\n"), "{asked:?}");
        let anonymous = run(["ask", &address, "double", "21", "--tls-ca", &ca]);
        failed(&anonymous, 8, "it wants a client certificate", "--tls-cert FILE");
    };
    tokio::task::spawn_blocking(asking).await.expect("asked");
}
