//! Numbers and marks: 128-bit integers, numbers with a restriction, orders, ranges.

use core::cmp::Ordering;
use core::marker::PhantomData;
use core::num::{NonZero, Wrapping};
use core::ops::Range;

use crate::encoding::bytes::put_bin;
use crate::encoding::collections::nested;
use crate::encoding::fields::Fields;
use crate::encoding::msgpack::{put_array, take_key};
use crate::encoding::small::Scratch;
use crate::{Buffer, Decode, DecodeError, Encode, Reader};

/// A number where it fits 64 bits, and otherwise bin of 16 bytes, big-endian. A reader takes either
/// form of any number.
macro_rules! wide_integers {
    ($($type:ident $narrow:ident),*) => {$(
        impl Encode for $type {
            const IS_PLAIN: bool = true;
            fn encode(&self, out: &mut Buffer) {
                match $narrow::try_from(*self) {
                    Ok(narrow) => narrow.encode(out),
                    Err(_) => put_bin(out, &self.to_be_bytes()),
                }
            }
        }

        impl<'a> Decode<'a> for $type {
            fn decode(reader: &mut Reader<'a>) -> Result<$type, DecodeError> {
                const EXPECTED: &str = stringify!($type);
                if reader.peek() != Some(0xC4) {
                    return $narrow::decode(reader).map($type::from);
                }
                let bytes = <&[u8]>::decode(reader)?;
                let out_of_range = |_| DecodeError::OutOfRange { expected: EXPECTED };
                bytes.try_into().map($type::from_be_bytes).map_err(out_of_range)
            }
            fn decode_key(reader: &mut Reader<'a>) -> Result<$type, DecodeError> {
                take_key(reader, stringify!($type))
            }
        }
    )*};
}
wide_integers!(u128 u64, i128 i64);

macro_rules! non_zero {
    ($($type:ident)*) => {$(
        impl Encode for NonZero<$type> {
            const IS_PLAIN: bool = true;
            const SMALL_BYTES: usize = <$type as Encode>::SMALL_BYTES;
            fn encode(&self, out: &mut Buffer) {
                self.get().encode(out);
            }
            #[inline(always)]
            fn encode_small(&self, scratch: &mut Scratch, at: usize) -> usize {
                self.get().encode_small(scratch, at)
            }
        }

        /// Zero is refused.
        impl<'a> Decode<'a> for NonZero<$type> {
            fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                const EXPECTED: &str = concat!("a ", stringify!($type), " other than 0");
                NonZero::new(<$type>::decode(reader)?)
                    .ok_or(DecodeError::OutOfRange { expected: EXPECTED })
            }
            fn decode_key(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                take_key(reader, concat!("a ", stringify!($type), " other than 0"))
            }
        }
    )*};
}
non_zero!(u8 u16 u32 u64 usize u128 i8 i16 i32 i64 isize i128);

impl<T: Encode> Encode for Wrapping<T> {
    const TRAVELS: bool = T::TRAVELS;
    const IS_PLAIN: bool = T::IS_PLAIN;
    const FIELDS: &'static Fields = T::FIELDS;
    const MAY_BE_NIL: bool = T::MAY_BE_NIL;
    fn encode(&self, out: &mut Buffer) {
        self.0.encode(out);
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Wrapping<T> {
    const MAY_BE_NIL: bool = T::MAY_BE_NIL;
    fn decode(reader: &mut Reader<'a>) -> Result<Wrapping<T>, DecodeError> {
        T::decode(reader).map(Wrapping)
    }
}

/// `-1`, `0` or `1`.
impl Encode for Ordering {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        (*self as i8).encode(out);
    }
}

impl<'a> Decode<'a> for Ordering {
    fn decode(reader: &mut Reader<'a>) -> Result<Ordering, DecodeError> {
        match i8::decode(reader)? {
            -1 => Ok(Ordering::Less),
            0 => Ok(Ordering::Equal),
            1 => Ok(Ordering::Greater),
            _ => Err(DecodeError::OutOfRange { expected: "-1, 0 or 1" }),
        }
    }
}

/// `[start, end]`.
impl<T: Encode> Encode for Range<T> {
    const TRAVELS: bool = T::TRAVELS;
    const IS_PLAIN: bool = T::IS_PLAIN;
    const FIELDS: &'static Fields = T::FIELDS;
    fn encode(&self, out: &mut Buffer) {
        put_array(out, 2);
        self.start.encode(out);
        self.end.encode(out);
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Range<T> {
    fn decode(reader: &mut Reader<'a>) -> Result<Range<T>, DecodeError> {
        nested(reader, |reader, count| {
            if count != 2 {
                return Err(DecodeError::OutOfRange { expected: "[start, end]" });
            }
            Ok(T::decode(reader)?..T::decode(reader)?)
        })
    }
}

/// Nil.
impl<T: ?Sized> Encode for PhantomData<T> {
    const IS_PLAIN: bool = true;
    const MAY_BE_NIL: bool = true;
    fn encode(&self, out: &mut Buffer) {
        ().encode(out);
    }
}

impl<'a, T: ?Sized> Decode<'a> for PhantomData<T> {
    const MAY_BE_NIL: bool = true;
    fn decode(reader: &mut Reader<'a>) -> Result<PhantomData<T>, DecodeError> {
        <()>::decode(reader).map(|()| PhantomData)
    }
}
