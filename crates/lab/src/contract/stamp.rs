//! Number and payload within messages of other shapes, and whether all of a message is there.
//!
//! A long message carries both three times, at its beginning, in its middle and at its end, and
//! between them one byte over and over that follows from the payload. Its receiver looks at the three
//! and at a byte before each of the last two, so a check costs the same at any length. A message that
//! does not fit is `None`: its receiver leaves it out, and the account has one too few.

use super::quote::Quote;

/// Number and payload.
pub(crate) type Stamp = (u64, u32);

/// Bytes of a stamp.
const STAMP: usize = 12;
/// Letters of a stamp: one for each half of a byte.
const LETTERS: usize = 2 * STAMP;
/// Bytes of a text.
pub(crate) const TEXT: usize = 100;

/// Number and payload in 64 bits: no run has 2^32 messages.
#[inline]
pub(crate) fn word(number: u64, payload: u32) -> u64 {
    number << 32 | u64::from(payload)
}

/// The contents of a word.
#[inline]
pub(crate) fn of_word(word: u64) -> Stamp {
    (word >> 32, word as u32)
}

#[inline]
fn stamp(number: u64, payload: u32) -> [u8; STAMP] {
    let mut stamp = [0; STAMP];
    stamp[..8].copy_from_slice(&number.to_le_bytes());
    stamp[8..].copy_from_slice(&payload.to_le_bytes());
    stamp
}

fn of_stamp(stamp: &[u8; STAMP]) -> Stamp {
    let [a, b, c, d, e, f, g, h, payload @ ..] = *stamp;
    (u64::from_le_bytes([a, b, c, d, e, f, g, h]), u32::from_le_bytes(payload))
}

/// Appends a block of `size` bytes.
#[inline]
pub(crate) fn put_block(number: u64, payload: u32, size: usize, out: &mut Vec<u8>) {
    let begin = out.len();
    out.resize(begin + size, payload as u8);
    fill_in(&stamp(number, payload), &mut out[begin..]);
}

/// The contents of a block of `size` bytes.
#[inline]
pub(crate) fn of_block(block: &[u8], size: usize) -> Option<Stamp> {
    let found = of_stamp(block.first_chunk()?);
    let stamp = stamp(found.0, found.1);
    (block.len() == size && is_filled_in(&stamp, found.1 as u8, block)).then_some(found)
}

/// A text of [`TEXT`] letters.
#[inline]
pub(crate) fn text(number: u64, payload: u32) -> [u8; TEXT] {
    let mut text = [letter(payload as u8); TEXT];
    fill_in(&letters(&stamp(number, payload)), &mut text);
    text
}

/// The contents of a text.
#[inline]
pub(crate) fn of_text(text: &[u8]) -> Option<Stamp> {
    let written: &[u8; LETTERS] = text.first_chunk()?;
    let mut stamp = [0; STAMP];
    for (byte, halves) in stamp.iter_mut().zip(written.as_chunks::<2>().0) {
        *byte = halves[0].wrapping_sub(b'a') << 4 | halves[1].wrapping_sub(b'a') & 15;
    }
    let found = of_stamp(&stamp);
    // Written again, so that letters beyond the first sixteen are found out.
    let is_whole =
        text.len() == TEXT && is_filled_in(&letters(&stamp), letter(found.1 as u8), text);
    is_whole.then_some(found)
}

/// One of the first sixteen letters.
#[inline]
fn letter(half: u8) -> u8 {
    b'a' + (half & 15)
}

#[inline]
fn letters(stamp: &[u8; STAMP]) -> [u8; LETTERS] {
    let mut letters = [0; LETTERS];
    for (byte, halves) in stamp.iter().zip(letters.as_chunks_mut::<2>().0) {
        *halves = [letter(byte >> 4), letter(*byte)];
    }
    letters
}

/// Writes the stamp at the beginning, in the middle and at the end.
#[inline]
fn fill_in<const N: usize>(stamp: &[u8; N], message: &mut [u8]) {
    let size = message.len();
    for at in [0, size / 2, size.saturating_sub(N)] {
        if let Some(place) = message.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *place = *stamp;
        }
    }
}

/// Whether the stamp is there three times, with `fill` before it.
#[inline]
fn is_filled_in<const N: usize>(stamp: &[u8; N], fill: u8, message: &[u8]) -> bool {
    let (middle, end) = (message.len() / 2, message.len().saturating_sub(N));
    let is_at = |at: usize| message.get(at..).and_then(<[u8]>::first_chunk) == Some(stamp);
    let is_filled = |at: usize| at.checked_sub(1).and_then(|at| message.get(at)) == Some(&fill);
    [0, middle, end].into_iter().all(is_at) && [middle, end].into_iter().all(is_filled)
}

/// The contents of a struct that holds what answers a caller, by its number and its float.
#[inline]
pub(crate) fn of_struct(sum: u64, weight: f64) -> Option<(Stamp, Quote)> {
    let payload = (weight * 4.0) as u32;
    let number = sum.checked_sub(payload.into())?;
    let quote = Quote::of(0, number, payload);
    (quote.weight() == weight).then_some(((number, payload), quote))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 1_024;
    const SENT: Stamp = (0x0123_4567_89AB, 0xDEAD_BEEF);

    fn block() -> Vec<u8> {
        let mut block = Vec::new();
        put_block(SENT.0, SENT.1, SIZE, &mut block);
        block
    }

    #[test]
    fn values_put_in_come_out() {
        assert_eq!(of_block(&block(), SIZE), Some(SENT));
        assert_eq!(of_text(&text(SENT.0, SENT.1)), Some(SENT));
        assert_eq!(of_word(word(77, u32::MAX)), (77, u32::MAX));
        let quote = Quote::of(0, 77, u32::MAX);
        let found = of_struct(quote.sum(), quote.weight()).map(|(stamp, _)| stamp);
        assert_eq!(found, Some((77, u32::MAX)));
    }

    /// Beginning, middle and end, and the bytes between them that are looked at.
    #[test]
    fn a_message_that_was_changed_or_cut_does_not_fit() {
        let block = block();
        for at in [0, 11, SIZE / 2 - 1, SIZE / 2, SIZE / 2 + 11, SIZE - 13, SIZE - 12, SIZE - 1] {
            let mut changed = block.clone();
            changed[at] ^= 1;
            assert_eq!(of_block(&changed, SIZE), None, "{at}");
        }
        assert_eq!(of_block(&block[..SIZE - 1], SIZE), None);
        let text = text(SENT.0, SENT.1);
        for at in [0, 23, 49, 50, 73, 75, 76, 99] {
            let mut changed = text;
            // A letter that is no half of a byte.
            changed[at] += 16;
            assert_eq!(of_text(&changed), None, "{at}");
        }
        assert_eq!(of_text(&text[..99]), None);
        assert_eq!(of_text(b""), None);
        assert!(of_struct(3, 1.0).is_none() && of_struct(10, 0.1).is_none());
    }
}
