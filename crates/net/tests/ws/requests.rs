//! Requests to a listener: each rule with its status, and the text that says what to change.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use wigwag_net::handshake::read_header;
use wigwag_net::socket::Rep;
use wigwag_net::{ListenOptions, WsListenOptions, transport};
use wigwag_wire::ReadBuf;

use super::raw::{Role, Seen, frame, in_time, read_head, request};

const REP: &str = "Sec-WebSocket-Protocol: rep.sp.nanomsg.org\r\n";

async fn listening() -> (Rep, String) {
    let rep = Rep::new();
    let ws = WsListenOptions::default().allow_origin("https://page.example");
    let options = ListenOptions::default().ws(ws);
    let address = rep.listen_with("ws://127.0.0.1:0/rep", options).await.unwrap().to_string();
    let place = address["ws://".len()..].trim_end_matches("/rep").to_owned();
    (rep, place)
}

/// All that the listener answers, until it closes.
async fn asked(place: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(place).await.unwrap();
    // A listener that refuses early closes, perhaps before all is written.
    let _ = stream.write_all(request).await;
    in_time("the answer", async {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    })
    .await
}

/// The request of a page to the host that it is from.
fn of_page(host: &str) -> String {
    let request = request("/rep", &format!("{REP}Origin: http://{host}\r\n"));
    request.replace("Host: localhost", &format!("Host: {host}"))
}

#[tokio::test]
async fn a_request_that_breaks_a_rule_gets_its_status_and_the_mend() {
    let (rep, place) = listening().await;
    let good = request("/rep", REP);
    let without = |line: &str| good.replace(line, "");
    let many = (0..80).map(|number| format!("X-{number}: x\r\n")).collect::<String>() + REP;
    let table = [
        (good.replace("GET", "POST"), 405, "only GET"),
        (good.replace("HTTP/1.1", "HTTP/1.0"), 400, "HTTP/1.1"),
        (good.replace("/rep", "/req"), 404, "path"),
        (good.replace("/rep", "/rep/"), 404, "path"),
        (good.replace("/rep", "http://localhost/req"), 404, "path"),
        (good.replace("/rep", "http://localhost"), 404, "path"),
        (good.replace("/rep", "http://localhost?/rep"), 404, "path"),
        (good.replace("/rep", "ftp://localhost/rep"), 404, "path"),
        (good.replace("/rep", "%2Frep"), 404, "path"),
        (good.replace("/rep", "/rep%"), 404, "path"),
        (good.replace("/rep", "/rep%00"), 404, "path"),
        (without("Host: localhost\r\n"), 400, "Host"),
        (good.replace("Host: localhost", "Host: a\r\nHost: b"), 400, "Host"),
        (without("Upgrade: websocket\r\n"), 426, "Upgrade: websocket"),
        (good.replace("Upgrade: websocket", "Upgrade: h2c"), 426, "Upgrade: websocket"),
        (without("Connection: Upgrade\r\n"), 400, "Connection: Upgrade"),
        (good.replace("Connection: Upgrade", "Connection: close"), 400, "Connection: Upgrade"),
        (without("Sec-WebSocket-Version: 13\r\n"), 426, "must be 13"),
        (good.replace("Version: 13", "Version: 8"), 426, "must be 13"),
        (without("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"), 400, "Sec-WebSocket-Key"),
        (good.replace("dGhlIHNhbXBsZSBub25jZQ==", "c2hvcnQ="), 400, "16 bytes"),
        (good.replace("dGhlIHNhbXBsZSBub25jZQ==", "%%%"), 400, "16 bytes"),
        (without(REP), 400, "rep.sp.nanomsg.org"),
        (good.replace("rep.sp", "chat.sp"), 400, "Sec-WebSocket-Protocol"),
        (good.replace("rep.sp.nanomsg.org", "rep"), 400, "Sec-WebSocket-Protocol"),
        (good.replace("rep.sp", "pull.sp"), 400, "rep.sp.nanomsg.org listens here"),
        (request("/rep", &format!("{REP}Origin: https://evil.example\r\n")), 403, "origin"),
        (request("/rep", &format!("{REP}Origin: null\r\n")), 403, "origin"),
        (
            request(
                "/rep",
                &format!("{REP}Origin: https://page.example\r\nOrigin: https://evil.example\r\n"),
            ),
            403,
            "origin",
        ),
        (of_page("evil.example"), 403, "loopback"),
        (of_page("evil.example").replace("/rep", "http://localhost/rep"), 403, "origin"),
        (of_page("localhost").replace("/rep", "http://evil.example/rep"), 403, "origin"),
        (request("/rep", &format!("{REP}Content-Length: 4\r\n")) + "body", 400, "body"),
        (request("/rep", &format!("{REP}Transfer-Encoding: chunked\r\n")), 400, "body"),
        (good.clone() + "\u{1}frame", 400, "wait for the answer"),
        (request("/rep", &many), 431, "64 lines"),
        (request("/rep", &format!("{REP}X: {}\r\n", "x".repeat(17_000))), 431, "16 KiB"),
        ("GET /rep\r\n\r\n".to_owned(), 400, "HTTP/1.1"),
        (good.replace("Host", "Ho st"), 400, "HTTP/1.1"),
        ("\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}".to_owned(), 400, "HTTP/1.1"),
    ];
    let rows = table.len() as u64;
    for (request, status, mend) in table {
        let answer = asked(&place, request.as_bytes()).await;
        let expected = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&expected) && answer.contains(mend), "{request}\n{answer}");
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        let length = format!("Content-Length: {}\r\n", text.len());
        assert!(head.contains(&length) && head.contains("Connection: close"), "{answer}");
    }
    let statistics = rep.statistics();
    assert_eq!((statistics.handshakes_failed, statistics.pipes_opened), (rows, 0));
    let by_reason = statistics.handshakes;
    assert_eq!((by_reason.wrong_protocol, by_reason.not_sp), (1, rows - 1));
}

