//! The first eight bytes of every SP connection on a byte stream.
//!
//! Both sides send `00 'S' 'P' 00`, their own protocol number and two zero bytes, at once and
//! without waiting (RFC sp-tcp-mapping-01, section 3). On any mismatch the connection is closed
//! without a message, so the reader's error must name the cause.

use core::fmt;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 8;

/// The letters with which a dialer of `shm://` offers its memory; a version follows.
pub const MEMORY_OFFER: &[u8; 7] = b"wigshm\0";

/// The number of an SP protocol, as announced in the header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProtocolNumber(pub u16);

macro_rules! protocols {
    ($($constant:ident $number:literal $peer:literal $name:literal)*) => {
        impl ProtocolNumber {
            $(#[doc = concat!("The protocol ", $name, ".")]
            pub const $constant: ProtocolNumber = ProtocolNumber($number);)*

            /// The only protocol that this one talks to; `None` for an unknown number.
            pub const fn partner(self) -> Option<ProtocolNumber> {
                match self.0 {
                    $($number => Some(ProtocolNumber($peer)),)*
                    _ => None,
                }
            }

            /// The protocol of this name, in letters of either case.
            pub const fn from_name(name: &str) -> Option<ProtocolNumber> {
                $(if name.eq_ignore_ascii_case($name) {
                    return Some(ProtocolNumber($number));
                })*
                None
            }

            /// The name in capitals, as in the specifications; `None` for an unknown number.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}
protocols! {
    PAIR0 0x10 0x10 "PAIR"
    PAIR1 0x11 0x11 "PAIR1"
    PUB 0x20 0x21 "PUB"
    SUB 0x21 0x20 "SUB"
    REQ 0x30 0x31 "REQ"
    REP 0x31 0x30 "REP"
    PUSH 0x50 0x51 "PUSH"
    PULL 0x51 0x50 "PULL"
    SURVEYOR 0x62 0x63 "SURVEYOR"
    RESPONDENT 0x63 0x62 "RESPONDENT"
    BUS 0x70 0x70 "BUS"
    STAR 0x640 0x640 "STAR"
}

impl fmt::Display for ProtocolNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "protocol 0x{:x}", self.0),
        }
    }
}

impl fmt::Debug for ProtocolNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}(0x{:x})", self.0)
    }
}

/// A well-formed header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The sender's own protocol.
    pub protocol: ProtocolNumber,
}

/// Why eight bytes are not the header of a usable peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// The bytes look like the start of an HTTP request or response.
    #[error("the peer speaks HTTP")]
    SpeaksHttp,
    /// The bytes look like a TLS record.
    #[error("the peer speaks TLS")]
    SpeaksTls,
    /// The bytes look like a dialer's offer of shared memory.
    #[error("the peer offers shared memory, as a dialer of shm:// does")]
    OffersMemory,
    /// Neither SP nor another known protocol.
    #[error("the peer does not speak SP: its first bytes are `{}`", .0.escape_ascii())]
    BadMagic([u8; HEADER_BYTES]),
    /// SP, but of a version other than 0.
    #[error("the peer speaks SP version {0}, we speak version 0")]
    BadVersion(u8),
    /// The last two bytes are not zero (NNG and mangos close the connection too).
    #[error("the reserved bytes of the SP header are not zero")]
    ReservedBits,
    /// Well formed, but not the protocol that `ours` talks to.
    #[error("the peer is a {theirs} socket, and {ours} cannot talk to it")]
    WrongProtocol {
        /// The protocol that this side announced.
        ours: ProtocolNumber,
        /// The protocol that the peer announced.
        theirs: ProtocolNumber,
    },
}

impl Header {
    /// Encodes the header.
    pub const fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let [high, low] = self.protocol.0.to_be_bytes();
        [0, b'S', b'P', 0, high, low, 0, 0]
    }

    /// Parses a header of any protocol.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a header of SP version 0.
    pub fn parse(bytes: [u8; HEADER_BYTES]) -> Result<Header, HeaderError> {
        match bytes {
            [0, b'S', b'P', 0, high, low, 0, 0] => {
                Ok(Header { protocol: ProtocolNumber(u16::from_be_bytes([high, low])) })
            }
            [0, b'S', b'P', 0, ..] => Err(HeaderError::ReservedBits),
            [0, b'S', b'P', version, ..] => Err(HeaderError::BadVersion(version)),
            // A record of the handshake, or an alert.
            [0x15 | 0x16, 3, 0..=4, ..] => Err(HeaderError::SpeaksTls),
            _ if is_http(&bytes) => Err(HeaderError::SpeaksHttp),
            _ if bytes.starts_with(MEMORY_OFFER) => Err(HeaderError::OffersMemory),
            _ => Err(HeaderError::BadMagic(bytes)),
        }
    }

    /// The error of a peer that has closed the connection before its header was whole, by its first
    /// bytes: an end with TLS answers a plain one with an alert of seven bytes.
    pub fn of_part(bytes: &[u8]) -> Option<HeaderError> {
        let mut first = [0; HEADER_BYTES];
        first.get_mut(..bytes.len())?.copy_from_slice(bytes);
        match Header::parse(first) {
            Err(known @ (HeaderError::SpeaksTls | HeaderError::SpeaksHttp)) => Some(known),
            _ => None,
        }
    }

    /// Parses a header and checks that its sender is the partner of `ours`.
    ///
    /// # Errors
    ///
    /// Fails like [`parse`](Self::parse), or if the sender speaks another protocol.
    pub fn expect_partner(
        ours: ProtocolNumber,
        bytes: [u8; HEADER_BYTES],
    ) -> Result<Header, HeaderError> {
        let header = Header::parse(bytes)?;
        if ours.partner() == Some(header.protocol) {
            Ok(header)
        } else {
            Err(HeaderError::WrongProtocol { ours, theirs: header.protocol })
        }
    }
}

