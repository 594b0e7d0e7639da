//! IPv6 addresses as people type them.

use std::net::Ipv6Addr;

/// The address with its host in brackets, if that is an IPv6 address without them.
pub(crate) fn bracketed(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let (place, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let (host, port) = place.rsplit_once(':')?;
    host.parse::<Ipv6Addr>().ok()?;
    Some(format!("{scheme}://[{host}]:{port}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_address_without_brackets_is_recognised() {
        for (written, meant) in [
            ("tcp://::1:7927", Some("tcp://[::1]:7927")),
            ("ws://fe80::1:80/path", Some("ws://[fe80::1]:80/path")),
            ("tcp://[::1]:7927", None),
            ("tcp://localhost:7927", None),
            ("tcp://:7927", None),
            ("tcp://a:b:c", None),
        ] {
            assert_eq!(bracketed(written).as_deref(), meant, "{written}");
        }
    }
}
