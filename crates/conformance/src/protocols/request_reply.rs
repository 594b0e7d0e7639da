//! The promises of req and rep together.

use std::sync::Arc;
use std::time::Duration;

use wigwag_net::Address;
use wigwag_net::handshake::{greet, send_message};
use wigwag_net::socket::{Rep, Req, SocketErrorKind};
use wigwag_net::transport;
use wigwag_wire::{Fault, ProtocolNumber, ReadBuf};

use crate::TestEnv;
use crate::payload::{LENGTHS, body, check};

async fn listening(env: &TestEnv) -> (Rep, Address) {
    let rep = Rep::new();
    let address = rep.listen(&env.address()).await.expect("listens");
    (rep, address.into())
}

async fn dialling(address: &Address) -> Req {
    let req = Req::new();
    req.dial(&address.to_string()).await.expect("dials");
    req
}

/// Requests of every length arrive in order, and each gets its own reply.
pub async fn each_request_has_its_reply(env: &TestEnv) {
    let (rep, address) = listening(env).await;
    let req = dialling(&address).await;
    let answering = tokio::spawn(async move {
        for (number, length) in LENGTHS.into_iter().enumerate() {
            check(&rep.recv().await.expect("a request"), number, length);
            rep.send(body(1000 + number, length)).await.expect("sent");
        }
        rep
    });
    for (number, length) in LENGTHS.into_iter().enumerate() {
        let reply = req.ask(body(number, length)).await.expect("a reply");
        check(&reply, 1000 + number, length);
    }
    let rep = answering.await.expect("answered");
    assert_eq!(rep.statistics().counters.dropped(), 0);
    assert_eq!(req.statistics().counters.resent, 0);
}

/// Twenty sockets ask one; each gets the replies to its own questions.
pub async fn many_requesters_each_get_their_own_reply(env: &TestEnv) {
    let (rep, address) = listening(env).await;
    let mut asking = Vec::new();
    for who in 0..20 {
        let req = dialling(&address).await;
        asking.push(tokio::spawn(async move {
            for round in 0..50 {
                let question = format!("{who}/{round}");
                let reply = req.ask(question.clone()).await.expect("a reply");
                assert_eq!(reply, format!("re {question}"));
            }
        }));
    }
    let answering = tokio::spawn(async move {
        loop {
            let Ok(question) = rep.recv().await else {
                return;
            };
            let mut reply = b"re ".to_vec();
            reply.extend_from_slice(&question);
            rep.send(reply).await.expect("sent");
        }
    });
    for one in asking {
        one.await.expect("all its replies");
    }
    answering.abort();
}

/// The first rep takes the request and is closed without an answer. The second one, at the same
/// address, gets the same request without another ask.
pub async fn a_request_outlives_the_socket_that_was_to_answer(env: &TestEnv) {
    let (first, address) = listening(env).await;
    let req = dialling(&address).await;
    let asking = tokio::spawn(async move { (req.ask("still there?").await, req) });
    assert_eq!(first.recv().await.expect("a request"), "still there?");
    first.close().await;
    let second = Rep::new();
    second.listen(&address.to_string()).await.expect("listens");
    assert_eq!(second.recv().await.expect("again"), "still there?");
    second.send("yes").await.expect("sent");
    let (reply, req) = asking.await.expect("no panic");
    assert_eq!(reply.expect("a reply"), "yes");
    assert_eq!(req.statistics().counters.resent, 1);
}

/// The first copy of each request is not answered: after the resend delay another copy arrives,
/// from the same call.
pub async fn a_request_is_asked_again_when_no_reply_comes(env: &TestEnv) {
    let (rep, address) = listening(env).await;
    let req = Req::with_resend(Some(Duration::from_millis(30)));
    req.dial(&address.to_string()).await.expect("dials");
    let answering = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Ok(question) = rep.recv().await {
            if seen.contains(&question) {
                rep.send("at last").await.expect("sent");
            } else {
                seen.push(question);
            }
        }
    });
    for question in ["first", "second"] {
        assert_eq!(req.ask(question).await.expect("a reply"), "at last");
    }
    assert!(req.statistics().counters.resent >= 2);
    answering.abort();
}

/// With resending off, the caller gets an error for a lost request.
pub async fn without_resending_a_lost_request_is_an_error(env: &TestEnv) {
    let (rep, address) = listening(env).await;
    let req = Req::with_resend(None);
    req.dial(&address.to_string()).await.expect("dials");
    let asking = tokio::spawn(async move { req.ask("once").await });
    assert_eq!(rep.recv().await.expect("a request"), "once");
    rep.close().await;
    let lost = asking.await.expect("no panic").expect_err("lost");
    assert!(matches!(lost.kind, SocketErrorKind::RequestLost), "{lost}");
    assert!(lost.to_string().contains(&address.to_string()), "{lost}");
}

