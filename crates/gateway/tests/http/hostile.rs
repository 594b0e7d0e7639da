//! Input that no client of good will sends: each row on a connection of its own, and the service goes on.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use wigwag_gateway::limits::HEADERS_MAX;

use crate::client::Client;
use crate::service::Service;

/// The expected outcome of a row.
#[derive(Clone, Copy, Debug)]
enum Expected {
    /// An answer with this status.
    Status(u16),
    /// The end of the connection, with any answer of an error or none.
    End,
}

use Expected::{End, Status};

const POST: &str = "POST /desk/ask/add HTTP/1.1\r\nhost: localhost\r\n";
const GET: &str = "GET /desk HTTP/1.1\r\nhost: localhost\r\n";

/// Heads, with what follows them.
fn heads() -> Vec<(&'static str, Vec<u8>, Expected)> {
    let text = |text: &str| text.as_bytes().to_vec();
    let get = |header: &str| format!("{GET}{header}\r\n\r\n").into_bytes();
    let line = |line: &str| format!("{line}\r\nhost: localhost\r\n\r\n").into_bytes();
    vec![
        ("no HTTP", text("hello\r\n\r\n"), End),
        ("a TLS hello", vec![22, 3, 1, 0, 5, 1, 0, 0, 1, 0, 13, 10, 13, 10], End),
        ("an SP header", vec![0, b'S', b'P', 0, 0, 17, 0, 0, 13, 10, 13, 10], End),
        ("zeros", vec![0; 20_000], End),
        ("an unknown version", line("GET / HTTP/9.9"), End),
        ("HTTP/0.9", text("GET /\r\n\r\n"), End),
        ("a lower-case version", line("GET / http/1.1"), End),
        ("no path", line("GET  HTTP/1.1"), End),
        ("a blank within a path", line("GET /a b HTTP/1.1"), End),
        ("a control character in a path", line("GET /a\u{1} HTTP/1.1"), End),
        ("an unknown method", line("BREW / HTTP/1.1"), Status(405)),
        ("a lower-case method", line("get / HTTP/1.1"), Status(405)),
        ("a method with a slash", line("GE/T / HTTP/1.1"), End),
        ("a tunnel", line("CONNECT localhost:1 HTTP/1.1"), Status(405)),
        ("an asterisk", line("OPTIONS * HTTP/1.1"), Status(405)),
        ("another host by its URL", line("GET http://evil.example/ HTTP/1.1"), Status(200)),
        ("a path that leads out", line("GET /../../etc/passwd HTTP/1.1"), Status(404)),
        ("a bad percent sign", line("POST /de%zzsk/ask/add HTTP/1.1"), Status(404)),
        ("a zero in a name", line("GET /de%00sk HTTP/1.1"), Status(404)),
        ("a slash in a name", line("GET /a%2Fb HTTP/1.1"), Status(404)),
        ("a long path", line(&format!("GET /{} HTTP/1.1", "a".repeat(30_000))), End),
        ("a long name", line(&format!("GET /{} HTTP/1.1", "a".repeat(10_000))), Status(404)),
        ("no host", text("GET / HTTP/1.1\r\n\r\n"), Status(400)),
        ("two hosts", get("host: localhost"), Status(400)),
        ("a host that is none", text("GET / HTTP/1.1\r\nhost: a b\r\n\r\n"), Status(421)),
        ("another host", text("GET / HTTP/1.1\r\nhost: evil\r\n\r\n"), Status(421)),
        ("a header without a colon", get("nonsense"), End),
        ("a blank before the colon", get("x-a : 1"), End),
        ("a blank in a name", get("x a: 1"), End),
        ("an empty name", get(": 1"), End),
        ("a folded header", get("x-a: 1\r\n 2"), End),
        ("a zero in a value", get("x-a: 1\u{0}2"), End),
        ("a return in a value", get("x-a: 1\r2"), End),
        ("a long header", get(&format!("x-a: {}", "a".repeat(20_000))), End),
        // With the header Host.
        (
            "as many headers as may be",
            get("x-a: 1\r\n".repeat(HEADERS_MAX - 1).trim_end()),
            Status(200),
        ),
        ("one header more", get("x-a: 1\r\n".repeat(HEADERS_MAX).trim_end()), End),
        ("headers without an end", format!("{GET}{}", "x-a: 1\r\n".repeat(10_000)).into(), End),
        ("two tokens", get("authorization: Bearer a\r\nauthorization: Bearer b"), Status(401)),
        (
            "an upgrade to what is not there",
            get("upgrade: h2c\r\nconnection: upgrade"),
            Status(200),
        ),
        ("a range", get("range: bytes=0-1"), Status(200)),
        ("many preferences", get(&format!("prefer: {}", "wait=1,".repeat(1000))), Status(200)),
        ("a huge wait", get("prefer: wait=99999999999999999999999"), Status(200)),
        (
            "an HTTP/2 preface with nonsense",
            text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nnonsense that is no frame"),
            End,
        ),
        ("an HTTP/2 preface cut", text("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"), End),
    ]
}

