//! A hand-made peer: it sends any bytes it is given, and reads the bytes of our socket.

use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use wigwag_wire::{Framing, Header, ProtocolNumber};

/// The stream transport that a table runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Tcp,
    Ipc,
}

/// Names used so far, so that no two sockets share one.
static NAMES: Mutex<u32> = Mutex::new(0);

impl Place {
    pub(crate) fn framing(self) -> Framing {
        match self {
            Place::Tcp => Framing::Tcp,
            Place::Ipc => Framing::Ipc,
        }
    }

    /// A fresh address to listen at.
    pub(crate) fn address(self) -> String {
        match self {
            Place::Tcp => "tcp://127.0.0.1:0".to_owned(),
            Place::Ipc => format!("ipc://{}", fresh_path().display()),
        }
    }

    /// A message with its framing on this transport.
    pub(crate) fn framed(self, message: &[u8]) -> Vec<u8> {
        let (prefix, used) = self.framing().prefix(message.len());
        [&prefix[..used], message].concat()
    }

    /// The framing of a message of this length, which need not follow.
    pub(crate) fn claim(self, length: u64) -> Vec<u8> {
        let kind: &[u8] = if self == Place::Ipc { &[1] } else { &[] };
        [kind, &length.to_be_bytes()].concat()
    }
}

fn fresh_path() -> PathBuf {
    let number = {
        let mut names = NAMES.lock().unwrap();
        *names += 1;
        *names
    };
    std::env::temp_dir().join(format!("wigwag-hostile-{}-{number}", std::process::id()))
}

/// The header of a peer that speaks `protocol`.
pub(crate) fn header(protocol: ProtocolNumber) -> Vec<u8> {
    Header { protocol }.to_bytes().to_vec()
}

enum Wire {
    Tcp(TcpStream),
    Ipc(UnixStream),
}

/// One connection with our socket.
pub(crate) struct Peer {
    wire: Wire,
    place: Place,
    heard: Vec<u8>,
    greeted: bool,
}

impl Peer {
    pub(crate) async fn connect(address: &str) -> Peer {
        let (wire, place) = match address.split_once("://").unwrap() {
            ("tcp", there) => (Wire::tcp(TcpStream::connect(there).await.unwrap()), Place::Tcp),
            (_, path) => (Wire::Ipc(UnixStream::connect(path).await.unwrap()), Place::Ipc),
        };
        Peer { wire, place, heard: Vec::new(), greeted: false }
    }

    /// Sends bytes in one write if the kernel has room. Our socket may have closed, which is fine.
    pub(crate) async fn say(&mut self, bytes: &[u8]) {
        let _ = match &mut self.wire {
            Wire::Tcp(stream) => stream.write_all(bytes).await,
            Wire::Ipc(stream) => stream.write_all(bytes).await,
        };
    }

    async fn read_some(&mut self) -> io::Result<usize> {
        match &mut self.wire {
            Wire::Tcp(stream) => stream.read_buf(&mut self.heard).await,
            Wire::Ipc(stream) => stream.read_buf(&mut self.heard).await,
        }
    }

    async fn hear_bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.heard.len() < count {
            if matches!(self.read_some().await, Ok(0) | Err(_)) {
                return None;
            }
        }
        Some(self.heard.drain(..count).collect())
    }

    /// Reads the header of our socket, unless that was done before.
    pub(crate) async fn greeting(&mut self) -> Option<()> {
        if !std::mem::replace(&mut self.greeted, true) {
            self.hear_bytes(8).await?;
        }
        Some(())
    }

    /// The next message of our socket; `None` if it has closed.
    pub(crate) async fn hear(&mut self) -> Option<Vec<u8>> {
        self.greeting().await?;
        let prefix = self.hear_bytes(self.place.framing().prefix_bytes()).await?;
        let (_, length) = prefix.split_last_chunk::<8>().unwrap();
        self.hear_bytes(u64::from_be_bytes(*length) as usize).await
    }

    /// All bytes until our socket closes. A close with our bytes unread is a reset on tcp, which
    /// may discard the socket's own last bytes.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        while !matches!(self.read_some().await, Ok(0) | Err(_)) {}
        std::mem::take(&mut self.heard)
    }

    /// Closes at once; bytes that our socket has not read may be lost.
    pub(crate) fn reset(self) {
        if let Wire::Tcp(stream) = &self.wire {
            let socket = socket2::SockRef::from(stream);
            socket.set_linger(Some(Duration::ZERO)).unwrap();
        }
    }

    /// Closes the writing half, and goes on reading.
    pub(crate) async fn end(&mut self) {
        let _ = match &mut self.wire {
            Wire::Tcp(stream) => stream.shutdown().await,
            Wire::Ipc(stream) => stream.shutdown().await,
        };
    }
}

impl Wire {
    fn tcp(stream: TcpStream) -> Wire {
        stream.set_nodelay(true).unwrap();
        Wire::Tcp(stream)
    }
}

/// A wrong peer that listens and is dialled.
pub(crate) enum FakeListener {
    Tcp(TcpListener),
    Ipc(UnixListener, PathBuf),
}

impl FakeListener {
    pub(crate) async fn open(place: Place) -> FakeListener {
        match place {
            Place::Tcp => FakeListener::Tcp(TcpListener::bind("127.0.0.1:0").await.unwrap()),
            Place::Ipc => {
                let path = fresh_path();
                FakeListener::Ipc(UnixListener::bind(&path).unwrap(), path)
            }
        }
    }

    pub(crate) fn address(&self) -> String {
        match self {
            FakeListener::Tcp(listener) => format!("tcp://{}", listener.local_addr().unwrap()),
            FakeListener::Ipc(_, path) => format!("ipc://{}", path.display()),
        }
    }

    pub(crate) async fn accept(&self) -> Peer {
        let (wire, place) = match self {
            FakeListener::Tcp(listener) => {
                (Wire::tcp(listener.accept().await.unwrap().0), Place::Tcp)
            }
            FakeListener::Ipc(listener, _) => {
                (Wire::Ipc(listener.accept().await.unwrap().0), Place::Ipc)
            }
        };
        Peer { wire, place, heard: Vec::new(), greeted: false }
    }
}

impl Drop for FakeListener {
    fn drop(&mut self) {
        if let FakeListener::Ipc(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}
