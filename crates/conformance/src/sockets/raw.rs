//! The promises of raw sockets: the header is separate, and only messages of the user are sent.

use std::time::Duration;

use wigwag_net::handshake::{greet, send_message};
use wigwag_net::socket::raw::{self, RawMessage};
use wigwag_net::socket::{Bus, Pub, Pull, Rep, Req, SocketErrorKind};
use wigwag_net::transport;
use wigwag_wire::{ProtocolNumber, ReadBuf};

use crate::{TestEnv, eventually, pause};

fn message(header: &'static [u8], body: &'static str) -> RawMessage {
    RawMessage { header: header.into(), body: body.into() }
}

/// Two sockets ask a raw rep, whose replies follow their headers, in the other order. A raw req
/// sends the header that it is given, and gets the same words back.
pub async fn a_raw_socket_returns_replies_by_their_headers(env: &TestEnv) {
    let rep = raw::Rep::new();
    let address = rep.listen(&env.address()).await.expect("listens").to_string();
    let asking = [Req::new(), Req::new()];
    let mut requests = Vec::new();
    for (req, question) in asking.iter().zip(["first", "second"]) {
        req.dial(&address).await.expect("dials");
        req.send(question).await.expect("sent");
        requests.push(rep.recv().await.expect("a request"));
    }
    for request in requests.into_iter().rev() {
        let body = [b"re ".as_slice(), &request.body].concat().into();
        rep.send(RawMessage { body, ..request }).await.expect("sent");
    }
    for (req, reply) in asking.iter().zip(["re first", "re second"]) {
        assert_eq!(req.recv().await.expect("a reply"), reply);
    }
    let req = raw::Req::new();
    req.dial(&address).await.expect("dials");
    let header = b"\0\0\0\x07\x80\0\0\x01";
    req.send(message(header, "by hand")).await.expect("sent");
    let request = rep.recv().await.expect("a request");
    assert_eq!(request.header[4..], header[..]);
    rep.send(request).await.expect("sent");
    assert_eq!(req.recv().await.expect("a reply"), message(header, "by hand"));
}

/// The pipe that the header names is gone: the reply is dropped, and counted.
pub async fn a_raw_reply_to_a_peer_that_left_is_counted(env: &TestEnv) {
    let rep = raw::Rep::new();
    let address = rep.listen(&env.address()).await.expect("listens");
    let req = Req::new();
    req.dial(&address.to_string()).await.expect("dials");
    req.send("question").await.expect("sent");
    let request = rep.recv().await.expect("a request");
    req.close().await;
    eventually(|| rep.statistics().pipes_open == 0).await;
    rep.send(request).await.expect("nobody to wait for");
    assert_eq!(rep.statistics().counters.dropped_pipe_gone, 1);
}

/// Raw bytes per RFC sp-request-reply-01: seven and eight words pass, nine are dropped.
pub async fn a_raw_rep_drops_messages_with_too_many_hops(env: &TestEnv) {
    let rep = raw::Rep::new();
    let address = rep.listen(&env.address()).await.expect("listens");
    let mut by_hand = transport::dial(&address).await.expect("a connection");
    greet(&mut by_hand, &mut ReadBuf::new(), ProtocolNumber::REQ).await.expect("a partner");
    for words in [7, 9, 8] {
        let mut request = vec![0; (words - 1) * 4];
        request.extend_from_slice(b"\x80\0\0\x01body");
        send_message(&by_hand, &request).await.expect("sent");
    }
    for words in [7, 8] {
        let request = rep.recv().await.expect("within the limit");
        assert_eq!((request.header.len(), request.body), ((words + 1) * 4, "body".into()));
    }
    assert_eq!(rep.statistics().counters.dropped_too_many_hops, 1);
    assert_eq!(rep.statistics().pipes_open, 1);
}

/// A message that is sent back with its header reaches the other peers; without a header it reaches
/// all of them.
pub async fn a_raw_bus_passes_to_all_but_the_origin(env: &TestEnv) {
    let middle = raw::Bus::new();
    let address = middle.listen(&env.address()).await.expect("listens").to_string();
    let ends = [Bus::new(), Bus::new(), Bus::new()];
    for end in &ends {
        end.dial(&address).await.expect("dials");
    }
    eventually(|| middle.statistics().pipes_open == 3).await;
    ends[0].send("hello").await.expect("sent");
    let heard = middle.recv().await.expect("a message");
    assert_eq!(heard.header.len(), 4);
    middle.send(heard).await.expect("sent");
    middle.send(message(b"", "to all")).await.expect("sent");
    for end in &ends[1..] {
        assert_eq!(end.recv().await.expect("a message"), "hello");
    }
    for end in &ends {
        assert_eq!(end.recv().await.expect("a message"), "to all");
    }
}

/// A raw sub has no topics and does not filter.
pub async fn a_raw_sub_receives_all_topics(env: &TestEnv) {
    let sub = raw::Sub::new();
    let address = sub.listen(&env.address()).await.expect("listens");
    let publisher = Pub::new();
    publisher.dial(&address.to_string()).await.expect("dials");
    for topic in ["wind", "", "rain"] {
        publisher.send(topic).await.expect("sent");
    }
    for topic in ["wind", "", "rain"] {
        assert_eq!(sub.recv().await.expect("a message").body, topic);
    }
}

/// The queues are bounded and the sender waits; in the end all messages have arrived in order.
pub async fn a_raw_pusher_stops_without_a_reader(env: &TestEnv) {
    let pull = Pull::new();
    let address = pull.listen(&env.address()).await.expect("listens");
    let push = raw::Push::new();
    push.dial(&address.to_string()).await.expect("dials");
    push.set_send_timeout(Some(Duration::from_millis(100)));
    let body = |number: u32| {
        let mut body = vec![7; 10_000];
        body[..4].copy_from_slice(&number.to_be_bytes());
        RawMessage { header: Vec::new().into(), body: body.into() }
    };
    let mut sent = 0;
    let refused = loop {
        match push.send(body(sent)).await {
            Ok(()) => sent += 1,
            Err(refused) => break refused,
        }
    };
    assert!(matches!(refused.error.kind, SocketErrorKind::TimedOut(_)), "{refused}");
    assert_eq!(refused.message, body(sent));
    for number in 0..sent {
        let message = pull.recv().await.expect("a message");
        assert_eq!(message[..4], number.to_be_bytes());
    }
    assert_eq!(push.statistics().counters.dropped(), 0);
}

/// A malformed header is refused at the sender, which can fix it, and the peer never sees it.
pub async fn a_malformed_raw_header_is_handed_back(env: &TestEnv) {
    let rep = Rep::new();
    let address = rep.listen(&env.address()).await.expect("listens");
    let req = raw::Req::new();
    req.dial(&address.to_string()).await.expect("dials");
    let refused = req.send(message(b"\0\0\0\x01", "no end")).await.expect_err("no last word");
    assert_eq!(refused.message, message(b"\0\0\0\x01", "no end"));
    assert!(matches!(refused.error.kind, SocketErrorKind::BadHeader(4)), "{refused}");
    assert!(format!("{refused:#}").contains("hint: "), "{refused}");
    pause().await;
    assert_eq!(rep.statistics().counters.dropped(), 0);
}
