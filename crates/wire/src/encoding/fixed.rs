//! Fixed-width encoding of values whose type determines their size: numbers, booleans, and
//! composites of them.
//!
//! Between two ends with the same types, the arguments of a call need no markers. They are encoded
//! little-endian and without gaps, after a byte with which no MessagePack value begins. So the
//! first byte tells a reader which of the two encodings follows.

use crate::encoding::small::{self, Scratch};
use crate::{Buffer, DecodeError, Reader};

/// The byte before values of fixed width. MessagePack never uses it.
pub const MARK: u8 = 0xC1;

/// Largest size of values of fixed width, so that they fit into an item of a run with their mark.
pub const FIXED_BYTES_MAX: usize = 47;

/// The size and layout that all values of a type share, if they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedWidth {
    bytes: usize,
    fingerprint: u64,
}

impl FixedWidth {
    /// The size depends on the value.
    pub const NONE: FixedWidth = FixedWidth { bytes: usize::MAX, fingerprint: 0 };

    /// The width of a number or another value without parts. `kind` is a letter for the meaning of
    /// its bytes: `u`, `i`, `f`, `b`, and `n` for nothing.
    pub const fn plain(kind: u8, bytes: usize) -> FixedWidth {
        FixedWidth { bytes, fingerprint: mix(mix(START, kind as u64), bytes as u64) }
    }

    /// The width of consecutive values; [`NONE`](Self::NONE) if one of them has none, if there are
    /// no values, or if they are too long together.
    pub const fn all(parts: &[FixedWidth]) -> FixedWidth {
        let (mut bytes, mut fingerprint, mut at) = (0_usize, mix(START, parts.len() as u64), 0);
        while at < parts.len() {
            bytes = bytes.saturating_add(parts[at].bytes);
            fingerprint = mix(fingerprint, parts[at].fingerprint);
            at += 1;
        }
        if parts.is_empty() || bytes > FIXED_BYTES_MAX {
            return FixedWidth::NONE;
        }
        FixedWidth { bytes, fingerprint }
    }

    /// The width of `count` values of one type.
    pub const fn repeated(self, count: usize) -> FixedWidth {
        let bytes = self.bytes.saturating_mul(count);
        if count == 0 || bytes > FIXED_BYTES_MAX {
            return FixedWidth::NONE;
        }
        FixedWidth {
            bytes,
            fingerprint: mix(mix(mix(START, u64::MAX), count as u64), self.fingerprint),
        }
    }

    /// Returns true if the size is fixed.
    pub const fn is_some(self) -> bool {
        self.bytes != usize::MAX
    }

    /// The size in bytes.
    pub const fn bytes(self) -> usize {
        self.bytes
    }

    /// A fingerprint of the layout: equal for two types only if their values are encoded alike; 0
    /// without a fixed size.
    pub const fn fingerprint(self) -> u64 {
        self.fingerprint
    }
}

const START: u64 = 0xCBF2_9CE4_8422_2325;

/// FNV-1a over the bytes of a number.
const fn mix(mut hash: u64, number: u64) -> u64 {
    let bytes = number.to_le_bytes();
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01B3);
        at += 1;
    }
    hash
}

/// Writes the mark.
#[inline(always)]
pub fn put_mark(scratch: &mut Scratch, at: usize) -> usize {
    small::store(scratch, at, [MARK]);
    at + 1
}

/// Skips the mark if values of this width follow; returns false if they have another encoding.
///
/// # Errors
///
/// Fails if the mark is followed by the wrong number of bytes.
#[inline(always)]
pub fn take_mark(reader: &mut Reader<'_>, fixed: FixedWidth) -> Result<bool, DecodeError> {
    if !fixed.is_some() || reader.peek() != Some(MARK) {
        return Ok(false);
    }
    if reader.rest().len() != 1 + fixed.bytes {
        return Err(DecodeError::OutOfRange { expected: "values of fixed width" });
    }
    reader.u8()?;
    Ok(true)
}

