//! Where a node listens, and what it must demand of its peers for that.

use wigwag::transport::{ListenOptions, TlsServerConfig, TlsSource};
use wigwag::{Fault, Node, NodeError, NodeOptions};

use super::super::tls::certificates::{Authority, Request};
use super::key;

fn tls(checks_clients: bool) -> ListenOptions {
    let authority = Authority::new("the authority");
    let issued = authority.issue(Request::default());
    let [chain, private] = [&issued.chain, &issued.key].map(|it| TlsSource::pem(it.as_str()));
    let server = TlsServerConfig::builder().certificate(chain, private);
    let server = match checks_clients {
        true => server.client_authority(TlsSource::pem(authority.pem())),
        false => server,
    };
    ListenOptions::default().tls(server.build().unwrap())
}

#[tokio::test]
async fn a_listener_that_others_reach_is_refused_unless_peers_are_identified() {
    let unidentified = Node::with(NodeOptions::default().listen_options(tls(false)));
    for address in ["tcp://0.0.0.0:0", "tcp://[::]:0", "ws://0.0.0.0:0", "tls+tcp://0.0.0.0:0"] {
        let error = unidentified.listen(address).await.unwrap_err();
        assert!(matches!(error, NodeError::Unprotected { .. }), "{address}: {error}");
        assert_eq!(error.fault(), Fault::Caller);
        let hint = error.hint();
        for way in ["client_authority", "accept_keys", "insecure"] {
            assert!(hint.contains(way), "{hint}");
        }
    }
    let options = NodeOptions::default;
    for (node, address) in [
        (options().accept_keys([key("worker")]), "tcp://0.0.0.0:0"),
        (options().insecure(true), "tcp://0.0.0.0:0"),
        (options().listen_options(tls(true)), "tls+tcp://0.0.0.0:0"),
        (options().listen_options(tls(true)), "wss://0.0.0.0:0"),
    ] {
        Node::with(node).listen(address).await.unwrap();
    }
}

#[tokio::test]
async fn this_machine_needs_no_proof() {
    let node = Node::new();
    let name = format!("access-{}", std::process::id());
    let path = std::env::temp_dir().join(&name);
    for address in [
        "tcp://127.0.0.1:0".to_owned(),
        "tcp://[::1]:0".to_owned(),
        "ws://127.0.0.1:0/path".to_owned(),
        format!("ipc://{}", path.display()),
        format!("abstract://{name}"),
        format!("inproc://{name}"),
        format!("shm://{name}"),
    ] {
        node.listen(&address).await.unwrap_or_else(|error| panic!("{address}: {error}"));
    }
}
