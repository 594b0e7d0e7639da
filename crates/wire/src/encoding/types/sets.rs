//! Queues and ordered sets.

use alloc::collections::{BTreeSet, VecDeque};

use crate::encoding::collections::nested;
use crate::encoding::fields::Fields;
use crate::encoding::msgpack::put_array;
use crate::{Buffer, Decode, DecodeError, Encode, Reader};

/// An array of the items.
macro_rules! lists {
    ($($name:ident<T $(: $bound:path)?>: $add:ident),*) => {$(
        impl<T: Encode> Encode for $name<T> {
            const TRAVELS: bool = T::TRAVELS;
            const IS_PLAIN: bool = T::IS_PLAIN;
            const FIELDS: &'static Fields = T::FIELDS;
            fn encode(&self, out: &mut Buffer) {
                put_array(out, self.len());
                self.iter().for_each(|item| item.encode(out));
            }
        }

        impl<'a, T: Decode<'a> $(+ $bound)?> Decode<'a> for $name<T> {
            fn decode(reader: &mut Reader<'a>) -> Result<$name<T>, DecodeError> {
                nested(reader, |reader, count| {
                    let mut items = $name::new();
                    for _ in 0..count {
                        items.$add(T::decode(reader)?);
                    }
                    Ok(items)
                })
            }
        }
    )*};
}
lists!(VecDeque<T>: push_back, BTreeSet<T: Ord>: insert);
