//! Overload: full mailboxes, deadlines, slow clients.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use wigwag::{Actor, ActorOptions, NodeOptions};
use wigwag_gateway::GatewayOptions;

use crate::client::Client;
use crate::service::{Desk, Service};

/// Calls that one actor takes out of its mailbox at a time, at most.
const TAKEN_MAX: usize = 256;

#[tokio::test]
async fn a_full_mailbox_is_503_and_what_was_taken_is_answered() {
    let service = Service::start().await;
    let gate = Arc::new(Semaphore::new(0));
    let desk = Desk::held(&gate);
    let small = desk.spawn_with(ActorOptions::default().mailbox_calls(2));
    service.node.export("small", &small).unwrap();
    let mut waiting = Vec::new();
    let refused = loop {
        let mut client = Client::connect(&service.host).await;
        client.send(b"POST /small/ask/hold HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        // Behind the first ones, a call is either held or refused; a tell that follows tells which.
        let answer = timeout(Duration::from_millis(100), client.answer(false)).await;
        match answer {
            Ok(answer) => break answer.unwrap(),
            Err(_) => waiting.push(client),
        }
        assert!(waiting.len() <= TAKEN_MAX + 2, "nothing is refused");
    };
    assert_eq!((refused.status, refused.code().as_str()), (503, "Full"));
    assert_eq!(refused.headers["retry-after"], "1");
    let mut client = Client::connect(&service.host).await;
    assert_eq!(client.request("POST /small/tell/note", "", "[1]").await.status, 503);
    // The other actor is not affected.
    assert_eq!(client.request("POST /desk/ask/add", "", "[1,2]").await.status, 200);
    gate.add_permits(waiting.len());
    for client in &mut waiting {
        assert_eq!(client.answer(false).await.unwrap().text(), "1");
    }
    assert_eq!(client.request("POST /small/tell/note", "", "[1]").await.status, 202);
}

#[tokio::test]
async fn a_reply_that_does_not_come_is_504() {
    let options = GatewayOptions::default().ask_time(Duration::from_millis(50));
    let service = Service::with(NodeOptions::default(), options).await;
    let mut client = Client::connect(&service.host).await;
    let answer = client.request("POST /desk/ask/wait", "", "").await;
    assert_eq!((answer.status, answer.code().as_str()), (504, "DeadlinePassed"));
    // A request may ask for less, and for more up to a limit.
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let header = "prefer: respond-async, wait=0\r\n";
    for line in ["POST /desk/ask/wait", "GET /waiting"] {
        let answer = timeout(Duration::from_secs(20), client.request(line, header, "")).await;
        assert_eq!(answer.expect("it waits no longer").status, 504, "{line}");
    }
    assert_eq!(
        client.request("POST /desk/ask/add", "prefer: wait=9\r\n", "[1,2]").await.text(),
        "3"
    );
}

/// A request with the arguments of `add`.
fn add(arguments: &str) -> String {
    let length = arguments.len();
    format!(
        "POST /desk/ask/add HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{arguments}"
    )
}

#[tokio::test]
async fn an_answer_does_not_wait_for_the_rest_of_the_next_request() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let second = add("[3,4]");
    for cut in 1..second.len() {
        let first = add("[1,2]") + &second[..cut];
        client.send(first.as_bytes()).await;
        assert_eq!(client.answer(false).await.expect("the first answer").text(), "3", "{cut}");
        client.send(&second.as_bytes()[cut..]).await;
        assert_eq!(client.answer(false).await.expect("the second answer").text(), "7", "{cut}");
    }
}

#[tokio::test]
async fn an_answer_does_not_wait_for_the_handler_of_the_next_request() {
    let service = Service::start().await;
    let gate = Arc::new(Semaphore::new(0));
    service.node.export("slow", &Desk::held(&gate).spawn()).unwrap();
    let mut client = Client::connect(&service.host).await;
    let hold = "POST /slow/ask/hold HTTP/1.1\r\nhost: localhost\r\n\r\n";
    client.send(format!("{}{hold}{}", add("[1,2]"), add("[3,4]")).as_bytes()).await;
    assert_eq!(client.answer(false).await.expect("the first answer").text(), "3");
    gate.add_permits(1);
    assert_eq!(client.answer(false).await.expect("the second answer").text(), "1");
    assert_eq!(client.answer(false).await.expect("the third answer").text(), "7");
}

