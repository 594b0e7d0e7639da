//! Sessions over `tls+tcp://` and `wss://`.

use wigwag::transport::{
    DialOptions, ListenOptions, NetErrorKind, PeerRefusal, TlsClientBuilder, TlsClientConfig,
    TlsError, TlsServerConfig, TlsSource,
};
use wigwag::{Actor, Node, NodeError, NodeOptions};
use wigwag_testkit::ledger::{Ledger, in_time};

use super::sessions::PATIENCE;
use super::sessions::cuts::{Stage, send_over_cuts};

#[path = "../../../net/tests/support/certificates.rs"]
pub(crate) mod certificates;

use certificates::{Authority, Issued, Request};

const SCHEMES: [&str; 2] = ["tls+tcp", "wss"];

/// An authority and the certificate of a node.
struct Party {
    authority: Authority,
    issued: Issued,
}

impl Party {
    fn new() -> Party {
        let authority = Authority::new("the authority");
        let issued = authority.issue(Request::default());
        Party { authority, issued }
    }

    fn root(&self) -> TlsSource {
        TlsSource::pem(self.authority.pem())
    }

    fn identity(&self) -> (TlsSource, TlsSource) {
        let Issued { chain, key, .. } = &self.issued;
        (TlsSource::pem(chain.as_str()), TlsSource::pem(key.as_str()))
    }

    /// A dialer without a certificate.
    fn stranger(&self) -> TlsClientBuilder {
        TlsClientConfig::builder().authority(self.root())
    }

    /// The options of a node that presents its certificate at either end, and wants the peer's.
    fn options(&self) -> NodeOptions {
        let (chain, key) = self.identity();
        let server = TlsServerConfig::builder()
            .certificate(chain.clone(), key.clone())
            .client_authority(self.root());
        let client = self.stranger().certificate(chain, key);
        NodeOptions::default()
            .dial_options(DialOptions::default().tls(client.build().unwrap()))
            .listen_options(ListenOptions::default().tls(server.build().unwrap()))
    }
}

/// Each connection of the session shakes hands anew, with the options of the node.
async fn loses_nothing_over_cuts(scheme: &str) {
    let stage = Stage::over(scheme, Party::new().options()).await;
    let address = stage.relay.address.replace("tcp://", &format!("{scheme}://"));
    send_over_cuts(&stage, &address).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_with_tls_loses_nothing_over_cuts() {
    loses_nothing_over_cuts("tls+tcp").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_over_wss_loses_nothing_over_cuts() {
    loses_nothing_over_cuts("wss").await;
}

async fn gets_the_reason_and_no_session(scheme: &str) {
    let party = Party::new();
    let listener = Node::with(party.options());
    listener.export("ledger", &Ledger::default().spawn()).unwrap();
    let bound = listener.listen(&format!("{scheme}://127.0.0.1:0")).await.unwrap();
    let options = DialOptions::default().tls(party.stranger().build().unwrap());
    let dialer = Node::with(NodeOptions::default().dial_options(options));
    let fetching = async { dialer.actor::<Ledger>(&format!("{bound}/ledger")).await };
    let NodeError::Net(refused) = in_time(PATIENCE, fetching).await.err().unwrap() else {
        panic!("another error");
    };
    let required = TlsError::RefusedByPeer(PeerRefusal::CertificateRequired);
    assert!(matches!(&refused.kind, NetErrorKind::Tls(error) if *error == required), "{refused}");
    assert!(listener.statistics().is_empty());
}

#[tokio::test]
async fn a_node_without_a_certificate_gets_the_reason_and_no_session() {
    for scheme in SCHEMES {
        gets_the_reason_and_no_session(scheme).await;
    }
}

#[tokio::test]
async fn a_node_needs_a_certificate_to_listen() {
    for scheme in SCHEMES {
        let refused = Node::new().listen(&format!("{scheme}://127.0.0.1:0")).await.unwrap_err();
        assert!(refused.to_string().contains("needs a certificate"), "{refused}");
        assert!(refused.hint().contains("ListenOptions::tls"), "{}", refused.hint());
    }
}

/// A node reads before it says anything, and yet the peer learns that it is the one with TLS too much.
#[tokio::test]
async fn a_plain_node_and_one_with_tls_both_say_so() {
    let party = Party::new();
    let (plain, with_tls) = (Node::new(), Node::with(party.options()));
    let bound = plain.listen("tcp://127.0.0.1:0").await.unwrap();
    let address = format!("tls+tcp://{}/ledger", bound.rest());
    let fetching = async { with_tls.actor::<Ledger>(&address).await };
    let refused = in_time(PATIENCE, fetching).await.err().unwrap();
    assert!(refused.to_string().contains("the peer speaks plain SP, without TLS"), "{refused}");

    let bound = with_tls.listen("tls+tcp://127.0.0.1:0").await.unwrap();
    let address = format!("tcp://{}/ledger", bound.rest());
    let fetching = async { plain.actor::<Ledger>(&address).await };
    let refused = in_time(PATIENCE, fetching).await.err().unwrap();
    assert!(refused.to_string().contains("the peer speaks TLS"), "{refused}");
}
