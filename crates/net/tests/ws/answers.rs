//! Answers to a dialer: what it says about each that is not the one to its request.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use wigwag_net::socket::{Pull, Req};
use wigwag_net::{DialOptions, NetError, WsDialOptions};

use super::raw::{answer, in_time, read_head};

/// The error of a dial that gets `answered`, which may depend on the request.
async fn refused(answered: impl Fn(&str) -> Vec<u8>) -> NetError {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("ws://{}/path?query", listener.local_addr().unwrap());
    let req = Req::new();
    let answering = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let asked = read_head(&mut stream).await;
        stream.write_all(&answered(&asked)).await.unwrap();
        stream
    };
    let both = async { tokio::join!(answering, req.dial(&address)) };
    let (_stream, dialled) = in_time("the error", both).await;
    dialled.unwrap_err()
}

#[tokio::test]
async fn an_answer_that_breaks_a_rule_is_named() {
    let good = |asked: &str| answer(asked, "rep");
    type Answer = Box<dyn Fn(&str) -> String>;
    let table: Vec<(&str, Answer)> = vec![
        ("404 Not Found lost", Box::new(|_| "HTTP/1.1 404 Not Found\r\n\r\nlost".into())),
        ("503", Box::new(|_| "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n".into())),
        ("302", Box::new(|_| "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n".into())),
        ("400 Incompatible", Box::new(|_| "HTTP/1.1 400 Incompatible\r\nX: y\r\n".into())),
        (
            "Sec-WebSocket-Accept",
            Box::new(move |asked| good(asked).replace("Accept: ", "Accept: x")),
        ),
        ("does not upgrade", Box::new(move |asked| good(asked).replace("websocket", "h2c"))),
        ("does not upgrade", Box::new(move |asked| good(asked).replace(": Upgrade", ": close"))),
        ("Sec-WebSocket-Protocol", Box::new(move |asked| good(asked).replace("rep.sp", "req.sp"))),
        ("Sec-WebSocket-Protocol", Box::new(move |asked| good(asked).replace("Protocol", "X"))),
        (
            "extension",
            Box::new(move |asked| {
                good(asked).replace("\r\n\r\n", "\r\nSec-WebSocket-Extensions: x\r\n\r\n")
            }),
        ),
        ("16 KiB", Box::new(|_| format!("HTTP/1.1 101 X\r\nX: {}", "x".repeat(20_000)))),
        ("64 lines", Box::new(|_| format!("HTTP/1.1 101 X\r\n{}\r\n", "X: x\r\n".repeat(70)))),
        ("SP without WebSocket", Box::new(|_| "\0SP\0\0\u{31}\0\0".into())),
        ("not HTTP", Box::new(|_| "\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}".into())),
    ];
    for (named, answered) in table {
        let error = refused(|asked| answered(asked).into_bytes()).await;
        assert!(error.to_string().contains(named), "{named}: {error}");
        assert!(!error.hint().is_empty());
    }
}

/// A listener of ours says which protocol it has, so the error names both.
#[tokio::test]
async fn the_wrong_partner_is_named_at_both_ends() {
    let pull = Pull::new();
    let address = pull.listen("ws://127.0.0.1:0").await.unwrap().to_string();
    let req = Req::new();
    let refused = in_time("the error", req.dial(&address)).await.unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("the peer is a PULL socket, and REQ cannot talk to it"), "{text}");
    in_time("the count", async {
        while pull.statistics().handshakes.wrong_protocol == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// The request has what the options say, and Host without the interface in front of it.
#[tokio::test]
async fn a_request_has_the_lines_of_the_options() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap();
    let ws = WsDialOptions::default().origin("https://page.example").unwrap();
    let ws = ws.header("Authorization", "Bearer token").unwrap();
    let options = DialOptions::default().ws(ws).in_background(true);
    let req = Req::new();
    req.dial_with(&format!("ws://lo;{place}/a?b=c"), options).await.unwrap();
    let (mut stream, _) = in_time("the dial", listener.accept()).await.unwrap();
    let head = read_head(&mut stream).await;
    assert!(head.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{head}");
    for line in [
        &format!("Host: {place}\r\n"),
        "Origin: https://page.example\r\n",
        "Authorization: Bearer token\r\n",
        "Sec-WebSocket-Protocol: rep.sp.nanomsg.org\r\n",
    ] {
        assert_eq!(head.matches(line).count(), 1, "{head}");
    }
}

/// Messages that are sent before the answer wait for it, and a bad path is refused before the dial.
#[tokio::test]
async fn a_malformed_address_is_refused() {
    let req = Req::new();
    for address in ["ws://127.0.0.1", "ws://127.0.0.1:1/a b", "ws://127.0.0.1:1/a#b", "ws://u@h:1/"]
    {
        let dialling = tokio::time::timeout(Duration::from_secs(5), req.dial(address)).await;
        let refused = dialling.unwrap().unwrap_err();
        assert!(refused.to_string().contains("malformed"), "{refused}");
    }
    let refused = req.listen("ws://127.0.0.1:0/a?b").await.unwrap_err();
    assert!(refused.to_string().contains("no ?"), "{refused}");
}
