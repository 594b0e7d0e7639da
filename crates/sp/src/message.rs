//! A message on its way out: the protocol's header and the user's body.

use alloc::vec::Vec;

use bytes::Bytes;

/// The number of a pipe, chosen by the caller that opens it and not reused while it is open.
///
/// The top bit is zero: forwarders put the number into backtraces, where that bit marks the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PipeId(pub u32);

/// The protocol's header in front of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Head {
    /// No header: push, pull, pub, sub, pair version 0, bus.
    #[default]
    Empty,
    /// One word: the id of a request, or the hops of pair1.
    Word(u32),
    /// A backtrace, returned as it was received.
    Stack(Bytes),
}

impl Head {
    /// Bytes on the wire.
    pub fn len(&self) -> usize {
        match self {
            Head::Empty => 0,
            Head::Word(_) => 4,
            Head::Stack(words) => words.len(),
        }
    }

    /// True if the header has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A message of a raw socket: the protocol's header apart from the body.
///
/// | protocol | header |
/// |---|---|
/// | pair0, push, pull, pub, sub | none |
/// | req, surveyor | the words of the backtrace, the one with the top bit set last |
/// | rep, respondent | the number of the pipe, then the words |
/// | pair1 | one word: the hops |
/// | bus | the number of the pipe, or none |
/// | star, pair1 with many peers | the number of the pipe, or none, then one word: the hops |
///
/// A word is four bytes in big-endian order. A received header can be sent on as it is: the hop
/// count already includes the hop to this socket. The number of a pipe never goes over the wire and
/// is valid only on its own socket. It names the pipe that the message came from: rep, respondent
/// and pair1 send to that peer alone, bus and star send to all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawMessage {
    /// The protocol's header.
    pub header: Bytes,
    /// The body.
    pub body: Bytes,
}

impl RawMessage {
    /// Joins header and body; copies unless one of them is empty.
    pub fn joined(self) -> Bytes {
        let RawMessage { header, body } = self;
        if header.is_empty() {
            return body;
        }
        if body.is_empty() {
            return header;
        }
        let mut bytes = Vec::with_capacity(header.len() + body.len());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&body);
        Bytes::from(bytes)
    }
}

/// A message to be written to a pipe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The header, inside the framed length.
    pub head: Head,
    /// The user's body.
    pub body: Bytes,
}

impl Message {
    /// Bytes on the wire, without the framing.
    pub fn len(&self) -> usize {
        self.head.len() + self.body.len()
    }

    /// True if header and body are both empty; such a message is legal.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first four bytes on the wire: the id of a request or survey. `None` if there are fewer.
    pub fn first_word(&self) -> Option<u32> {
        let bytes = match &self.head {
            Head::Word(word) => return Some(*word),
            Head::Stack(words) => words,
            Head::Empty => &self.body,
        };
        bytes.first_chunk().map(|word| u32::from_be_bytes(*word))
    }

    /// The bytes that follow the framing, copied; for tests and fixtures.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = match &self.head {
            Head::Empty => Vec::new(),
            Head::Word(word) => word.to_be_bytes().to_vec(),
            Head::Stack(words) => words.to_vec(),
        };
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_that_of_the_header_or_else_of_the_body() {
        let message = |head, body| Message { head, body: Bytes::from_static(body) };
        let stack = Head::Stack(Bytes::from_static(b"\0\0\0\x05\x80\0\0\x01"));
        assert_eq!(message(Head::Word(7), b"body").first_word(), Some(7));
        assert_eq!(message(stack, b"body").first_word(), Some(5));
        assert_eq!(message(Head::Empty, b"\0\0\0\x09body").first_word(), Some(9));
        assert_eq!(message(Head::Empty, b"abc").first_word(), None);
    }

    #[test]
    fn a_message_is_empty_without_header_and_body() {
        let message = |head, body| Message { head, body: Bytes::from_static(body) };
        assert!(message(Head::Empty, b"").is_empty());
        assert!(!message(Head::Empty, b"body").is_empty());
        assert!(!message(Head::Word(1), b"").is_empty());
    }
}
