//! LEB128 for u64, shortest form demanded.
//!
//! A number has one spelling: a longer one could smuggle the same frame past a check that compares
//! bytes, and costs more for nothing.

use crate::{Buffer, Reader, Short};

/// Bytes that a u64 needs at most.
pub const VARINT_BYTES_MAX: usize = 10;

/// Why bytes are no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VarintError {
    /// The bytes end inside the number.
    #[error("the bytes end inside a number")]
    Short,
    /// More than 64 bits, or zeros at the end that a shorter form leaves out.
    #[error("a number is not in its shortest form or exceeds 64 bits")]
    NotShortest,
}

impl From<Short> for VarintError {
    fn from(_: Short) -> VarintError {
        VarintError::Short
    }
}

/// Appends `value`.
#[inline(always)]
pub fn put(out: &mut Buffer, value: u64) {
    if value < 0x80 {
        out.push(value as u8);
    } else if value < 0x4000 {
        out.put([value as u8 | 0x80, (value >> 7) as u8], 2);
    } else if value < 0x20_0000 {
        let bytes = [value as u8 | 0x80, (value >> 7) as u8 | 0x80, (value >> 14) as u8, 0];
        out.put(bytes, 3);
    } else {
        put_long(out, value);
    }
}

fn put_long(out: &mut Buffer, mut value: u64) {
    let mut bytes = [0_u8; VARINT_BYTES_MAX];
    let mut used = 0;
    while value >= 0x80 {
        bytes[used] = value as u8 | 0x80;
        value >>= 7;
        used += 1;
    }
    bytes[used] = value as u8;
    out.put(bytes, used + 1);
}

/// Bytes that `value` takes.
pub fn length(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Reads a number.
#[inline(always)]
pub fn take(reader: &mut Reader<'_>) -> Result<u64, VarintError> {
    let first = reader.u8()?;
    if first < 0x80 {
        return Ok(u64::from(first));
    }
    // Slots and generations of a busy link take two or three bytes.
    match reader.rest() {
        [second @ 1..0x80, ..] => {
            reader.u8()?;
            Ok(u64::from(first & 0x7F) | u64::from(*second) << 7)
        }
        [second @ 0x80..=0xFF, third @ 1..0x80, ..] => {
            reader.array::<2>()?;
            let high = u64::from(second & 0x7F) << 7 | u64::from(*third) << 14;
            Ok(u64::from(first & 0x7F) | high)
        }
        rest => {
            let (value, rest) = take_long(rest, first)?;
            reader.go_on(rest);
            Ok(value)
        }
    }
}

#[cold]
#[inline(never)]
fn take_long(rest: &[u8], first: u8) -> Result<(u64, &[u8]), VarintError> {
    let mut reader = Reader::new(rest);
    let mut value = u64::from(first & 0x7F);
    for shift in (7..64).step_by(7) {
        let byte = reader.u8()?;
        let bits = u64::from(byte & 0x7F);
        // The tenth byte has room for one bit; a zero byte at the end says what a shorter form says.
        if (shift == 63 && byte > 1) || byte == 0 {
            return Err(VarintError::NotShortest);
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Ok((value, reader.rest()));
        }
    }
    Err(VarintError::NotShortest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(value: u64) -> Buffer {
        let mut buffer = Buffer::new();
        put(&mut buffer, value);
        buffer
    }

    proptest! {
        #[test]
        fn every_number_comes_back(value: u64, shift in 0_u32..64) {
            let value = value >> shift;
            let buffer = encoded(value);
            prop_assert_eq!(buffer.len(), length(value));
            let mut reader = Reader::new(buffer.as_slice());
            prop_assert_eq!(take(&mut reader), Ok(value));
            prop_assert!(reader.is_empty());
            for cut in 0..buffer.len() {
                let mut torn = Reader::new(&buffer.as_slice()[..cut]);
                prop_assert_eq!(take(&mut torn), Err(VarintError::Short));
            }
        }
    }

    #[test]
    fn longer_forms_are_refused() {
        for bytes in [&[0x80, 0x00][..], &[0xFF, 0x00], &[0xFF; 10], &[0x80, 0x80, 0x00]] {
            assert_eq!(take(&mut Reader::new(bytes)), Err(VarintError::NotShortest), "{bytes:x?}");
        }
        let mut ten = [0xFF_u8; 10];
        ten[9] = 1;
        assert_eq!(take(&mut Reader::new(&ten)), Ok(u64::MAX));
    }
}
