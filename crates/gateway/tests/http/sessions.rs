//! Sessions of nodes through the gateway: over WebSocket, and over long poll.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use wigwag::access::{Access, Principal};
use wigwag::{Actor, Node, NodeOptions};
use wigwag_gateway::{Gateway, GatewayOptions};

use crate::client::Client;
use crate::service::{Desk, Service};

/// The headers of an upgrade to a session.
pub(crate) const UPGRADE: &str = "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n\
     sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
     sec-websocket-protocol: pair1.sp.nanomsg.org\r\n";

#[tokio::test]
async fn a_node_has_a_session_over_websocket() {
    let service = Service::start().await;
    let client = Node::new();
    let desk = client.actor::<Desk>(&format!("ws://{}/session/desk", service.host)).await.unwrap();
    for number in 0..1000 {
        desk.note(number).tell().await.unwrap();
    }
    assert_eq!(desk.noted().ask().await.unwrap(), (0..1000).collect::<Vec<_>>());
    assert_eq!(desk.caller().ask().await.unwrap(), "anonymous");
}

#[tokio::test]
async fn a_session_has_the_identity_of_its_token() {
    let access = Access::new().allow(Principal::key("owner"), "desk");
    let options = GatewayOptions::default().token("1234", "owner");
    let service = Service::with(NodeOptions::default().access(access), options).await;
    let mut client = Client::connect(&service.host).await;
    for line in ["GET /session", "GET /session?access_token=x", "POST /session"] {
        assert_eq!(client.request(line, UPGRADE, "").await.status, 401, "{line}");
    }
    let line = "GET /session?access_token=1234";
    assert_eq!(client.request(line, UPGRADE, "").await.status, 101);
    let node = Node::new();
    let url = format!("ws://{}/session?access_token=1234/desk", service.host);
    let desk = node.actor::<Desk>(&url).await.unwrap();
    assert!(desk.caller().ask().await.unwrap().contains("owner"));
    let relay = relay(&service.host, "?access_token=1234").await;
    // Another node: two nodes have one session, whatever the ways between them.
    let node = Node::new();
    let desk = node.actor::<Desk>(&format!("tcp://{relay}/desk")).await.unwrap();
    assert!(desk.caller().ask().await.unwrap().contains("owner"));
}

#[tokio::test]
async fn a_wrong_token_in_the_query_is_refused_where_requests_need_none() {
    let options = GatewayOptions::default().token("1234", "owner").allow_anonymous(true);
    let service = Service::with(NodeOptions::default(), options).await;
    let mut client = Client::connect(&service.host).await;
    for (query, status) in [("?access_token=x", 401), ("?access_token=1234", 201), ("", 201)] {
        let answer = client.request(&format!("POST /session{query}"), "", "").await;
        assert_eq!(answer.status, status, "{query}");
    }
}

