//! A stream as a value on the wire: a MessagePack extension with its number (section 6 of the
//! protocol).

use wigwag_wire::extension::{put_extension, take_extension};
use wigwag_wire::skip::skip_with;
use wigwag_wire::{Buffer, DecodeError, Reader, varint};

use crate::limits::STREAM_VALUES_MAX;

/// The type of the extension: `S`.
const EXTENSION: u8 = 0x53;
/// The present form.
const VERSION: u8 = 1;

/// Appends the stream with this number.
pub(crate) fn put(out: &mut Buffer, number: u64) {
    let mut bytes = Buffer::new();
    bytes.push(VERSION);
    varint::put(&mut bytes, number);
    put_extension(out, EXTENSION, bytes.as_slice());
}

/// Reads the number of a stream. Bytes that a later release adds at its end are skipped.
pub(crate) fn take(reader: &mut Reader<'_>) -> Result<u64, DecodeError> {
    let bytes = take_extension(reader, EXTENSION, "a stream")?;
    number(bytes).ok_or(DecodeError::BadStream { why: "it has an unknown form" })
}

/// The numbers of the streams in a value, which is never read: as many as a peer may have open.
pub(crate) fn numbers_in(value: &[u8]) -> Vec<u64> {
    let mut numbers = Vec::new();
    // A value that is no MessagePack, as arguments of fixed width are, has no streams.
    let _ = skip_with(&mut Reader::new(value), &mut |kind, bytes| {
        if kind == EXTENSION && (numbers.len() as u64) < STREAM_VALUES_MAX {
            numbers.extend(number(bytes));
        }
    });
    numbers
}

fn number(bytes: &[u8]) -> Option<u64> {
    let (version, rest) = bytes.split_first()?;
    if *version != VERSION {
        return None;
    }
    varint::take(&mut Reader::new(rest)).ok()
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    fn encoded(number: u64) -> Buffer {
        let mut out = Buffer::new();
        put(&mut out, number);
        out
    }

    #[test]
    fn a_stream_is_read_as_it_was_written() {
        for number in [0, 127, 128, u64::MAX] {
            let out = encoded(number);
            let mut reader = Reader::new(out.as_slice());
            assert_eq!(take(&mut reader), Ok(number));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn every_cut_and_every_other_value_is_an_error() {
        let out = encoded(300);
        for end in 0..out.len() {
            assert!(take(&mut Reader::new(&out.as_slice()[..end])).is_err(), "{end}");
        }
        let unknown = Err(DecodeError::BadStream { why: "it has an unknown form" });
        for bytes in
            [&[0xC7, 2, EXTENSION, 2, 7][..], &[0xC7, 1, EXTENSION, 1], &[0xC7, 0, EXTENSION]]
        {
            assert_eq!(take(&mut Reader::new(bytes)), unknown, "{bytes:?}");
        }
        for bytes in [&[0xC0][..], &[7], &[0xC7, 2, 0x57, 1, 7]] {
            assert!(take(&mut Reader::new(bytes)).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn the_streams_in_a_value_are_found() {
        let mut value = Buffer::new();
        value.extend(&[0x93, 0x2A, 0x91]);
        put(&mut value, 5);
        put(&mut value, 900);
        assert_eq!(numbers_in(value.as_slice()), [5, 900]);
        assert_eq!(numbers_in(&[0xC1; 100]), [0; 0]);
        let mut many = Buffer::new();
        many.extend(&[0xDC, 0x20, 0]);
        (0..0x2000).for_each(|number| put(&mut many, number));
        assert_eq!(numbers_in(many.as_slice()).len() as u64, STREAM_VALUES_MAX);
    }
}