fn is_http(bytes: &[u8]) -> bool {
    const STARTS: [&[u8]; 8] =
        [b"GET ", b"PUT ", b"HEAD ", b"POST ", b"HTTP/", b"DELETE ", b"OPTIONS", b"PRI * H"];
    STARTS.iter().any(|start| bytes.starts_with(start))
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn the_header_equals_that_of_other_implementations() {
        let req = Header { protocol: ProtocolNumber::REQ };
        assert_eq!(req.to_bytes(), [0x00, 0x53, 0x50, 0x00, 0x00, 0x30, 0x00, 0x00]);
        let star = Header { protocol: ProtocolNumber::STAR };
        assert_eq!(star.to_bytes(), [0x00, 0x53, 0x50, 0x00, 0x06, 0x40, 0x00, 0x00]);
        assert_eq!(Header::parse(star.to_bytes()), Ok(star));
    }

    #[test]
    fn each_wrong_header_is_named() {
        let parse = |bytes: &[u8; 8]| Header::expect_partner(ProtocolNumber::REQ, *bytes);
        assert_eq!(parse(b"GET / HT"), Err(HeaderError::SpeaksHttp));
        assert_eq!(parse(b"HTTP/1.1"), Err(HeaderError::SpeaksHttp));
        assert_eq!(parse(b"\x16\x03\x01\x02\x00\x01\x00\x01"), Err(HeaderError::SpeaksTls));
        assert_eq!(parse(b"\x15\x03\x03\0\x02\x02\x0a\0"), Err(HeaderError::SpeaksTls));
        assert_eq!(parse(b"wigshm\0\x01"), Err(HeaderError::OffersMemory));
        assert_eq!(parse(b"SSH-2.0-"), Err(HeaderError::BadMagic(*b"SSH-2.0-")));
        assert_eq!(parse(b"\0SP\x01\0\x31\0\0"), Err(HeaderError::BadVersion(1)));
        assert_eq!(parse(b"\0SP\0\0\x31\0\x01"), Err(HeaderError::ReservedBits));
        let pull =
            HeaderError::WrongProtocol { ours: ProtocolNumber::REQ, theirs: ProtocolNumber::PULL };
        assert_eq!(parse(b"\0SP\0\0\x51\0\0"), Err(pull));
        assert!(parse(b"\0SP\0\0\x31\0\0").is_ok());
    }

    #[test]
    fn the_first_bytes_of_a_stranger_are_readable() {
        for (bytes, shown) in
            [(b"SSH-2.0-", "SSH-2.0-"), (b"\0\x1b[31m\n\"", r#"\x00\x1b[31m\n\""#)]
        {
            let why = HeaderError::BadMagic(*bytes).to_string();
            assert_eq!(why, format!("the peer does not speak SP: its first bytes are `{shown}`"));
        }
    }

    #[test]
    fn a_part_of_a_header_shows_only_other_protocols() {
        let alert = b"\x15\x03\x03\0\x02\x02\x0a";
        assert_eq!(Header::of_part(alert), Some(HeaderError::SpeaksTls));
        assert_eq!(Header::of_part(b"HTTP/1"), Some(HeaderError::SpeaksHttp));
        for nothing in [&b""[..], b"\0SP\0", b"SSH-2.0", &[0x15; 9]] {
            assert_eq!(Header::of_part(nothing), None, "{nothing:02x?}");
        }
    }

    #[test]
    fn partners_are_mutual_and_have_names() {
        for number in 0..=0x700 {
            if let Some(partner) = ProtocolNumber(number).partner() {
                assert_eq!(partner.partner(), Some(ProtocolNumber(number)));
                let name = ProtocolNumber(number).name().unwrap();
                for name in [name, &name.to_ascii_lowercase()] {
                    assert_eq!(ProtocolNumber::from_name(name), Some(ProtocolNumber(number)));
                }
            }
        }
    }
}
