//! TLS as a layer over a connection, with the unbuffered interface of rustls: it decrypts in the
//! memory that was read into, and encrypts straight into the output.

use std::io::{self, IoSlice};

use rustls::unbuffered::{ConnectionState, EncryptError, UnbufferedStatus, WriteTraffic};
use rustls::{Error, HandshakeKind};
use wigwag_wire::ReadBuf;
use wigwag_wire::header::HEADER_BYTES;

use super::TlsError;
use super::output::{Shortage, append};
use super::resumed::Recheck;
use super::unbuffered::Unbuffered;
use crate::transport::PeerCertificate;
use crate::transports::layered::{Layer, Received, SEND_BYTES_MAX};

/// Bytes that wait for the end of the handshake: a header, and what a node sends first.
const EARLY_BYTES_MAX: usize = SEND_BYTES_MAX;

/// Bytes of a record, before it is encrypted.
const RECORD_BYTES: usize = 16 * 1024;

/// Bytes that encryption adds to a record, at most: header, nonce, type and tag.
const RECORD_OVERHEAD: usize = 64;

/// Received bytes that are held for a handshake message in several records: the longest message that
/// rustls takes, 64 KiB, and what its records add.
const HELD_BYTES_MAX: usize = 128 * 1024;

/// The types of records, RFC 8446 5.1: whatever else comes first is not TLS.
const RECORD_TYPES: std::ops::RangeInclusive<u8> = 20..=24;

/// A fatal alert in the clear, `unexpected_message`: what a peer without TLS is told, by which it
/// knows that this end speaks TLS.
const NOT_TLS_ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 10];

/// The state of TLS on one connection.
pub(super) struct TlsLayer<C> {
    connection: C,
    /// Where the peer's certificate is left after the handshake.
    certificate: PeerCertificate,
    /// Checks it if the session is resumed; `None` if the peer needs none.
    recheck: Option<Recheck>,
    /// The handshake is complete: bytes can be sent.
    is_open: bool,
    /// Bytes that were sent before.
    early: Vec<u8>,
    /// Received records that rustls has begun, of a handshake message in several of them. It must see
    /// them again, changed as it has left them, whatever it is called for.
    held: Vec<u8>,
    /// The first bytes of the peer; `None` once they were found to be TLS.
    first: Option<Vec<u8>>,
    /// An error has ended it, or the peer was told that it ends.
    is_over: bool,
}

impl<C: Unbuffered> TlsLayer<C> {
    pub(super) fn new(
        connection: C,
        certificate: PeerCertificate,
        recheck: Option<Recheck>,
    ) -> TlsLayer<C> {
        TlsLayer {
            connection,
            certificate,
            recheck,
            is_open: false,
            early: Vec::new(),
            held: Vec::new(),
            first: Some(Vec::new()),
            is_over: false,
        }
    }

    /// Checks that the first bytes are those of TLS. False if there are too few to say what they are.
    fn is_tls(&mut self, received: &[u8], out: &mut Vec<u8>) -> Result<bool, TlsError> {
        let Some(first) = &mut self.first else { return Ok(true) };
        if received.first().is_some_and(|kind| RECORD_TYPES.contains(kind)) {
            self.first = None;
            return Ok(true);
        }
        first.clear();
        first.extend_from_slice(&received[..received.len().min(HEADER_BYTES)]);
        if first.len() < HEADER_BYTES {
            return Ok(false);
        }
        out.extend_from_slice(&NOT_TLS_ALERT);
        Err(TlsError::of_first_bytes(first))
    }

    /// Takes records off the front of `received`.
    fn take_records(
        &mut self,
        received: &mut [u8],
        input: &mut ReadBuf,
        out: &mut Vec<u8>,
    ) -> Result<Received, Error> {
        let (mut taken, mut is_end) = (0, false);
        loop {
            let UnbufferedStatus { mut discard, state, .. } =
                self.connection.process(&mut received[taken..]);
            match state? {
                ConnectionState::ReadTraffic(mut records) => {
                    while let Some(record) = records.next_record() {
                        let record = record?;
                        discard += record.discard;
                        input.append(record.payload);
                    }
                }
                ConnectionState::EncodeTlsData(mut message) => {
                    append(out, 0, |room| message.encode(room).map_err(Shortage::from))?;
                }
                ConnectionState::TransmitTlsData(written) => written.done(),
                ConnectionState::PeerClosed => is_end = true,
                // Early data is never offered, so there is none; nothing else is left to do.
                _ => {
                    taken += discard;
                    return Ok(Received { taken, is_end, passed: 0 });
                }
            }
            taken += discard;
        }
    }

