//! Keys that both sides prove.

use wigwag::access::{Access, Peers, Principal, SharedKey};
use wigwag::transport::{DialOptions, ListenOptions, TlsClientConfig, TlsServerConfig, TlsSource};
use wigwag::{Actor, Node, NodeOptions};
use wigwag_link::opening::Step;
use wigwag_link::{Code, Identity, LinkError, Opening};
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::raw::{Raw, header, identity};
use wigwag_wire::{Framing, ProtocolNumber};

use super::super::sessions::PATIENCE;
use super::super::sessions::cuts::{Stage, send_over_cuts};
use super::super::tls::certificates::{Authority, Issued, Request};
use super::{VaultRef, fetch, holder, key, proof, refusal, vault_at};

fn everything() -> Access {
    Access::new().allow_all_actors(Peers::Any)
}

#[tokio::test]
async fn both_sides_prove_a_key_and_know_each_other_by_it() {
    let [other, key] = ["other", "worker"].map(key);
    let (listener, address, _vault) =
        vault_at("tcp://127.0.0.1:0", &[&other, &key], everything()).await;
    let dialer = holder(&key);
    let vault = fetch(&dialer, &address).await.unwrap();
    assert_eq!(vault.look().ask().await.unwrap(), 1);
    for node in [&listener, &dialer] {
        assert_eq!(node.statistics()[0].principal, Principal::key("worker"));
    }
}

/// The answer does not tell which names there are.
#[tokio::test]
async fn a_dialer_that_does_not_prove_a_key_gets_no_session() {
    let worker = key("worker");
    let (listener, address, _vault) = vault_at("tcp://127.0.0.1:0", &[&worker], everything()).await;
    let nobody = fetch(&Node::new(), &address).await;
    let error = nobody.as_ref().err().unwrap();
    assert!(error.hint().contains("NodeOptions::shared_key"), "{}", error.hint());
    assert_eq!(refusal(nobody), Code::AUTH_REQUIRED);
    let wrong = fetch(&holder(&key("worker")), &address).await;
    let unknown = fetch(&holder(&key("stranger")), &address).await;
    let texts = [&wrong, &unknown].map(|it| it.as_ref().err().unwrap().to_string());
    assert_eq!(texts[0], texts[1]);
    assert_eq!([refusal(wrong), refusal(unknown)], [Code::AUTH_FAILED; 2]);
    assert!(listener.statistics().is_empty());
    assert!(fetch(&holder(&worker), &address).await.is_ok());
}

#[tokio::test]
async fn a_dialer_with_a_key_takes_no_listener_that_does_not_prove_it() {
    // A node that knows no keys refuses the proof.
    let plain = Node::new();
    let bound = plain.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
    let refused = fetch(&holder(&key("worker")), &bound).await;
    assert_eq!(refusal(refused), Code::AUTH_FAILED);

    // An impostor accepts it, and cannot prove the key.
    let impostor = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("tcp://{}", impostor.local_addr().unwrap());
    let play = tokio::spawn(async move {
        let (stream, _) = impostor.accept().await.unwrap();
        let mut raw = Raw::new(stream, Framing::Tcp);
        raw.header().await;
        raw.say(&header(ProtocolNumber::PAIR1)).await;
        let mut opening = Opening::listen(identity()).with_keys(true);
        loop {
            match opening.receive(&raw.message().await.unwrap()).unwrap() {
                Step::Send(hello) => assert!(raw.send(hello.as_slice()).await),
                Step::OpenRequested => break,
                _ => {}
            }
        }
        raw.send(opening.accept(1, 0).unwrap().0.as_slice()).await;
        // The dialer refuses it, and closes.
        raw.rest().await;
    });
    let dialer = holder(&key("worker"));
    let refused = in_time(PATIENCE, async { fetch(&dialer, &address).await }).await;
    assert_eq!(refusal(refused), Code::AUTH_FAILED);
    assert!(dialer.statistics().is_empty());
    in_time(PATIENCE, play).await.unwrap();
}

