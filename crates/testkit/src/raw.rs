//! A hand-written peer. It sends bytes, enforces no rule by itself, and shows the node's bytes.

mod messages;
mod seen;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use wigwag_link::batch::BatchHeader;
use wigwag_link::frame::{Frame, SEQUENCED, kind};
use wigwag_link::{Code, Identity};
use wigwag_wire::{Buffer, Framing, ProtocolNumber, ReadBuf, Reader, varint};

use messages::ONE_HOP;
pub use messages::{batch, frames, header, hello, identity, message, open, opened, pair};
pub use seen::Seen;

/// Both directions of a connection.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The largest SP message that is read: larger than any that a node sends.
const MESSAGE_MAX: usize = 1024 * 1024;

/// The hand-written peer.
pub struct Raw {
    stream: Box<dyn Stream>,
    framing: Framing,
    input: ReadBuf,
    frames: VecDeque<Seen>,
    /// Sequenced frames that this peer has sent.
    pub sent: u64,
    /// Sequenced frames of the node that this peer has read.
    pub received: u64,
    /// True if batches acknowledge the frames that were read.
    pub acknowledges: bool,
    /// The generation of the next run of asks.
    generation: u8,
}

impl Raw {
    /// A peer on `stream`, before the SP header.
    pub fn new(stream: impl Stream + 'static, framing: Framing) -> Raw {
        Raw {
            stream: Box::new(stream),
            framing,
            input: ReadBuf::new(),
            frames: VecDeque::new(),
            sent: 0,
            received: 0,
            acknowledges: true,
            generation: 0,
        }
    }

    /// Dials `tcp://host:port`.
    pub async fn dial(address: &str) -> Raw {
        Raw::new(connect(address).await, Framing::Tcp)
    }

