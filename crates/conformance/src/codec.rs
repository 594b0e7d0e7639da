//! The promises of a wire type.

use std::fmt::Debug;

use wigwag_wire::{Buffer, Decode, Encode, Reader};

fn encoded(value: &impl Encode) -> Vec<u8> {
    let mut out = Buffer::new();
    value.encode(&mut out);
    out.as_slice().to_vec()
}

/// A value is read back as it was written, to its last byte, whatever follows.
pub fn comes_back<T>(value: &T)
where
    T: Encode + for<'a> Decode<'a> + PartialEq + Debug,
{
    let mut bytes = encoded(value);
    let length = bytes.len();
    bytes.extend_from_slice(&[0xc1, 0xff]);
    let mut reader = Reader::new(&bytes);
    assert_eq!(T::decode(&mut reader).as_ref(), Ok(value));
    assert_eq!(reader.rest(), &bytes[length..], "the next value begins there");
}

/// Cut at any byte, a value is an error and never another value.
pub fn is_not_read_from_a_part<T>(value: &T)
where
    T: Encode + for<'a> Decode<'a> + Debug,
{
    let bytes = encoded(value);
    assert!(!bytes.is_empty(), "every value has a byte");
    for cut in 0..bytes.len() {
        let part = T::decode(&mut Reader::new(&bytes[..cut]));
        assert!(part.is_err(), "{cut} bytes were taken for {part:?}");
    }
}
