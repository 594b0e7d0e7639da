//! The bytes on their way in one direction: pieces in order, each with the time at which it is due.
//!
//! One thread puts them in and one takes them out. When the bytes come to [`BYTES_MAX`] the first of
//! them waits before it reads on, so a server that does not read slows its client down as it would
//! without a relay. Emptied buffers go back, so that a busy way allocates nothing.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of one read, at most.
pub(super) const PIECE_BYTES: usize = 256 * 1_024;
/// Bytes that may be on their way: 10 ms at 6.4 GB/s, more than any loopback device has. Tests
/// cross it.
#[cfg(not(test))]
pub(super) const BYTES_MAX: usize = 64 << 20;
#[cfg(test)]
pub(super) const BYTES_MAX: usize = 1 << 20;
/// Pieces that are written together; the kernel takes up to 1,024.
pub(super) const TOGETHER: usize = 64;
/// Pieces, however small: a client that writes single bytes must not fill the memory with them.
const PIECES_MAX: usize = 65_536;
/// Emptied buffers that are kept.
const SPARE_MAX: usize = 32;

/// Bytes of one read.
pub(super) struct Piece {
    /// A small one is as long as it is, a large one is a buffer that goes back.
    pub(super) buffer: Vec<u8>,
    /// Bytes that count.
    pub(super) filled: usize,
    due: Instant,
}

/// How a direction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// There will be no more bytes; the other direction may go on.
    Half,
    /// The connection was reset.
    Reset,
}

/// The next thing to do.
pub(super) enum NextPiece {
    /// Pieces are to be written.
    Pieces,
    /// All was written, and this comes behind it.
    End(End),
    /// The connection was cut: nothing is to be written any more.
    Nothing,
}

#[derive(Default)]
pub(super) struct PieceQueue {
    inside: Mutex<QueueState>,
    /// The one who takes out waits for a first piece, or for the end.
    mail: Condvar,
    /// The one who puts in waits.
    room: Condvar,
}

#[derive(Default)]
struct QueueState {
    pieces: VecDeque<Piece>,
    /// Of all pieces.
    bytes: usize,
    end: Option<(End, Instant)>,
    abandoned: bool,
    spare: Vec<Vec<u8>>,
}

impl PieceQueue {
    /// Waits for room, then gives a buffer of [`PIECE_BYTES`]; `None` when nothing is wanted any more.
    pub(super) fn buffer(&self) -> Option<Vec<u8>> {
        let is_full = |inside: &mut QueueState| {
            let full = inside.bytes + PIECE_BYTES > BYTES_MAX || inside.pieces.len() >= PIECES_MAX;
            full && !inside.abandoned
        };
        let waited = self.room.wait_while(self.inside(), is_full);
        let mut inside = waited.unwrap_or_else(PoisonError::into_inner);
        if inside.abandoned {
            return None;
        }
        let spare = inside.spare.pop();
        drop(inside);
        Some(spare.unwrap_or_else(|| vec![0; PIECE_BYTES]))
    }

    /// Puts in what was read into a buffer.
    pub(super) fn put(&self, buffer: Vec<u8>, filled: usize, due: Instant) {
        let mut inside = self.inside();
        inside.bytes += filled;
        // A buffer that is mostly empty would make the limit a lie.
        let buffer = match filled < PIECE_BYTES / 2 {
            true => {
                let small = buffer[..filled].to_vec();
                inside.give_back(buffer);
                small
            }
            false => buffer,
        };
        inside.pieces.push_back(Piece { buffer, filled, due });
        // Behind another one nobody waits for it.
        if inside.pieces.len() == 1 {
            self.mail.notify_one();
        }
    }

    /// There will be no more.
    pub(super) fn end(&self, end: End, due: Instant) {
        self.inside().end = Some((end, due));
        self.mail.notify_one();
    }

    /// Nothing is wanted any more, and whoever waits is told.
    pub(super) fn abandon(&self) {
        let mut inside = self.inside();
        inside.abandoned = true;
        inside.pieces.clear();
        inside.bytes = 0;
        self.mail.notify_all();
        self.room.notify_all();
    }

