//! The origin of a connection, for limits on a single peer.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use crate::transport::Connection;

/// Bits of an IPv6 address that name a network: a host has all addresses within it.
const IPV6_NETWORK_BITS: u32 = 64;

/// The origin of a connection. Connections of one source share the limits of one peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A user of this machine, as reported by the kernel (Unix sockets).
    User(u32),
    /// A host; for IPv6 its network of 64 bits.
    Host(IpAddr),
    /// Any other origin, by the name that its transport reports.
    Name(Arc<str>),
}

impl Source {
    /// The source of `connection`.
    pub fn of(connection: &Connection) -> Source {
        if let Some(credentials) = connection.credentials {
            return Source::User(credentials.uid);
        }
        let text = connection.peer.split_once("://").map_or(&*connection.peer, |(_, rest)| rest);
        match text.parse::<SocketAddr>() {
            Ok(address) => Source::Host(network(address.ip())),
            Err(_) => Source::Name(connection.peer.clone()),
        }
    }
}

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(host) => {
            let mask = u128::MAX << (128 - IPV6_NETWORK_BITS);
            Ipv6Addr::from_bits(host.to_bits() & mask).into()
        }
        host => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_is_one_source_and_each_ipv4_address_is_its_own() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}
