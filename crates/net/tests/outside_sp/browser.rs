//! A page in Chromium that asks one of our REP sockets over ws, on the port that serves the page.

use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wigwag_net::socket::Rep;
use wigwag_net::ws::HttpEndpoint;

use crate::peer::wanted;

/// The browser needs this long at most to start and to end, on a busy machine.
const BROWSER_PATIENCE: Duration = Duration::from_secs(60);

/// A script of a page adds the header of its request itself: four bytes of id, with the highest bit
/// set. The page is complete when `/wait` has come, which the test answers when the page has said that
/// it shows the answer.
const PAGE: &str = r#"<!doctype html><body><p id="shown"></p><script>
const ws = new WebSocket(`ws://${location.host}/rep`, ["rep.sp.nanomsg.org"]);
ws.binaryType = "arraybuffer";
const ask = text => ws.send(new Uint8Array([0x80, 0, 0, 1, ...new TextEncoder().encode(text)]));
ws.onopen = () => ask("question");
ws.onmessage = event => {
  const bytes = new Uint8Array(event.data);
  shown.textContent = `${bytes.slice(0, 4)} ${new TextDecoder().decode(bytes.slice(4))}`;
  ask("seen");
};
</script><script src="/wait"></script></body>"#;

/// Serves the page, and `/wait` once `seen` says so; hands the upgrade over. Each connection has a
/// task, because a browser opens connections ahead of need, and sends nothing on some of them.
async fn serve(
    listener: tokio::net::TcpListener,
    endpoint: HttpEndpoint,
    seen: tokio::sync::watch::Receiver<bool>,
) {
    let endpoint = Arc::new(endpoint);
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream, Arc::clone(&endpoint), seen.clone()));
    }
}

async fn answer(
    mut stream: tokio::net::TcpStream,
    endpoint: Arc<HttpEndpoint>,
    mut seen: tokio::sync::watch::Receiver<bool>,
) {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut head).await.map_or(true, |read| read == 0) {
            return;
        }
    }
    if head.starts_with(b"GET /rep ") {
        endpoint.hand_over(stream, &head).expect("a socket listens there");
        return;
    }
    let mut body = "";
    if head.starts_with(b"GET / ") {
        body = PAGE;
    } else if head.starts_with(b"GET /wait ") {
        let _ = seen.wait_for(|seen| *seen).await;
    }
    let kind = if body.is_empty() { "text/javascript" } else { "text/html" };
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).await;
}

/// The page as the browser shows it in the end, and what the browser says.
fn shown(address: &str) -> Output {
    let profile = std::env::temp_dir().join(format!("wigwag-browser-{}", std::process::id()));
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--dump-dom", address])
        .output()
        .unwrap_or_else(|error| panic!("chromium cannot be started: {error}"));
    let _ = std::fs::remove_dir_all(profile);
    output
}

#[test]
fn a_page_asks_our_rep() {
    if !wanted() {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let page = runtime.block_on(async {
        let endpoint = HttpEndpoint::new("/rep").expect("an endpoint");
        let rep = Rep::new();
        rep.set_receive_timeout(Some(BROWSER_PATIENCE));
        rep.listen(&endpoint.address().to_string()).await.expect("it listens");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}/", listener.local_addr().expect("bound"));
        let (see, seen) = tokio::sync::watch::channel(false);
        let serving = tokio::spawn(serve(listener, endpoint, seen));
        let mut browser = tokio::task::spawn_blocking(move || shown(&address));
        let question = tokio::select! {
            question = rep.recv() => question.expect("a request"),
            output = &mut browser => panic!("chromium has ended: {output:?}"),
        };
        assert_eq!(question, "question");
        rep.send("answer").await.expect("sent");
        assert_eq!(rep.recv().await.expect("a second request"), "seen");
        see.send(true).expect("the server waits");
        let page = tokio::time::timeout(BROWSER_PATIENCE, browser).await;
        serving.abort();
        page.expect("chromium ends").expect("no panic")
    });
    let text = String::from_utf8_lossy(&page.stdout);
    assert!(text.contains(r#"<p id="shown">128,0,0,1 answer</p>"#), "{page:?}");
}