    /// Waits until something is due and moves it to `out`, which is empty.
    pub(super) fn take(&self, out: &mut Vec<Piece>) -> NextPiece {
        let mut inside = self.inside();
        loop {
            if inside.abandoned {
                return NextPiece::Nothing;
            }
            let now = Instant::now();
            let next = match (inside.pieces.front(), inside.end) {
                (Some(piece), _) => Some(piece.due),
                (None, Some((end, due))) if due <= now => return NextPiece::End(end),
                (None, end) => end.map(|(_, due)| due),
            };
            match next {
                Some(due) if due <= now => break,
                next => inside = self.wait(inside, next.map(|due| due - now)),
            }
        }
        let now = Instant::now();
        while out.len() < TOGETHER
            && let Some(piece) = inside.pieces.pop_front_if(|piece| piece.due <= now)
        {
            inside.bytes -= piece.filled;
            out.push(piece);
        }
        self.room.notify_one();
        NextPiece::Pieces
    }

    /// Takes emptied buffers back.
    pub(super) fn recycle(&self, pieces: &mut Vec<Piece>) {
        let mut inside = self.inside();
        pieces.drain(..).for_each(|piece| inside.give_back(piece.buffer));
    }

    /// Bytes that wait.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.inside().bytes
    }

    fn wait<'a>(
        &self,
        inside: MutexGuard<'a, QueueState>,
        limit: Option<Duration>,
    ) -> MutexGuard<'a, QueueState> {
        match limit {
            None => self.mail.wait(inside).unwrap_or_else(PoisonError::into_inner),
            Some(limit) => {
                self.mail.wait_timeout(inside, limit).unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }

    fn inside(&self) -> MutexGuard<'_, QueueState> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn give_back(&mut self, buffer: Vec<u8>) {
        if buffer.len() == PIECE_BYTES && self.spare.len() < SPARE_MAX {
            self.spare.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_taken_before_it_is_due_and_all_in_its_order() {
        let queue = PieceQueue::default();
        let begun = Instant::now();
        let due = begun + Duration::from_millis(20);
        for number in 0..3_u8 {
            let mut buffer = queue.buffer().unwrap();
            buffer[0] = number;
            queue.put(buffer, 1, due);
        }
        queue.end(End::Half, due);
        let mut out = Vec::new();
        assert!(matches!(queue.take(&mut out), NextPiece::Pieces));
        assert!(begun.elapsed() >= Duration::from_millis(20));
        let taken: Vec<&[u8]> = out.iter().map(|piece| &piece.buffer[..piece.filled]).collect();
        assert_eq!(taken, [[0], [1], [2]]);
        out.clear();
        assert!(matches!(queue.take(&mut out), NextPiece::End(End::Half)));
    }

    #[test]
    fn a_full_queue_gives_no_buffer_until_something_was_taken() {
        let queue = PieceQueue::default();
        let now = Instant::now();
        for _ in 0..BYTES_MAX / PIECE_BYTES {
            queue.put(queue.buffer().unwrap(), PIECE_BYTES, now);
        }
        assert_eq!(queue.bytes(), BYTES_MAX);
        std::thread::scope(|scope| {
            let (tell, told) = std::sync::mpsc::channel();
            let queue = &queue;
            scope.spawn(move || tell.send(queue.buffer().is_some()).unwrap());
            assert!(told.recv_timeout(Duration::from_millis(50)).is_err());
            let mut out = Vec::new();
            assert!(matches!(queue.take(&mut out), NextPiece::Pieces));
            assert_eq!(told.recv(), Ok(true));
        });
        // The pieces have gone out and their buffers come back.
        assert_eq!(queue.bytes(), 0);
        queue.abandon();
        assert!(queue.buffer().is_none());
        assert!(matches!(queue.take(&mut Vec::new()), NextPiece::Nothing));
    }
}