    /// Dials a node that may refuse, from one of many loopback addresses: a used port stays blocked
    /// for a minute.
    pub async fn try_dial(address: &str) -> Option<Raw> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let host = (NEXT.fetch_add(1, Ordering::Relaxed) % 250 + 2) as u8;
        let socket = TcpSocket::new_v4().ok()?;
        socket.bind(SocketAddr::from(([127, 0, 0, host], 0))).ok()?;
        let target = address.strip_prefix("tcp://")?.parse().ok()?;
        let stream = socket.connect(target).await.ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Raw::new(stream, Framing::Tcp))
    }

    /// Opens a session; false when the node closes or refuses.
    pub async fn try_open(&mut self, who: Identity) -> bool {
        self.answer_to_open(who).await.is_some_and(|message| message[0] == opened()[0])
    }

    /// Sends HELLO and OPEN, and returns the answer to OPEN; `None` if the node closes.
    pub async fn answer_to_open(&mut self, who: Identity) -> Option<Vec<u8>> {
        let begun = [header(ProtocolNumber::PAIR1), message(self.framing, &hello(who))].concat();
        self.say(&begun).await;
        let mut bytes = [0; 8];
        self.stream.read_exact(&mut bytes).await.ok()?;
        self.message().await?;
        self.send(&open()).await;
        self.message().await
    }

    /// Returns the next frame of kind `wanted`; `None` at the end of the connection.
    pub async fn try_until(&mut self, wanted: u8) -> Option<Seen> {
        loop {
            let at = self.frames.iter().position(|seen| seen.kind == wanted);
            if let Some(seen) = at.and_then(|at| self.frames.remove(at)) {
                return Some(seen);
            }
            self.batch().await?;
        }
    }

    /// Sends bytes as they are; false when the node has closed.
    pub async fn say(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }

    /// Sends an SP message.
    pub async fn send(&mut self, body: &[u8]) -> bool {
        self.say(&message(self.framing, body)).await
    }

    /// Sends a run of asks from slot 0 on, numbered in sequence, each with a generation of its own.
    pub async fn ask_all(&mut self, channel: u8, method: u8, items: &[&[u8]]) -> bool {
        let generation = self.generation;
        self.generation += 1;
        self.run(kind::ASKS, &[channel, 0, generation, method], items).await
    }

    /// Sends a run of tells.
    pub async fn tell_all(&mut self, channel: u8, method: u8, items: &[&[u8]]) -> bool {
        self.run(kind::TELLS, &[channel, method], items).await
    }

    /// Sends a mixed run of tells; each item begins with its method.
    pub async fn tell_mixed(&mut self, channel: u8, items: &[&[u8]]) -> bool {
        self.run(kind::MIXED_TELLS, &[channel], items).await
    }

    /// Sends a mixed run of asks, as [`ask_all`](Self::ask_all) sends a run of one method.
    pub async fn ask_mixed(&mut self, channel: u8, items: &[&[u8]]) -> bool {
        let generation = self.generation;
        self.generation += 1;
        self.run(kind::MIXED_ASKS, &[channel, 0, generation], items).await
    }

    async fn run(&mut self, kind: u8, head: &[u8], items: &[&[u8]]) -> bool {
        let mut body = head.to_vec();
        for item in items {
            body.push(item.len() as u8);
            body.extend_from_slice(item);
        }
        assert!(head.iter().all(|number| *number < 0x80), "one byte for each number");
        let mut frame = Buffer::new();
        frame.push(kind);
        varint::put(&mut frame, body.len() as u64);
        frame.extend(&body);
        let body = batch(self.received, self.sent, items.len() as u64, frame.as_slice());
        self.sent += items.len() as u64;
        self.send(&body).await
    }

    /// Sends well-formed frames, correctly numbered and acknowledged.
    pub async fn tell(&mut self, what: &[Frame<'_>]) -> bool {
        self.tell_encoded(&frames(what)).await
    }

    /// Sends frames that are encoded already, correctly numbered and acknowledged.
    pub async fn tell_encoded(&mut self, bytes: &[u8]) -> bool {
        let mut reader = Reader::new(bytes);
        let mut count = 0;
        while let Ok((kind, _)) = Frame::next(&mut reader, u64::MAX) {
            count += u64::from(kind & SEQUENCED != 0);
            if reader.is_empty() {
                break;
            }
        }
        let ack = if self.acknowledges { self.received } else { 0 };
        let body = batch(ack, self.sent, count, bytes);
        self.sent += count;
        self.send(&body).await
    }

    /// Reads the next SP message; `None` at the end of the connection.
    pub async fn message(&mut self) -> Option<Vec<u8>> {
        loop {
            let cut = self.framing.cut(&mut self.input, MESSAGE_MAX);
            if let Some(message) = cut.expect("a node sends sound messages") {
                return Some(message[ONE_HOP.len()..].to_vec());
            }
            match self.stream.read_buf(self.input.space()).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Returns the next frame of an open session; `None` at the end of the connection.
    pub async fn frame(&mut self) -> Option<Seen> {
        while self.frames.is_empty() {
            self.batch().await?;
        }
        self.frames.pop_front()
    }

    /// Returns the next frame of kind `wanted`, and leaves the others for later.
    pub async fn until(&mut self, wanted: u8) -> Seen {
        loop {
            let at = self.frames.iter().position(|seen| seen.kind == wanted);
            if let Some(seen) = at.and_then(|at| self.frames.remove(at)) {
                return seen;
            }
            self.batch().await.expect("the connection is open");
        }
    }

    /// Reads one batch; `None` at the end of the connection.
    async fn batch(&mut self) -> Option<()> {
        let message = self.message().await?;
        let mut reader = Reader::new(&message);
        let header = BatchHeader::decode(&mut reader).expect("a node sends sound batches");
        assert_eq!(header.first_seq, self.received, "frames arrive once and without gaps");
        self.received += header.count;
        while !reader.is_empty() {
            let next = Frame::next(&mut reader, u64::MAX);
            let (kind, body) = next.expect("a node sends sound frames");
            let body = body.to_vec();
            self.frames.push_back(Seen { kind, body });
        }
        Some(())
    }

    /// Code and rule of the CLOSE that ends the connection; `None` if it ends without one.
    pub async fn closed(&mut self) -> Option<(Code, String)> {
        loop {
            let seen = self.frame().await?;
            if let Frame::Close { code, rule, .. } = seen.frame() {
                return Some((code, String::from_utf8_lossy(rule).into_owned()));
            }
        }
    }

    /// Reads everything up to the end of the connection.
    pub async fn rest(&mut self) -> Vec<u8> {
        let mut all = self.input.take(usize::MAX).to_vec();
        // A reset ends the connection as well.
        let _ = self.stream.read_to_end(&mut all).await;
        all
    }

    /// Reads the node's SP header.
    pub async fn header(&mut self) {
        let mut bytes = [0; 8];
        self.stream.read_exact(&mut bytes).await.expect("a header");
        assert_eq!(bytes.to_vec(), header(ProtocolNumber::PAIR1));
    }

    /// Opens a session with a node that listens.
    pub async fn open(&mut self, who: Identity) {
        self.say(&header(ProtocolNumber::PAIR1)).await;
        self.header().await;
        self.send(&hello(who)).await;
        self.message().await.expect("HELLO");
        self.send(&open()).await;
        let message = self.message().await.expect("OPENED");
        assert_eq!(message[0], opened()[0]);
    }

    /// Accepts a session that a node dials.
    pub async fn accept(&mut self, who: Identity) {
        self.accept_as(who, "").await;
    }

    /// Accepts a session that a node dials, under a name of fewer than 128 bytes.
    pub async fn accept_as(&mut self, who: Identity, name: &str) {
        self.say(&header(ProtocolNumber::PAIR1)).await;
        self.header().await;
        self.message().await.expect("HELLO");
        self.send(&hello(who)).await;
        self.message().await.expect("OPEN");
        let tag = [&[1, name.len() as u8][..], name.as_bytes()].concat();
        self.send(&[opened(), tag].concat()).await;
    }

    /// Accepts the node's ATTACH with a channel of `limit` units. Returns the channel's number.
    pub async fn attached(&mut self, limit: u64) -> u64 {
        let seen = self.until(kind::ATTACH).await;
        let Frame::Attach { channel, schema_hash, .. } = seen.frame() else {
            unreachable!("it is an ATTACH");
        };
        let attached = Frame::Attached { channel, limit, schema_hash, codec: 0, reference: &[] };
        self.tell(&[attached]).await;
        channel
    }

    /// Attaches channel `channel` to the node's actor `name`.
    pub async fn attach(&mut self, channel: u64, name: &str) {
        let attach =
            Frame::Attach { channel, how: 0, target: name.as_bytes(), schema_hash: 0, codec: 0 };
        self.tell(&[attach]).await;
        self.until(kind::ATTACHED).await;
    }
}

/// Connects to `tcp://host:port`.
pub async fn connect(address: &str) -> TcpStream {
    let address = address.strip_prefix("tcp://").expect("a tcp address");
    let stream = TcpStream::connect(address).await.expect("a listener");
    stream.set_nodelay(true).expect("a living socket");
    stream
}

/// A listener for a node to dial, and its address.
pub async fn listen() -> (TcpListener, String) {
    listen_with(TcpSocket::new_v4().expect("a socket"))
}

/// Like [`listen`], but the connections have small receive buffers.
pub async fn listen_narrow() -> (TcpListener, String) {
    let socket = TcpSocket::new_v4().expect("a socket");
    let size = socket.set_recv_buffer_size(4096);
    size.expect("a size that the system knows to round");
    listen_with(socket)
}

fn listen_with(socket: TcpSocket) -> (TcpListener, String) {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    socket.bind(any).expect("a free port");
    let listener = socket.listen(1024).expect("a bound socket");
    let address = listener.local_addr().expect("a bound socket");
    (listener, format!("tcp://{address}"))
}

/// Accepts the next connection of `listener`.
pub async fn arrival(listener: &TcpListener) -> Raw {
    let (stream, _) = listener.accept().await.expect("a connection");
    stream.set_nodelay(true).expect("a living socket");
    Raw::new(stream, Framing::Tcp)
}