#[tokio::test]
async fn a_session_over_long_poll_has_the_user_of_its_socket() {
    let service = Service::start().await;
    let folder = std::env::temp_dir().join(format!("wigwag-long-poll-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("http.sock").display().to_string();
    service.gateway.listen(&format!("ipc://{path}")).await.unwrap();
    let owner = std::fs::metadata(&path).unwrap().uid();
    let relay = relay(&path, "").await;
    let desk = Node::new().actor::<Desk>(&format!("tcp://{relay}/desk")).await.unwrap();
    let caller = desk.caller().ask().await.unwrap();
    assert_eq!(caller, Principal::User(owner).to_string());
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn an_upgrade_that_is_none_is_refused() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let answer = client.request("GET /session", "", "").await;
    assert_eq!((answer.status, answer.code().as_str()), (426, "UpgradeRequired"));
    // The listener of the node has the last word.
    let upgrade = "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n";
    assert_eq!(client.request("GET /session", upgrade, "").await.status, 400);
    let options = GatewayOptions::default().sessions(false);
    let service = Service::with(NodeOptions::default(), options).await;
    let mut client = Client::connect(&service.host).await;
    assert_eq!(client.request("POST /session", "", "").await.status, 404);
}

#[tokio::test]
async fn connections_of_sessions_are_counted_by_what_carries_them() {
    let node = NodeOptions::default().observable(true);
    let service = Service::with(node, GatewayOptions::default()).await;
    let mut client = Client::connect(&service.host).await;
    for _ in 0..2 {
        assert_eq!(client.request("POST /session", "", "").await.status, 201);
    }
    let mut other = Client::connect(&service.host).await;
    assert_eq!(other.request("GET /session", UPGRADE, "").await.status, 101);
    let page = client.request("GET /metrics", "", "").await;
    for counted in ["{carrier=\"websocket\"} 1\n", "{carrier=\"long_poll\"} 2\n"] {
        let line = format!("wigwag_gateway_sessions_total{counted}");
        assert!(page.text().contains(&line), "{line}{}", page.text());
    }
}

#[tokio::test]
async fn a_node_has_a_session_over_long_poll() {
    let service = Service::start().await;
    let relay = relay(&service.host, "").await;
    let node = Node::new();
    let desk = node.actor::<Desk>(&format!("tcp://{relay}/desk")).await.unwrap();
    for number in 0..1000 {
        desk.note(number).tell().await.unwrap();
    }
    assert_eq!(desk.noted().ask().await.unwrap(), (0..1000).collect::<Vec<_>>());
    assert_eq!(desk.fill(1_000_000).ask().await.unwrap().len(), 1_000_000);
    assert_eq!(desk.caller().ask().await.unwrap(), "anonymous");
    node.close(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn sessions_go_on_behind_a_gateway_that_has_ended_and_begin_through_another_one() {
    let node = Node::new();
    node.export("desk", &Desk::default().spawn()).unwrap();
    let (ended, other) = (Gateway::new(&node), Gateway::new(&node));
    let of_ended = ended.listen("http://127.0.0.1:0").await.unwrap();
    let bound = other.listen("http://127.0.0.1:0").await.unwrap();
    let through = |gateway: &wigwag::Address| format!("ws://{}/session/desk", gateway.rest());
    let nodes = [(); 4].map(|()| Node::new());
    let first = nodes[0].actor::<Desk>(&through(&of_ended)).await.unwrap();
    let second = nodes[1].actor::<Desk>(&through(&bound)).await.unwrap();
    assert!(ended.close(Duration::from_secs(20)).await);
    drop(ended);
    let third = nodes[2].actor::<Desk>(&through(&bound)).await.unwrap();
    let relay = relay(bound.rest(), "").await;
    let polled = nodes[3].actor::<Desk>(&format!("tcp://{relay}/desk")).await.unwrap();
    for desk in [&first, &second, &third, &polled] {
        assert_eq!(desk.add(1, 2).ask().await.unwrap(), 3);
    }
}

#[tokio::test]
async fn a_request_out_of_step_ends_its_carrier() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let header = [0, b'S', b'P', 0, 0, 17, 0, 0];
    let header = std::str::from_utf8(&header).unwrap();
    for (line, body, status, code) in [
        ("POST /session/ID?at=8", header, 409, "OutOfStep"),
        ("GET /session/ID?at=1", "", 409, "OutOfStep"),
        ("POST /session/ID", header, 400, "Protocol"),
    ] {
        let opened = client.request("POST /session", "", "").await;
        assert_eq!(opened.status, 201);
        let id = opened.json()["id"].as_str().unwrap().to_owned();
        let line = line.replace("ID", &id);
        let answer = client.request(&line, "", body).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{line}");
        let gone = client.request(&format!("POST /session/{id}?at=0"), "", header).await;
        assert_eq!((gone.status, gone.code().as_str()), (410, "CarrierClosed"), "{line}");
    }
    // The two directions, and the end.
    let opened = client.request("POST /session", "", "").await;
    let id = opened.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(client.request(&format!("POST /session/{id}?at=0"), "", header).await.status, 204);
    let got = client.request(&format!("GET /session/{id}?at=0"), "", "").await;
    assert_eq!((got.status, &got.body[..4]), (200, &b"\0SP\0"[..]));
    assert_eq!(client.request(&format!("DELETE /session/{id}"), "", "").await.status, 204);
    assert_eq!(client.request(&format!("GET /session/{id}?at=8"), "", "").await.status, 410);
    assert_eq!(client.request(&format!("PUT /session/{id}"), "", "").await.status, 405);
}

#[tokio::test]
async fn a_carrier_is_of_no_use_to_others() {
    let options = GatewayOptions::default().token("1", "one").token("2", "two");
    let service = Service::with(NodeOptions::default(), options).await;
    let mut client = Client::connect(&service.host).await;
    let opened = client.request("POST /session", "authorization: Bearer 1\r\n", "").await;
    let id = opened.json()["id"].as_str().unwrap().to_owned();
    for line in [format!("GET /session/{id}?at=0"), format!("POST /session/{id}?at=0")] {
        assert_eq!(client.request(&line, "authorization: Bearer 2\r\n", "").await.status, 410);
    }
    let delete = format!("DELETE /session/{id}");
    assert_eq!(client.request(&delete, "authorization: Bearer 2\r\n", "").await.status, 204);
    let own = format!("POST /session/{id}?at=0");
    assert_eq!(client.request(&own, "authorization: Bearer 1\r\n", "").await.status, 204);
}

/// The peer sends bytes that are no session.
#[tokio::test]
async fn a_carrier_with_other_bytes_ends() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let opened = client.request("POST /session", "", "").await;
    let id = opened.json()["id"].as_str().unwrap().to_owned();
    let line = format!("POST /session/{id}?at=0");
    assert_eq!(client.request(&line, "", "GET / HTTP/1.1\r\n\r\n").await.status, 204);
    let mut at = 0;
    loop {
        let got = client.request(&format!("GET /session/{id}?at={at}"), "", "").await;
        if got.status == 410 {
            break;
        }
        at += got.body.len();
    }
}

/// Listens for one node after the other, and moves its bytes over long polls of the gateway at `host`,
/// which may be the path of a Unix socket.
async fn relay(host: &str, query: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (host, query) = (host.to_owned(), query.to_owned());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (host, query) = (host.clone(), query.clone());
            tokio::spawn(async move {
                match host.starts_with('/') {
                    true => {
                        let connect =
                            async || Client::on(UnixStream::connect(&host).await.unwrap());
                        carry(stream, [connect().await, connect().await], query).await;
                    }
                    false => {
                        let connect = async || Client::connect(&host).await;
                        carry(stream, [connect().await, connect().await], query).await;
                    }
                }
            });
        }
    });
    address
}

async fn carry<S>(stream: TcpStream, clients: [Client<S>; 2], query: String)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let [mut opener, mut poller] = clients;
    let opened = opener.request(&format!("POST /session{query}"), "", "").await;
    assert_eq!(opened.status, 201, "{}", opened.text());
    let id = opened.json()["id"].as_str().unwrap().to_owned();
    let more = query.replace('?', "&");
    let (mut from, mut to) = stream.into_split();
    let up = async {
        let (mut at, mut bytes) = (0, vec![0; 65_536]);
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            let line = format!("POST /session/{id}?at={at}{more} HTTP/1.1\r\nhost: localhost\r\n");
            opener.send(format!("{line}content-length: {count}\r\n\r\n").as_bytes()).await;
            opener.send(&bytes[..count]).await;
            if opener.answer(false).await.is_none_or(|answer| answer.status != 204) {
                return;
            }
            at += count;
        }
    };
    let down = async {
        let mut at = 0;
        loop {
            let line = format!("GET /session/{id}?at={at}{more}");
            let got = poller.request(&line, "", "").await;
            match got.status {
                200 => at += got.body.len(),
                204 => continue,
                _ => return,
            }
            if to.write_all(&got.body).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}