/// Requests whose length is in doubt: what is read as a second request was smuggled in.
fn smuggled() -> Vec<(&'static str, Vec<u8>, Expected)> {
    let post = |header: &str, body: &str| format!("{POST}{header}\r\n\r\n{body}").into_bytes();
    let second = "GET /orders HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let with = |body: &str| format!("{body}{second}");
    vec![
        ("a length and chunks", post("content-length: 5\r\ntransfer-encoding: chunked", &with("0\r\n\r\n")), End),
        ("chunks and a length", post("transfer-encoding: chunked\r\ncontent-length: 5", &with("0\r\n\r\n")), End),
        ("two lengths", post("content-length: 5\r\ncontent-length: 6", &with("[1,2]")), End),
        ("a list of lengths", post("content-length: 5, 6", &with("[1,2]")), End),
        ("a signed length", post("content-length: +5", &with("[1,2]")), End),
        ("a negative length", post("content-length: -5", &with("[1,2]")), End),
        ("a hex length", post("content-length: 0x5", &with("[1,2]")), End),
        ("a length with a blank", post("content-length: 5 5", &with("[1,2]")), End),
        ("a length beyond 64 bits", post("content-length: 99999999999999999999", "[1,2]"), End),
        ("a huge length", post("content-length: 18446744073709551615", "[1,2]"), End),
        ("an empty length", post("content-length:", &with("[1,2]")), End),
        ("an unknown coding", post("transfer-encoding: xchunked", &with("0\r\n\r\n")), End),
        ("chunks that are not last", post("transfer-encoding: chunked, identity", &with("0\r\n\r\n")), End),
        ("gzip and chunks", post("transfer-encoding: gzip, chunked", "0\r\n\r\n"), Status(400)),
        ("chunks in HTTP/1.0", b"POST /desk/ask/add HTTP/1.0\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n5\r\n[1,2]\r\n0\r\n\r\n".to_vec(), End),
        ("a chunk that is no number", post("transfer-encoding: chunked", &with("x\r\n[1,2]\r\n0\r\n\r\n")), End),
        ("a chunk size beyond 64 bits", post("transfer-encoding: chunked", "11111111111111111\r\n"), End),
        ("a signed chunk size", post("transfer-encoding: chunked", "+5\r\n[1,2]\r\n0\r\n\r\n"), End),
        ("a chunk that is too long", post("transfer-encoding: chunked", "5\r\n[1,2]x\r\n0\r\n\r\n"), End),
        ("a huge chunk", post("transfer-encoding: chunked", "7fffffff\r\n[1,2]"), Status(408)),
        ("a long chunk extension", post("transfer-encoding: chunked", &format!("5;{}\r\n[1,2]\r\n0\r\n\r\n", "a".repeat(40_000))), End),
        ("trailers without an end", post("transfer-encoding: chunked", &format!("5\r\n[1,2]\r\n0\r\n{}", "x: 1\r\n".repeat(10_000))), End),
    ]
}

