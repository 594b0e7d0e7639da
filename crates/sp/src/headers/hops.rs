//! The hop count in front of messages of pair1 and star: three zero bytes and the count.
//!
//! The protocol decides what a malformed word leads to: pair1 ends the connection, as NNG does (RFC
//! sp-pair-01), star drops the message, as mangos does.

use bytes::{Buf, Bytes};

/// Bytes of the hop count.
pub(crate) const HOPS_BYTES: usize = 4;

/// The bits of the hop count; the others are reserved.
const HOPS_MASK: u32 = 0xff;

/// Why a hop count was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HopsError {
    /// The message has only this many bytes.
    TooShort(usize),
    /// Reserved bits are set in this word.
    ReservedBits(u32),
    /// More hops than allowed.
    TooMany,
}

/// Reads the hop count from a word.
pub(crate) fn parse(word: u32, most: u8) -> Result<u8, HopsError> {
    if word & !HOPS_MASK != 0 {
        return Err(HopsError::ReservedBits(word));
    }
    let [.., hops] = word.to_be_bytes();
    if hops > most { Err(HopsError::TooMany) } else { Ok(hops) }
}

/// Removes the hop count from the front of `message` and returns it.
pub(crate) fn take(message: &mut Bytes, most: u8) -> Result<u8, HopsError> {
    let Some((word, _)) = message.split_first_chunk::<HOPS_BYTES>() else {
        return Err(HopsError::TooShort(message.len()));
    };
    let hops = parse(u32::from_be_bytes(*word), most)?;
    message.advance(HOPS_BYTES);
    Ok(hops)
}
