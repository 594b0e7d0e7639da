//! A WebSocket peer made by hand, at either end, and a socket of ours that sends everything back.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use wigwag_net::socket::Pair0;

/// A step that takes this long does not happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// The end that is made by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

/// The request of a well-behaved client, with `more` lines.
pub(crate) fn request(path: &str, more: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
    )
}

pub(crate) const PAIR: &str =
    "User-Agent: by-hand\r\nSec-WebSocket-Protocol: pair.sp.nanomsg.org\r\n";

/// A frame with this first byte. A client's is masked.
pub(crate) fn frame(role: Role, first: u8, body: &[u8]) -> Vec<u8> {
    let masked = if role == Role::Client { 0x80 } else { 0 };
    let mut bytes = vec![first];
    match body.len() {
        length @ 0..126 => bytes.push(masked | length as u8),
        length @ 126..65_536 => {
            bytes.push(masked | 126);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            bytes.push(masked | 127);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    let mask = if role == Role::Client { [0x37, 0xfa, 0x21, 0x3d] } else { [0; 4] };
    if role == Role::Client {
        bytes.extend_from_slice(&mask);
    }
    bytes.extend(body.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key));
    bytes
}

/// An event that a peer sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Message(Vec<u8>),
    Pong(Vec<u8>),
    /// A close frame with this code, and then the end.
    Close(Option<u16>),
    /// The end without a close frame.
    End,
}

/// A socket of ours that sends back what it receives, until it is dropped.
pub(crate) struct Echo {
    pub(crate) pair: std::sync::Arc<Pair0>,
    task: JoinHandle<()>,
}

impl Echo {
    pub(crate) fn new() -> Echo {
        let pair = std::sync::Arc::new(Pair0::new());
        pair.set_receive_limit(16 * 1024 * 1024);
        let echoed = pair.clone();
        let task = tokio::spawn(async move {
            while let Ok(message) = echoed.recv().await {
                let _ = echoed.send(message).await;
            }
        });
        Echo { pair, task }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Ends a test that waits for something that does not happen.
pub(crate) async fn in_time<T>(what: &str, step: impl Future<Output = T>) -> T {
    let done = timeout(PATIENCE, step).await;
    done.unwrap_or_else(|_| panic!("{what}: it does not happen"))
}

/// The end that is made by hand.
pub(crate) struct Raw {
    pub(crate) role: Role,
    pub(crate) stream: TcpStream,
}

/// A connection between an echo and a peer made by hand, which is open.
pub(crate) async fn connected(role: Role) -> (Echo, Raw) {
    let echo = Echo::new();
    let stream = match role {
        Role::Client => {
            let address = echo.pair.listen("ws://127.0.0.1:0").await.unwrap().to_string();
            let mut stream = TcpStream::connect(&address["ws://".len()..]).await.unwrap();
            stream.write_all(request("/", PAIR).as_bytes()).await.unwrap();
            let answer = read_head(&mut stream).await;
            assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
            assert!(answer.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
            stream
        }
        Role::Server => {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = format!("ws://{}/path", listener.local_addr().unwrap());
            let dialling = echo.pair.dial(&address);
            let accepting = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let asked = read_head(&mut stream).await;
                assert!(asked.starts_with("GET /path HTTP/1.1\r\n"), "{asked}");
                stream.write_all(answer(&asked, "pair").as_bytes()).await.unwrap();
                stream
            };
            let (stream, dialled) = tokio::join!(accepting, dialling);
            dialled.unwrap();
            stream
        }
    };
    (echo, Raw { role, stream })
}

/// The 101 that belongs to a request, of a server of `protocol`.
pub(crate) fn answer(asked: &str, protocol: &str) -> String {
    let key = asked.lines().find_map(|line| line.strip_prefix("Sec-WebSocket-Key: ")).unwrap();
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: {protocol}.sp.nanomsg.org\r\n\r\n",
        accept(key)
    )
}

/// RFC 6455, section 4.2.2.
fn accept(key: &str) -> String {
    use base64::Engine;
    let mut hash = sha1_smol::Sha1::new();
    hash.update(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11").as_bytes());
    base64::engine::general_purpose::STANDARD.encode(hash.digest().bytes())
}

/// Reads a head, and nothing behind it.
pub(crate) async fn read_head(stream: &mut TcpStream) -> String {
    in_time("the head", async {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => break,
            }
        }
        String::from_utf8(head).unwrap()
    })
    .await
}

impl Raw {
    /// Sends bytes, `chop` at a time. A peer that has ended the connection shows in what is seen.
    pub(crate) async fn send(&mut self, bytes: &[u8], chop: usize) {
        for part in bytes.chunks(chop) {
            if self.stream.write_all(part).await.is_err() {
                return;
            }
            if chop < bytes.len() {
                // Each part is a read of its own, as far as the system lets it.
                tokio::task::yield_now().await;
            }
        }
    }

    /// The next message, pong or end.
    pub(crate) async fn see(&mut self) -> Seen {
        in_time("what is to be seen", async {
            let mut message = Vec::new();
            loop {
                let Some((first, body)) = self.read_frame().await else { return Seen::End };
                assert_eq!(first & 0x70, 0, "no extension was agreed on");
                match first & 0x0f {
                    0 | 2 => {
                        assert_eq!(first & 0x0f == 0, !message.is_empty(), "a continuation");
                        message.extend_from_slice(&body);
                        if first & 0x80 != 0 {
                            return Seen::Message(message);
                        }
                    }
                    10 => return Seen::Pong(body),
                    8 => {
                        assert!(self.read_frame().await.is_none(), "nothing follows a close");
                        return Seen::Close(body.first_chunk().copied().map(u16::from_be_bytes));
                    }
                    other => panic!("opcode {other}"),
                }
            }
        })
        .await
    }

    /// The next frame, unmasked. `None` at the end.
    async fn read_frame(&mut self) -> Option<(u8, Vec<u8>)> {
        let first = self.stream.read_u8().await.ok()?;
        let second = self.stream.read_u8().await.ok()?;
        assert_eq!(second & 0x80 != 0, self.role == Role::Server, "only a client masks");
        let length = match second & 0x7f {
            126 => u64::from(self.stream.read_u16().await.ok()?),
            127 => self.stream.read_u64().await.ok()?,
            short => u64::from(short),
        };
        let mut mask = [0; 4];
        if self.role == Role::Server {
            self.stream.read_exact(&mut mask).await.ok()?;
        }
        let mut body = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut body).await.ok()?;
        body.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
        Some((first, body))
    }
}