/// Bodies that are no arguments.
fn bodies() -> Vec<(&'static str, Vec<u8>, Expected)> {
    let post = |header: &str, body: &[u8]| {
        let mut all = format!("{POST}{header}content-length: {}\r\n\r\n", body.len()).into_bytes();
        all.extend_from_slice(body);
        all
    };
    let deep = "[".repeat(100_000);
    let objects = "{\"a\":".repeat(100_000);
    let wide = format!("[{}1]", "[],".repeat(300_000));
    vec![
        ("nesting without end", post("", deep.as_bytes()), Status(400)),
        ("objects without end", post("", objects.as_bytes()), Status(400)),
        ("very many values", post("", wide.as_bytes()), Status(400)),
        ("no UTF-8", post("", b"[\"\xFF\xFE\",1]"), Status(400)),
        ("half a surrogate", post("", br#"["\ud800",1]"#), Status(400)),
        ("a huge exponent", post("", b"[1e999999999,1]"), Status(400)),
        (
            "a number with many digits",
            post("", format!("[{},1]", "9".repeat(100_000)).as_bytes()),
            Status(400),
        ),
        ("a number beyond its type", post("", b"[9223372036854775808,1]"), Status(400)),
        ("NaN", post("", b"[NaN,1]"), Status(400)),
        ("a comment", post("", b"[1,2]//"), Status(400)),
        ("a mark of UTF-16", post("", b"\xFF\xFE[\x001\x00]\x00"), Status(400)),
        ("one name twice", post("", br#"{"a":1,"a":2,"b":3}"#), Status(200)),
        ("a key that is the prototype", post("", br#"{"__proto__":1,"a":1,"b":2}"#), Status(400)),
        ("a compressed body", post("content-encoding: gzip\r\n", &[31, 139, 8, 0]), Status(415)),
        (
            "a body with a second coding",
            post("content-encoding: identity\r\ncontent-encoding: gzip\r\n", b"[1,2]"),
            Status(415),
        ),
        (
            "a body that is not compressed",
            post("content-encoding: identity\r\n", b"[1,2]"),
            Status(200),
        ),
        ("MessagePack", post("content-type: application/msgpack\r\n", &[0x92, 1, 2]), Status(400)),
        ("too much", post("", &vec![b' '; 2 * 1024 * 1024]), Status(413)),
    ]
}

#[tokio::test]
async fn malformed_requests_are_refused_and_the_service_goes_on() {
    let rows: Vec<_> = heads().into_iter().chain(smuggled()).chain(bodies()).collect();
    assert!(rows.len() >= 60, "{}", rows.len());
    let options = wigwag_gateway::GatewayOptions::default()
        .head_time(Duration::from_millis(500))
        .body_time(Duration::from_millis(500));
    let service = Service::with(wigwag::NodeOptions::default(), options).await;
    let mut wrong = Vec::new();
    // Side by side: most of them wait for the end of their connections.
    let outcomes: Vec<_> = rows
        .into_iter()
        .map(|(name, bytes, expected)| {
            let outcome = timeout(Duration::from_secs(10), outcome(service.host.clone(), bytes));
            (name, expected, tokio::spawn(outcome))
        })
        .collect();
    for (name, expected, outcome) in outcomes {
        let outcome = outcome.await.unwrap();
        let statuses = outcome.unwrap_or_else(|_| panic!("{name}: nothing happens"));
        let is_right = match expected {
            Status(status) => statuses.first() == Some(&status),
            // Never a second answer: what follows a malformed head is no request.
            End => statuses.len() <= 1 && statuses.iter().all(|it| *it >= 400),
        };
        if !is_right {
            wrong.push(format!("{name}: {expected:?}, but {statuses:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let mut client = Client::connect(&service.host).await;
    assert_eq!(client.request("POST /desk/ask/add", "", "[1,2]").await.text(), "3");
}

/// The statuses of all answers up to the end of the connection.
async fn outcome(host: String, bytes: Vec<u8>) -> Vec<u16> {
    let mut client = Client::connect(&host).await;
    // A connection may end before all is sent.
    let _ = client.stream.write_all(&bytes).await;
    let mut statuses = Vec::new();
    while let Some(answer) = client.answer(false).await {
        statuses.push(answer.status);
    }
    statuses
}

/// Every cut of a request leaves nothing behind, and every split of it is the same request.
#[tokio::test]
async fn requests_may_be_cut_and_split_anywhere() {
    let service = Service::start().await;
    let request = format!("{POST}content-length: 5\r\n\r\n[1,2]");
    for at in 0..request.len() {
        let mut cut = Client::connect(&service.host).await;
        cut.send(&request.as_bytes()[..at]).await;
        drop(cut);
        let mut split = Client::connect(&service.host).await;
        split.send(&request.as_bytes()[..at]).await;
        tokio::task::yield_now().await;
        split.send(&request.as_bytes()[at..]).await;
        assert_eq!(split.answer(false).await.unwrap().text(), "3", "split at {at}");
    }
}
