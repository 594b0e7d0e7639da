//! Streams of the limit, and the messages on them.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use super::shm::Rings;
use crate::contract::poller::Poller;
use crate::contract::sp::Receipts;
use crate::contract::{Failure, Orders};

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1_024;

/// Listens as it was ordered.
pub(super) enum Listener {
    Tcp(TcpListener),
    Ipc(UnixListener),
    Shm(UnixListener),
}

/// A connection.
pub(super) enum Stream {
    Tcp(TcpStream),
    Ipc(UnixStream),
    Shm(Box<Rings>),
}

impl Listener {
    pub(super) fn bind(orders: &Orders) -> Result<Listener, Failure> {
        Ok(match orders.transport.as_str() {
            "ipc" => Listener::Ipc(UnixListener::bind(&orders.socket)?),
            "shm" | "shm-spin" => Listener::Shm(UnixListener::bind(&orders.socket)?),
            _ => {
                let listener = TcpListener::bind("127.0.0.1:0")?;
                // A thousand may come at once.
                rustix::net::listen(&listener, BACKLOG)?;
                Listener::Tcp(listener)
            }
        })
    }

    pub(super) fn port(&self) -> Result<u16, Failure> {
        Ok(match self {
            Listener::Tcp(listener) => listener.local_addr()?.port(),
            Listener::Ipc(_) | Listener::Shm(_) => 0,
        })
    }

    pub(super) fn accept(&self, orders: &Orders) -> Result<Stream, Failure> {
        Ok(match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Stream::Tcp(stream)
            }
            Listener::Ipc(listener) => Stream::Ipc(listener.accept()?.0),
            Listener::Shm(listener) => {
                Stream::Shm(Box::new(Rings::take(listener.accept()?.0, orders)?))
            }
        })
    }
}

impl Stream {
    pub(super) fn connect(orders: &Orders) -> Result<Stream, Failure> {
        Ok(match orders.transport.as_str() {
            "ipc" => Stream::Ipc(UnixStream::connect(&orders.socket)?),
            "shm" | "shm-spin" => {
                let bell = UnixStream::connect(&orders.socket)?;
                Stream::Shm(Box::new(Rings::offer(bell, orders)?))
            }
            _ => {
                let stream = TcpStream::connect(("127.0.0.1", orders.port))?;
                stream.set_nodelay(true)?;
                Stream::Tcp(stream)
            }
        })
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(bytes),
            Stream::Ipc(stream) => stream.read(bytes),
            Stream::Shm(rings) => rings.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Ipc(stream) => stream.write(bytes),
            Stream::Shm(rings) => rings.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Ipc(stream) => stream.as_fd(),
            Stream::Shm(rings) => rings.as_fd(),
        }
    }
}

/// Bytes in front of a message: the type of ipc, the length, the id of a request.
fn head(orders: &Orders) -> Vec<u8> {
    let id: &[u8] = if orders.cell == "req" { &[0x80, 0, 0, 1] } else { &[] };
    let kind: &[u8] = if orders.transport == "ipc" { &[1] } else { &[] };
    let length = (orders.size + id.len()) as u64;
    [kind, &length.to_be_bytes(), id].concat()
}

/// Messages with their heads, one behind the other.
pub(super) struct Frames {
    bytes: Vec<u8>,
    head: usize,
    frame: usize,
}

impl Frames {
    pub(super) fn new(orders: &Orders, count: usize) -> Frames {
        let head = head(orders);
        let mut frame = head.clone();
        frame.resize(head.len() + orders.size, 0);
        Frames { bytes: frame.repeat(count), head: head.len(), frame: frame.len() }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.frame
    }

    /// The message at an index, without its head.
    pub(super) fn message(&mut self, at: usize) -> &mut [u8] {
        &mut self.bytes[at * self.frame + self.head..(at + 1) * self.frame]
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    pub(super) fn first(&self, count: usize) -> &[u8] {
        &self.bytes[..count * self.frame]
    }
}

/// Bytes that were read, as many as a whole number of messages has.
pub(super) struct Inbox {
    bytes: Vec<u8>,
    head: Vec<u8>,
    frame: usize,
    start: usize,
    end: usize,
}

impl Inbox {
    /// Room for about `bytes`, and for one message at least.
    pub(super) fn new(orders: &Orders, bytes: usize) -> Inbox {
        let head = head(orders);
        let frame = head.len() + orders.size;
        Inbox { bytes: vec![0; (bytes / frame).max(1) * frame], head, frame, start: 0, end: 0 }
    }

    /// Reads once, and takes the messages that are whole.
    pub(super) fn read(
        &mut self,
        stream: &mut Stream,
        receipts: &mut Receipts,
    ) -> Result<(), Failure> {
        let read = stream.read(&mut self.bytes[self.end..])?;
        if read == 0 {
            return Err("a sender ended before its mark".into());
        }
        self.end += read;
        for frame in self.bytes[self.start..self.end].chunks_exact(self.frame) {
            let (head, message) = frame.split_at(self.head.len());
            // Behind another length nothing can be read.
            if head != self.head {
                return Err("a message with another head than was ordered".into());
            }
            receipts.take(message);
            self.start += self.frame;
        }
        // The inbox ends with a whole message, so nothing is ever moved.
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        Ok(())
    }
}

/// Bytes of an inbox where there are very many of them.
const INBOX_BYTES: usize = 16 << 10;

/// Reads from so many connections whenever there is something, until all marks have come.
pub(super) fn receive_from_many(
    listener: &Listener,
    many: u32,
    orders: &Orders,
    receipts: &mut Receipts,
) -> Result<(), Failure> {
    let mut poller = Poller::new()?;
    let mut streams = Vec::new();
    for index in 0..u64::from(many) {
        let stream = listener.accept(orders)?;
        poller.add(&stream, index)?;
        streams.push((stream, Inbox::new(orders, INBOX_BYTES)));
    }
    while !receipts.are_complete() {
        for index in poller.wait(None)? {
            let (stream, inbox) = &mut streams[index as usize];
            inbox.read(stream, receipts)?;
        }
    }
    Ok(())
}
