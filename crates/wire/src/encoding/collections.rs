//! MessagePack for composite values: options, results, tuples, lists, maps.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::encoding::fields::{Field, Fields};
use crate::encoding::fixed::FixedWidth;
use crate::encoding::msgpack::{put_array, put_map, take_array, take_map};
use crate::encoding::small::{self, Scratch};
use crate::{Buffer, Decode, DecodeError, Encode, Reader};

/// `None` is nil, `Some(value)` is `value`; if `value` itself may be nil, as in `Option<Option<T>>`,
/// it is `[value]`.
impl<T: Encode> Encode for Option<T> {
    const TRAVELS: bool = T::TRAVELS;
    const IS_PLAIN: bool = T::IS_PLAIN;
    const FIELDS: &'static Fields = T::FIELDS;
    const MAY_BE_NIL: bool = true;
    const SMALL_BYTES: usize = T::SMALL_BYTES.saturating_add(T::MAY_BE_NIL as usize);
    fn encode_small(&self, scratch: &mut Scratch, at: usize) -> usize {
        match self {
            Some(value) if T::MAY_BE_NIL => {
                let at = small::put_array(scratch, at, 1);
                value.encode_small(scratch, at)
            }
            Some(value) => value.encode_small(scratch, at),
            None => ().encode_small(scratch, at),
        }
    }
    fn encode(&self, out: &mut Buffer) {
        let Some(value) = self else { return out.push(0xC0) };
        if T::MAY_BE_NIL {
            put_array(out, 1);
        }
        value.encode(out);
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Option<T> {
    const MAY_BE_NIL: bool = true;
    fn decode(reader: &mut Reader<'a>) -> Result<Option<T>, DecodeError> {
        if reader.peek() == Some(0xC0) {
            reader.u8()?;
            return Ok(None);
        }
        if !T::MAY_BE_NIL {
            return T::decode(reader).map(Some);
        }
        nested(reader, |reader, count| match count {
            1 => T::decode(reader).map(Some),
            _ => Err(DecodeError::OutOfRange { expected: "nil or an array of one value" }),
        })
    }
}

/// `Ok(value)` is `[0, value]`, `Err(error)` is `[1, error]`.
impl<T: Encode, E: Encode> Encode for Result<T, E> {
    const TRAVELS: bool = T::TRAVELS && E::TRAVELS;
    const IS_PLAIN: bool = T::IS_PLAIN && E::IS_PLAIN;
    const FIELDS: &'static Fields = &Fields {
        name: "",
        fields: &[Field::unnamed("0", T::FIELDS), Field::unnamed("1", E::FIELDS)],
        comment: "",
    };
    fn encode(&self, out: &mut Buffer) {
        put_array(out, 2);
        match self {
            Ok(value) => {
                out.push(0);
                value.encode(out);
            }
            Err(error) => {
                out.push(1);
                error.encode(out);
            }
        }
    }
}

impl<'a, T: Decode<'a>, E: Decode<'a>> Decode<'a> for Result<T, E> {
    fn decode(reader: &mut Reader<'a>) -> Result<Result<T, E>, DecodeError> {
        const EXPECTED: &str = "[0, value] or [1, error]";
        nested(reader, |reader, count| {
            if count != 2 {
                return Err(DecodeError::OutOfRange { expected: EXPECTED });
            }
            match u8::decode(reader)? {
                0 => T::decode(reader).map(Ok),
                1 => E::decode(reader).map(Err),
                _ => Err(DecodeError::OutOfRange { expected: EXPECTED }),
            }
        })
    }
}

/// Reads the head of an array, enters one level of nesting, and passes the array's length to
/// `read`.
#[inline(always)]
pub fn nested<'a, T>(
    reader: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>, usize) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let count = take_array(reader)?;
    if !reader.enter() {
        return Err(DecodeError::TooDeep);
    }
    let value = read(reader, count);
    reader.leave();
    value
}

impl<T: Encode> Encode for [T] {
    const TRAVELS: bool = T::TRAVELS;
    const IS_PLAIN: bool = T::IS_PLAIN;
    const FIELDS: &'static Fields = T::FIELDS;
    fn encode(&self, out: &mut Buffer) {
        T::encode_list(self, out);
    }
}

