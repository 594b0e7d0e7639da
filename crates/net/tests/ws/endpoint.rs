//! An HTTP server, made by hand, that serves a page and SP on one port.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use wigwag_net::NetErrorKind;
use wigwag_net::socket::{Rep, Req};
use wigwag_net::ws::HttpEndpoint;

use super::raw::in_time;

/// Serves a page at `/`, hands `/rep` and `/sp/rep` over, and refuses the rest.
async fn serve(listener: TcpListener, endpoints: [HttpEndpoint; 2]) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let mut head = Vec::new();
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            if stream.read_buf(&mut head).await.unwrap() == 0 {
                break;
            }
        }
        let text = String::from_utf8(head.clone()).unwrap();
        let path = text.split(' ').nth(1).unwrap_or_default();
        let [first, second] = &endpoints;
        match path {
            "/rep" => first.hand_over(stream, &head).unwrap(),
            // Only a part of the head, and the rest unread, would be as good.
            "/sp/rep" => second.hand_over(stream, &head).unwrap(),
            "/" => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npage").await.unwrap()
            }
            _ => stream.write_all(b"HTTP/1.1 404 Not Found\r\n\r\n").await.unwrap(),
        }
    }
}

#[tokio::test]
async fn a_page_and_two_sockets_share_a_port() {
    let endpoints = [HttpEndpoint::new("/rep").unwrap(), HttpEndpoint::new("/sp/rep").unwrap()];
    let reps = [Rep::new(), Rep::new()];
    for (rep, endpoint) in reps.iter().zip(&endpoints) {
        rep.listen(&endpoint.address().to_string()).await.unwrap();
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap();
    let serving = tokio::spawn(serve(listener, endpoints));

    for (rep, path) in reps.iter().zip(["/rep", "/sp/rep"]) {
        let req = Req::new();
        in_time("the dial", req.dial(&format!("ws://{place}{path}"))).await.unwrap();
        let answering = async {
            let question = rep.recv().await.unwrap();
            assert_eq!(question, path);
            rep.send("answer").await.unwrap();
        };
        let (answer, ()) =
            in_time("the answer", async { tokio::join!(req.ask(path), answering) }).await;
        assert_eq!(answer.unwrap(), "answer");
        let peer = rep.pipes().remove(0).info.peer;
        assert!(peer.starts_with("ws://127.0.0.1:"), "{peer}");
    }
    let mut page = TcpStream::connect(place).await.unwrap();
    page.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut text = String::new();
    in_time("the page", page.read_to_string(&mut text)).await.unwrap();
    assert!(text.ends_with("page"), "{text}");
    let lost = in_time("the error", Req::new().dial(&format!("ws://{place}/other"))).await;
    assert!(lost.unwrap_err().to_string().contains("404"));
    serving.abort();
}

/// Each connection that is not taken comes back, and an endpoint can be listened at once.
#[tokio::test]
async fn an_endpoint_without_a_listener_takes_nothing() {
    let endpoint = HttpEndpoint::new("/rep").unwrap();
    let rep = Rep::new();
    let address = endpoint.address().to_string();
    let at = rep.listen(&address).await.unwrap();
    let twice = Rep::new().listen(&address).await.unwrap_err();
    assert!(matches!(twice.kind, NetErrorKind::NobodyListens), "{twice}");
    at.close().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let refused = endpoint.hand_over(stream, b"GET ").unwrap_err();
    assert!(refused.0.peer_addr().is_ok(), "it is still open");
    for path in ["", "rep", "/a b", "/a?b"] {
        let refused = HttpEndpoint::new(path).unwrap_err();
        assert!(matches!(refused.kind, NetErrorKind::BadAddress { .. }), "{refused}");
    }
}
