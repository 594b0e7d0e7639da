//! The words in front of a request that lead its reply back.
//!
//! Each forwarder prepends the number of the pipe that the request came from, high bit 0; the last
//! word is the requester's own id, high bit 1 (RFC sp-request-reply-01, section 4). The words are
//! split off unchanged, and the replier sends the same bytes in front of the reply.

use bytes::Bytes;

use crate::DropReason;
use crate::limits::Hops;

/// Bytes of one word.
pub(crate) const WORD_BYTES: usize = 4;

/// The bit that marks the last word.
pub(crate) const LAST_WORD: u32 = 0x8000_0000;

/// Words of the backtrace in front of a reply, the id included: as many as a forwarder with the
/// largest hop limit lets through, plus its own word.
pub(crate) const REPLY_WORDS_MAX: u16 = Hops::MAX.get() as u16 + 1;

/// Splits a request into its backtrace and its body.
///
/// A message that ends before the last word is dropped but the pipe stays open: NNG closes the
/// pipe, nanomsg and mangos keep it. All of them drop a message with more than `hops` words, the id
/// included.
pub(crate) fn split(message: Bytes, hops: Hops) -> Result<(Bytes, Bytes), DropReason> {
    split_within(message, hops.get().into())
}

/// True if `header` is one whole backtrace and nothing else.
pub(crate) fn is_whole(header: &Bytes) -> bool {
    let parts = split_within(header.clone(), REPLY_WORDS_MAX);
    parts.is_ok_and(|(_, rest)| rest.is_empty())
}

/// Splits off a backtrace of at most `words` words.
pub(crate) fn split_within(mut message: Bytes, words: u16) -> Result<(Bytes, Bytes), DropReason> {
    let mut end = 0;
    for _ in 0..words {
        let rest = message.get(end..).unwrap_or_default();
        let Some((word, _)) = rest.split_first_chunk::<WORD_BYTES>() else {
            return Err(DropReason::Malformed);
        };
        end += WORD_BYTES;
        if u32::from_be_bytes(*word) & LAST_WORD != 0 {
            let stack = message.split_to(end);
            return Ok((stack, message));
        }
    }
    Err(DropReason::TooManyHops)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// A message of `words` words, the last one with its bit set, and a body.
    fn message(words: usize) -> Bytes {
        let mut bytes = Vec::new();
        for word in 1..words {
            bytes.extend_from_slice(&(word as u32).to_be_bytes());
        }
        bytes.extend_from_slice(&0x8000_0001_u32.to_be_bytes());
        bytes.extend_from_slice(b"body");
        Bytes::from(bytes)
    }

    /// One peer in the field breaks at exactly eight words, so all counts around eight are tested.
    #[test]
    fn eight_words_pass_and_nine_are_dropped() {
        for words in 1..=8 {
            let (stack, body) = split(message(words), Hops::default()).unwrap();
            assert_eq!(stack.len(), words * WORD_BYTES);
            assert_eq!(body.as_ref(), b"body");
        }
        let nine = split(message(9), Hops::default());
        assert_eq!(nine, Err(DropReason::TooManyHops));
    }

    #[test]
    fn a_reply_passes_as_many_hops_as_the_largest_limit_and_its_own_word() {
        let header = |words| message(words).slice(..words * WORD_BYTES);
        assert!(is_whole(&header(usize::from(Hops::MAX.get()) + 1)));
        assert!(!is_whole(&header(usize::from(Hops::MAX.get()) + 2)));
    }

    #[test]
    fn a_message_that_ends_before_its_last_word_is_malformed() {
        let whole = message(3);
        for end in 0..3 * WORD_BYTES {
            let cut = split(whole.slice(..end), Hops::default());
            assert_eq!(cut, Err(DropReason::Malformed), "cut at {end}");
        }
        assert!(split(whole.slice(..3 * WORD_BYTES), Hops::default()).is_ok());
    }
}
