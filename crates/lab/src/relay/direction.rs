//! One direction of a connection: a thread that reads, and one that writes when it is time.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::Connection;
use super::queue::{End, NextPiece, Piece, PieceQueue, TOGETHER};

/// Reads until the end and puts what came into `queue`, due `delay` later.
pub(super) fn receive_loop(
    connection: &Connection,
    mut from: &TcpStream,
    queue: &PieceQueue,
    delay: Duration,
) {
    while let Some(mut buffer) = queue.buffer() {
        let read = from.read(&mut buffer);
        let due = Instant::now() + delay;
        match read {
            // Also what a cut wakes us with; then nobody takes the end any more.
            Ok(0) => return queue.end(End::Half, due),
            Ok(read) => queue.put(buffer, read, due),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Bytes that came before the reset go out before it.
            Err(_) if !connection.is_severed() => return queue.end(End::Reset, due),
            Err(_) => return,
        }
    }
}

/// Writes what is due until the end. `pass` runs each write and returns its result.
pub(super) fn send_loop(
    connection: &Connection,
    to: &TcpStream,
    queue: &PieceQueue,
    pass: impl Fn(&mut dyn FnMut() -> io::Result<usize>) -> io::Result<usize>,
) {
    let mut pieces = Vec::with_capacity(TOGETHER);
    loop {
        match queue.take(&mut pieces) {
            NextPiece::Pieces => {}
            NextPiece::End(End::Half) => {
                // A peer that has gone already need not be told.
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
            NextPiece::End(End::Reset) => return connection.sever(),
            NextPiece::Nothing => return,
        }
        if write(connection, to, &pieces, &pass).is_err() {
            // Nobody is there any more, and the other side hears it at once.
            return connection.sever();
        }
        queue.recycle(&mut pieces);
    }
}

fn write(
    connection: &Connection,
    mut to: &TcpStream,
    pieces: &[Piece],
    pass: &impl Fn(&mut dyn FnMut() -> io::Result<usize>) -> io::Result<usize>,
) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> =
        pieces.iter().map(|piece| IoSlice::new(&piece.buffer[..piece.filled])).collect();
    let mut left = &mut slices[..];
    while !left.is_empty() {
        if connection.is_severed() {
            return Err(ErrorKind::ConnectionReset.into());
        }
        match pass(&mut || to.write_vectored(left)) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            // No room for a while: look whether it is still wanted, and wait on.
            Err(error) if is_transient(error.kind()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_transient(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