    /// [`take_records`](Self::take_records), behind those that are held.
    fn take_held_and(
        &mut self,
        received: &mut [u8],
        input: &mut ReadBuf,
        out: &mut Vec<u8>,
    ) -> Result<Received, Error> {
        if self.held.is_empty() {
            let taken = self.take_records(received, input, out)?;
            let left = &received[taken.taken..];
            if !begins_with_record(left) {
                return Ok(taken);
            }
            self.held = left.to_vec();
            return Ok(Received { taken: received.len(), ..taken });
        }
        if self.held.len() + received.len() > HELD_BYTES_MAX {
            return Err(Error::General("a handshake message is too long".to_owned()));
        }
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(received);
        let taken = self.take_records(&mut held, input, out)?;
        held.drain(..taken.taken);
        self.held = held;
        Ok(Received { taken: received.len(), ..taken })
    }

    /// Encrypts `bytes` into records behind `out`.
    fn encrypt(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let records = bytes.len().div_ceil(RECORD_BYTES);
        let room = bytes.len() + records * RECORD_OVERHEAD;
        self.write(out, room, |traffic, room| traffic.encrypt(bytes, room))
    }

    /// Appends what `write` writes, and before it what rustls itself has to say.
    fn write(
        &mut self,
        out: &mut Vec<u8>,
        room: usize,
        mut write: impl FnMut(&mut WriteTraffic<'_, C::Data>, &mut [u8]) -> Result<usize, EncryptError>,
    ) -> Result<(), Error> {
        loop {
            match self.connection.process(&mut self.held).state? {
                ConnectionState::WriteTraffic(mut traffic) => {
                    return append(out, room, |room| {
                        write(&mut traffic, room).map_err(Shortage::from)
                    });
                }
                ConnectionState::EncodeTlsData(mut message) => {
                    append(out, 0, |room| message.encode(room).map_err(Shortage::from))?;
                }
                ConnectionState::TransmitTlsData(written) => written.done(),
                // The edge of a state that `receive` has reported.
                ConnectionState::PeerClosed => {}
                state => return Err(Error::General(format!("nothing can be sent: {state:?}"))),
            }
        }
    }

    /// Encrypts `parts`, of which those that are shorter than a record are put together to one.
    fn encrypt_parts(&mut self, parts: &[IoSlice<'_>], out: &mut Vec<u8>) -> Result<usize, Error> {
        let (mut accepted, mut record) = (0, Vec::new());
        for part in parts {
            let mut rest = &part[..part.len().min(SEND_BYTES_MAX - accepted)];
            accepted += rest.len();
            while !rest.is_empty() {
                if record.is_empty() && (rest.len() >= RECORD_BYTES || parts.len() == 1) {
                    self.encrypt(rest, out)?;
                    break;
                }
                let (now, later) = rest.split_at(rest.len().min(RECORD_BYTES - record.len()));
                record.extend_from_slice(now);
                rest = later;
                if record.len() == RECORD_BYTES {
                    self.encrypt(&record, out)?;
                    record.clear();
                }
            }
        }
        if !record.is_empty() {
            self.encrypt(&record, out)?;
        }
        Ok(accepted)
    }

    /// Appends messages that rustls has waiting: an alert, which comes before it looks at anything
    /// that was received.
    fn append_alerts(&mut self, out: &mut Vec<u8>) {
        while self.connection.common().wants_write() {
            let Ok(ConnectionState::EncodeTlsData(mut message)) =
                self.connection.process(&mut []).state
            else {
                return;
            };
            if append(out, 0, |room| message.encode(room).map_err(Shortage::from)).is_err() {
                return;
            }
        }
    }

    /// [`take_held_and`](Self::take_held_and) before the handshake is complete. What comes right behind
    /// it is passed on when the peer is known to be let in.
    fn take_handshake(
        &mut self,
        received: &mut [u8],
        input: &mut ReadBuf,
        out: &mut Vec<u8>,
    ) -> Result<Received, Error> {
        let (mut first, answered) = (ReadBuf::new(), out.len());
        let taken = self.take_held_and(received, &mut first, out)?;
        // A peer that is refused gets no tickets: when it has none left, it is told the reason in a whole
        // handshake.
        self.check_resumed().inspect_err(|_| out.truncate(answered))?;
        self.open(out)?;
        input.append(first.as_slice());
        Ok(taken)
    }

    /// Checks the certificates of a peer whose session was resumed.
    fn check_resumed(&self) -> Result<(), Error> {
        let common = self.connection.common();
        let is_resumed = common.handshake_kind() == Some(HandshakeKind::Resumed);
        match &self.recheck {
            Some(recheck) if is_resumed && !common.is_handshaking() => {
                recheck.check(common.peer_certificates().unwrap_or_default())
            }
            _ => Ok(()),
        }
    }

    /// Opens this direction if the handshake is complete, and sends what has waited for it.
    fn open(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let common = self.connection.common();
        if self.is_open || common.is_handshaking() {
            return Ok(());
        }
        if let Some([end_entity, ..]) = common.peer_certificates() {
            self.certificate.set(end_entity);
        }
        self.is_open = true;
        let early = std::mem::take(&mut self.early);
        if early.is_empty() { Ok(()) } else { self.encrypt(&early, out) }
    }
}

impl<C: Unbuffered> Layer for TlsLayer<C> {
    fn begin(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let nothing = &mut ReadBuf::new();
        self.take_records(&mut [], nothing, out).map(drop).map_err(into_io)
    }

    fn send(&mut self, parts: &[IoSlice<'_>], out: &mut Vec<u8>) -> io::Result<usize> {
        if self.is_over {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if !self.is_open {
            let before = self.early.len();
            for part in parts {
                let room = EARLY_BYTES_MAX - self.early.len();
                self.early.extend_from_slice(&part[..part.len().min(room)]);
            }
            return Ok(self.early.len() - before);
        }
        self.encrypt_parts(parts, out).map_err(|error| {
            self.is_over = true;
            into_io(error)
        })
    }

    fn is_open(&self) -> bool {
        self.is_open || self.early.len() < EARLY_BYTES_MAX
    }

    fn receive(
        &mut self,
        received: &mut [u8],
        input: &mut ReadBuf,
        out: &mut Vec<u8>,
    ) -> io::Result<Received> {
        match self.is_tls(received, out) {
            Ok(true) => {}
            Ok(false) => return Ok(Received::default()),
            Err(error) => {
                self.is_over = true;
                return Err(error.into_io());
            }
        }
        let outcome = match self.is_open {
            true => self.take_held_and(received, input, out),
            false => self.take_handshake(received, input, out),
        };
        outcome.map_err(|error| {
            self.is_over = true;
            self.append_alerts(out);
            into_io(error)
        })
    }

    fn ended(&mut self) -> io::Result<()> {
        self.is_over = true;
        match &self.first {
            Some(first) if !first.is_empty() => Err(TlsError::of_first_bytes(first).into_io()),
            // Nothing is lost in the middle of the handshake: the peer has closed the connection.
            _ if !self.is_open => Ok(()),
            _ => Err(TlsError::CutOff.into_io()),
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        if !self.is_open {
            return false;
        }
        self.close(out);
        true
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if self.is_open && !self.is_over {
            // A peer that has left needs no end.
            let _ =
                self.write(out, RECORD_OVERHEAD, |traffic, room| traffic.queue_close_notify(room));
        }
        self.is_over = true;
    }
}

/// True if `bytes` begin with a whole record: rustls has begun it, and waits for more of its message.
fn begins_with_record(bytes: &[u8]) -> bool {
    let Some(([_, _, _, high, low], rest)) = bytes.split_first_chunk() else { return false };
    rest.len() >= usize::from(u16::from_be_bytes([*high, *low]))
}

fn into_io(error: Error) -> io::Error {
    TlsError::from(error).into_io()
}

#[cfg(test)]
mod tests;
