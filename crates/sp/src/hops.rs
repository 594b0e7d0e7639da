//! The word in front of a message of pair1 and star: three zero bytes and the hops.
//!
//! What a broken word leads to is the protocol's to say: pair1 ends the connection, as NNG does
//! (RFC sp-pair-01), star drops the message, as mangos does.

use bytes::{Buf, Bytes};

/// Bytes of the word.
pub(crate) const HOPS_BYTES: usize = 4;

/// Bits that carry hops; the others are reserved.
const HOPS_MASK: u32 = 0xff;

/// What is wrong with the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HopsError {
    /// The message has only so many bytes.
    TooShort(usize),
    /// Reserved bits are set in this word.
    ReservedBits(u32),
    /// More hops than allowed.
    TooMany,
}

/// Reads a word.
pub(crate) fn parse(word: u32, most: u8) -> Result<u8, HopsError> {
    if word & !HOPS_MASK != 0 {
        return Err(HopsError::ReservedBits(word));
    }
    let [.., hops] = word.to_be_bytes();
    if hops > most { Err(HopsError::TooMany) } else { Ok(hops) }
}

/// Takes the word off the front of `message`, and says how many hops it has come.
pub(crate) fn take(message: &mut Bytes, most: u8) -> Result<u8, HopsError> {
    let Some((word, _)) = message.split_first_chunk::<HOPS_BYTES>() else {
        return Err(HopsError::TooShort(message.len()));
    };
    let hops = parse(u32::from_be_bytes(*word), most)?;
    message.advance(HOPS_BYTES);
    Ok(hops)
}
