//! What goes out on a pipe: the protocol's header in front of the user's body.

use alloc::vec::Vec;

use bytes::Bytes;

/// A pipe's number, given by whoever opens it and not given again while it is open.
///
/// The top bit is zero: forwarders put the number into backtraces, where that bit marks the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PipeId(pub u32);

/// The protocol's header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Head {
    /// None: push, pull, pub, sub, pair version 0, bus.
    #[default]
    Empty,
    /// One word: the id of a request, or the hops of pair1.
    Word(u32),
    /// A backtrace, as it came in and goes back.
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

    /// True when nothing stands in front of the body.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a raw socket gives and takes: the protocol's header apart from the body.
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
/// A word is four bytes, the largest first. A received header is ready to be sent on: the hops
/// count the way to us already. The number of a pipe never goes over the wire and means something
/// to its own socket only. It says where the message came from, and to that peer alone rep,
/// respondent and pair1 send it, while bus and star send it to all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawMessage {
    /// The protocol's header.
    pub header: Bytes,
    /// The body.
    pub body: Bytes,
}

impl RawMessage {
    /// Header and body in one piece, copied unless one of them is empty.
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

/// One message to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// In front of the body, inside the length.
    pub head: Head,
    /// What the user gave.
    pub body: Bytes,
}

impl Message {
    /// Bytes on the wire without the framing.
    pub fn len(&self) -> usize {
        self.head.len() + self.body.len()
    }

    /// True when neither header nor body has a byte; such a message is legal.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that follow the framing, copied; tests and fixtures use it.
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
