//! Framing of SP messages on a byte stream.
//!
//! tcp: a big-endian u64 length, then the message (RFC sp-tcp-mapping-01, section 4). ipc: the same
//! after one byte `01` (RFC sp-ipc-mapping-01). The length comes from a stranger, so it is checked
//! against the limit before any arithmetic or allocation.

use bytes::Bytes;

use crate::ReadBuf;

/// Largest size of the prefix of a message, over both framings.
pub const FRAMING_BYTES_MAX: usize = 9;

/// The type byte of an ordinary message on ipc.
const IPC_MESSAGE: u8 = 1;

/// The framing of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Length and message: tcp, tls, inproc streams.
    Tcp,
    /// Type byte, length and message: ipc.
    Ipc,
}

/// The contents of the front of received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peeked {
    /// A whole message of so many bytes, behind its prefix.
    Whole {
        /// Bytes of the message.
        length: usize,
    },
    /// A part of a message.
    Wants {
        /// Bytes that must have arrived, prefix included, before it can be looked at again.
        bytes: usize,
    },
}

/// Why the peer's bytes cannot be split into messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FramingError {
    /// The message is longer than the receiver allows.
    #[error("the peer announces a message of {length} bytes, the limit is {limit}")]
    TooLong {
        /// The length that the peer announced.
        length: u64,
        /// The receiver's limit in bytes.
        limit: usize,
    },
    /// The type byte on ipc was not 1.
    #[error("the peer sent message type {0} on ipc, only 1 is known")]
    UnknownType(u8),
}

impl Framing {
    /// Size of the prefix of each message.
    pub const fn prefix_bytes(self) -> usize {
        match self {
            Framing::Tcp => 8,
            Framing::Ipc => 9,
        }
    }

    /// The prefix of a message of `length` bytes, and the number of its bytes that are used.
    #[inline]
    pub fn prefix(self, length: usize) -> ([u8; FRAMING_BYTES_MAX], usize) {
        let mut prefix = [0; FRAMING_BYTES_MAX];
        // Eight bytes at once: one by one, they took as long as the rest of a short message.
        let length = (length as u64).to_be_bytes();
        match self {
            Framing::Tcp => prefix[..8].copy_from_slice(&length),
            Framing::Ipc => {
                prefix[0] = IPC_MESSAGE;
                prefix[1..].copy_from_slice(&length);
            }
        }
        (prefix, self.prefix_bytes())
    }

    /// The length of the message whose prefix `bytes` begins with; `None` if it is not whole. For
    /// bytes that this side has framed, which need no check.
    pub fn length(self, bytes: &[u8]) -> Option<usize> {
        let length = bytes.get(self.prefix_bytes() - 8..)?.first_chunk::<8>()?;
        usize::try_from(u64::from_be_bytes(*length)).ok()
    }

    /// Takes the next message off the front of `input`. `None` means that more bytes are needed;
    /// `input` then knows how many.
    ///
    /// # Errors
    ///
    /// Fails if the peer announces a message over `limit`, or an unknown type.
    pub fn cut(self, input: &mut ReadBuf, limit: usize) -> Result<Option<Bytes>, FramingError> {
        let Some(length) = self.next(input, limit)? else {
            return Ok(None);
        };
        input.skip(self.prefix_bytes());
        Ok(Some(input.take(length)))
    }

    /// The length of the next message if all of it, including [`prefix_bytes`](Self::prefix_bytes),
    /// is at the front of `input`, where it stays; the body may be shared. `None` means that more bytes are needed; `input`
    /// then knows how many.
    ///
    /// # Errors
    ///
    /// Fails if the peer announces a message over `limit`, or an unknown type.
    pub fn next(self, input: &mut ReadBuf, limit: usize) -> Result<Option<usize>, FramingError> {
        if input.is_empty() {
            // The first byte alone may be wrong.
            input.want(1);
            return Ok(None);
        }
        Ok(match self.peek(input.as_slice(), limit)? {
            Peeked::Whole { length } => Some(length),
            Peeked::Wants { bytes } if bytes <= input.len() => {
                if input.as_slice().len() < self.prefix_bytes() && input.join_front() {
                    return self.next(input, limit);
                }
                // The body is shared.
                Some(bytes - self.prefix_bytes())
            }
            Peeked::Wants { bytes } => {
                input.want(bytes);
                None
            }
        })
    }

