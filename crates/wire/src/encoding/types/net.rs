//! Addresses of the internet, written as people write them.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use crate::encoding::collections::nested;
use crate::encoding::msgpack::put_array;
use crate::encoding::types::text::{parsed, put_text};
use crate::{Buffer, Decode, DecodeError, Encode, Reader};

/// A text, such as `"127.0.0.1"`, `"::1"` or `"127.0.0.1:80"`.
macro_rules! texts {
    ($($type:ident: $expected:literal),*) => {$(
        impl Encode for $type {
            const IS_PLAIN: bool = true;
            fn encode(&self, out: &mut Buffer) {
                put_text(out, self);
            }
        }

        impl<'a> Decode<'a> for $type {
            fn decode(reader: &mut Reader<'a>) -> Result<$type, DecodeError> {
                parsed(reader, $expected)
            }
        }
    )*};
}
texts!(
    IpAddr: "an IP address", Ipv4Addr: "an IPv4 address", Ipv6Addr: "an IPv6 address",
    SocketAddrV4: "an IPv4 address with a port"
);

/// A text, such as `"[::1]:80"`; if there is flow information, which has no place in the text, an
/// array of the text and that number.
impl Encode for SocketAddrV6 {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        if self.flowinfo() != 0 {
            put_array(out, 2);
        }
        put_text(out, self);
        if self.flowinfo() != 0 {
            self.flowinfo().encode(out);
        }
    }
}

impl<'a> Decode<'a> for SocketAddrV6 {
    fn decode(reader: &mut Reader<'a>) -> Result<SocketAddrV6, DecodeError> {
        const EXPECTED: &str = "an IPv6 address with a port";
        if !matches!(reader.peek(), Some(0x90..=0x9F)) {
            return parsed(reader, EXPECTED);
        }
        nested(reader, |reader, count| {
            if count != 2 {
                return Err(DecodeError::OutOfRange { expected: EXPECTED });
            }
            let mut address: SocketAddrV6 = parsed(reader, EXPECTED)?;
            address.set_flowinfo(u32::decode(reader)?);
            Ok(address)
        })
    }
}

/// As that of its version.
impl Encode for SocketAddr {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        match self {
            SocketAddr::V4(address) => address.encode(out),
            SocketAddr::V6(address) => address.encode(out),
        }
    }
}

impl<'a> Decode<'a> for SocketAddr {
    fn decode(reader: &mut Reader<'a>) -> Result<SocketAddr, DecodeError> {
        match reader.peek() {
            Some(0x90..=0x9F) => SocketAddrV6::decode(reader).map(SocketAddr::V6),
            _ => parsed(reader, "an IP address with a port"),
        }
    }
}
