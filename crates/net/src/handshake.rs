//! The first bytes of a connection: SP headers, and single messages before a driver takes over.
//!
//! [`HANDSHAKE_MAX`] bounds the whole handshake: a silent or slow peer loses its place after that
//! time.

use std::future::Future;
use std::io::{self, IoSlice};

use bytes::Bytes;
use wigwag_wire::header::HEADER_BYTES;
use wigwag_wire::state_machine::HANDSHAKE_MAX;
use wigwag_wire::{Header, HeaderError, ProtocolNumber, ReadBuf};

use crate::error::{NetError, NetErrorKind};
use crate::transport::{Connection, Outlet};

/// Limits a whole handshake to [`HANDSHAKE_MAX`].
pub async fn within<T>(
    peer: &str,
    exchange: impl Future<Output = Result<T, NetError>>,
) -> Result<T, NetError> {
    match tokio::time::timeout(HANDSHAKE_MAX, exchange).await {
        Ok(outcome) => outcome,
        Err(_) => Err(NetError::new(peer, NetErrorKind::TimedOut(HANDSHAKE_MAX))),
    }
}

/// Sends our header at once, as every SP endpoint does, and reads the partner's.
pub async fn greet(
    connection: &mut Connection,
    input: &mut ReadBuf,
    ours: ProtocolNumber,
) -> Result<Header, NetError> {
    send_header(connection, ours).await?;
    let bytes = read_header(connection, input).await?;
    Header::expect_partner(ours, bytes).map_err(|error| NetError::new(&connection.peer, error))
}

/// Sends our header.
///
/// The future holds only the writing half, because a reference to a whole connection is not `Send`.
pub fn send_header(
    connection: &Connection,
    ours: ProtocolNumber,
) -> impl Future<Output = Result<(), NetError>> + Send + use<> {
    let header = Header { protocol: ours }.to_bytes();
    send_all(connection, header.to_vec())
}

/// Reads the peer's eight header bytes, or as many as show that it speaks another protocol.
pub async fn read_header(
    connection: &mut Connection,
    input: &mut ReadBuf,
) -> Result<[u8; HEADER_BYTES], NetError> {
    while input.len() < HEADER_BYTES {
        let outcome = read_some(connection, input, "before its SP header was whole").await;
        outcome.map_err(|error| match Header::of_part(input.as_slice()) {
            Some(known) => NetError::new(&connection.peer, known),
            None => error,
        })?;
    }
    let mut bytes = [0; HEADER_BYTES];
    bytes.copy_from_slice(&input.take(HEADER_BYTES));
    Ok(bytes)
}

/// The partner's protocol if its header is valid, whichever it is.
pub fn announced(peer: &str, bytes: [u8; HEADER_BYTES]) -> Result<ProtocolNumber, NetError> {
    Header::parse(bytes)
        .map(|header| header.protocol)
        .map_err(|error: HeaderError| NetError::new(peer, error))
}

/// Sends one whole SP message.
pub fn send_message(
    connection: &Connection,
    message: &[u8],
) -> impl Future<Output = Result<(), NetError>> + Send + use<> {
    let (prefix, used) = connection.framing.prefix(message.len());
    let mut bytes = prefix[..used].to_vec();
    bytes.extend_from_slice(message);
    send_all(connection, bytes)
}

/// Reads one SP message of at most `limit` bytes.
pub async fn read_message(
    connection: &mut Connection,
    input: &mut ReadBuf,
    limit: usize,
) -> Result<Bytes, NetError> {
    loop {
        let message = connection
            .framing
            .cut(input, limit)
            .map_err(|error| NetError::new(&connection.peer, error))?;
        match message {
            Some(message) => return Ok(message),
            None => read_some(connection, input, "in the middle of the handshake").await?,
        }
    }
}

async fn read_some(
    connection: &mut Connection,
    input: &mut ReadBuf,
    when: &'static str,
) -> Result<(), NetError> {
    match connection.reader.fill(input).await {
        Ok(0) => Err(NetError::new(&connection.peer, NetErrorKind::Closed { when })),
        Ok(_) => Ok(()),
        Err(error) => Err(lost(&connection.peer, error, when)),
    }
}

/// Maps an error of a lost connection: a peer may leave with a reset, and that counts as closing.
fn lost(peer: &str, error: io::Error, when: &'static str) -> NetError {
    let kind = match error.downcast::<NetErrorKind>() {
        Ok(known) => known,
        Err(error) => match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                NetErrorKind::Closed { when }
            }
            _ => NetErrorKind::Io(error),
        },
    };
    NetError::new(peer, kind)
}

fn send_all(
    connection: &Connection,
    bytes: Vec<u8>,
) -> impl Future<Output = Result<(), NetError>> + Send + use<> {
    let (outlet, peer) = (connection.outlet.clone(), connection.peer.clone());
    async move {
        write_all(&*outlet, &bytes)
            .await
            .map_err(|error| lost(&peer, error, "in the middle of the handshake"))
    }
}

/// Writes all of `bytes`, and what the transport holds of them, waiting for room.
///
/// Dropped before it is ready, it may have written a part.
pub async fn write_all(outlet: &dyn Outlet, mut bytes: &[u8]) -> io::Result<()> {
    loop {
        let written = match bytes {
            [] => outlet.try_flush().map(|()| 0),
            _ => outlet.try_write(&[IoSlice::new(bytes)]),
        };
        match written {
            Ok(_) if bytes.is_empty() => return Ok(()),
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => outlet.writable().await?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