/// Requests that are allowed, although unusual: lists, other cases, a query, several protocols, origins.
#[tokio::test]
async fn a_request_within_the_rules_is_answered_with_101() {
    let (rep, place) = listening().await;
    let good = request("/rep", REP);
    for request in [
        good.clone(),
        good.replace("Connection: Upgrade", "connection: keep-alive, upgrade"),
        good.replace("Connection: Upgrade", "Connection: keep-alive\r\nConnection: Upgrade"),
        good.replace("Upgrade: websocket", "UPGRADE: WebSocket"),
        good.replace("/rep", "/rep?token=1"),
        good.replace("rep.sp.nanomsg.org", "chat, pull.sp.nanomsg.org, rep.sp.nanomsg.org"),
        request("/rep", &format!("{REP}Origin: https://page.example\r\n")),
        request("/rep", &format!("{REP}Origin: http://localhost\r\n")),
        of_page(&place),
        of_page("[::1]:7001"),
        // A program sends no origin, and may call this machine by any name.
        good.replace("Host: localhost", "Host: evil.example"),
        good.replace("/rep", "http://localhost/rep"),
        good.replace("/rep", "WS://localhost:7001/rep?token=1"),
        // The host of an absolute target counts, and not the other one.
        of_page("localhost")
            .replace("Host: localhost", "Host: x")
            .replace("/rep", "http://localhost/rep"),
        good.replace("/rep", "/%72e%70"),
        request("/rep", &format!("{REP}Sec-WebSocket-Extensions: permessage-deflate\r\n")),
        request("/rep", &format!("{REP}Content-Length: 0\r\n")),
    ] {
        let mut stream = TcpStream::connect(&place).await.unwrap();
        // Byte by byte: the head comes in as many reads.
        for byte in request.as_bytes() {
            stream.write_all(&[*byte]).await.unwrap();
        }
        let answer = read_head(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 101 "), "{request}\n{answer}");
        assert!(answer.contains("Sec-WebSocket-Protocol: rep.sp.nanomsg.org\r\n"), "{answer}");
        assert!(!answer.contains("Extensions"), "{answer}");
    }
    assert_eq!(rep.statistics().handshakes_failed, 0);
}

/// A server that reads the request before it answers, as one of several protocols does: the frames
/// that come meanwhile are not swallowed.
#[tokio::test]
async fn frames_that_do_not_wait_for_the_answer_are_refused() {
    let at = "ws://127.0.0.1:0/rep".parse().unwrap();
    let listener = transport::listen(&at, ListenOptions::default()).await.unwrap();
    let address = listener.address().to_string();
    let place = address["ws://".len()..].trim_end_matches("/rep");
    let mut stream = TcpStream::connect(place).await.unwrap();
    stream.write_all(request("/rep", REP).as_bytes()).await.unwrap();
    let mut connection = listener.accept().await.unwrap();
    let mut input = ReadBuf::new();
    in_time("the request", read_header(&mut connection, &mut input)).await.unwrap();
    stream.write_all(&frame(Role::Client, 0x82, b"early")).await.unwrap();
    let read = in_time("the frame", connection.reader.read_u8()).await;
    assert!(read.unwrap_err().to_string().contains("frames must wait"));
    assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 400 "));
}

/// A head that does not end costs its place for the handshake time.
#[tokio::test]
async fn a_head_that_does_not_come_is_answered_with_408() {
    let (_rep, place) = listening().await;
    let begun = tokio::time::Instant::now();
    let answer = asked(&place, b"GET /rep HTTP/1.1\r\nHost: ").await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(begun.elapsed() < 2 * wigwag_wire::state_machine::HANDSHAKE_MAX);
}

/// nanomsg's dialers never dial again after a close frame, and do not say what they are.
#[tokio::test]
async fn only_a_client_that_says_what_it_is_gets_a_close_frame() {
    for (more, end) in [("User-Agent: x\r\n", Seen::Close(Some(1000))), ("", Seen::End)] {
        let (rep, place) = listening().await;
        let mut stream = TcpStream::connect(&place).await.unwrap();
        let request = request("/rep", &format!("{REP}{more}"));
        stream.write_all(request.as_bytes()).await.unwrap();
        read_head(&mut stream).await;
        rep.close().await;
        let mut raw = super::raw::Raw { role: Role::Client, stream };
        assert_eq!(raw.see().await, end);
    }
}

/// A peer of another transport, and the answer to a dialer of the wrong one.
#[tokio::test]
async fn a_peer_without_websocket_is_named() {
    let (rep, place) = listening().await;
    for (bytes, named, answer) in [
        (&b"\0SP\0\0\x30\0\0"[..], "SP without WebSocket", "HTTP/1.1 400 "),
        (b"\x16\x03\x01\0\x05\x01\0\0", "TLS", ""),
    ] {
        assert!(asked(&place, bytes).await.starts_with(answer));
        rep.set_receive_timeout(Some(std::time::Duration::from_millis(1)));
        let waiting = rep.recv().await.unwrap_err().to_string();
        assert!(waiting.contains(named), "{waiting}");
    }
    let req = wigwag_net::socket::Req::new();
    let refused = in_time("the error", req.dial(&format!("tcp://{place}"))).await.unwrap_err();
    assert!(refused.to_string().contains("the peer speaks HTTP"), "{refused}");
    assert!(refused.hint().contains("ws://"), "{}", refused.hint());
}
