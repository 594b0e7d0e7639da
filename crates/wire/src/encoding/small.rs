//! Encoding of values that are always short, into scratch memory of fixed size.
//!
//! A [`Buffer`] keeps its length in memory, so each appended field waits for the one before it. For
//! values whose longest form is known to fit, the position is carried in a register instead, and
//! the buffer's length is updated once.

use crate::{Buffer, Encode, varint};

/// Positions at which a store may begin; a power of two.
const PLACES: usize = 128;

/// Size of the scratch memory: the longest store fits at every position.
pub const SCRATCH_BYTES: usize = PLACES + 16;

/// Size of the longest value that is written into scratch memory; the rest is for the bytes before
/// it.
pub const SMALL_BYTES_MAX: usize = 96;

/// Scratch memory: the spare bytes after the end of a buffer.
pub type Scratch = [u8; SCRATCH_BYTES];

/// Largest size of a positional array whose values have at most these sizes.
pub const fn array(parts: &[usize]) -> usize {
    let mut sum = if parts.len() < 16 { 1 } else { 3 };
    let mut at = 0;
    while at < parts.len() {
        sum = parts[at].saturating_add(sum);
        at += 1;
    }
    sum
}

/// Stores `N` bytes at `at`; `N` is at most 16. The position is reduced to the valid range, which
/// no value of the announced size leaves, so there is no bounds check.
#[inline(always)]
pub fn store<const N: usize>(scratch: &mut Scratch, at: usize, bytes: [u8; N]) {
    const { assert!(N <= SCRATCH_BYTES - PLACES) };
    let at = at % PLACES;
    if let Some(place) = scratch.get_mut(at..at + N) {
        place.copy_from_slice(&bytes);
    }
}

/// Writes the numbers of a frame's head from position 2 on, as LEB128, and returns their end.
/// Returns `None` if they take more than eight bytes together, or one of them more than three.
#[inline(always)]
pub fn put_numbers<const N: usize>(scratch: &mut Scratch, numbers: [u64; N]) -> Option<usize> {
    let (mut word, mut bits) = (0, 0);
    for number in numbers {
        let (one, width) = varint::short(number)?;
        if N > 2 && bits + width > u64::BITS {
            return None;
        }
        word |= one << bits;
        bits += width;
    }
    store(scratch, 2, word.to_le_bytes());
    Some(2 + bits as usize / 8)
}

/// Writes the head of an array.
#[inline(always)]
pub fn put_array(scratch: &mut Scratch, at: usize, count: usize) -> usize {
    if count < 16 {
        store(scratch, at, [0x90 | count as u8]);
        return at + 1;
    }
    let [high, low] = (count as u16).to_be_bytes();
    store(scratch, at, [0xDC, high, low]);
    at + 3
}

/// Writes a number in its shortest form.
#[inline(always)]
pub fn put_u64(scratch: &mut Scratch, at: usize, value: u64) -> usize {
    if value < 0x80 {
        store(scratch, at, [value as u8]);
        return at + 1;
    }
    put_wide(scratch, at, 0xCC, value, value)
}

/// Writes a number in its shortest form. The sign causes no branch, since no processor predicts it.
#[inline(always)]
pub fn put_i64(scratch: &mut Scratch, at: usize, value: i64) -> usize {
    let sign = (value >> 63) as u64;
    // The bits that differ from the sign. A negative number needs one more, for the sign itself.
    let bits = value as u64 ^ sign;
    let marker = 0xCC + (sign & 4) as u8;
    if bits > 0xFFFF_FFFF {
        return put_full(scratch, at, marker, value as u64);
    }
    if (-32..0x80).contains(&value) {
        store(scratch, at, [value as u8]);
        return at + 1;
    }
    put_wide(scratch, at, marker, value as u64, bits << (sign & 1))
}

/// The widest form: a marker, three above that of the narrowest form, and eight bytes.
#[inline(always)]
fn put_full(scratch: &mut Scratch, at: usize, marker: u8, value: u64) -> usize {
    store(scratch, at, [marker + 3]);
    store(scratch, at + 1, value.to_be_bytes());
    at + 9
}

/// Writes a marker that counts up with the width, and the bytes of `value`, highest first. `bits`
/// determines how many are needed.
#[inline(always)]
fn put_wide(scratch: &mut Scratch, at: usize, marker: u8, value: u64, bits: u64) -> usize {
    if bits > 0xFFFF_FFFF {
        return put_full(scratch, at, marker, value);
    }
    if bits > 0xFFFF {
        store(scratch, at, [marker + 2]);
        store(scratch, at + 1, (value as u32).to_be_bytes());
        return at + 5;
    }
    let two = u8::from(bits > 0xFF);
    store(scratch, at, [marker + two]);
    store(scratch, at + 1, ((value as u16) << (8 - 8 * two)).to_be_bytes());
    at + 2 + usize::from(two)
}

