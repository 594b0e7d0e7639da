//! The messages of a measurement.
//!
//! Each message carries its sender, its sequence number and a random value, and all its other bytes
//! follow from that value. No two messages are equal, and any changed byte is detected.

use wigwag::Bytes;
use wigwag_lab::digest::SentDigest;
use wigwag_lab::statistics::SplitMix64;

/// Bytes of sender, sequence number and value, which is the smallest message.
pub(super) const STAMP_BYTES: usize = 20;

/// Creates the messages of one sender.
pub(super) struct Stamper {
    sender: u32,
    size: usize,
    values: SplitMix64,
    /// Digest of the messages created so far.
    pub(super) sent: SentDigest,
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) sender: u32,
    pub(super) sequence: u64,
    pub(super) value: u64,
}

impl Stamper {
    /// Creates messages of `size` bytes, but at least [`STAMP_BYTES`].
    pub(super) fn new(sender: u32, size: usize, seed: u64) -> Stamper {
        let values = SplitMix64::new(seed ^ u64::from(sender).rotate_left(32));
        Stamper { sender, size: size.max(STAMP_BYTES), values, sent: SentDigest::default() }
    }

    /// Creates the next message.
    pub(super) fn stamp(&mut self) -> (Stamp, Bytes) {
        let value = self.values.draw();
        let stamp = Stamp { sender: self.sender, sequence: self.sent.stamp(value), value };
        (stamp, stamp.to_bytes(self.size))
    }
}

impl Stamp {
    fn to_bytes(self, size: usize) -> Bytes {
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(&self.sender.to_be_bytes());
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        bytes.extend_from_slice(&self.value.to_be_bytes());
        let mut filler = SplitMix64::new(self.value);
        while bytes.len() < size {
            let left = size - bytes.len();
            let word = filler.draw().to_le_bytes();
            bytes.extend_from_slice(&word[..left.min(word.len())]);
        }
        Bytes::from(bytes)
    }

    /// Reads the stamp of a message of `size` bytes; `None` if its length or any byte is wrong.
    pub(super) fn read(message: &[u8], size: usize) -> Option<Stamp> {
        let (sender, rest) = message.split_first_chunk()?;
        let (sequence, rest) = rest.split_first_chunk()?;
        let (value, rest) = rest.split_first_chunk()?;
        let stamp = Stamp {
            sender: u32::from_be_bytes(*sender),
            sequence: u64::from_be_bytes(*sequence),
            value: u64::from_be_bytes(*value),
        };
        let mut filler = SplitMix64::new(stamp.value);
        let right = |word: &[u8]| filler.draw().to_le_bytes().starts_with(word);
        (message.len() == size && rest.chunks(8).all(right)).then_some(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_it_was_stamped() {
        for size in [20, 21, 27, 28, 64, 1_000] {
            let mut stamper = Stamper::new(3, size, 7);
            let (first, bytes) = stamper.stamp();
            assert_eq!((bytes.len(), Stamp::read(&bytes, size)), (size, Some(first)));
            let (second, _) = stamper.stamp();
            assert_eq!((second.sender, second.sequence, stamper.sent.count), (3, 1, 2));
        }
    }

    #[test]
    fn any_changed_byte_and_a_wrong_length_are_detected() {
        let (stamp, bytes) = Stamper::new(0, 100, 1).stamp();
        for at in 0..bytes.len() {
            let mut changed = bytes.to_vec();
            changed[at] ^= 1;
            assert_ne!(Stamp::read(&changed, 100), Some(stamp), "byte {at}");
        }
        assert_eq!(Stamp::read(&bytes[..99], 100), None);
        assert_eq!(Stamp::read(&bytes, 101), None);
        assert_eq!(Stamp::read(b"", 20), None);
    }

    #[test]
    fn senders_draw_different_values() {
        let value = |sender| Stamper::new(sender, 20, 1).stamp().0.value;
        assert_ne!(value(0), value(1));
    }
}
