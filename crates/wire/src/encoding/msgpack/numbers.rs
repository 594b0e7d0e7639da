//! Numbers: written in their shortest form, read in any form that fits.

use alloc::vec::Vec;

use super::{Decode, DecodeError, Encode, marker, out_of_range, take_key};
use crate::encoding::bytes::{put_bin, put_bin_small, take_byte_list};
use crate::encoding::fixed::FixedWidth;
use crate::encoding::small::{self, Scratch};
use crate::{Buffer, Reader};

/// The fixed-width encoding of numbers.
macro_rules! put_fixed {
    ($kind:literal $wide:ty) => {
        const FIXED: FixedWidth = FixedWidth::plain($kind, size_of::<$wide>());
        #[inline(always)]
        fn put_fixed(&self, scratch: &mut Scratch, at: usize) -> usize {
            small::store(scratch, at, (*self as $wide).to_le_bytes());
            at + size_of::<$wide>()
        }
    };
}

/// Appends a number in its shortest form.
#[inline(always)]
pub fn put_u64(out: &mut Buffer, value: u64) {
    out.small(|scratch| small::put_u64(scratch, 0, value));
}

/// Appends a number in its shortest form.
#[inline(always)]
pub fn put_i64(out: &mut Buffer, value: i64) {
    out.small(|scratch| small::put_i64(scratch, 0, value));
}

/// An integer of either sign: its lowest 64 bits, and all ones in `sign` if it is negative.
#[derive(Clone, Copy)]
struct Integer {
    bits: u64,
    sign: u64,
}

impl Integer {
    #[inline(always)]
    fn unsigned(bits: u64) -> Integer {
        Integer { bits, sign: 0 }
    }

    #[inline(always)]
    fn signed(whole: i64) -> Integer {
        Integer { bits: whole as u64, sign: (whole >> 63) as u64 }
    }

    #[inline(always)]
    fn to_u64(self) -> Option<u64> {
        (self.sign == 0).then_some(self.bits)
    }

    /// Returns `None` if no `f64` has exactly this value.
    fn to_f64(self) -> Option<f64> {
        let magnitude = if self.sign == 0 { self.bits } else { self.bits.wrapping_neg() };
        let unused_bits = magnitude.leading_zeros() + magnitude.trailing_zeros();
        if u64::BITS.saturating_sub(unused_bits) > f64::MANTISSA_DIGITS {
            return None;
        }
        Some(if self.sign == 0 { magnitude as f64 } else { -(magnitude as f64) })
    }

    #[inline(always)]
    fn to_i64(self) -> Option<i64> {
        let whole = self.bits as i64;
        ((whole >> 63) as u64 == self.sign).then_some(whole)
    }
}

/// Reads an integer of any width and either sign, and returns the result of `fit`. Each branch
/// calls `fit` itself: if the branches joined first, the compiler would forget what is known in
/// each of them.
#[inline(always)]
fn take_integer<T>(
    reader: &mut Reader<'_>,
    expected: &'static str,
    fit: impl Fn(Integer) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let marker = marker(reader, expected)?;
    if marker < 0x80 {
        return fit(Integer::unsigned(marker.into()));
    }
    // Half of the numbers of full width are negative, which no processor predicts, so one branch
    // handles both. The sign bit counts for 0xD3, which is 0xCF + 4, and not for 0xCF.
    let signed = marker.wrapping_sub(0xCF);
    if signed & !4 == 0 {
        let bits = u64::from_be_bytes(reader.array()?);
        let sign = (bits as i64 >> 63) & -i64::from(signed >> 2);
        return fit(Integer { bits, sign: sign as u64 });
    }
    if marker == 0xCE {
        return fit(Integer::unsigned(u32::from_be_bytes(reader.array()?).into()));
    }
    let (whole, rest) = take_rare_integer(reader.rest(), marker, expected)?;
    reader.set_rest(rest);
    fit(Integer::signed(whole))
}

#[inline(never)]
fn take_rare_integer<'a>(
    rest: &'a [u8],
    marker: u8,
    expected: &'static str,
) -> Result<(i64, &'a [u8]), DecodeError> {
    let mut reader = Reader::new(rest);
    let whole = match marker {
        0xCD => i64::from(u16::from_be_bytes(reader.array()?)),
        0xCC => i64::from(reader.u8()?),
        fix @ 0xE0..=0xFF => i64::from(fix as i8),
        0xD2 => i64::from(i32::from_be_bytes(reader.array()?)),
        0xD1 => i64::from(i16::from_be_bytes(reader.array()?)),
        0xD0 => i64::from(reader.u8()? as i8),
        found => return Err(DecodeError::WrongType { expected, found }),
    };
    Ok((whole, reader.rest()))
}

