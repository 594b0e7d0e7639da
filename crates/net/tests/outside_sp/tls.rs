//! `tls+tcp://` and `wss://` with nngcat and pynng of NNG, and with mangos. nanomsg has no TLS.
//!
//! NNG uses Mbed TLS, mangos that of Go. Mbed TLS 2, with which Debian builds NNG, ends with TLS 1.2
//! and knows no addresses in certificates, so our ends allow that version, and all names are localhost.

use std::path::PathBuf;

use wigwag_net::socket::{Rep, Req};
use wigwag_net::tls::{TlsClientBuilder, TlsServerBuilder};
use wigwag_net::{DialOptions, ListenOptions, TlsClientConfig, TlsServerConfig, TlsSource};

use crate::certificates::{Authority, Request};
use crate::peer::{NEWER, OURS, PATIENCE, Peer, dial, each_over};

const SCHEMES: [&str; 2] = ["tls+tcp", "wss"];

/// A folder with an authority and one certificate, which both ends present.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("wigwag-tls-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let authority = Authority::new("the authority");
        let issued = authority.issue(Request { names: &["localhost"], ..Request::default() });
        for (name, text) in
            [("ca.pem", authority.pem()), ("cert.pem", issued.chain), ("key.pem", issued.key)]
        {
            std::fs::write(folder.join(name), text).unwrap();
        }
        Folder(folder)
    }

    fn file(&self, name: &str) -> TlsSource {
        TlsSource::file(self.0.join(name))
    }

    fn server(&self) -> TlsServerBuilder {
        TlsServerConfig::builder()
            .certificate(self.file("cert.pem"), self.file("key.pem"))
            .client_authority(self.file("ca.pem"))
    }

    fn client(&self) -> TlsClientBuilder {
        TlsClientConfig::builder()
            .certificate(self.file("cert.pem"), self.file("key.pem"))
            .authority(self.file("ca.pem"))
            .server_name("localhost")
    }

    /// The options of a program, and `more`.
    fn options<'a>(&self, more: &[&'a str]) -> Vec<std::borrow::Cow<'a, str>> {
        let files = [("--cacert", "ca.pem"), ("--cert", "cert.pem"), ("--key", "key.pem")];
        let files = files.into_iter().flat_map(|(option, name)| {
            [option.into(), self.0.join(name).to_string_lossy().into_owned().into()]
        });
        more.iter().map(|word| (*word).into()).chain(files).collect()
    }

    fn start(
        &self,
        program: &str,
        role: &str,
        connect: bool,
        address: &str,
        more: &[&str],
    ) -> Peer {
        let options = self.options(more);
        let options: Vec<&str> = options.iter().map(AsRef::as_ref).collect();
        Peer::start(program, role, connect, address, &options)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// They dial, and present a certificate because our listener wants one.
#[test]
fn their_req_asks_our_rep_over_tls() {
    each_over(&SCHEMES, "req", &NEWER, |program, ours, _| {
        let folder = Folder::new(&format!("req-{program}"));
        let rep = Rep::new();
        rep.set_receive_timeout(Some(PATIENCE));
        let options = ListenOptions::default().tls(folder.server().tls12(true).build().unwrap());
        let listener = rep.blocking_listen_with(ours, options).unwrap();
        let address = listener.to_string().replace("127.0.0.1", "localhost");
        let mut peer = folder.start(program, "req", true, &address, &["--data", "question"]);
        assert_eq!(rep.blocking_recv().unwrap(), "question");
        assert!(rep.pipes()[0].info.certificate.is_some());
        rep.blocking_send("answer").unwrap();
        assert_eq!(peer.line(), "answer");
    });
}

#[test]
fn our_req_asks_their_rep_over_tls() {
    each_over(&SCHEMES, "rep", &NEWER, |program, _, theirs| {
        let folder = Folder::new(&format!("rep-{program}"));
        let mut peer = folder.start(program, "rep", false, theirs, &["--data", "answer"]);
        let req = Req::new();
        req.set_receive_timeout(Some(PATIENCE));
        let options = DialOptions::default().tls(folder.client().tls12(true).build().unwrap());
        dial(|| req.blocking_dial_with(theirs, options.clone()));
        for round in 0..20 {
            let question = format!("question {round}");
            assert_eq!(req.blocking_ask(question.clone()).unwrap(), "answer");
            assert_eq!(peer.line(), question);
        }
    });
}

/// A message of many records comes back the same. With TLS 1.3 alone where the program has it.
#[test]
fn their_rep_echoes_long_messages_over_tls() {
    each_over(&SCHEMES, "echo", &OURS, |program, _, theirs| {
        let folder = Folder::new(&format!("echo-{program}"));
        let _peer = folder.start(program, "rep", false, theirs, &["--echo"]);
        let req = Req::new();
        req.set_receive_timeout(Some(PATIENCE));
        let client = folder.client().tls12(program == "pynng");
        let options = DialOptions::default().tls(client.build().unwrap());
        dial(|| req.blocking_dial_with(theirs, options.clone()));
        for size in [0, 1, 16_375, 16_376, 16_384, 100_000, 1_000_000] {
            let body: Vec<u8> = (0..size).map(|place: usize| (place % 251) as u8).collect();
            assert_eq!(req.blocking_ask(body.clone()).unwrap(), body, "{size} bytes");
        }
    });
}