/// The req accepts 4 KiB with the id of the request. The request for a longer reply, of a little more or
/// of megabytes, is handled once and fails; one whose reply fits is answered on the same socket.
pub async fn a_reply_that_this_side_does_not_accept_is_an_error(env: &TestEnv) {
    const LIMIT: usize = 4096;
    let (rep, address) = listening(env).await;
    let req = dialling(&address).await;
    req.set_receive_limit(LIMIT);
    req.set_receive_timeout(Some(Duration::from_secs(30)));
    let lengths = [3 * 1024 * 1024, LIMIT - 3, LIMIT - 4];
    let answering = tokio::spawn(async move {
        for length in lengths {
            assert_eq!(rep.recv().await.expect("a request"), length.to_string());
            rep.send(vec![7; length]).await.expect("sent");
        }
        rep
    });
    for length in lengths {
        let answer = req.ask(length.to_string()).await;
        if length + 4 <= LIMIT {
            assert_eq!(answer.expect("a reply").len(), length);
            continue;
        }
        let refused = answer.expect_err("too long");
        let SocketErrorKind::ReplyTooLong { bytes } = refused.kind else { panic!("{refused}") };
        // A transport may have learned the length of a first part alone.
        assert!((LIMIT + 1..=length + 4).contains(&bytes), "{refused}");
        assert_eq!(refused.fault(), Fault::Caller);
    }
    assert_eq!(req.statistics().counters.resent, 0);
    answering.await.expect("answered");
}

/// The rep accepts 4 KiB with the id of the request. A longer request, of a little more or of
/// megabytes, is sent twice and then fails; one that fits is answered on the same socket.
pub async fn a_request_that_the_peer_does_not_accept_is_an_error(env: &TestEnv) {
    const LIMIT: usize = 4096;
    let (rep, address) = listening(env).await;
    rep.set_receive_limit(LIMIT);
    let req = dialling(&address).await;
    req.set_receive_timeout(Some(Duration::from_secs(30)));
    let answering = tokio::spawn(async move {
        let question = rep.recv().await.expect("a request");
        rep.send(question).await.expect("sent");
        rep
    });
    for body in [3 * 1024 * 1024, LIMIT - 3] {
        let refused = req.ask(vec![7; body]).await.expect_err("refused");
        let SocketErrorKind::RequestRefused { bytes } = refused.kind else { panic!("{refused}") };
        assert_eq!(bytes, body + 4);
        assert!(refused.to_string().contains(&format!("{bytes} bytes")), "{refused}");
    }
    assert_eq!(req.ask(vec![7; LIMIT - 4]).await.expect("a reply").len(), LIMIT - 4);
    // More if the machine is slow: a connection that lasts refuses nothing.
    assert!(req.statistics().counters.resent >= 2);
    let rep = answering.await.expect("answered");
    assert!(rep.statistics().pipes_punished >= 4);
}

/// Two tasks share a socket: the question of the second task cancels that of the first, which does
/// not get the reply to the second.
pub async fn a_second_request_cancels_the_first(env: &TestEnv) {
    let (rep, address) = listening(env).await;
    let req = Arc::new(dialling(&address).await);
    let shared = req.clone();
    let first = tokio::spawn(async move { shared.ask("first").await });
    assert_eq!(rep.recv().await.expect("a request"), "first");
    rep.send("to the first").await.expect("sent");
    let early = first.await.expect("no panic").expect("nobody was in between");
    assert_eq!(early, "to the first");

    let shared = req.clone();
    let first = tokio::spawn(async move { shared.ask("first").await });
    assert_eq!(rep.recv().await.expect("a request"), "first");
    let shared = req.clone();
    let second = tokio::spawn(async move { shared.ask("second").await });
    let cancelled = first.await.expect("no panic").expect_err("cancelled");
    assert!(matches!(cancelled.kind, SocketErrorKind::Cancelled));
    rep.send("too late").await.expect("sent");
    assert_eq!(rep.recv().await.expect("a request"), "second");
    rep.send("in time").await.expect("sent");
    let reply = second.await.expect("no panic").expect("a reply");
    assert_eq!(reply, "in time");
    let counters = req.statistics().counters;
    assert_eq!((counters.cancelled, counters.dropped_late), (1, 1));
}

/// A reply without a request is refused, and the message is handed back.
pub async fn a_reply_needs_a_request(env: &TestEnv) {
    let (rep, address) = listening(env).await;
    let refused = rep.send("unasked").await.expect_err("no request");
    assert_eq!(refused.message, "unasked");
    assert!(matches!(refused.error.kind, SocketErrorKind::NoRequest));
    let req = dialling(&address).await;
    let nothing = req.recv().await.expect_err("nothing asked");
    assert!(matches!(nothing.kind, SocketErrorKind::NothingAsked));
}

/// Raw bytes per RFC sp-request-reply-01: too short, without a last word, and with nine words; then
/// eight words, which pass.
pub async fn malformed_requests_are_counted_and_the_pipe_goes_on(env: &TestEnv) {
    let (rep, address) = listening(env).await;
    let mut by_hand = transport::dial(&address).await.expect("a connection");
    greet(&mut by_hand, &mut ReadBuf::new(), ProtocolNumber::REQ).await.expect("a partner");
    let mut nine = vec![0; 32];
    nine.extend_from_slice(b"\x80\0\0\x01body");
    let eight = nine[4..].to_vec();
    for message in [b"".as_slice(), b"abc", b"\0\0\0\x01", &nine, &eight] {
        send_message(&by_hand, message).await.expect("sent");
    }
    assert_eq!(rep.recv().await.expect("eight words pass"), "body");
    let counters = rep.statistics().counters;
    assert_eq!(counters.dropped_malformed, 3);
    assert_eq!(counters.dropped_too_many_hops, 1);
    assert_eq!(rep.statistics().pipes_open, 1);
}