impl<T: Encode> Encode for Vec<T> {
    const TRAVELS: bool = T::TRAVELS;
    const IS_PLAIN: bool = T::IS_PLAIN;
    const FIELDS: &'static Fields = T::FIELDS;
    fn encode(&self, out: &mut Buffer) {
        self.as_slice().encode(out);
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Vec<T> {
    fn decode(reader: &mut Reader<'a>) -> Result<Vec<T>, DecodeError> {
        T::decode_list(reader)
    }
}

impl<T: Encode, const N: usize> Encode for [T; N] {
    const TRAVELS: bool = T::TRAVELS;
    const IS_PLAIN: bool = T::IS_PLAIN;
    // The head of bin is longer than that of a short array, but its bytes are shorter than numbers.
    const SMALL_BYTES: usize = if N == 0 { 2 } else { small::array(&[T::SMALL_BYTES; N]) };
    const FIELDS: &'static Fields = T::FIELDS;
    fn encode_small(&self, scratch: &mut Scratch, at: usize) -> usize {
        T::encode_list_small(self, scratch, at)
    }
    const FIXED: FixedWidth = T::FIXED.repeated(N);
    #[inline(always)]
    fn put_fixed(&self, scratch: &mut Scratch, at: usize) -> usize {
        self.iter().fold(at, |at, item| item.put_fixed(scratch, at))
    }
    fn encode(&self, out: &mut Buffer) {
        self.as_slice().encode(out);
    }
}

impl<'a, T: Decode<'a>, const N: usize> Decode<'a> for [T; N] {
    fn decode(reader: &mut Reader<'a>) -> Result<[T; N], DecodeError> {
        Vec::decode(reader)?
            .try_into()
            .map_err(|_| DecodeError::OutOfRange { expected: "an array of that length" })
    }
    fn take_fixed(reader: &mut Reader<'a>) -> Result<[T; N], DecodeError> {
        let items = (0..N).map(|_| T::take_fixed(reader)).collect::<Result<Vec<T>, _>>()?;
        items
            .try_into()
            .map_err(|_| DecodeError::OutOfRange { expected: "an array of that length" })
    }
}

impl<K: Encode, V: Encode> Encode for BTreeMap<K, V> {
    const TRAVELS: bool = K::TRAVELS && V::TRAVELS;
    const IS_PLAIN: bool = K::IS_PLAIN && V::IS_PLAIN;
    const FIELDS: &'static Fields = &Fields {
        name: "",
        fields: &[Field::unnamed("0", K::FIELDS), Field::unnamed("1", V::FIELDS)],
        comment: "",
    };
    fn encode(&self, out: &mut Buffer) {
        put_pairs(out, self.iter());
    }
}

/// Appends pairs as a map.
pub(crate) fn put_pairs<'m, K: Encode + 'm, V: Encode + 'm>(
    out: &mut Buffer,
    pairs: impl ExactSizeIterator<Item = (&'m K, &'m V)>,
) {
    put_map(out, pairs.len());
    for (key, value) in pairs {
        key.encode(out);
        value.encode(out);
    }
}

/// Reads a map, and passes each of its pairs to `add`. A length alone allocates nothing.
pub(crate) fn take_pairs<'a, K: Decode<'a>, V: Decode<'a>>(
    reader: &mut Reader<'a>,
    mut add: impl FnMut(K, V),
) -> Result<(), DecodeError> {
    let count = take_map(reader)?;
    if !reader.enter() {
        return Err(DecodeError::TooDeep);
    }
    for _ in 0..count {
        add(K::decode_key(reader)?, V::decode(reader)?);
    }
    reader.leave();
    Ok(())
}

impl<'a, K: Decode<'a> + Ord, V: Decode<'a>> Decode<'a> for BTreeMap<K, V> {
    fn decode(reader: &mut Reader<'a>) -> Result<BTreeMap<K, V>, DecodeError> {
        let mut map = BTreeMap::new();
        take_pairs(reader, |key, value| drop(map.insert(key, value)))?;
        Ok(map)
    }
}

impl<T: Encode + ?Sized> Encode for Box<T> {
    const MAY_BE_NIL: bool = T::MAY_BE_NIL;
    const TRAVELS: bool = T::TRAVELS;
    const IS_PLAIN: bool = T::IS_PLAIN;
    const FIELDS: &'static Fields = T::FIELDS;
    fn encode(&self, out: &mut Buffer) {
        (**self).encode(out);
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Box<T> {
    const MAY_BE_NIL: bool = T::MAY_BE_NIL;
    fn decode(reader: &mut Reader<'a>) -> Result<Box<T>, DecodeError> {
        T::decode(reader).map(Box::new)
    }
}

macro_rules! tuples {
    ($($count:literal: $($name:ident $index:tt),+;)*) => {$(
        impl<$($name: Encode),+> Encode for ($($name,)+) {
            const TRAVELS: bool = $($name::TRAVELS)&&+;
            const IS_PLAIN: bool = $($name::IS_PLAIN)&&+;
            const FIELDS: &'static Fields = &Fields {
                name: "",
                fields: &[$(
                    Field::unnamed(stringify!($index), $name::FIELDS),
                )+],
                comment: "",
            };
            const SMALL_BYTES: usize = small::array(&[$($name::SMALL_BYTES),+]);
            #[inline]
            fn encode_small(&self, scratch: &mut Scratch, at: usize) -> usize {
                let at = small::put_array(scratch, at, $count);
                $(let at = self.$index.encode_small(scratch, at);)+
                at
            }
            const FIXED: FixedWidth = FixedWidth::all(&[$($name::FIXED),+]);
            #[inline(always)]
            fn put_fixed(&self, scratch: &mut Scratch, at: usize) -> usize {
                $(let at = self.$index.put_fixed(scratch, at);)+
                at
            }
            fn encode(&self, out: &mut Buffer) {
                put_array(out, $count);
                $(self.$index.encode(out);)+
            }
        }
        impl<'a, $($name: Decode<'a>),+> Decode<'a> for ($($name,)+) {
            fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                nested(reader, |reader, count| {
                    if count != $count {
                        return Err(DecodeError::OutOfRange {
                            expected: concat!("an array of ", $count),
                        });
                    }
                    Ok(($($name::decode(reader)?,)+))
                })
            }
            #[inline(always)]
            fn take_fixed(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
                Ok(($($name::take_fixed(reader)?,)+))
            }
        }
    )*};
}
tuples! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
    7: A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
    9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
    10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9;
    11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10;
    12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11;
}
