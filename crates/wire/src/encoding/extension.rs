//! MessagePack extensions: bytes of a kind that the program defines.

use crate::{Buffer, DecodeError, Reader, Short};

/// Bytes of an extension at most.
pub const EXTENSION_BYTES_MAX: usize = u16::MAX as usize;

/// Appends an extension; bytes beyond [`EXTENSION_BYTES_MAX`] are cut off.
pub fn put_extension(out: &mut Buffer, kind: u8, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(EXTENSION_BYTES_MAX)];
    let [high, low] = (bytes.len() as u16).to_be_bytes();
    match high {
        0 => out.put([0xC7, low, kind], 3),
        _ => out.put([0xC8, high, low, kind], 4),
    }
    out.extend(bytes);
}

/// Reads an extension of this kind.
///
/// # Errors
/// If the reader does not begin with one.
pub fn take_extension<'a>(
    reader: &mut Reader<'a>,
    kind: u8,
    expected: &'static str,
) -> Result<&'a [u8], DecodeError> {
    let short = |Short| DecodeError::Short { expected };
    let marker = reader.u8().map_err(short)?;
    let length = match marker {
        0xC7 => usize::from(reader.u8().map_err(short)?),
        0xC8 => usize::from(u16::from_be_bytes(reader.array().map_err(short)?)),
        0xC9 => u32::from_be_bytes(reader.array().map_err(short)?) as usize,
        0xD4..=0xD8 => 1 << (marker - 0xD4),
        found => return Err(DecodeError::WrongType { expected, found }),
    };
    let found = reader.u8().map_err(short)?;
    if found != kind {
        return Err(DecodeError::WrongType { expected, found: marker });
    }
    reader.take(length).map_err(short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::skip::{skip, skip_with};

    #[test]
    fn an_extension_is_read_as_it_was_written_and_found_in_any_value() {
        for length in [0, 1, 16, 61, 255, 256, 65_535] {
            let bytes = alloc::vec![7; length];
            let mut out = Buffer::new();
            out.extend(&[0x92, 0x81, 0xA1, b'a']);
            put_extension(&mut out, 0x57, &bytes);
            put_extension(&mut out, 1, b"x");
            let mut found = alloc::vec::Vec::new();
            let mut reader = Reader::new(out.as_slice());
            skip_with(&mut reader, &mut |kind, bytes| found.push((kind, bytes))).expect("a value");
            assert!(reader.is_empty());
            assert_eq!(found, [(0x57, &bytes[..]), (1, &b"x"[..])]);
            let mut whole = Reader::new(out.as_slice());
            assert_eq!(skip(&mut whole), Ok(()));
            let mut reader = Reader::new(&out.as_slice()[4..]);
            assert_eq!(take_extension(&mut reader, 0x57, "a thing"), Ok(&bytes[..]));
            let other = take_extension(&mut reader, 0x57, "a thing");
            assert!(matches!(other, Err(DecodeError::WrongType { found: 0xC7, .. })), "{other:?}");
        }
    }

    #[test]
    fn a_short_value_or_no_extension_is_an_error() {
        for bytes in [&[][..], &[0xC7], &[0xC7, 3], &[0xC7, 3, 0x57, 1, 2], &[0xC8, 0], &[0xC4, 0]]
        {
            assert!(take_extension(&mut Reader::new(bytes), 0x57, "a thing").is_err(), "{bytes:?}");
        }
        let fixed = [0xD5, 0x57, 1, 2];
        assert_eq!(take_extension(&mut Reader::new(&fixed), 0x57, "a thing"), Ok(&[1, 2][..]));
    }
}
