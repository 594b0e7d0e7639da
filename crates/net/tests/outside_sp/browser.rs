//! A page in Chromium that asks one of our REP sockets: over ws, on the port that serves the page, and
//! over wss, on a port of its own.

use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use wigwag_net::socket::Rep;
use wigwag_net::ws::HttpEndpoint;

use crate::peer::{spawn, wanted};

/// The browser needs this long at most to start and to end, on a busy machine.
const BROWSER_PATIENCE: Duration = Duration::from_secs(60);

/// A script of a page adds the header of its request itself: four bytes of id, with the highest bit
/// set. `ADDRESS` is replaced by an expression of the script. The page is complete when `/wait` has come, which the test answers when the page has said that
/// it shows the answer.
const PAGE: &str = r#"<!doctype html><body><p id="shown"></p><script>
const ws = new WebSocket(ADDRESS, ["rep.sp.nanomsg.org"]);
ws.binaryType = "arraybuffer";
const ask = text => ws.send(new Uint8Array([0x80, 0, 0, 1, ...new TextEncoder().encode(text)]));
ws.onopen = () => ask("question");
ws.onmessage = event => {
  const bytes = new Uint8Array(event.data);
  shown.textContent = `${bytes.slice(0, 4)} ${new TextDecoder().decode(bytes.slice(4))}`;
  ask("seen");
};
</script><script src="/wait"></script></body>"#;

/// The server of the page.
struct Site {
    page: String,
    /// Where the upgrade is handed over, if it comes to the port of the page.
    endpoint: Option<HttpEndpoint>,
    /// True when the page has said that it shows the answer.
    seen: watch::Receiver<bool>,
}

/// Serves the page, and `/wait` once it has been seen; hands the upgrade over. Each connection has a
/// task, because a browser opens connections ahead of need, and sends nothing on some of them.
async fn serve(listener: TcpListener, site: Site) {
    let site = Arc::new(site);
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream, Arc::clone(&site)));
    }
}

async fn answer(mut stream: TcpStream, site: Arc<Site>) {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut head).await.map_or(true, |read| read == 0) {
            return;
        }
    }
    if head.starts_with(b"GET /rep ") {
        let endpoint = site.endpoint.as_ref().expect("the page has its address");
        endpoint.hand_over(stream, &head).expect("a socket listens there");
        return;
    }
    let mut body = "";
    if head.starts_with(b"GET / ") {
        body = &site.page;
    } else if head.starts_with(b"GET /wait ") {
        let _ = site.seen.clone().wait_for(|seen| *seen).await;
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
fn shown(address: &str, flags: &[String]) -> Output {
    let name = format!("wigwag-browser-{}-{}", std::process::id(), flags.len());
    let profile = std::env::temp_dir().join(name);
    let browser = spawn(
        Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .args(flags)
            .args(["--dump-dom", address])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()),
    );
    let output = browser.wait_with_output().expect("a child of this process");
    let _ = std::fs::remove_dir_all(profile);
    output
}

/// Shows a page whose script asks `rep` at the address that the expression `address` gives, and
/// checks what the page has become.
async fn page_asks(
    rep: &Rep,
    listener: TcpListener,
    address: &str,
    endpoint: Option<HttpEndpoint>,
    flags: Vec<String>,
) {
    let place = format!("http://{}/", listener.local_addr().expect("bound"));
    let (see, seen) = watch::channel(false);
    let page = PAGE.replace("ADDRESS", address);
    let serving = tokio::spawn(serve(listener, Site { page, endpoint, seen }));
    let mut browser = tokio::task::spawn_blocking(move || shown(&place, &flags));
    rep.set_receive_timeout(Some(BROWSER_PATIENCE));
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
    let page = page.expect("chromium ends").expect("no panic");
    let text = String::from_utf8_lossy(&page.stdout);
    assert!(text.contains(r#"<p id="shown">128,0,0,1 answer</p>"#), "{page:?}");
}

#[test]
fn a_page_asks_our_rep() {
    if !wanted() {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let endpoint = HttpEndpoint::new("/rep").expect("an endpoint");
        let rep = Rep::new();
        rep.listen(&endpoint.address().to_string()).await.expect("it listens");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = "`ws://${location.host}/rep`";
        page_asks(&rep, listener, address, Some(endpoint), Vec::new()).await;
    });
}

/// The browser trusts the key of the listener's certificate, and nothing else that it does not know.
/// The page is of another origin than the listener, which has to allow it.
#[cfg(feature = "tls")]
#[test]
fn a_page_asks_our_rep_over_wss() {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use wigwag_net::{ListenOptions, TlsServerConfig, TlsSource, WsListenOptions};

    use crate::certificates::{Authority, Request};

    if !wanted() {
        return;
    }
    let issued = Authority::new("the authority").issue(Request::default());
    let (chain, key) = (TlsSource::pem(issued.chain.as_str()), TlsSource::pem(issued.key.as_str()));
    let server = TlsServerConfig::builder().certificate(chain, key).build().expect("a server");
    let trusted = STANDARD.encode(hmac_sha256::Hash::hash(&issued.public_key()));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("bound"));
        let options = ListenOptions::default()
            .tls(server)
            .ws(WsListenOptions::default().allow_origin(&origin));
        let rep = Rep::new();
        let bound = rep.listen_with("wss://127.0.0.1:0/rep", options).await.expect("it listens");
        let address = format!("{:?}", bound.to_string().replace("127.0.0.1", "localhost"));
        let trust = format!("--ignore-certificate-errors-spki-list={trusted}");
        page_asks(&rep, listener, &address, None, vec![trust]).await;
    });
}
