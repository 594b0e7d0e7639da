//! Clients that break rules, one row each. A session and another client go on beside each
//! of them.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;

pub(crate) const REQ: u16 = 0x30;
pub(crate) const PUSH: u16 = 0x50;
pub(crate) const SUB: u16 = 0x21;
const PUB: u16 = 0x20;
const SURVEYOR: u16 = 0x62;
/// A protocol that does not exist.
const UNKNOWN: u16 = 0x777;

/// A client that writes its bytes itself.
pub(crate) struct Raw(pub(crate) TcpStream);

impl Raw {
    pub(crate) async fn dial(address: &Address, protocol: u16) -> Raw {
        let mut stream = TcpStream::connect(address.rest()).await.unwrap();
        let [high, low] = protocol.to_be_bytes();
        stream.write_all(&[0, b'S', b'P', 0, high, low, 0, 0]).await.unwrap();
        Raw(stream)
    }

    /// The node's header: its number.
    pub(crate) async fn header(&mut self) -> u16 {
        let mut header = [0; 8];
        in_time(PATIENCE, async { self.0.read_exact(&mut header).await }).await.unwrap();
        assert_eq!(header[..4], *b"\0SP\0");
        u16::from_be_bytes([header[4], header[5]])
    }

    /// Sends a request with this id.
    pub(crate) async fn request(&mut self, id: u32, body: &[u8]) {
        let length = (body.len() as u64 + 4).to_be_bytes();
        let id = (id | 1 << 31).to_be_bytes();
        self.0.write_all(&[&length[..], &id, body].concat()).await.unwrap();
    }

    /// The next message.
    pub(crate) async fn message(&mut self) -> Vec<u8> {
        let reading = async {
            let length = self.0.read_u64().await.unwrap();
            let mut message = vec![0; length as usize];
            self.0.read_exact(&mut message).await.unwrap();
            message
        };
        in_time(PATIENCE, reading).await
    }

    /// Waits until the node closes the connection.
    async fn closed(&mut self) {
        let mut rest = Vec::new();
        // A node that closes with unread bytes resets the connection.
        let _ = in_time(PATIENCE, async { self.0.read_to_end(&mut rest).await }).await;
    }

    /// The node has not closed the connection so far.
    pub(crate) async fn is_open(&mut self) {
        let mut byte = [0];
        let now = tokio::time::Duration::ZERO;
        let read = tokio::time::timeout(now, self.0.read(&mut byte)).await;
        assert!(!matches!(read, Ok(Ok(0) | Err(_))), "{read:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_session_and_other_clients_survive_any_input_of_a_client() {
    let (node, bound, _desk) = desk_at("tcp://127.0.0.1:0").await;
    let peer = Node::new();
    let session = peer.actor::<Desk>(&format!("{bound}/desk")).await.unwrap();
    let req = req_at(&bound).await;
    let huge = (u64::MAX / 2).to_be_bytes();
    let above = (1024 * 1024 + 1_u64).to_be_bytes();
    let message = |body: &[u8]| [&(body.len() as u64).to_be_bytes()[..], body].concat();
    // (what it is, its protocol, its bytes, the node's number, whether the node closes)
    let rows: [(&str, u16, Vec<u8>, u16, bool); 13] = [
        ("a protocol without a partner here", PUB, Vec::new(), 0x11, true),
        ("a protocol that does not exist", UNKNOWN, Vec::new(), 0x11, true),
        ("a length beyond all limits", REQ, huge.to_vec(), 0x31, true),
        ("a length beyond the limit", PUSH, above.to_vec(), 0x51, true),
        ("half a message", REQ, message(b"\x80\0\0\x01[")[..10].to_vec(), 0x31, false),
        ("a request without an id", REQ, message(b"[]"), 0x31, false),
        ("an empty request", REQ, message(b""), 0x31, false),
        ("a request of noise", REQ, message(&[0x80, 0, 0, 1, 0xC1, 0xFF, 0]), 0x31, false),
        ("a backtrace without an end", REQ, message(&[0; 400]), 0x31, false),
        ("a survey of noise", SURVEYOR, message(&[0x80, 0, 0, 1, 0xC1]), 0x63, false),
        ("a tell of noise", PUSH, message(&[0xFF; 1000]), 0x51, false),
        ("deep JSON", PUSH, message(&[b'['; 500_000]), 0x51, false),
        ("a subscriber that talks", SUB, message(b"hello"), 0x20, false),
    ];
    for (what, protocol, bytes, number, closes) in rows {
        let mut client = Raw::dial(&bound, protocol).await;
        assert_eq!(client.header().await, number, "{what}");
        client.0.write_all(&bytes).await.unwrap();
        match closes {
            true => client.closed().await,
            false => client.is_open().await,
        }
        assert_eq!(ask(&req, r#"["desk","add",1,2]"#).await, r#"["ok",3]"#, "{what}");
        assert_eq!(session.add(1, 2).ask().await.unwrap(), 3, "{what}");
    }
    until(async || node.sp_client_statistics().rejected_tells == 2).await;
    until(async || node.sp_client_statistics().connections == 1).await;
}

/// The node stops reading from that connection alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_requests_without_reading_begin_64_and_stop_nobody() {
    let (node, bound, desk) = desk_at("tcp://127.0.0.1:0").await;
    let peer = Node::new();
    let session = peer.actor::<Desk>(&format!("{bound}/desk")).await.unwrap();
    let mut client = Raw::dial(&bound, REQ).await;
    assert_eq!(client.header().await, 0x31);
    let flooding = tokio::spawn(async move {
        for id in 0..10_000 {
            client.request(id, br#"["desk","hold"]"#).await;
        }
        client
    });
    until(async || desk.held().ask().await.unwrap() == 64).await;
    let req = req_at(&bound).await;
    for _ in 0..100 {
        assert_eq!(ask(&req, r#"["desk","add",1,2]"#).await, r#"["ok",3]"#);
        assert_eq!(session.add(1, 2).ask().await.unwrap(), 3);
    }
    assert_eq!(desk.held().ask().await.unwrap(), 64);
    assert_eq!(node.sp_client_statistics().requests, 64 + 100);
    // All are answered as soon as the actor answers, whoever reads.
    let mut client = None;
    let mut flooding = Some(flooding);
    let mut answered = 0;
    until(async || {
        answered += desk.release().ask().await.unwrap();
        if let Some(task) = flooding.take_if(|task| task.is_finished()) {
            client = Some(task.await.unwrap());
        }
        answered == 10_000
    })
    .await;
    let mut client = match client {
        Some(client) => client,
        None => flooding.unwrap().await.unwrap(),
    };
    for _ in 0..10_000 {
        assert!(client.message().await.starts_with(&[0x80]));
    }
}
