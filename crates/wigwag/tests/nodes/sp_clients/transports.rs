//! One address for a session and all clients, over each transport.

use wigwag::sp::{Push, Sub, Surveyor};
use wigwag::transport::{DialOptions, ListenOptions, TlsClientConfig, TlsServerConfig, TlsSource};

use super::super::tls::certificates::{Authority, Request};
use super::*;

async fn one_address_serves_all(address: &str, dial: DialOptions, listen: ListenOptions) {
    let options = NodeOptions::default().listen_options(listen).dial_options(dial.clone());
    let (node, bound, desk) = desk_with(address, Desk::default(), options.clone()).await;
    let at = bound.to_string();
    let clients = async {
        let req = Req::new();
        req.dial_with(&at, dial.clone()).await.unwrap();
        assert_eq!(ask(&req, r#"["desk","add",20,22]"#).await, r#"["ok",42]"#);

        let push = Push::new();
        push.dial_with(&at, dial.clone()).await.unwrap();
        push.send(r#"["desk","write","told"]"#).await.unwrap();
        until(async || desk.words().ask().await.unwrap() == ["told"]).await;

        let sub = Sub::new();
        sub.subscribe("desk/news").unwrap();
        sub.dial_with(&at, dial.clone()).await.unwrap();
        until(async || {
            assert_eq!(desk.announce("news".into(), vec![1, 2]).ask().await.unwrap(), None);
            node.sp_client_statistics().published > 0
        })
        .await;
        assert_eq!(sub.recv().await.unwrap(), "desk/news [1,2]");

        let surveyor = Surveyor::new();
        surveyor.set_survey_time(Some(PATIENCE));
        surveyor.dial_with(&at, dial).await.unwrap();
        surveyor.send(r#"["desk","number"]"#).await.unwrap();
        assert_eq!(surveyor.recv().await.unwrap(), r#"["ok",0]"#);

        let peer = Node::with(options);
        let desk = peer.actor::<Desk>(&format!("{at}/desk")).await.unwrap();
        assert_eq!(desk.add(1, 2).ask().await.unwrap(), 3);
        assert_eq!(node.sp_client_statistics().connections, 4);
        assert_eq!(node.statistics().len(), 1);
    };
    in_time(PATIENCE, clients).await;
}

async fn one_plain_address_serves_all(address: &str) {
    one_address_serves_all(address, DialOptions::default(), ListenOptions::default()).await;
}

#[tokio::test]
async fn one_address_serves_a_session_and_all_clients_over_tcp() {
    one_plain_address_serves_all("tcp://127.0.0.1:0").await;
}

#[tokio::test]
async fn one_address_serves_a_session_and_all_clients_over_ipc() {
    let path = std::env::temp_dir().join(format!("wigwag-clients-{}.sock", std::process::id()));
    one_plain_address_serves_all(&format!("ipc://{}", path.display())).await;
}

#[tokio::test]
async fn one_address_serves_a_session_and_all_clients_over_shared_memory() {
    let path = std::env::temp_dir().join(format!("wigwag-clients-{}.shm", std::process::id()));
    one_plain_address_serves_all(&format!("shm://{}", path.display())).await;
}

#[tokio::test]
async fn one_address_serves_a_session_and_all_clients_over_an_abstract_name() {
    one_plain_address_serves_all(&format!("abstract://wigwag-clients-{}", std::process::id()))
        .await;
}

#[tokio::test]
async fn one_address_serves_a_session_and_all_clients_over_inproc() {
    one_plain_address_serves_all("inproc://clients").await;
}

#[tokio::test]
async fn one_address_serves_a_session_and_all_clients_over_ws() {
    one_plain_address_serves_all("ws://127.0.0.1:0/actors").await;
}

#[tokio::test]
async fn one_address_serves_a_session_and_all_clients_over_tls() {
    let authority = Authority::new("the authority");
    let issued = authority.issue(Request::default());
    let (chain, key) = (TlsSource::pem(issued.chain.as_str()), TlsSource::pem(issued.key.as_str()));
    let root = TlsSource::pem(authority.pem());
    let server = TlsServerConfig::builder().certificate(chain, key).build().unwrap();
    let client = TlsClientConfig::builder().authority(root).build().unwrap();
    for scheme in ["tls+tcp", "wss"] {
        let dial = DialOptions::default().tls(client.clone());
        let listen = ListenOptions::default().tls(server.clone());
        one_address_serves_all(&format!("{scheme}://127.0.0.1:0"), dial, listen).await;
    }
}

/// A dialer without TLS learns it from the header of the node, although the node reads first.
#[tokio::test]
async fn a_node_without_clients_refuses_them_with_its_header() {
    let options = NodeOptions::default().sp_clients(false);
    let (node, bound, desk) = desk_with("tcp://127.0.0.1:0", Desk::default(), options).await;
    let refused = Req::new().dial(&bound.to_string()).await.unwrap_err();
    assert!(refused.to_string().contains("PAIR1"), "{refused}");
    assert_eq!(desk.announce("news".into(), vec![1]).ask().await.unwrap(), None);
    assert_eq!(node.sp_client_statistics(), Default::default());
}
