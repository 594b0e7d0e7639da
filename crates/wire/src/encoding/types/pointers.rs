//! Pointers: each is written as what it points to.

use alloc::borrow::{Cow, ToOwned};
use alloc::sync::Arc;

use crate::encoding::fields::Fields;
use crate::{Buffer, Decode, DecodeError, Encode, Reader};

impl<T: Encode + ?Sized> Encode for Arc<T> {
    const TRAVELS: bool = T::TRAVELS;
    const IS_PLAIN: bool = T::IS_PLAIN;
    const FIELDS: &'static Fields = T::FIELDS;
    const MAY_BE_NIL: bool = T::MAY_BE_NIL;
    fn encode(&self, out: &mut Buffer) {
        (**self).encode(out);
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Arc<T> {
    const MAY_BE_NIL: bool = T::MAY_BE_NIL;
    fn decode(reader: &mut Reader<'a>) -> Result<Arc<T>, DecodeError> {
        T::decode(reader).map(Arc::new)
    }
}

/// Not plain: an owned value is borrowed by its own `Borrow`.
impl<T: Encode + ToOwned + ?Sized> Encode for Cow<'_, T> {
    const TRAVELS: bool = T::TRAVELS;
    const FIELDS: &'static Fields = T::FIELDS;
    const MAY_BE_NIL: bool = T::MAY_BE_NIL;
    fn encode(&self, out: &mut Buffer) {
        (**self).encode(out);
    }
}

/// Always owned, so that the value does not depend on the bytes.
impl<'a, T> Decode<'a> for Cow<'static, T>
where
    T: ToOwned + ?Sized + 'static,
    T::Owned: Decode<'a>,
{
    const MAY_BE_NIL: bool = <T::Owned as Decode<'a>>::MAY_BE_NIL;
    fn decode(reader: &mut Reader<'a>) -> Result<Cow<'static, T>, DecodeError> {
        T::Owned::decode(reader).map(Cow::Owned)
    }
}
