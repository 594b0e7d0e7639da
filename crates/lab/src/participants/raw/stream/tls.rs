//! The limit over TLS: rustls alone, by its unbuffered interface, which encrypts into the memory that is
//! written and decrypts in the memory that was read.
//!
//! The halves share the state of TLS behind a lock, which neither holds while it waits for the socket.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::crypto::ring;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, EncodeError, UnbufferedStatus};
use rustls::version::TLS13;
use rustls::{ClientConfig, Error, RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};

use super::{Outlet, Stream};
use crate::contract::{Failure, Orders};

/// Bytes that are encrypted, and written, at once.
const SEND_BYTES: usize = 128 << 10;
/// Bytes that are read at once.
const INBOX_BYTES: usize = 128 << 10;
/// Bytes of a record before it is encrypted.
const RECORD_BYTES: usize = 16 << 10;
/// Bytes that encryption adds to a record, at most.
const RECORD_OVERHEAD: usize = 64;

/// One end of TLS.
trait Unbuffered: Send + 'static {
    type Data;

    fn process<'c, 'i>(&'c mut self, bytes: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;
}

impl Unbuffered for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    fn process<'c, 'i>(&'c mut self, bytes: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(bytes)
    }
}

impl Unbuffered for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    fn process<'c, 'i>(&'c mut self, bytes: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(bytes)
    }
}

/// TLS of a server with the ordered certificate.
pub(super) fn accept(socket: TcpStream, orders: &Orders) -> Result<Stream, Failure> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_file_iter(&orders.certificate)?.collect();
    let key = PrivateKeyDer::from_pem_file(&orders.key)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain?, key)?;
    // A client that only sends would leave tickets unread, and its end would be a reset then, which
    // costs the server what it has not read yet.
    config.send_tls13_tickets = 0;
    stream(socket, UnbufferedServerConnection::new(Arc::new(config))?)
}

/// TLS of a client, which trusts the ordered authority alone.
pub(super) fn connect(socket: TcpStream, orders: &Orders) -> Result<Stream, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&orders.authority)?)?;
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1")?;
    stream(socket, UnbufferedClientConnection::new(Arc::new(config), name)?)
}

/// The connection, when its handshake is over.
fn stream(socket: TcpStream, connection: impl Unbuffered) -> Result<Stream, Failure> {
    let socket = Arc::new(socket);
    let shared = Arc::new(Mutex::new(Shared { connection, out: Vec::new(), is_open: false }));
    let mut reader = TlsReader {
        shared: shared.clone(),
        socket: socket.clone(),
        inbox: vec![0; INBOX_BYTES],
        start: 0,
        end: 0,
        spilled: Vec::new(),
        spill_start: 0,
        is_end: false,
    };
    while !reader.shake_hands()? {}
    let room = vec![0; SEND_BYTES + SEND_BYTES / RECORD_BYTES * RECORD_OVERHEAD];
    let writer = TlsWriter { shared, socket: socket.clone(), room };
    Ok(Stream { reader: Box::new(reader), writer: Box::new(writer), socket })
}

/// The state that both directions change.
struct Shared<C> {
    connection: C,
    /// Messages of TLS itself, which are written next.
    out: Vec<u8>,
    /// The handshake is over.
    is_open: bool,
}

impl<C: Unbuffered> Shared<C> {
    /// Takes the records at the front of `received`, and gives the bytes in them to `take`. Returns how
    /// many bytes these records have.
    fn receive(
        &mut self,
        received: &mut [u8],
        mut take: impl FnMut(&[u8]),
    ) -> io::Result<(usize, bool)> {
        let (mut taken, mut is_end) = (0, false);
        loop {
            let UnbufferedStatus { mut discard, state, .. } =
                self.connection.process(&mut received[taken..]);
            let is_all = match state.map_err(io::Error::other)? {
                ConnectionState::ReadTraffic(mut records) => {
                    while let Some(record) = records.next_record() {
                        let record = record.map_err(io::Error::other)?;
                        discard += record.discard;
                        take(record.payload);
                    }
                    false
                }
                ConnectionState::EncodeTlsData(mut message) => {
                    append(&mut self.out, |room| message.encode(room))?;
                    false
                }
                ConnectionState::TransmitTlsData(written) => {
                    written.done();
                    false
                }
                ConnectionState::PeerClosed => {
                    is_end = true;
                    false
                }
                ConnectionState::WriteTraffic(_) => {
                    self.is_open = true;
                    true
                }
                _ => true,
            };
            taken += discard;
            if is_all {
                return Ok((taken, is_end));
            }
        }
    }

