//! Limits of the gateway for all of its clients together.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use wigwag::NodeOptions;
use wigwag_gateway::GatewayOptions;
use wigwag_gateway::limits::{
    BODIES_BYTES_MAX, CARRIER_BYTES_MAX, CARRIERS_MAX, CONNECTIONS_MAX, HEAD_BYTES_MAX, STREAMS_MAX,
};

use crate::client::Client;
use crate::service::Service;

/// Every wait ends almost at once; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn connections_beyond_the_limit_push_out_the_oldest() {
    let service = Service::start().await;
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        let mut client = Client::connect(&service.host).await;
        assert_eq!(client.request("GET /health", "", "").await.status, 200);
        clients.push(client);
    }
    let mut newcomer = Client::connect(&service.host).await;
    assert_eq!(newcomer.request("GET /health", "", "").await.status, 200);
    assert!(clients[0].is_closed().await);
    assert_eq!(clients[1].request("GET /health", "", "").await.status, 200);
}

#[tokio::test]
async fn carriers_beyond_the_limit_push_out_the_oldest() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let mut ids = Vec::new();
    for _ in 0..=CARRIERS_MAX {
        let opened = client.request("POST /session", "", "").await;
        assert_eq!(opened.status, 201);
        ids.push(opened.json()["id"].as_str().unwrap().to_owned());
    }
    // Its own task closes it.
    let first = format!("POST /session/{}?at=0", ids[0]);
    while client.request(&first, "", "").await.status != 410 {
        tokio::task::yield_now().await;
    }
    let last = format!("POST /session/{}?at=0", ids[CARRIERS_MAX]);
    assert_eq!(client.request(&last, "", "").await.status, 204);
}

/// A body that is still to come holds its part from its first byte on, and gives it back with its end.
#[tokio::test]
async fn bodies_are_held_up_to_a_limit_for_all_clients() {
    let options = GatewayOptions::default().body_bytes_max(BODIES_BYTES_MAX);
    let service = Service::with(NodeOptions::default(), options).await;
    let mut other = Client::connect(&service.host).await;
    for _ in 0..2 {
        let mut long = Client::connect(&service.host).await;
        let head = format!(
            "POST /desk/ask/add HTTP/1.1\r\nhost: localhost\r\ncontent-length: {BODIES_BYTES_MAX}"
        );
        long.send(format!("{head}\r\n\r\n[1,2]").as_bytes()).await;
        long.send(&vec![b' '; BODIES_BYTES_MAX - 6]).await;
        let refused = async {
            loop {
                let answer = other.request("POST /desk/ask/add", "", "[1,2]").await;
                if answer.status != 200 {
                    return answer;
                }
            }
        };
        let refused = timeout(PATIENCE, refused).await.expect("the limit is reached");
        assert_eq!((refused.status, refused.code().as_str()), (503, "Overloaded"));
        long.send(b" ").await;
        assert_eq!(long.answer(false).await.unwrap().text(), "3");
        assert_eq!(other.request("POST /desk/ask/add", "", "[1,2]").await.text(), "3");
    }
}

#[tokio::test]
async fn a_carrier_takes_as_many_bytes_as_it_may_and_no_more() {
    let options = GatewayOptions::default().body_bytes_max(2 * CARRIER_BYTES_MAX);
    let service = Service::with(NodeOptions::default(), options).await;
    let mut client = Client::connect(&service.host).await;
    for (bytes, status) in [(CARRIER_BYTES_MAX, 204), (CARRIER_BYTES_MAX + 1, 413)] {
        let opened = client.request("POST /session", "", "").await.json();
        let line = format!("POST /session/{}?at=0", opened["id"].as_str().unwrap());
        // The beginning of one message that is as long.
        let head = "\0SP\0\0\u{11}\0\0\0\0\0\0\0\u{4}\0\0";
        let body = head.to_owned() + &"x".repeat(bytes - 16);
        let answer = client.request(&line, "", &body).await;
        assert_eq!(answer.status, status, "{bytes}: {}", answer.text());
    }
}

/// RFC 9113 6.5: the settings are the first frame, and each has 2 bytes of name and 4 of value.
#[tokio::test]
async fn a_client_of_http_2_is_told_its_limits() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await;
    let mut head = [0; 9];
    client.stream.read_exact(&mut head).await.unwrap();
    assert_eq!(head[3], 4, "SETTINGS");
    let mut settings = vec![0; usize::from(u16::from_be_bytes([head[1], head[2]]))];
    client.stream.read_exact(&mut settings).await.unwrap();
    let value = |name: u16| {
        let found = settings.chunks(6).find(|one| one[..2] == name.to_be_bytes());
        found.map(|one| u32::from_be_bytes([one[2], one[3], one[4], one[5]]))
    };
    assert_eq!(value(3), Some(STREAMS_MAX), "streams");
    assert_eq!(value(6), Some(HEAD_BYTES_MAX as u32), "bytes of a header list");
}