    /// Looks at the message that `received` begins with.
    ///
    /// # Errors
    ///
    /// Fails if the peer announces a message over `limit`, or an unknown type.
    #[inline]
    pub fn peek(self, received: &[u8], limit: usize) -> Result<Peeked, FramingError> {
        let mut prefix = received;
        if self == Framing::Ipc {
            match prefix.split_first() {
                Some((&IPC_MESSAGE, rest)) => prefix = rest,
                Some((&other, _)) => return Err(FramingError::UnknownType(other)),
                None => {}
            }
        }
        let Some((length, _)) = prefix.split_first_chunk::<8>() else {
            return Ok(Peeked::Wants { bytes: self.prefix_bytes() });
        };
        let length = u64::from_be_bytes(*length);
        // The limit may be as large as a usize; a length that does not fit into memory is always
        // over it.
        let whole = usize::try_from(length)
            .ok()
            .filter(|length| *length <= limit)
            .and_then(|message| Some((message, message.checked_add(self.prefix_bytes())?)));
        let Some((message, whole)) = whole else {
            return Err(FramingError::TooLong { length, limit });
        };
        if received.len() < whole {
            return Ok(Peeked::Wants { bytes: whole });
        }
        Ok(Peeked::Whole { length: message })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn framed(framing: Framing, messages: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for message in messages {
            let (prefix, used) = framing.prefix(message.len());
            bytes.extend_from_slice(&prefix[..used]);
            bytes.extend_from_slice(message);
        }
        bytes
    }

    #[test]
    fn the_length_of_a_framed_message_is_read_back() {
        for framing in [Framing::Tcp, Framing::Ipc] {
            let wire = framed(framing, &[b"three", b"more"]);
            assert_eq!(framing.length(&wire), Some(5));
            assert_eq!(framing.length(&wire[..framing.prefix_bytes() - 1]), None);
        }
    }

    /// The messages are split at every possible byte, and the same messages must come out.
    #[test]
    fn messages_survive_being_torn() {
        for framing in [Framing::Tcp, Framing::Ipc] {
            let messages: [&[u8]; 3] = [b"one", b"", b"three"];
            let wire = framed(framing, &messages);
            for cut in 0..=wire.len() {
                let mut input = ReadBuf::new();
                let mut seen = Vec::new();
                for part in [&wire[..cut], &wire[cut..]] {
                    input.fill(part);
                    while let Some(message) = framing.cut(&mut input, 5).expect("well formed") {
                        seen.push(message.to_vec());
                    }
                }
                assert_eq!(seen, messages, "{framing:?} torn at {cut}");
                assert_eq!(input.len(), 0);
            }
        }
    }

    /// As a sender of the same process hands them over, also if it splits the framing.
    #[test]
    fn shared_bodies_are_cut_off_wherever_they_begin() {
        for framing in [Framing::Tcp, Framing::Ipc] {
            let messages: [&[u8]; 3] = [b"one", b"long body", b""];
            let wire = framed(framing, &messages);
            for from in 0..wire.len() {
                for to in from..=wire.len() {
                    let mut input = ReadBuf::new().sharing();
                    input.append(&wire[..from]);
                    input.append_shared(Bytes::copy_from_slice(&wire[from..to]));
                    input.append(&wire[to..]);
                    for message in messages {
                        let cut = framing.cut(&mut input, 9).expect("well formed");
                        assert_eq!(cut.as_deref(), Some(message), "{framing:?} {from} {to}");
                    }
                    assert!(input.is_empty() && framing.cut(&mut input, 9).unwrap().is_none());
                }
            }
        }
    }

    #[test]
    fn a_length_over_the_limit_is_refused_after_eight_bytes() {
        for length in [6, 1 << 60, 1 << 63, u64::MAX - 40, u64::MAX] {
            let mut input = ReadBuf::new();
            input.fill(&length.to_be_bytes());
            let refused = Framing::Tcp.cut(&mut input, 5);
            assert_eq!(refused, Err(FramingError::TooLong { length, limit: 5 }));
        }
    }

    #[test]
    fn only_type_one_is_known_on_ipc() {
        let mut input = ReadBuf::new();
        input.fill(&[2]);
        assert_eq!(Framing::Ipc.cut(&mut input, 5), Err(FramingError::UnknownType(2)));
    }
}
