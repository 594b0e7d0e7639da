//! The bytes that a connection has received and nobody has read yet.
//!
//! A block is shared, not copied: a message that is cut off keeps the block alive for as long as
//! somebody holds a part of it. When nobody does, the block is filled again.

use bytes::{Bytes, BytesMut};

/// Room that is made before each read: one read of this size takes a whole batch or several.
pub const READ_BYTES: usize = 256 * 1024;

/// Received bytes, shared with the messages that were cut off the front.
#[derive(Debug, Default)]
pub struct ReadBuf {
    block: BytesMut,
    /// Bytes that must lie here before the reader can go on; 0 when any byte helps.
    wanted: usize,
}

impl ReadBuf {
    /// An empty buffer without memory: an idle connection holds none.
    pub fn new() -> ReadBuf {
        ReadBuf::default()
    }

    /// Bytes received and not taken.
    pub fn len(&self) -> usize {
        self.block.len()
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.block.is_empty()
    }

    /// What was received and not taken.
    pub fn as_slice(&self) -> &[u8] {
        &self.block
    }

    /// Says that nothing can be done before `total` bytes lie here.
    pub fn want(&mut self, total: usize) {
        self.wanted = total;
    }

    /// True when more bytes have come than the last reader asked for.
    pub fn is_ready(&self) -> bool {
        self.block.len() >= self.wanted.max(1)
    }

    /// Takes `length` bytes off the front (all of them if there are fewer), without copying.
    pub fn take(&mut self, length: usize) -> Bytes {
        self.wanted = 0;
        self.block.split_to(length.min(self.block.len())).freeze()
    }

    /// Appends a copy of `bytes`; tests and the simulator use it.
    pub fn fill(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    /// The place to read into, with room for [`READ_BYTES`] and for all that is wanted.
    ///
    /// Memory follows the bytes that came, not those that were announced: a wanted length beyond
    /// what was checked against the receive limit cannot occur, and the room grows by reads.
    pub fn space(&mut self) -> &mut BytesMut {
        if self.block.is_empty() {
            // Nobody's bytes are left here: start over in the same block if it is free again.
            self.block.reserve(READ_BYTES);
        } else {
            let missing = self.wanted.saturating_sub(self.block.len());
            self.block.reserve(missing.clamp(4096, READ_BYTES));
        }
        &mut self.block
    }

    /// Gives the memory back when nothing waits in it; for a connection that went idle.
    pub fn release(&mut self) {
        if self.block.is_empty() {
            self.block = BytesMut::new();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_stays_valid_while_the_buffer_is_filled_again() {
        let mut input = ReadBuf::new();
        input.fill(b"abcdef");
        let first = input.take(3);
        input.fill(b"ghi");
        assert_eq!(first.as_ref(), b"abc");
        assert_eq!(input.as_slice(), b"defghi");
    }

    #[test]
    fn readiness_follows_what_was_wanted() {
        let mut input = ReadBuf::new();
        assert!(!input.is_ready());
        input.fill(b"ab");
        input.want(3);
        assert!(!input.is_ready());
        input.fill(b"c");
        assert!(input.is_ready());
    }
}