/// The identity that the node at `address` announces, with the nonce 7. The ids of a node are no secret:
/// each program that reaches it learns them, and may open a session with them.
async fn spied(address: &str) -> Identity {
    let mut raw = Raw::dial(address).await;
    raw.say(&header(ProtocolNumber::PAIR1)).await;
    raw.header().await;
    let (mut asked, hello) = Opening::dial(identity(), 7);
    raw.send(hello.as_slice()).await;
    asked.receive(&raw.message().await.unwrap()).unwrap();
    Identity { nonce: 7, ..*asked.peer().unwrap() }
}

/// A session that is opened with `dialer` in the name of `who`, by a program that proves nothing.
async fn impostor(dialer: &Node, who: Identity) -> Raw {
    let bound = dialer.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
    let mut impostor = Raw::dial(&bound).await;
    assert!(impostor.try_open(who).await);
    impostor.tell(&[]).await;
    impostor
}

#[tokio::test]
async fn a_dial_with_a_key_uses_no_session_of_a_peer_that_has_proven_nothing() {
    let worker = key("worker");
    let (bank, at_bank, _vault) = vault_at("tcp://127.0.0.1:0", &[&worker], everything()).await;
    let dialer = holder(&worker);
    let _impostor = impostor(&dialer, spied(&at_bank).await).await;
    let refused = in_time(PATIENCE, async { fetch(&dialer, &at_bank).await }).await;
    assert_eq!(refusal(refused), Code::AUTH_FAILED);
    assert!(bank.statistics().is_empty());
}

/// An actor that knows another one, of another node.
struct Desk(VaultRef);

#[wigwag::actor]
impl Desk {
    pub fn vault(&self) -> VaultRef {
        self.0.clone()
    }
}

#[tokio::test]
async fn a_reference_leads_a_node_with_a_key_to_no_peer_that_has_proven_nothing() {
    let worker = key("worker");
    let (_bank, at_bank, _vault) = vault_at("tcp://127.0.0.1:0", &[&worker], everything()).await;
    let options = NodeOptions::default().accept_keys([worker.clone()]).shared_key(worker.clone());
    let office = Node::with(options);
    let vault = fetch(&office, &at_bank).await.unwrap();
    office.export("desk", &Desk(vault).spawn()).unwrap();
    let at_office = office.listen("tcp://127.0.0.1:0").await.unwrap();

    let dialer = holder(&worker);
    let _impostor = impostor(&dialer, spied(&at_bank).await).await;
    let desk = dialer.actor::<Desk>(&format!("{at_office}/desk")).await.unwrap();
    let vault = desk.vault().timeout(PATIENCE).ask().await.unwrap();
    // The office passes the call on.
    assert_eq!(vault.look().timeout(PATIENCE).ask().await.unwrap(), 1);
}

#[tokio::test]
async fn a_dial_with_tls_uses_no_session_of_a_peer_that_has_proven_nothing() {
    let authority = Authority::new("the authority");
    let Issued { chain, key, .. } = authority.issue(Request::default());
    let root = TlsSource::pem(authority.pem());
    let server = TlsServerConfig::builder().certificate(TlsSource::pem(chain), TlsSource::pem(key));
    let client = TlsClientConfig::builder().authority(root).build().unwrap();
    let (bank, at_bank, _vault) = vault_at("tcp://127.0.0.1:0", &[], everything()).await;
    let options = ListenOptions::default().tls(server.build().unwrap());
    let with_tls = bank.listen_with("tls+tcp://127.0.0.1:0", options).await.unwrap().to_string();

    let dial = DialOptions::default().tls(client);
    let dialer = Node::with(NodeOptions::default().dial_options(dial));
    let _impostor = impostor(&dialer, spied(&at_bank).await).await;
    let refused = in_time(PATIENCE, async { fetch(&dialer, &with_tls).await }).await;
    assert_eq!(refusal(refused), Code::AUTH_FAILED);
    assert!(bank.statistics().is_empty());
}