/// The list methods of `u8`; nothing for other integers.
macro_rules! byte_lists {
    (encode u8) => {
        fn encode_list(items: &[u8], out: &mut Buffer) {
            put_bin(out, items);
        }
        #[inline(always)]
        fn encode_list_small(items: &[u8], scratch: &mut Scratch, at: usize) -> usize {
            put_bin_small(scratch, at, items)
        }
    };
    (decode $life:lifetime u8) => {
        fn decode_list(reader: &mut Reader<$life>) -> Result<Vec<u8>, DecodeError> {
            take_byte_list(reader)
        }
    };
    ($($other:tt)*) => {};
}

macro_rules! integers {
    ($put:ident $take:ident $wide:ty: $kind:literal $($type:ident as $fixed:ty),*) => {$(
        impl Encode for $type {
            const IS_PLAIN: bool = true;
            byte_lists!(encode $type);
            put_fixed!($kind $fixed);
            const SMALL_BYTES: usize = 1 + size_of::<$type>();
            #[inline(always)]
            fn encode(&self, out: &mut Buffer) {
                $put(out, *self as $wide);
            }
            #[inline(always)]
            fn encode_small(&self, scratch: &mut Scratch, at: usize) -> usize {
                small::$put(scratch, at, *self as $wide)
            }
        }
        impl<'a> Decode<'a> for $type {
            byte_lists!(decode 'a $type);
            #[inline(always)]
            fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                const EXPECTED: &str = stringify!($type);
                take_integer(reader, EXPECTED, |whole| {
                    match whole.$take().map(<$type>::try_from) {
                        Some(Ok(narrow)) => Ok(narrow),
                        _ => Err(out_of_range(EXPECTED)),
                    }
                })
            }
            fn decode_key(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                take_key(reader, stringify!($type))
            }
            #[inline(always)]
            fn take_fixed(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                let number = <$fixed>::from_le_bytes(reader.array()?);
                <$type>::try_from(number).map_err(|_| out_of_range(stringify!($type)))
            }
        }
    )*};
}
integers!(put_u64 to_u64 u64: b'u' u8 as u8, u16 as u16, u32 as u32, u64 as u64, usize as u64);
integers!(put_i64 to_i64 i64: b'i' i8 as i8, i16 as i16, i32 as i32, i64 as i64, isize as i64);

impl Encode for f32 {
    const IS_PLAIN: bool = true;
    put_fixed!(b'f' f32);
    const SMALL_BYTES: usize = 5;
    fn encode(&self, out: &mut Buffer) {
        out.small(|scratch| self.encode_small(scratch, 0));
    }
    #[inline(always)]
    fn encode_small(&self, scratch: &mut Scratch, at: usize) -> usize {
        small::store(scratch, at, [0xCA]);
        small::store(scratch, at + 1, self.to_be_bytes());
        at + 5
    }
}

impl Encode for f64 {
    const IS_PLAIN: bool = true;
    put_fixed!(b'f' f64);
    const SMALL_BYTES: usize = 9;
    fn encode(&self, out: &mut Buffer) {
        out.small(|scratch| self.encode_small(scratch, 0));
    }
    #[inline(always)]
    fn encode_small(&self, scratch: &mut Scratch, at: usize) -> usize {
        small::store(scratch, at, [0xCB]);
        small::store(scratch, at + 1, self.to_be_bytes());
        at + 9
    }
}

impl<'a> Decode<'a> for f64 {
    /// Reads floats of either width, and integers, because languages without a float type write 2.0
    /// as 2. An integer that no `f64` represents exactly is refused.
    fn decode(reader: &mut Reader<'a>) -> Result<f64, DecodeError> {
        match reader.peek() {
            Some(0xCA) => {
                reader.u8()?;
                Ok(f64::from(f32::from_be_bytes(reader.array()?)))
            }
            Some(0xCB) => {
                reader.u8()?;
                Ok(f64::from_be_bytes(reader.array()?))
            }
            _ => take_integer(reader, "a number", |whole| {
                whole.to_f64().ok_or_else(|| out_of_range("f64"))
            }),
        }
    }
    #[inline(always)]
    fn take_fixed(reader: &mut Reader<'a>) -> Result<f64, DecodeError> {
        Ok(f64::from_le_bytes(reader.array()?))
    }
}

impl<'a> Decode<'a> for f32 {
    /// Reads everything that an `f64` is read from, rounded to the nearest `f32`, because languages
    /// with one width of float write all floats in it. A finite number beyond the largest `f32` is
    /// refused, since rounding would make it infinite.
    fn decode(reader: &mut Reader<'a>) -> Result<f32, DecodeError> {
        let wide = f64::decode(reader)?;
        let narrow = wide as f32;
        if narrow.is_infinite() && wide.is_finite() {
            return Err(out_of_range("f32"));
        }
        Ok(narrow)
    }
    #[inline(always)]
    fn take_fixed(reader: &mut Reader<'a>) -> Result<f32, DecodeError> {
        Ok(f32::from_le_bytes(reader.array()?))
    }
}