impl Buffer {
    /// Appends the bytes that `write` puts into the scratch memory, and returns true; if `write`
    /// returns `None`, appends nothing and returns false.
    #[inline(always)]
    pub fn small_if(&mut self, write: impl FnOnce(&mut Scratch) -> Option<usize>) -> bool {
        let room = self.room();
        let used = write(room.place);
        used.map(|used| room.keep(used)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decode, Encode};

    #[track_caller]
    fn comes_back<T>(value: T, bytes: &[u8])
    where
        T: Encode + for<'a> Decode<'a> + PartialEq + core::fmt::Debug,
    {
        let mut out = Buffer::new();
        out.small(|scratch| value.put_fixed(scratch, 0));
        assert_eq!(out.as_slice(), bytes);
        assert_eq!(T::FIXED.bytes(), bytes.len());
        let mut reader = Reader::new(bytes);
        assert_eq!(T::take_fixed(&mut reader), Ok(value));
        assert!(reader.is_empty());
        for cut in 0..bytes.len() {
            assert!(T::take_fixed(&mut Reader::new(&bytes[..cut])).is_err());
        }
    }

    #[test]
    fn values_are_little_endian_without_padding() {
        comes_back(1_u8, &[1]);
        comes_back(-2_i16, &[0xFE, 0xFF]);
        comes_back(0x0102_0304_u32, &[4, 3, 2, 1]);
        comes_back(u64::MAX, &[0xFF; 8]);
        comes_back(7_usize, &[7, 0, 0, 0, 0, 0, 0, 0]);
        comes_back(-1_isize, &[0xFF; 8]);
        comes_back(1.5_f32, &1.5_f32.to_le_bytes());
        comes_back(-1.5_f64, &(-1.5_f64).to_le_bytes());
        comes_back(true, &[1]);
        comes_back((), &[]);
        comes_back((1_u8, (2_u16, false)), &[1, 2, 0, 0]);
        comes_back([1_u16, 2, 3], &[1, 0, 2, 0, 3, 0]);
    }

    #[test]
    fn invalid_encodings_are_refused() {
        assert!(bool::take_fixed(&mut Reader::new(&[2])).is_err());
        let fixed = FixedWidth::all(&[u32::FIXED]);
        for bytes in [&[MARK, 1, 2, 3][..], &[MARK, 1, 2, 3, 4, 5], &[MARK]] {
            assert!(take_mark(&mut Reader::new(bytes), fixed).is_err(), "{bytes:?}");
        }
        assert_eq!(take_mark(&mut Reader::new(&[0x91, 1]), fixed), Ok(false));
        assert_eq!(take_mark(&mut Reader::new(&[]), fixed), Ok(false));
        assert_eq!(take_mark(&mut Reader::new(&[MARK]), FixedWidth::NONE), Ok(false));
    }

    #[test]
    fn types_with_different_layouts_have_different_fingerprints() {
        let forms = [
            u8::FIXED,
            u16::FIXED,
            i16::FIXED,
            bool::FIXED,
            f32::FIXED,
            u32::FIXED,
            <(u8, u16)>::FIXED,
            <(u16, u8)>::FIXED,
            <((u8, u16),)>::FIXED,
            <[u8; 2]>::FIXED,
            <[u8; 3]>::FIXED,
            <(u8, u8)>::FIXED,
            <()>::FIXED,
        ];
        for (at, one) in forms.iter().enumerate() {
            assert!(one.is_some() && one.fingerprint() != 0);
            assert!(
                forms[..at].iter().all(|other| other.fingerprint() != one.fingerprint()),
                "{at}"
            );
        }
        for none in [
            alloc::string::String::FIXED,
            <Option<u8>>::FIXED,
            <(u8, alloc::vec::Vec<u8>)>::FIXED,
            <[u64; 6]>::FIXED,
            <[u8; 0]>::FIXED,
            FixedWidth::all(&[]),
        ] {
            assert_eq!(none, FixedWidth::NONE);
        }
        assert_eq!(<[u8; FIXED_BYTES_MAX]>::FIXED.bytes(), FIXED_BYTES_MAX);
    }
}
