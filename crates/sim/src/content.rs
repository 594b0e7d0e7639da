//! The contents of calls and replies: bytes that are different for each of them.
//!
//! The receiver generates them again from the numbers at the front and compares, so a misplaced
//! byte is detected where it arrives.

use wigwag_wire::{Buffer, Reader};

use crate::random::mix;
use crate::setup::Side;

/// The identity of a call: the n-th of an attachment, which has an id of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallId {
    /// The node that called.
    pub caller: Side,
    /// Its attachment.
    pub attachment: u64,
    /// The call's number on it, from 0.
    pub number: u64,
}

/// The number of bytes at the front of each content.
pub const CONTENT_BYTES_MIN: u64 = 16;

const REPLY_MARK: u64 = 0x5245_504C_5900_0000;

impl CallId {
    fn hash(self) -> u64 {
        mix(self.number ^ mix(self.attachment ^ mix(self.caller as u64)))
    }

    /// True when the call is an ask, as `percent` in 100 are.
    pub fn is_ask(self, percent: u64) -> bool {
        self.hash() % 100 < percent
    }

    /// The method of the call, from 1. The calls of an attachment have up to three methods, each a few
    /// times in a row.
    pub fn method(self) -> u32 {
        let hash = mix(self.attachment);
        let (methods, row) = (1 + hash % 3, [1, 1, 2, 20, 50][(hash / 3 % 5) as usize]);
        1 + (self.number / row % methods) as u32
    }

    /// The number of bytes of its arguments, from `least` to `most`; small for most calls.
    pub fn bytes(self, least: u64, most: u64) -> u64 {
        let hash = self.hash() / 100;
        let most = if hash.is_multiple_of(4) { most } else { most.min(100) };
        least.max(CONTENT_BYTES_MIN).max(hash / 4 % (most + 1))
    }

    /// Appends the arguments.
    pub fn put_arguments(self, out: &mut Buffer, bytes: u64) {
        put(out, self.attachment, self.number, self.hash(), bytes);
    }

    /// Reads the arguments of a call by `caller`; `None` when a byte is wrong.
    pub fn read_arguments(caller: Side, bytes: &[u8]) -> Option<CallId> {
        let mut reader = Reader::new(bytes);
        let (attachment, number) = (reader.u64().ok()?, reader.u64().ok()?);
        let call = CallId { caller, attachment, number };
        let mut expected = Buffer::new();
        call.put_arguments(&mut expected, bytes.len() as u64);
        (expected.as_slice() == bytes).then_some(call)
    }

    /// Appends the reply, of at most `most` bytes if that is more than a few.
    pub fn put_reply(self, out: &mut Buffer, most: u64) {
        let short = CONTENT_BYTES_MIN + self.hash() % 90;
        let long = self.hash() / 90 % (most + 1);
        let bytes = if self.hash().is_multiple_of(3) { short.max(long) } else { short };
        put(out, self.attachment, self.number, self.hash() ^ REPLY_MARK, bytes);
    }

    /// True when `bytes` are the reply to this call and to no other.
    pub fn is_reply(self, bytes: &[u8]) -> bool {
        let mut expected = Buffer::new();
        put(
            &mut expected,
            self.attachment,
            self.number,
            self.hash() ^ REPLY_MARK,
            bytes.len() as u64,
        );
        expected.as_slice() == bytes
    }
}

fn put(out: &mut Buffer, attachment: u64, number: u64, hash: u64, bytes: u64) {
    out.put(attachment.to_le_bytes(), 8);
    out.put(number.to_le_bytes(), 8);
    let mut left = bytes.saturating_sub(CONTENT_BYTES_MIN) as usize;
    let mut state = hash;
    while left > 0 {
        state = mix(state);
        out.put(state.to_le_bytes(), left.min(8));
        left -= left.min(8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_call_counts() {
        let call = CallId { caller: Side::Dialer, attachment: 3, number: 7 };
        let mut out = Buffer::new();
        call.put_arguments(&mut out, 99);
        let bytes = out.as_slice().to_vec();
        assert_eq!(bytes.len(), 99);
        assert_eq!(CallId::read_arguments(Side::Dialer, &bytes), Some(call));
        assert_eq!(CallId::read_arguments(Side::Listener, &bytes), None);
        for at in 16..bytes.len() {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1;
            assert_eq!(CallId::read_arguments(Side::Dialer, &wrong), None);
        }
        assert!(!call.is_reply(&bytes));
    }
}
