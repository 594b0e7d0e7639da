//! A cursor over bytes from elsewhere.
//!
//! Every read either returns a value or reports that the bytes ended; no index can be out of
//! bounds.

use bytes::Bytes;

use crate::buffers::gathered::{GATHER_BYTES_MIN, part_of};

/// The bytes ended before the value did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bytes end before the value does")]
pub struct Short;

/// Levels that arrays and maps may nest: a deeper value is an attack or an error, and each level
/// costs stack.
pub const DEPTH_MAX: u8 = 64;

/// Reads from the front of a slice and keeps the rest.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Levels of nesting that may still be entered.
    depth: u8,
    /// The shared memory that the bytes are a part of, if long ones of them may be shared.
    owner: Option<&'a Bytes>,
}

macro_rules! little_endian {
    ($($name:ident $type:ty),*) => {$(
        /// Reads a little-endian number.
        #[inline(always)]
        pub fn $name(&mut self) -> Result<$type, Short> {
            self.array().map(<$type>::from_le_bytes)
        }
    )*};
}

impl<'a> Reader<'a> {
    /// A cursor at the start of `bytes`.
    #[inline(always)]
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes, depth: DEPTH_MAX, owner: None }
    }

    /// A cursor at the start of `bytes`, a part of `owner`. Long [`Bytes`] that are read share the
    /// memory of `owner` instead of copying them.
    #[inline(always)]
    pub fn of_owner(owner: &'a Bytes, bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes, depth: DEPTH_MAX, owner: Some(owner) }
    }

    /// Bytes that this cursor has read, as shared ones: a part of their owner, or a copy if they are
    /// short or are no part of one.
    pub fn share(&self, bytes: &'a [u8]) -> Bytes {
        let owner = self.owner.filter(|_| bytes.len() >= GATHER_BYTES_MIN);
        let shared = owner.and_then(|owner| part_of(owner, bytes));
        shared.unwrap_or_else(|| Bytes::copy_from_slice(bytes))
    }

    /// The bytes that were not read yet.
    #[inline(always)]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Reads all remaining bytes.
    #[inline(always)]
    pub fn take_rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.rest)
    }

    /// Continues with `rest`, the remainder after a slow path. Slow paths take and return slices:
    /// if the reader's address escaped to them, it could not live in registers on the fast path.
    #[inline(always)]
    pub fn set_rest(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }

    /// Returns true if everything was read.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte, which stays unread.
    #[inline(always)]
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Reads `N` bytes.
    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(Short)?;
        self.rest = rest;
        Ok(*head)
    }

    /// Reads `length` bytes without copying them.
    #[inline(always)]
    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Short> {
        let (head, rest) = self.rest.split_at_checked(length).ok_or(Short)?;
        self.rest = rest;
        Ok(head)
    }

    /// Reads one byte.
    #[inline(always)]
    pub fn u8(&mut self) -> Result<u8, Short> {
        let (&first, rest) = self.rest.split_first().ok_or(Short)?;
        self.rest = rest;
        Ok(first)
    }

    little_endian!(u16 u16, u32 u32, u64 u64, u128 u128);

    /// Enters one level of nesting; returns false if it is deeper than [`DEPTH_MAX`].
    #[inline(always)]
    pub fn enter(&mut self) -> bool {
        match self.depth.checked_sub(1) {
            Some(depth) => {
                self.depth = depth;
                true
            }
            None => false,
        }
    }

    /// Leaves a level after [`enter`](Self::enter).
    #[inline(always)]
    pub fn leave(&mut self) {
        self.depth = (self.depth + 1).min(DEPTH_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_go_forward_and_a_short_read_takes_nothing() {
        let mut reader = Reader::new(&[1, 2, 3, 4, 5]);
        assert_eq!(reader.u8(), Ok(1));
        assert_eq!(reader.u16(), Ok(0x0302));
        assert_eq!(reader.u32(), Err(Short));
        assert_eq!(reader.take(3), Err(Short));
        assert_eq!(reader.take(2), Ok(&[4, 5][..]));
        assert!(reader.is_empty());
    }

    #[test]
    fn nesting_ends_at_the_limit() {
        let mut reader = Reader::new(&[]);
        for _ in 0..DEPTH_MAX {
            assert!(reader.enter());
        }
        assert!(!reader.enter());
        reader.leave();
        assert!(reader.enter());
    }
}
