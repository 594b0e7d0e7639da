//! The end of a gateway.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::Semaphore;
use wigwag::{Node, NodeOptions};
use wigwag_gateway::{Gateway, GatewayError, GatewayOptions};

use crate::client::Client;
use crate::service::{Desk, Service};

#[tokio::test]
async fn begun_requests_are_answered_and_no_others_begin() {
    let gate = Arc::new(Semaphore::new(0));
    let desk = Desk::held(&gate);
    let service = Service::of(desk, NodeOptions::default(), GatewayOptions::default()).await;
    let mut client = Client::connect(&service.host).await;
    client.send(b"POST /desk/ask/hold HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let mut idle = Client::connect(&service.host).await;
    assert_eq!(idle.request("GET /health", "", "").await.status, 200);
    let gateway = service.gateway.clone();
    let closing = tokio::spawn(async move { gateway.close(Duration::from_secs(20)).await });
    assert!(idle.is_closed().await, "an idle connection ends at once");
    while TcpStream::connect(&service.host).await.is_ok() {
        tokio::task::yield_now().await;
    }
    gate.add_permits(1);
    assert_eq!(client.answer(false).await.unwrap().text(), "1");
    assert!(client.is_closed().await);
    assert!(closing.await.unwrap(), "nothing was cut");
    let error = service.gateway.listen("http://127.0.0.1:0").await.unwrap_err();
    assert!(matches!(error, GatewayError::Closed));
}

#[tokio::test]
async fn a_request_that_does_not_end_in_time_is_cut() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    client.send(b"POST /desk/ask/wait HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    // The call is with the actor.
    while service.desk.waiting().ask().await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(!service.gateway.close(Duration::from_millis(50)).await);
    assert!(client.is_closed().await);
}

/// As where a program replaces its gateway, for other tokens, and its node lives on.
#[tokio::test]
async fn a_gateway_that_is_gone_leaves_nothing_of_its_sessions_at_the_node() {
    let service = Service::start().await;
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let gateway = Gateway::new(&service.node);
    let bound = gateway.listen("http://127.0.0.1:0").await.unwrap();
    let client = Node::new();
    let address = format!("ws://{}/session/desk", bound.rest());
    assert_eq!(client.actor::<Desk>(&address).await.unwrap().add(1, 2).ask().await.unwrap(), 3);
    let mut poller = Client::connect(bound.rest()).await;
    assert_eq!(poller.request("POST /session", "", "").await.status, 201);
    drop(poller);
    client.close(Duration::from_secs(20)).await;
    assert!(gateway.close(Duration::from_secs(20)).await);
    drop((gateway, client));
    let ends = async {
        while tasks() > before {
            tokio::task::yield_now().await
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), ends).await;
    assert!(ended.is_ok(), "{} tasks are left", tasks() - before);
}

/// As where a thread that runs it is blocked, and another one closes the gateway.
#[test]
fn a_gateway_closes_in_time_although_the_runtime_where_it_listens_stands_still() {
    let [there, here] =
        [(); 2].map(|()| Builder::new_current_thread().enable_all().build().unwrap());
    let service = there.block_on(Service::start());
    let closing = service.gateway.close(Duration::from_millis(10));
    let in_time = async { tokio::time::timeout(Duration::from_secs(20), closing).await };
    assert_eq!(here.block_on(in_time), Ok(false));
    // It ends as soon as its runtime goes on.
    assert!(!there.block_on(service.gateway.close(Duration::from_secs(20))));
    assert!(std::net::TcpStream::connect(&service.host).is_err());
}

/// The request of a desk that is held, which has begun, and its gateway.
async fn begun_request(gate: &Arc<Semaphore>) -> (Service, Client) {
    let desk = Desk::held(gate);
    let node = NodeOptions::default().observable(true);
    let service = Service::of(desk, node, GatewayOptions::default()).await;
    let mut client = Client::connect(&service.host).await;
    client.send(b"POST /desk/ask/hold HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    are_open(&service, 2).await;
    (service, client)
}

/// Waits until so many requests are being answered, with the one that asks.
async fn are_open(service: &Service, requests: usize) {
    let mut idle = Client::connect(&service.host).await;
    let line = format!("gateway_requests {requests}\n");
    while !idle.request("GET /metrics", "", "").await.text().contains(&line) {}
}

/// As where a signal and the end of `main` close it.
#[tokio::test]
async fn a_gateway_that_is_closed_twice_waits_in_both() {
    let gate = Arc::new(Semaphore::new(0));
    let (service, mut client) = begun_request(&gate).await;
    let long = Duration::from_secs(20);
    let (mut first, mut second) =
        (pin!(service.gateway.close(long)), pin!(service.gateway.close(long)));
    assert!(!is_done(&mut first).await && !is_done(&mut second).await);
    gate.add_permits(1);
    let (first, second, answer) = tokio::join!(first, second, client.answer(false));
    assert_eq!(answer.expect("the request had begun").text(), "1");
    assert!(first && second, "nothing was cut");
    assert!(service.gateway.close(Duration::ZERO).await, "it is closed");
}

#[tokio::test]
async fn the_first_close_whose_time_is_over_cuts_for_all() {
    let gate = Arc::new(Semaphore::new(0));
    let (service, mut client) = begun_request(&gate).await;
    let close = |limit| service.gateway.close(limit);
    let (first, second) =
        tokio::join!(close(Duration::from_secs(60)), close(Duration::from_millis(50)));
    assert!(!first && !second, "the request was cut");
    assert!(client.is_closed().await);
}

#[tokio::test]
async fn a_close_that_is_given_up_cuts_nothing() {
    let gate = Arc::new(Semaphore::new(0));
    let (service, mut client) = begun_request(&gate).await;
    assert!(!is_done(&mut Box::pin(service.gateway.close(Duration::from_secs(20)))).await);
    gate.add_permits(1);
    assert_eq!(client.answer(false).await.expect("the request had begun").text(), "1");
    assert!(client.is_closed().await, "the gateway goes on closing");
}

/// Polls a close once.
async fn is_done(close: &mut (impl Future<Output = bool> + Unpin)) -> bool {
    poll_fn(|context| Poll::Ready(Pin::new(&mut *close).poll(context).is_ready())).await
}

#[tokio::test]
async fn a_stream_ends_with_an_error_that_says_so() {
    let gate = Arc::new(Semaphore::new(0));
    let desk = Desk::held(&gate);
    let service = Service::of(desk, NodeOptions::default(), GatewayOptions::default()).await;
    // The stream waits behind a call that holds the actor.
    let mut holder = Client::connect(&service.host).await;
    holder.send(b"POST /desk/ask/hold HTTP/1.1\r\nhost: localhost\r\nprefer: wait=1\r\n\r\n").await;
    let mut client = Client::connect(&service.host).await;
    client.send(b"GET /desk/stream/count?end=9 HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    client.text_until("text/event-stream").await;
    let gateway = service.gateway.clone();
    let closing = tokio::spawn(async move { gateway.close(Duration::from_secs(20)).await });
    let text = client.text_until("the gateway is closing").await;
    assert!(text.contains("event: error\ndata: "), "{text}");
    assert_eq!(holder.answer(false).await.unwrap().status, 504);
    assert!(closing.await.unwrap());
}

/// It would wait for bytes of the node, or for the end of a handshake that does not go on.
#[tokio::test]
async fn a_long_poll_that_waits_ends_with_its_carrier() {
    let node = NodeOptions::default().observable(true);
    let service = Service::with(node, GatewayOptions::default()).await;
    let mut client = Client::connect(&service.host).await;
    let opened = client.request("POST /session", "", "").await.json();
    let (id, mut at) = (opened["id"].as_str().unwrap(), 0);
    // The node's header comes first.
    loop {
        let poll = format!("GET /session/{id}?at={at} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        client.send(poll.as_bytes()).await;
        tokio::select! {
            answer = client.answer(false) => at += answer.unwrap().body.len(),
            () = are_open(&service, 2) => break,
        }
    }
    let (is_whole, answer) =
        tokio::join!(service.gateway.close(Duration::from_secs(2)), client.answer(false));
    let answer = answer.expect("the request had begun");
    assert_eq!((answer.status, answer.code().as_str()), (410, "CarrierClosed"));
    assert!(is_whole, "nothing was cut");
}

/// Also for a client that has made the same calls before.
#[tokio::test]
async fn a_gateway_of_a_closed_node_calls_nothing_and_says_that_it_is_not_up() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    for (line, _) in CALLS {
        assert_eq!(client.request(line, "", "").await.status, 200, "{line}");
    }
    service.node.close(Duration::from_secs(5)).await;
    let mut newcomer = Client::connect(&service.host).await;
    for (line, status) in CALLS {
        for client in [&mut client, &mut newcomer] {
            assert_eq!(client.request(line, "", "").await.status, status, "{line}");
        }
    }
}

/// Requests, and their answers when the node is closed.
const CALLS: [(&str, u16); 4] =
    [("GET /health", 503), ("POST /desk/ask/noted", 503), ("GET /desk", 503), ("GET /", 503)];

#[tokio::test]
async fn a_gateway_that_is_dropped_ends() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    assert_eq!(client.request("GET /", "", "").await.status, 200);
    drop(service.gateway);
    assert!(client.is_closed().await);
    while TcpStream::connect(&service.host).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