/// While a key is replaced by another of its name, a node accepts both.
#[tokio::test]
async fn each_of_two_accepted_keys_of_one_name_is_proven() {
    let [old, new] = [key("worker"), key("worker")];
    let (listener, address, _vault) =
        vault_at("tcp://127.0.0.1:0", &[&old, &new], everything()).await;
    for known in [&old, &new] {
        let vault = fetch(&holder(known), &address).await.unwrap();
        vault.look().ask().await.unwrap();
        let names = listener.statistics();
        assert!(names.iter().all(|session| session.principal == Principal::key("worker")));
    }
    assert_eq!(refusal(fetch(&holder(&key("worker")), &address).await), Code::AUTH_FAILED);
}

/// The proof of a dialer is sent again over another connection, where the listener's nonce is a new one.
#[tokio::test]
async fn a_proof_of_another_connection_proves_nothing() {
    let worker = key("worker");
    let (_listener, address, _vault) =
        vault_at("tcp://127.0.0.1:0", &[&worker], everything()).await;
    let mut sent = Vec::new();
    for round in 0..2 {
        let mut raw = Raw::dial(&address).await;
        raw.say(&header(ProtocolNumber::PAIR1)).await;
        raw.header().await;
        let who = Identity { nonce: 7, ..identity() };
        let (opening, hello) = Opening::dial(who, 7);
        let mut opening = opening.with_keys(true);
        if round == 0 {
            sent.push(hello.as_slice().to_vec());
        }
        raw.send(&sent[0]).await;
        let Step::Send(open) = opening.receive(&raw.message().await.unwrap()).unwrap() else {
            panic!("HELLO is answered")
        };
        if round == 0 {
            sent.push(proof(&opening, &worker));
        }
        raw.send(&sent[1]).await;
        raw.send(open.as_slice()).await;
        let answer = opening.receive(&raw.message().await.unwrap());
        match round {
            0 => assert!(matches!(answer, Ok(Step::Proved(_))), "{answer:?}"),
            _ => {
                let refused = answer.unwrap_err();
                let LinkError::ClosedByPeer { code, .. } = refused else { panic!("{refused:?}") };
                assert_eq!(code, Code::AUTH_FAILED);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_with_a_key_loses_nothing_over_cuts() {
    let key = key("worker");
    let options = NodeOptions::default().shared_key(key.clone()).accept_keys([key]);
    let stage = Stage::with(options).await;
    send_over_cuts(&stage, &stage.relay.address).await;
}

/// With TLS the proof also covers the certificate of the listener, which both sides know.
#[tokio::test]
async fn a_key_is_proven_over_tls_and_one_end_needs_no_certificate() {
    let authority = Authority::new("the authority");
    let issued = authority.issue(Request::default());
    let [chain, private] = [&issued.chain, &issued.key].map(|it| TlsSource::pem(it.as_str()));
    let server = TlsServerConfig::builder().certificate(chain, private).build().unwrap();
    let client = TlsClientConfig::builder().authority(TlsSource::pem(authority.pem()));
    let key: SharedKey = key("worker");
    let options = NodeOptions::default()
        .accept_keys([key.clone()])
        .listen_options(ListenOptions::default().tls(server));
    let listener = Node::with(options);
    for scheme in ["tls+tcp", "wss"] {
        let bound = listener.listen(&format!("{scheme}://127.0.0.1:0")).await.unwrap();
        let dial = DialOptions::default().tls(client.clone().build().unwrap());
        let with_tls = NodeOptions::default().dial_options(dial);
        let dialer = Node::with(with_tls.clone().shared_key(key.clone()));
        let missing = fetch(&dialer, &bound.to_string()).await.err().unwrap();
        assert!(missing.call_error().is_some(), "the session is open: {missing}");
        assert_eq!(listener.statistics().last().unwrap().principal, Principal::key("worker"));
        let nobody = fetch(&Node::with(with_tls), &bound.to_string()).await;
        assert_eq!(refusal(nobody), Code::AUTH_REQUIRED);
    }
}