    /// Encrypts `bytes` into `room`; returns the bytes that it takes there.
    fn encrypt(&mut self, bytes: &[u8], room: &mut [u8]) -> io::Result<usize> {
        match self.connection.process(&mut []).state.map_err(io::Error::other)? {
            ConnectionState::WriteTraffic(mut traffic) => {
                traffic.encrypt(bytes, room).map_err(io::Error::other)
            }
            state => Err(io::Error::other(format!("nothing can be sent: {state:?}"))),
        }
    }

    fn close(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self.connection.process(&mut []).state.map_err(io::Error::other)? {
            ConnectionState::WriteTraffic(mut traffic) => {
                traffic.queue_close_notify(room).map_err(io::Error::other)
            }
            _ => Ok(0),
        }
    }
}

/// Appends a message of the handshake.
fn append(
    out: &mut Vec<u8>,
    mut encode: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> io::Result<()> {
    let start = out.len();
    loop {
        match encode(&mut out[start..]) {
            Ok(_) => return Ok(()),
            Err(EncodeError::InsufficientSize(needed)) => {
                out.resize(start + needed.required_size, 0);
            }
            Err(error) => return Err(io::Error::other(error)),
        }
    }
}

fn lock<C>(shared: &Mutex<Shared<C>>) -> MutexGuard<'_, Shared<C>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

struct TlsReader<C> {
    shared: Arc<Mutex<Shared<C>>>,
    socket: Arc<TcpStream>,
    inbox: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes for which a caller had no room.
    spilled: Vec<u8>,
    spill_start: usize,
    /// The peer has ended its direction.
    is_end: bool,
}

impl<C: Unbuffered> TlsReader<C> {
    /// One step of the handshake; true when it is over.
    fn shake_hands(&mut self) -> Result<bool, Failure> {
        let mut shared = lock(&self.shared);
        // Bytes that the client sends right behind its last message of the handshake may have come with it.
        let spilled = &mut self.spilled;
        let take = |payload: &[u8]| spilled.extend_from_slice(payload);
        let (taken, is_end) = shared.receive(&mut self.inbox[self.start..self.end], take)?;
        self.start += taken;
        self.is_end |= is_end;
        (&*self.socket).write_all(&shared.out)?;
        shared.out.clear();
        let is_open = shared.is_open;
        drop(shared);
        if !is_open && !self.fill()? {
            return Err(Error::HandshakeNotComplete.into());
        }
        Ok(is_open)
    }

    /// Reads more behind what is there. False at the end.
    fn fill(&mut self) -> io::Result<bool> {
        self.inbox.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let read = (&*self.socket).read(&mut self.inbox[self.end..])?;
        self.end += read;
        Ok(read > 0)
    }
}

impl<C: Unbuffered> Read for TlsReader<C> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.spill_start < self.spilled.len() {
            let here = bytes.len().min(self.spilled.len() - self.spill_start);
            bytes[..here].copy_from_slice(&self.spilled[self.spill_start..][..here]);
            self.spill_start += here;
            return Ok(here);
        }
        self.spilled.clear();
        self.spill_start = 0;
        loop {
            let (mut filled, spilled) = (0, &mut self.spilled);
            let received = &mut self.inbox[self.start..self.end];
            let (taken, is_end) = lock(&self.shared).receive(received, |payload| {
                let (here, rest) = payload.split_at(payload.len().min(bytes.len() - filled));
                bytes[filled..filled + here.len()].copy_from_slice(here);
                filled += here.len();
                spilled.extend_from_slice(rest);
            })?;
            self.start += taken;
            self.is_end |= is_end;
            if filled > 0 || self.is_end {
                return Ok(filled);
            }
            if !self.fill()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

struct TlsWriter<C> {
    shared: Arc<Mutex<Shared<C>>>,
    socket: Arc<TcpStream>,
    /// Room for what is encrypted at once.
    room: Vec<u8>,
}

impl<C: Unbuffered> TlsWriter<C> {
    /// Lets `encrypt` fill the room, and writes that without the lock, behind the output of TLS itself.
    fn write_encrypted(
        &mut self,
        encrypt: impl FnOnce(&mut Shared<C>, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        let (before, written) = {
            let mut shared = lock(&self.shared);
            let before = std::mem::take(&mut shared.out);
            (before, encrypt(&mut shared, &mut self.room)?)
        };
        if !before.is_empty() {
            (&*self.socket).write_all(&before)?;
        }
        (&*self.socket).write_all(&self.room[..written])
    }
}

impl<C: Unbuffered> Write for TlsWriter<C> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(SEND_BYTES)];
        self.write_encrypted(|shared, room| shared.encrypt(bytes, room))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<C: Unbuffered> Outlet for TlsWriter<C> {
    fn finish(&mut self) -> io::Result<()> {
        self.write_encrypted(Shared::close)?;
        self.socket.shutdown(Shutdown::Write)
    }
}
