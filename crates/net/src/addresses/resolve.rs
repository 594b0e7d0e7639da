//! From a host and a port to the addresses that they mean.

use std::io;
use std::net::{SocketAddr, SocketAddrV6};

use tokio::net::lookup_host;

use crate::addresses::address::Address;
use crate::error::{NetError, NetErrorKind};

/// The addresses of `host`, which is in numbers or a name, in the resolver's order.
pub(crate) async fn resolve(
    address: &Address,
    host: &str,
    port: u16,
) -> Result<Vec<SocketAddr>, NetError> {
    if let Some(numeric) = numeric(address, host, port)? {
        return Ok(vec![numeric]);
    }
    let failed = |error| NetError::new(address, NetErrorKind::Unresolved(error));
    let found: Vec<SocketAddr> = lookup_host((host, port)).await.map_err(failed)?.collect();
    match found.is_empty() {
        false => Ok(found),
        true => Err(NetError::new(address, NetErrorKind::UnknownHost)),
    }
}

/// A host in numbers. One of IPv6 may have a zone behind a `%`: an interface, by its name or number
/// (RFC 4007, section 11).
fn numeric(address: &Address, host: &str, port: u16) -> Result<Option<SocketAddr>, NetError> {
    // The syntax of a socket address knows zones by number.
    if let Ok(numeric) = format!("[{host}]:{port}").parse() {
        return Ok(Some(numeric));
    }
    let Some((host, zone)) = host.split_once('%') else {
        return Ok(host.parse().ok().map(|ip| SocketAddr::new(ip, port)));
    };
    let Ok(ip) = host.parse() else { return Ok(None) };
    let scope = interface_number(zone).map_err(|_| {
        let rule = "behind % there must be a network interface, by its name or number";
        NetError::new(address, NetErrorKind::BadAddress { rule })
    })?;
    Ok(Some(SocketAddrV6::new(ip, port, 0, scope).into()))
}

/// The number of the interface `name`.
fn interface_number(name: &str) -> io::Result<u32> {
    if name.is_empty() || name.contains('/') {
        return Err(io::ErrorKind::NotFound.into());
    }
    let number = std::fs::read_to_string(format!("/sys/class/net/{name}/ifindex"))?;
    number.trim().parse().map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_zone_is_an_interface_by_name_or_number() {
        let address = Address::new("tcp", "x");
        let loopback = interface_number("lo").unwrap();
        for zone in ["lo".to_owned(), loopback.to_string()] {
            let host = format!("fe80::1%{zone}");
            let found = resolve(&address, &host, 7).await.unwrap();
            let expected = SocketAddrV6::new("fe80::1".parse().unwrap(), 7, 0, loopback);
            assert_eq!(found, [expected.into()]);
        }
        for host in ["fe80::1%", "fe80::1%no-such-interface", "fe80::1%../lo"] {
            let refused = resolve(&address, host, 7).await.unwrap_err();
            assert!(matches!(refused.kind, NetErrorKind::BadAddress { .. }), "{host}: {refused}");
        }
    }

    #[tokio::test]
    async fn numbers_need_no_resolver_and_a_failed_lookup_says_why() {
        let address = Address::new("tcp", "x");
        for (host, expected) in [("127.0.0.1", "127.0.0.1:7"), ("::1", "[::1]:7")] {
            let found = resolve(&address, host, 7).await.unwrap();
            assert_eq!(found, [expected.parse().unwrap()]);
        }
        // RFC 6761 reserves the domain: nobody has it.
        let refused = resolve(&address, "nobody.invalid", 7).await.unwrap_err();
        let NetErrorKind::Unresolved(reason) = &refused.kind else { panic!("{refused}") };
        assert!(refused.to_string().contains(&reason.to_string()), "{refused}");
    }
}