/// A client that goes does not leave its call behind.
#[tokio::test]
async fn a_client_that_goes_cancels_its_call() {
    let node = NodeOptions::default().observable(true);
    let service = Service::with(node, GatewayOptions::default()).await;
    let gate = Arc::new(Semaphore::new(0));
    let desk = Desk::held(&gate).spawn();
    service.node.export("slow", &desk).unwrap();
    let mut first = Client::connect(&service.host).await;
    first.send(b"POST /slow/ask/hold HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    // Behind the one that holds the actor.
    let mut second = Client::connect(&service.host).await;
    let note = "POST /slow/ask/wait HTTP/1.1\r\nhost: localhost\r\n\r\n";
    second.send(note.as_bytes()).await;
    let mut third = Client::connect(&service.host).await;
    // The second call is in the mailbox when a later one of another client is, as the gateway says.
    while service
        .node
        .metrics()
        .actors
        .iter()
        .all(|actor| actor.actor != "slow" || actor.waiting < 1)
    {
        tokio::task::yield_now().await;
    }
    drop(second);
    while !connections(&mut third).await.contains("wigwag_gateway_connections 2") {
        tokio::task::yield_now().await;
    }
    gate.add_permits(1);
    assert_eq!(first.answer(false).await.unwrap().status, 200);
    assert_eq!(desk.waiting().ask().await.unwrap(), 0, "the cancelled call was not begun");
}

async fn connections(client: &mut Client) -> String {
    client.request("GET /metrics", "", "").await.text().to_owned()
}

#[tokio::test]
async fn a_head_that_does_not_come_ends_the_connection() {
    let options = GatewayOptions::default().head_time(Duration::from_millis(100));
    let service = Service::with(NodeOptions::default().observable(true), options).await;
    for start in ["", "G", "GET / HTTP/1.1\r\nhost: localhost\r\n"] {
        let mut client = Client::connect(&service.host).await;
        client.send(start.as_bytes()).await;
        while client.answer(false).await.is_some() {}
    }
    // An idle one too.
    let mut client = Client::connect(&service.host).await;
    assert_eq!(client.request("GET /", "", "").await.status, 200);
    assert!(client.is_closed().await);
    let mut client = Client::connect(&service.host).await;
    let page = client.request("GET /metrics", "", "").await;
    let counted = "wigwag_gateway_dropped_connections_total 4\n";
    assert!(page.text().contains(counted), "{}", page.text());
}

#[tokio::test]
async fn a_body_that_does_not_come_is_408() {
    let options = GatewayOptions::default().body_time(Duration::from_millis(100));
    let service = Service::with(NodeOptions::default(), options).await;
    for head in ["content-length: 5\r\n\r\n[1", "transfer-encoding: chunked\r\n\r\n3\r\n[1,\r\n"] {
        let mut client = Client::connect(&service.host).await;
        let head = format!("POST /desk/ask/add HTTP/1.1\r\nhost: localhost\r\n{head}");
        client.send(head.as_bytes()).await;
        let answer = client.answer(false).await.unwrap();
        assert_eq!((answer.status, answer.code().as_str()), (408, "BodyTimeout"));
    }
}

/// Output that a client does not read is not kept for it for ever.
#[tokio::test]
async fn a_client_that_does_not_read_is_cut() {
    let options = GatewayOptions::default().stall_time(Duration::from_millis(200));
    let service = Service::with(NodeOptions::default(), options).await;
    let mut client = Client::connect(&service.host).await;
    let head = "GET /desk/stream/count?end=100000000 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    client.send(head.as_bytes()).await;
    client.text_until("data: 0\n\n").await;
    // The producer, and so the desk, is free when the connection has been cut.
    let noted = service.desk.noted().timeout(Duration::from_secs(20)).ask().await;
    assert!(noted.is_ok(), "{noted:?}");
    let _ = client.stream.shutdown().await;
}

struct Long;

#[wigwag::actor]
impl Long {
    pub fn text(&self, bytes: usize) -> String {
        "x".repeat(bytes)
    }
}

/// The time for a further head begins when the client has read the answer, not when HTTP has taken it.
#[tokio::test]
async fn a_client_that_reads_slowly_gets_its_whole_answer() {
    /// More than the sockets hold.
    const LENGTH: usize = 15_000_000;
    let options = GatewayOptions::default().head_time(Duration::from_millis(400));
    let service = Service::with(NodeOptions::default(), options).await;
    service.node.export("long", &Long.spawn()).unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(64 * 1024).unwrap();
    let mut slow = Client::on(socket.connect(service.host.parse().unwrap()).await.unwrap());
    let body = LENGTH.to_string();
    let head = "POST /long/ask/text HTTP/1.1\r\nhost: localhost\r\ncontent-length:";
    slow.send(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes()).await;
    slow.text_until("200 OK").await;
    // Two that are idle, one after the other, are cut meanwhile.
    for _ in 0..2 {
        let mut idle = Client::connect(&service.host).await;
        assert_eq!(idle.request("GET /health", "", "").await.status, 200);
        assert!(idle.is_closed().await);
    }
    let answer = slow.answer(false).await.expect("the whole answer");
    assert_eq!(answer.body.len(), LENGTH + 2);
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_413() {
    let options = GatewayOptions::default().body_bytes_max(1000);
    let service = Service::with(NodeOptions::default(), options).await;
    let head =
        "POST /desk/ask/greet HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n";
    for (bytes, status) in [(1000, 200), (1001, 413)] {
        let body = format!("[\"{}\"]", "x".repeat(bytes - 4));
        let mut client = Client::connect(&service.host).await;
        let answer = client.request("POST /desk/ask/greet", "", &body).await;
        assert_eq!(answer.status, status, "{bytes} bytes: {}", answer.text());
        // In chunks, whose sum nobody has announced.
        let mut client = Client::connect(&service.host).await;
        client.send(head.as_bytes()).await;
        client.send(format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).as_bytes()).await;
        let answer = client.answer(false).await.unwrap();
        assert_eq!(answer.status, status, "{bytes} bytes in chunks: {}", answer.text());
        assert!(status == 200 || answer.code() == "TooLarge");
    }
}
