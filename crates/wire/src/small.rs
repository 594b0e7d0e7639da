//! Values that are always short, written into a window of fixed size.
//!
//! A [`Buffer`] keeps its length in memory, and each field that is appended waits
//! for the one before it. For values whose longest form is known to fit, the place is carried in a
//! register instead, and the buffer hears of the bytes once.

use crate::{Buffer, Encode};

/// Bytes that may be written at once.
pub const WINDOW_BYTES: usize = 128;

/// Bytes of the longest value that goes into a window; the rest of it is for what stands before.
pub const SMALL_BYTES_MAX: usize = 96;

/// Memory behind the end of a buffer.
pub type Window = [u8; WINDOW_BYTES];

/// What a positional array of values takes that take so many bytes each.
pub const fn array(parts: &[usize]) -> usize {
    let mut sum = if parts.len() < 16 { 1 } else { 3 };
    let mut at = 0;
    while at < parts.len() {
        sum = parts[at].saturating_add(sum);
        at += 1;
    }
    sum
}

/// Writes `N` bytes at `at`. A place too near the end, which no value reaches that keeps what its
/// type says, is left as it is.
#[inline(always)]
pub fn store<const N: usize>(window: &mut Window, at: usize, bytes: [u8; N]) {
    if let Some(place) = window.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = bytes;
    }
}

/// Writes a number of the frame's head as LEB128, if it takes no more than three bytes.
#[inline(always)]
pub fn put_varint(window: &mut Window, at: usize, value: u64) -> Option<usize> {
    let (bytes, used) = if value < 0x80 {
        (value, 1)
    } else if value < 0x4000 {
        ((value & 0x7F) | (value >> 7) << 8 | 0x80, 2)
    } else if value < 0x20_0000 {
        ((value & 0x7F) | (value >> 7 & 0x7F) << 8 | (value >> 14) << 16 | 0x8080, 3)
    } else {
        return None;
    };
    store(window, at, (bytes as u32).to_le_bytes());
    Some(at + used)
}

/// Writes the head of an array of fewer than 16 values, or of 16 and more.
#[inline(always)]
pub fn put_array(window: &mut Window, at: usize, count: usize) -> usize {
    if count < 16 {
        store(window, at, [0x90 | count as u8]);
        return at + 1;
    }
    let [high, low] = (count as u16).to_be_bytes();
    store(window, at, [0xDC, high, low]);
    at + 3
}

/// Writes a number in its shortest form.
#[inline(always)]
pub fn put_u64(window: &mut Window, at: usize, value: u64) -> usize {
    if value < 0x80 {
        store(window, at, [value as u8]);
        return at + 1;
    }
    put_wide(window, at, 0xCC, value, value)
}

/// Writes a number in its shortest form. No branch asks for the sign, which no processor foresees.
#[inline(always)]
pub fn put_i64(window: &mut Window, at: usize, value: i64) -> usize {
    if (-32..0x80).contains(&value) {
        store(window, at, [value as u8]);
        return at + 1;
    }
    let sign = (value >> 63) as u64;
    // The bits that differ from the sign, and for a negative number one more for the sign itself.
    let bits = (value as u64 ^ sign) << (sign & 1);
    let marker = 0xCC + (sign & 4) as u8;
    put_wide(window, at, marker, value as u64, bits)
}

/// Which of 1, 2, 4 bytes hold `value`, as the power of two.
#[inline(always)]
fn bytes_log2(value: u64) -> u32 {
    u32::from(value > 0xFF) + u32::from(value > 0xFFFF)
}

/// A marker that counts up with the width, and so many bytes of `value`, highest first. `bits` says
/// how many are needed.
#[inline(always)]
fn put_wide(window: &mut Window, at: usize, marker: u8, value: u64, bits: u64) -> usize {
    store(window, at, [marker + 3]);
    store(window, at + 1, value.to_be_bytes());
    if bits > 0xFFFF_FFFF {
        return at + 9;
    }
    let log2 = bytes_log2(bits);
    let bytes = 1_u32 << log2;
    store(window, at, [marker + log2 as u8]);
    store(window, at + 1, ((value as u32) << (32 - 8 * bytes)).to_be_bytes());
    at + 1 + bytes as usize
}

/// A value whose type is not known where it is written.
pub trait Value {
    /// Writes the value at `place` and gives its end, if it is short whatever it is.
    fn encode_small(&self, window: &mut Window, place: usize) -> Option<usize>;

    /// Appends the value.
    fn encode(&self, out: &mut Buffer);
}

impl<T: Encode> Value for T {
    #[inline]
    fn encode_small(&self, window: &mut Window, place: usize) -> Option<usize> {
        (T::SMALL_BYTES <= SMALL_BYTES_MAX).then(|| Encode::encode_small(self, window, place))
    }

    #[inline]
    fn encode(&self, out: &mut Buffer) {
        Encode::encode(self, out);
    }
}

impl Buffer {
    /// Appends what `write` puts into a window: it gets the place to begin and gives the end. A
    /// `None` appends nothing and is given on.
    #[inline(always)]
    pub fn small(&mut self, write: impl FnOnce(&mut Window) -> Option<usize>) -> Option<usize> {
        let used = write(self.place())?;
        self.advance(used);
        Some(used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn same<T: Encode>(value: &T) {
        let (mut whole, mut small) = (Buffer::new(), Buffer::new());
        Encode::encode(value, &mut whole);
        small.small(|window| Some(Encode::encode_small(value, window, 0)));
        assert_eq!(small, whole);
        assert!(whole.len() <= T::SMALL_BYTES);
    }

    #[test]
    fn both_ways_write_the_same() {
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
        same(&[(1_u64, -1_i64), (u64::MAX, i64::MIN)]);
        assert_eq!(<(u64, u64) as Encode>::SMALL_BYTES, 19);
        assert_eq!(<Option<(u64, alloc::string::String)> as Encode>::SMALL_BYTES, usize::MAX);
    }

    #[test]
    fn a_place_at_the_end_is_left_alone() {
        let mut window = [7; WINDOW_BYTES];
        assert_eq!(put_u64(&mut window, WINDOW_BYTES - 1, 1), WINDOW_BYTES);
        store(&mut window, WINDOW_BYTES - 1, [1, 2]);
        store(&mut window, usize::MAX, [1]);
        assert_eq!(window[WINDOW_BYTES - 2..], [7, 1]);
    }
}
