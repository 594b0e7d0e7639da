//! A client of HTTP/1.1 on a plain socket, which sends what it is told to.

use std::collections::HashMap;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// By their names in small letters.
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    /// The code of a problem, after a look at the rest of it.
    pub(crate) fn code(&self) -> String {
        let problem = self.json();
        assert_eq!(self.headers["content-type"], "application/problem+json", "{problem}");
        // A cache may keep an answer 404 unless it says otherwise (RFC 9110 15.1).
        assert_eq!(self.headers["cache-control"], "no-store", "{problem}");
        assert_eq!(problem["status"], self.status, "{problem}");
        assert!(problem["title"].is_string() && problem["detail"].is_string(), "{problem}");
        problem["code"].as_str().unwrap().to_owned()
    }
}

/// A connection.
pub(crate) struct Client<S = TcpStream> {
    pub(crate) stream: S,
    input: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(host: &str) -> Client {
        Client::on(TcpStream::connect(host).await.unwrap())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) fn on(stream: S) -> Client<S> {
        Client { stream, input: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// One request with these headers and body, and its answer.
    pub(crate) async fn request(&mut self, line: &str, headers: &str, body: &str) -> Answer {
        let length = body.len();
        let head = format!("{line} HTTP/1.1\r\nhost: localhost\r\n{headers}");
        let head = match body.is_empty() {
            true => format!("{head}\r\n"),
            false => format!("{head}content-length: {length}\r\n\r\n"),
        };
        self.send(format!("{head}{body}").as_bytes()).await;
        self.answer(line.starts_with("HEAD ")).await.expect("an answer")
    }

    /// The next answer; `None` at the end of the connection.
    pub(crate) async fn answer(&mut self, is_head: bool) -> Option<Answer> {
        let end = loop {
            match self.input.windows(4).position(|it| it == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None => self.more().await.then_some(())?,
            }
        };
        let head = String::from_utf8(self.input.drain(..end).collect()).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: HashMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let body = match (headers.get("content-length"), headers.get("transfer-encoding")) {
            _ if is_head => Vec::new(),
            (Some(length), _) => self.take(length.parse().unwrap()).await,
            (_, Some(_)) => self.chunks().await,
            _ => Vec::new(),
        };
        Some(Answer { status, headers, body })
    }

    /// The head of an answer whose body goes on, and the text of its body up to `until`.
    pub(crate) async fn text_until(&mut self, until: &str) -> String {
        loop {
            let text = String::from_utf8_lossy(&self.input).into_owned();
            if text.contains(until) {
                return text;
            }
            assert!(self.more().await, "the end before {until:?}: {text}");
        }
    }

    /// Waits for the end of the connection; false if something comes before it.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.input.is_empty() && !self.more().await
    }

    async fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let end = loop {
                match self.input.windows(2).position(|it| it == b"\r\n") {
                    Some(at) => break at,
                    None => assert!(self.more().await),
                }
            };
            let line = String::from_utf8(self.input.drain(..end + 2).collect()).unwrap();
            let length = usize::from_str_radix(line.trim(), 16).unwrap();
            let mut chunk = self.take(length + 2).await;
            chunk.truncate(length);
            if length == 0 {
                return body;
            }
            body.extend(chunk);
        }
    }

    async fn take(&mut self, bytes: usize) -> Vec<u8> {
        while self.input.len() < bytes {
            assert!(self.more().await, "the end within a body");
        }
        self.input.drain(..bytes).collect()
    }

    async fn more(&mut self) -> bool {
        // A connection that is reset is at its end too.
        matches!(self.stream.read_buf(&mut self.input).await, Ok(1..))
    }
}
