//! The counters of listeners and SP clients.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use wigwag::sp::{Push, Req};
use wigwag::{Actor, NodeOptions};
use wigwag_link::Identity;
use wigwag_testkit::raw::{Raw, header, identity};
use wigwag_wire::ProtocolNumber;

use super::*;
use crate::outcomes::Account;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_come_to_nothing_are_counted_by_reason() {
    let service = Node::with(NodeOptions::default().sp_clients(false));
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let reason = |name: &str| service.metrics().acceptor.refused.get(name).copied().unwrap_or(0);
    let http = b"GET / HTTP/1.1\r\n\r\n".to_vec();
    let star = header(ProtocolNumber::STAR);
    for (count, (bytes, name)) in
        [(http, "not_sp"), (star, "wrong_protocol"), (vec![0], "closed")].into_iter().enumerate()
    {
        let mut stream = TcpStream::connect(bound.rest()).await.unwrap();
        stream.write_all(&bytes).await.unwrap();
        if name == "closed" {
            drop(stream);
        }
        until(&service, |metrics| metrics.acceptor.accepted == count as u64 + 1).await;
        until(&service, |metrics| metrics.acceptor.refused.len() == count + 1).await;
        assert_eq!(reason(name), 1, "{:?}", service.metrics().acceptor);
    }
    // A feature that the node does not have is required.
    let mut raw = Raw::dial(&bound.to_string()).await;
    assert!(!raw.try_open(Identity { required: 1 << 60, ..identity() }).await);
    until(&service, |metrics| metrics.acceptor.refused.get("protocol") == Some(&1)).await;
    assert_eq!(service.metrics().acceptor.opened, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sp_clients_are_counted_and_their_calls_count_for_the_actor() {
    let service = Node::new();
    service.export("account", &Account::default().spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
    let (req, push) = (Req::new(), Push::new());
    req.dial(&bound).await.unwrap();
    push.dial(&bound).await.unwrap();
    push.send(r#"["account","add",2]"#).await.unwrap();
    let counted = until(&service, |metrics| actor(metrics, "account").remote_tells == 1).await;
    assert_eq!(counted.acceptor.sp_clients, 2);
    assert_eq!(req.ask(r#"["account","total"]"#).await.unwrap(), r#"["ok",2]"#);
    let counted = until(&service, |metrics| actor(metrics, "account").remote_asks == 1).await;
    let clients = counted.sp_clients;
    assert_eq!((clients.connections, clients.requests, clients.tells), (2, 1, 1));
    assert!(req.ask(r#"["account","fail"]"#).await.is_ok());
    until(&service, |metrics| actor(metrics, "account").rejected.get("panicked") == Some(&1)).await;
}
