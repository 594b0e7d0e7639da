//! A reference on the wire: a MessagePack extension (section 9 of the protocol).

use std::sync::Arc;

use wigwag_wire::extension::{put_extension, take_extension};
use wigwag_wire::skip::skip_with;
use wigwag_wire::{Buffer, DecodeError, Encode, Reader, varint};

/// The type of the extension: `W`.
pub(crate) const EXTENSION: u8 = 0x57;
/// The present form.
const VERSION: u8 = 1;
/// Bytes in front of the addresses.
const HEAD_BYTES: usize = 1 + 3 * 16 + 8;
/// Addresses of a reference at most.
pub(crate) const ADDRESSES_MAX: usize = 4;
/// Bytes of an address at most.
pub(crate) const ADDRESS_BYTES_MAX: usize = 128;
/// Bytes of a value that holds a reference at least, so a run has none.
const BYTES_MIN: usize = HEAD_BYTES + 4;

const EXPECTED: &str = "a reference to an actor";

/// A reference as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SentReference {
    /// The id of the actor's node.
    pub(crate) node: u128,
    /// The incarnation of the actor's node.
    pub(crate) incarnation: u128,
    /// The number of the reference there.
    pub(crate) reference: u128,
    /// The hash of the actor's schema.
    pub(crate) schema_hash: u64,
    /// Addresses at which the node may be reached.
    pub(crate) addresses: Vec<Arc<str>>,
}

impl Encode for SentReference {
    fn encode(&self, out: &mut Buffer) {
        let mut bytes = Buffer::new();
        bytes.push(VERSION);
        for number in [self.node, self.incarnation, self.reference] {
            bytes.extend(&number.to_le_bytes());
        }
        bytes.extend(&self.schema_hash.to_le_bytes());
        let fits = |address: &&Arc<str>| address.len() <= ADDRESS_BYTES_MAX;
        let addresses = || self.addresses.iter().filter(fits).take(ADDRESSES_MAX);
        varint::put(&mut bytes, addresses().count() as u64);
        for address in addresses() {
            varint::put(&mut bytes, address.len() as u64);
            bytes.extend(address.as_bytes());
        }
        put_extension(out, EXTENSION, bytes.as_slice());
    }
}

impl SentReference {
    /// A reference of which only the number is known.
    pub(crate) fn numbered(reference: u128) -> SentReference {
        let (node, incarnation, schema_hash) = (0, 0, 0);
        SentReference { node, incarnation, reference, schema_hash, addresses: Vec::new() }
    }

    /// Reads a reference. Bytes that a later release adds at its end are skipped.
    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<SentReference, DecodeError> {
        let mut reader = Reader::new(take_extension(reader, EXTENSION, EXPECTED)?);
        if reader.u8()? != VERSION {
            return Err(DecodeError::BadReference { why: "it has an unknown form" });
        }
        let mut number = || reader.array::<16>().map(u128::from_le_bytes);
        let (node, incarnation, reference) = (number()?, number()?, number()?);
        let schema_hash = u64::from_le_bytes(reader.array()?);
        let bad = |_| DecodeError::BadReference { why: "its addresses are malformed" };
        let count = varint::take(&mut reader).map_err(bad)?;
        if count > ADDRESSES_MAX as u64 {
            return Err(DecodeError::BadReference { why: "it has more than 4 addresses" });
        }
        let mut addresses = Vec::new();
        for _ in 0..count {
            let length = varint::take(&mut reader).map_err(bad)?;
            if length > ADDRESS_BYTES_MAX as u64 {
                return Err(DecodeError::BadReference {
                    why: "an address has more than 128 bytes",
                });
            }
            let text = std::str::from_utf8(reader.take(length as usize)?);
            addresses.push(text.map_err(|_| DecodeError::NotUtf8)?.into());
        }
        Ok(SentReference { node, incarnation, reference, schema_hash, addresses })
    }

    /// The numbers of the references in a value, which is never read.
    pub(crate) fn numbers_in(value: &[u8]) -> Vec<u128> {
        let mut numbers = Vec::new();
        if value.len() < BYTES_MIN {
            return numbers;
        }
        // A value that is no MessagePack, as arguments of fixed width are, has no references.
        let _ = skip_with(&mut Reader::new(value), &mut |kind, bytes| {
            let number = bytes.get(1 + 2 * 16..).and_then(|rest| rest.first_chunk());
            if let (EXTENSION, Some(&VERSION), Some(number)) = (kind, bytes.first(), number) {
                numbers.push(u128::from_le_bytes(*number));
            }
        });
        numbers
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    fn reference(addresses: &[&str]) -> SentReference {
        let addresses = addresses.iter().map(|address| (*address).into()).collect();
        SentReference { node: 1, incarnation: 2, reference: 3 << 100, schema_hash: 4, addresses }
    }

    fn encoded(reference: &SentReference) -> Buffer {
        let mut out = Buffer::new();
        reference.encode(&mut out);
        out
    }

    #[test]
    fn a_reference_is_read_as_it_was_written() {
        for addresses in [&[][..], &["tcp://127.0.0.1:7001"], &["a", "b", "c", "d"]] {
            let sent = reference(addresses);
            let out = encoded(&sent);
            assert!(out.len() >= BYTES_MIN);
            let mut reader = Reader::new(out.as_slice());
            assert_eq!(SentReference::decode(&mut reader), Ok(sent));
            assert!(reader.is_empty());
        }
    }

    #[test]
    fn long_addresses_and_those_beyond_four_are_left_out() {
        let long = "x".repeat(ADDRESS_BYTES_MAX + 1);
        let out = encoded(&reference(&["1", &long, "2", "3", "4", "5"]));
        let read = SentReference::decode(&mut Reader::new(out.as_slice()));
        assert_eq!(read, Ok(reference(&["1", "2", "3", "4"])));
    }

    #[test]
    fn every_cut_and_every_other_value_is_an_error() {
        let out = encoded(&reference(&["tcp://127.0.0.1:7001"]));
        for end in 0..out.len() {
            let cut = &out.as_slice()[..end];
            assert!(SentReference::decode(&mut Reader::new(cut)).is_err(), "{end}");
        }
        let mut later = out.as_slice().to_vec();
        later[3] = 2;
        let read = SentReference::decode(&mut Reader::new(&later));
        assert_eq!(read, Err(DecodeError::BadReference { why: "it has an unknown form" }));
        for value in [&[0xC0][..], &[0xC4, 1, 1], &[0xD4, 0x57, 1]] {
            assert!(SentReference::decode(&mut Reader::new(value)).is_err());
        }
    }

    #[test]
    fn the_references_in_a_value_are_found() {
        let mut value = Buffer::new();
        value.extend(&[0x93, 0x2A, 0x91]);
        reference(&["a"]).encode(&mut value);
        reference(&[]).encode(&mut value);
        assert_eq!(SentReference::numbers_in(value.as_slice()), [3 << 100; 2]);
        assert_eq!(SentReference::numbers_in(&[0xC1; 100]), [0; 0]);
    }
}
