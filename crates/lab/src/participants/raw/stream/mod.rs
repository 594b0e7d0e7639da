//! Connections of the limit, over each transport: bytes that are read and written by calls that block.
//!
//! Reader and writer are values of their own, so that a thread each may have them.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

use crate::contract::{Failure, Orders};

mod shm;
mod tls;
pub(super) mod ws;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1_024;

/// The direction to the peer.
pub(super) trait Outlet: Write + Send {
    /// Tells the peer that nothing more comes.
    fn finish(&mut self) -> io::Result<()>;
}

/// Listens as it was ordered.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A connection.
pub(super) struct Stream {
    pub(super) reader: Box<dyn Read + Send>,
    pub(super) writer: Box<dyn Outlet>,
    socket: Arc<dyn AsFd + Send + Sync>,
}

impl Listener {
    pub(super) fn bind(orders: &Orders) -> Result<Listener, Failure> {
        Ok(match orders.transport.as_str() {
            "ipc" | "shm" | "shm-spin" => Listener::Unix(UnixListener::bind(&orders.socket)?),
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
            Listener::Unix(_) => 0,
        })
    }

    pub(super) fn accept(&self, orders: &Orders) -> Result<Stream, Failure> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                match orders.transport.as_str() {
                    "tls" | "wss" => tls::accept(stream, orders),
                    _ => Ok(Stream::of_socket(stream)),
                }
            }
            Listener::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                match orders.transport.as_str() {
                    "ipc" => Ok(Stream::of_socket(stream)),
                    _ => shm::take(stream, orders),
                }
            }
        }
    }
}

impl Stream {
    pub(super) fn connect(orders: &Orders) -> Result<Stream, Failure> {
        match orders.transport.as_str() {
            "ipc" => Ok(Stream::of_socket(UnixStream::connect(&orders.socket)?)),
            "shm" | "shm-spin" => shm::offer(UnixStream::connect(&orders.socket)?, orders),
            transport => {
                let stream = TcpStream::connect(("127.0.0.1", orders.port))?;
                stream.set_nodelay(true)?;
                match transport {
                    "tls" | "wss" => tls::connect(stream, orders),
                    _ => Ok(Stream::of_socket(stream)),
                }
            }
        }
    }

    fn of_socket<S: Socket + 'static>(socket: S) -> Stream {
        let socket = Arc::new(socket);
        Stream {
            reader: Box::new(SocketHalf(socket.clone())),
            writer: Box::new(SocketHalf(socket.clone())),
            socket,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.reader.read(bytes)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A socket of the system.
trait Socket: AsFd + Send + Sync {
    fn read_once(&self, bytes: &mut [u8]) -> io::Result<usize>;
    fn write_once(&self, bytes: &[u8]) -> io::Result<usize>;
    fn end(&self) -> io::Result<()>;
}

macro_rules! socket {
    ($kind:ty) => {
        impl Socket for $kind {
            fn read_once(&self, bytes: &mut [u8]) -> io::Result<usize> {
                (&mut &*self).read(bytes)
            }

            fn write_once(&self, bytes: &[u8]) -> io::Result<usize> {
                (&mut &*self).write(bytes)
            }

            fn end(&self) -> io::Result<()> {
                self.shutdown(Shutdown::Write)
            }
        }
    };
}

socket!(TcpStream);
socket!(UnixStream);

struct SocketHalf<S>(Arc<S>);

impl<S: Socket> Read for SocketHalf<S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read_once(bytes)
    }
}

impl<S: Socket> Write for SocketHalf<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_once(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: Socket> Outlet for SocketHalf<S> {
    fn finish(&mut self) -> io::Result<()> {
        self.0.end()
    }
}

#[cfg(test)]
mod tests;
