//! LEB128 for u64; only the shortest form is valid.
//!
//! Every number has exactly one encoding: a longer one could smuggle the same frame past a check
//! that compares bytes, and costs more for nothing.

use crate::{Buffer, Reader, Short};

/// Bytes that a u64 takes at most.
pub const VARINT_BYTES_MAX: usize = 10;

/// Why bytes are not a valid number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VarintError {
    /// The bytes end inside the number.
    #[error("the bytes end inside a number")]
    Short,
    /// More than 64 bits, or trailing zeros that a shorter form leaves out.
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

/// Reads a number. On a busy link, numbers take one to three bytes and more bytes follow them, so a
/// single load suffices.
#[inline(always)]
pub fn take(reader: &mut Reader<'_>) -> Result<u64, VarintError> {
    let rest = reader.rest();
    if let Some(four) = rest.first_chunk::<4>() {
        let word = u64::from(u32::from_le_bytes(*four));
        let (value, used) = if word & 0x80 == 0 {
            (word & 0x7F, 1)
        } else if word & 0x8000 == 0 {
            (word & 0x7F | (word >> 1 & 0x3F80), 2)
        } else {
            (word & 0x7F | (word >> 1 & 0x3F80) | (word >> 2 & 0x1F_C000), 3)
        };
        // The last byte must end the number and must not be a zero that a shorter form leaves out.
        let last = word >> (8 * (used - 1)) & 0xFF;
        if used == 1 || (1..0x80).contains(&last) {
            reader.set_rest(&rest[used as usize..]);
            return Ok(value);
        }
    }
    let (value, rest) = take_slowly(rest)?;
    reader.set_rest(rest);
    Ok(value)
}

/// Reads two numbers at the front, and returns them with the number of bytes they take together.
/// Returns `None` if one of them takes more than three bytes or is not in its shortest form. If
/// fewer than eight bytes are left, zeros are assumed after them; the caller notices from the
/// length if a number used them.
#[inline(always)]
pub fn pair(bytes: &[u8]) -> Option<(u32, u32, usize)> {
    let word = bytes.first_chunk().map_or_else(|| padded(bytes), |all| u64::from_le_bytes(*all));
    let (first, used) = front(word)?;
    let (second, more) = front(word >> (8 * used))?;
    Some((first, second, (used + more) as usize))
}

#[cold]
fn padded(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// The number in the lowest bytes of a word and its width, if it takes at most three bytes.
#[inline(always)]
fn front(word: u64) -> Option<(u32, u32)> {
    let word = word as u32;
    if word & 0x80 == 0 {
        return Some((word & 0x7F, 1));
    }
    if word & 0x8000 == 0 {
        return (word & 0x7F00 != 0).then_some((word & 0x7F | (word >> 1 & 0x3F80), 2));
    }
    let value = word & 0x7F | (word >> 1 & 0x3F80) | (word >> 2 & 0x1F_C000);
    (word & 0x80_0000 == 0 && word & 0x7F_0000 != 0).then_some((value, 3))
}

/// A number as LEB128 in the lowest bytes of a word, and its width in bits, if it takes at most
/// three bytes.
#[inline(always)]
pub(crate) fn short(value: u64) -> Option<(u64, u32)> {
    if value < 0x80 {
        Some((value, 8))
    } else if value < 0x4000 {
        Some(((value & 0x7F) | (value >> 7) << 8 | 0x80, 16))
    } else if value < 0x20_0000 {
        Some(((value & 0x7F) | (value >> 7 & 0x7F) << 8 | (value >> 14) << 16 | 0x8080, 24))
    } else {
        None
    }
}

#[cold]
#[inline(never)]
fn take_slowly(rest: &[u8]) -> Result<(u64, &[u8]), VarintError> {
    let mut reader = Reader::new(rest);
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = reader.u8()?;
        let bits = u64::from(byte & 0x7F);
        // The tenth byte has room for one bit; a trailing zero byte repeats a shorter form.
        if (shift == 63 && byte > 1) || (shift > 0 && byte == 0) {
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
        fn every_number_round_trips(value: u64, shift in 0_u32..64) {
            let value = value >> shift;
            let buffer = encoded(value);
            prop_assert_eq!(buffer.len(), length(value));
            let mut reader = Reader::new(buffer.as_slice());
            prop_assert_eq!(take(&mut reader), Ok(value));
            prop_assert!(reader.is_empty());
            // The bytes that follow are left unread, whatever they are.
            for behind in [0, 0x7F, 0x80, 0xFF] {
                let mut more = encoded(value);
                more.extend(&[behind; 4]);
                let mut reader = Reader::new(more.as_slice());
                prop_assert_eq!(take(&mut reader), Ok(value));
                prop_assert_eq!(reader.rest(), [behind; 4]);
            }
            if let Some((word, bits)) = short(value) {
                prop_assert_eq!(&word.to_le_bytes()[..bits as usize / 8], buffer.as_slice());
            }
            for cut in 0..buffer.len() {
                let mut torn = Reader::new(&buffer.as_slice()[..cut]);
                prop_assert_eq!(take(&mut torn), Err(VarintError::Short));
            }
        }
    }

    proptest! {
        #[test]
        fn a_pair_is_two_numbers(bytes: [u8; 8], first: u32, second: u32, shift in 11_u32..32) {
            let mut both = encoded(u64::from(first >> shift));
            put(&mut both, u64::from(second >> shift));
            both.extend(&[0xFF; 8]);
            for bytes in [&bytes, both.as_slice(), &bytes[..3]] {
                let padded = [bytes, &[0; 8]].concat();
                let mut reader = Reader::new(&padded);
                let slowly = take(&mut reader).ok().zip(take(&mut reader).ok());
                let used = padded.len() - reader.rest().len();
                let short = |(first, second): &(u64, u64)| *first.max(second) < 0x20_0000;
                let slowly = slowly.filter(short).map(|(first, second)| {
                    (first as u32, second as u32, used)
                });
                prop_assert_eq!(pair(bytes), slowly);
            }
        }
    }

    #[test]
    fn longer_forms_are_refused() {
        for bytes in [&[0x80, 0x00][..], &[0xFF, 0x00], &[0xFF; 10], &[0x80, 0x80, 0x00]] {
            assert_eq!(take(&mut Reader::new(bytes)), Err(VarintError::NotShortest), "{bytes:x?}");
            let more = [bytes, &[1; 4]].concat();
            assert_eq!(take(&mut Reader::new(&more)), Err(VarintError::NotShortest), "{more:x?}");
        }
        let mut ten = [0xFF_u8; 10];
        ten[9] = 1;
        assert_eq!(take(&mut Reader::new(&ten)), Ok(u64::MAX));
    }
}