/// An encodable value of a type that is unknown where it is written; [`Encode`] as a trait object.
#[doc(hidden)]
pub trait DynEncode {
    /// [`Encode::IS_PLAIN`].
    fn is_plain(&self) -> bool;

    /// Appends the value.
    fn encode(&self, out: &mut Buffer);
}

impl<T: Encode> DynEncode for T {
    #[inline]
    fn is_plain(&self) -> bool {
        T::IS_PLAIN
    }

    #[inline]
    fn encode(&self, out: &mut Buffer) {
        Encode::encode(self, out);
    }
}

impl Buffer {
    /// Appends the bytes that `write` puts into the scratch memory; it returns their end.
    #[inline(always)]
    pub fn small(&mut self, write: impl FnOnce(&mut Scratch) -> usize) {
        let room = self.room();
        let used = write(room.place);
        room.keep(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn same<T: Encode>(value: &T) {
        let (mut whole, mut small) = (Buffer::new(), Buffer::new());
        Encode::encode(value, &mut whole);
        small.small(|scratch| Encode::encode_small(value, scratch, 0));
        assert_eq!(small, whole);
        assert!(whole.len() <= T::SMALL_BYTES);
    }

    #[test]
    fn both_encodings_write_the_same_bytes() {
        for shift in 0..64 {
            for near in [-1, 0, 1] {
                let bits = (1_u64 << shift).wrapping_add_signed(near);
                same(&bits);
                same(&(bits as i64));
                same(&(bits as i64).wrapping_neg());
                same(&(bits as u16, bits as i8, bits as f64));
            }
        }
        same(&(true, (), 1.5_f32, Some(7_u8), None::<u32>));
        same(&(Some(Some(7_u8)), Some(None::<u8>), None::<Option<u8>>, Some(())));
        same(&[(1_u64, -1_i64), (u64::MAX, i64::MIN)]);
        assert_eq!(<(u64, u64) as Encode>::SMALL_BYTES, 19);
        assert_eq!(<Option<(u64, alloc::string::String)> as Encode>::SMALL_BYTES, usize::MAX);
    }

    /// As the format specifies: one-byte numbers, then 8, 16, 32 and 64 bits, signed for negative
    /// ones.
    #[test]
    fn integers_take_their_shortest_form() {
        let shortest = |value: i128| match value {
            -32..0x80 => 1,
            -0x80..0x100 => 2,
            -0x8000..0x1_0000 => 3,
            -0x8000_0000..0x1_0000_0000 => 5,
            _ => 9,
        };
        let length = |write: &dyn Fn(&mut Buffer)| {
            let mut out = Buffer::new();
            write(&mut out);
            out.len()
        };
        for shift in 0..64 {
            for near in [-1, 0, 1] {
                let bits = (1_u64 << shift).wrapping_add_signed(near);
                for value in [bits as i64, (bits as i64).wrapping_neg()] {
                    let found = length(&|out| Encode::encode(&value, out));
                    assert_eq!(found, shortest(value.into()), "{value}");
                }
                assert_eq!(
                    length(&|out| Encode::encode(&bits, out)),
                    shortest(bits.into()),
                    "{bits}"
                );
            }
        }
    }

    #[test]
    fn numbers_that_fit_eight_bytes_are_written_at_once() {
        let mut scratch = [7; SCRATCH_BYTES];
        assert_eq!(put_numbers(&mut scratch, [5, 0x80, 0x1F_FFFF, 16]), Some(9));
        assert_eq!(scratch[..11], [7, 7, 5, 0x80, 1, 0xFF, 0xFF, 0x7F, 16, 0, 7]);
        assert_eq!(put_numbers(&mut scratch, [5, 0x4000, 0x4000, 16]), Some(10));
        assert_eq!(put_numbers(&mut scratch, [0x80, 0x4000, 0x4000, 16]), None);
        assert_eq!(put_numbers(&mut scratch, [0x4000; 4]), None);
        assert_eq!(put_numbers(&mut scratch, [0x20_0000, 1]), None);
    }

    #[test]
    fn a_store_stays_within_the_scratch_area() {
        let mut scratch = [7; SCRATCH_BYTES];
        store(&mut scratch, PLACES - 1, [1; 16]);
        assert_eq!(scratch[PLACES + 14..], [1, 7]);
        store(&mut scratch, usize::MAX, [2]);
        assert_eq!(scratch[PLACES - 1..=PLACES], [2, 1]);
    }
}
