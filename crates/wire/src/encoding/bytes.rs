//! MessagePack for bytes: *bin*.
//!
//! Every list of bytes is bin, whether it is a [`Bytes`], a slice, a `Vec<u8>` or an array, because
//! as an array of numbers it would take up to twice the space and many times as long. A type that
//! owns its bytes also reads an array of numbers, which JSON and other languages send.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::encoding::collections::nested;
use crate::encoding::small::{self, Scratch};
use crate::{Buffer, Decode, DecodeError, Encode, Reader, Short};

const EXPECTED: &str = "bytes";

/// Appends bytes as MessagePack *bin*.
pub(crate) fn put_bin(out: &mut Buffer, bytes: &[u8]) {
    put_bin_head(out, bytes.len());
    out.extend(bytes);
}

fn put_bin_head(out: &mut Buffer, length: usize) {
    let b = (length as u32).to_be_bytes();
    match length {
        0..=0xFF => out.put([0xC4, b[3]], 2),
        0x100..=0xFFFF => out.put([0xC5, b[2], b[3]], 3),
        _ => out.put([0xC6, b[0], b[1], b[2], b[3]], 5),
    }
}

/// Writes at most 255 bytes as bin into scratch memory, which holds no more.
#[inline(always)]
pub(crate) fn put_bin_small(scratch: &mut Scratch, at: usize, bytes: &[u8]) -> usize {
    const { assert!(small::SMALL_BYTES_MAX <= 0xFF) };
    small::store(scratch, at, [0xC4, bytes.len() as u8]);
    bytes.iter().fold(at + 2, |at, byte| {
        small::store(scratch, at, [*byte]);
        at + 1
    })
}

fn is_array(reader: &Reader<'_>) -> bool {
    matches!(reader.peek(), Some(0x90..=0x9F | 0xDC | 0xDD))
}

/// Reads bin, or an array of numbers.
pub(crate) fn take_byte_list(reader: &mut Reader<'_>) -> Result<Vec<u8>, DecodeError> {
    if !is_array(reader) {
        return <&[u8]>::decode(reader).map(Vec::from);
    }
    nested(reader, |reader, count| (0..count).map(|_| u8::decode(reader)).collect())
}

impl Encode for Bytes {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        put_bin_head(out, self.len());
        out.extend_shared(self);
    }
}

impl<'a> Decode<'a> for Bytes {
    fn decode(reader: &mut Reader<'a>) -> Result<Bytes, DecodeError> {
        if is_array(reader) {
            return take_byte_list(reader).map(Bytes::from);
        }
        <&[u8]>::decode(reader).map(|bytes| reader.share(bytes))
    }
}

/// Reads bin only: an array of numbers is not in the input as bytes, so it cannot be borrowed.
impl<'a> Decode<'a> for &'a [u8] {
    fn decode(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
        let length = match reader.u8().map_err(|Short| DecodeError::Short { expected: EXPECTED })? {
            0xC4 => usize::from(reader.u8()?),
            0xC5 => usize::from(u16::from_be_bytes(reader.array()?)),
            0xC6 => u32::from_be_bytes(reader.array()?) as usize,
            found => {
                return Err(DecodeError::WrongType { expected: EXPECTED, found });
            }
        };
        Ok(reader.take(length)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::gathered::GATHER_BYTES_MIN;

    fn encoded(value: &(impl Encode + ?Sized)) -> Vec<u8> {
        let mut out = Buffer::new();
        value.encode(&mut out);
        out.as_slice().to_vec()
    }

    fn read<'a, T: Decode<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
        T::decode(&mut Reader::new(bytes))
    }

    #[test]
    fn long_bytes_are_copied_neither_when_written_nor_when_read() {
        for (length, is_shared) in [(GATHER_BYTES_MIN - 1, false), (GATHER_BYTES_MIN, true)] {
            let bytes = Bytes::from(alloc::vec![7; length]);
            let mut out = Buffer::new();
            out.gathering(|out| bytes.encode(out));
            assert_eq!(out.has_gathered(), is_shared);
            let written = Bytes::from(out.flat(0..usize::MAX).into_owned());
            let elsewhere = written.to_vec();
            for (owner, is_shared) in [(&written, is_shared), (&bytes, false)] {
                let read = Bytes::decode(&mut Reader::of_owner(owner, &written)).expect("bytes");
                assert_eq!(read, bytes);
                assert_eq!(read.as_ptr() == written[written.len() - length..].as_ptr(), is_shared);
            }
            assert_eq!(read(&elsewhere), Ok(bytes));
        }
    }

    #[test]
    fn every_list_of_bytes_is_bin() {
        let bin = [0xC4, 3, 1, 200, 3];
        assert_eq!(encoded(&Bytes::from_static(&[1, 200, 3])), bin);
        assert_eq!(encoded(&alloc::vec![1_u8, 200, 3]), bin);
        assert_eq!(encoded(&[1_u8, 200, 3]), bin);
        assert_eq!(encoded(&[1_u8, 200, 3][..]), bin);
        assert_eq!(encoded(&alloc::vec![0_u8; 300])[..3], [0xC5, 1, 44]);
        assert_eq!(encoded(&alloc::vec![1_i8, 3]), [0x92, 1, 3]);
        assert_eq!(encoded(&alloc::vec![[1_u8, 2], [3, 4]]), [0x92, 0xC4, 2, 1, 2, 0xC4, 2, 3, 4]);
    }

    #[test]
    fn a_list_of_bytes_is_read_from_bin_and_from_numbers() {
        for form in
            [&[0xC4, 3, 1, 200, 3][..], &[0x93, 1, 0xCC, 200, 3], &[0xDC, 0, 3, 1, 0xCC, 200, 3]]
        {
            assert_eq!(read(form), Ok(alloc::vec![1_u8, 200, 3]));
            assert_eq!(read(form), Ok([1_u8, 200, 3]));
            assert_eq!(read(form), Ok(Bytes::from_static(&[1, 200, 3])));
        }
    }

    #[test]
    fn values_that_are_no_bytes_are_refused() {
        let too_large = read::<Vec<u8>>(&[0x91, 0xCD, 1, 0]);
        assert_eq!(too_large, Err(DecodeError::OutOfRange { expected: "u8" }));
        let text = read::<Vec<u8>>(&[0xA1, b'x']);
        assert_eq!(text, Err(DecodeError::WrongType { expected: EXPECTED, found: 0xA1 }));
        let borrowed = read::<&[u8]>(&[0x91, 1]);
        assert_eq!(borrowed, Err(DecodeError::WrongType { expected: EXPECTED, found: 0x91 }));
        assert!(read::<[u8; 2]>(&[0xC4, 3, 1, 2, 3]).is_err());
        // A length alone allocates nothing.
        for head in [&[0xC6, 0xFF, 0xFF, 0xFF, 0xFF, 1][..], &[0xDD, 0xFF, 0xFF, 0xFF, 0xFF, 1]] {
            assert!(matches!(read::<Vec<u8>>(head), Err(DecodeError::Short { .. })));
        }
    }

    #[test]
    fn both_encodings_of_an_array_of_bytes_are_equal() {
        fn same<const N: usize>() {
            let bytes = [0xFF_u8; N];
            let mut small = Buffer::new();
            small.small(|scratch| bytes.encode_small(scratch, 0));
            assert_eq!(small.as_slice(), encoded(&bytes));
            assert!(small.len() <= <[u8; N]>::SMALL_BYTES);
        }
        same::<0>();
        same::<1>();
        same::<15>();
        same::<16>();
        same::<46>();
    }
}
