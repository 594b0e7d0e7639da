//! The addresses of a network interface, by its name.
//!
//! They come from the kernel over a route socket (rtnetlink(7)): one request, and a dump of all
//! addresses as the answer. The C library does the same; doing it here needs no unsafe call.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const AF_NETLINK: i32 = 16;
const NETLINK_ROUTE: i32 = 0;

/// Message types and flags of netlink(7) and rtnetlink(7).
const DONE: u16 = 3;
const NEW_ADDRESS: u16 = 20;
const GET_ADDRESS: u16 = 22;
const REQUEST_DUMP: u16 = 0x301;

/// Attributes of an address.
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
const LABEL: u16 = 3;

/// Bytes of the headers of a message, of an address in it, and of an attribute.
const MESSAGE_HEADER: usize = 16;
const ADDRESS_HEADER: usize = 8;
const ATTRIBUTE_HEADER: usize = 4;

/// Parts of an answer that are read at most: each has some 50 addresses, so it is 5,000.
const PARTS_MAX: usize = 100;

/// Limit for the kernel's answer, which normally comes at once.
const ANSWER_MAX: Duration = Duration::from_millis(500);

/// One address of this machine.
#[derive(Debug, PartialEq, Eq)]
struct InterfaceAddress {
    interface: u32,
    /// The interface's name; the kernel reports it for IPv4 only.
    label: Option<String>,
    address: IpAddr,
}

/// The addresses of the interface `name`, IPv4 first; empty if it has none or does not exist. An
/// interface without an IPv4 address is not found by its name.
pub(crate) fn addresses(name: &str) -> io::Result<Vec<IpAddr>> {
    let own = dump()?;
    let Some(index) =
        own.iter().find(|own| own.label.as_deref() == Some(name)).map(|own| own.interface)
    else {
        return Ok(Vec::new());
    };
    let mut found: Vec<IpAddr> = own
        .into_iter()
        // Another label on the same interface is an alias with an address of its own.
        .filter(|own| own.interface == index && own.label.as_deref().is_none_or(|l| l == name))
        .map(|own| own.address)
        .collect();
    found.sort_by_key(IpAddr::is_ipv6);
    Ok(found)
}

fn dump() -> io::Result<Vec<InterfaceAddress>> {
    let netlink = Domain::from(AF_NETLINK);
    let mut socket = Socket::new(netlink, Type::RAW, Some(Protocol::from(NETLINK_ROUTE)))?;
    socket.set_read_timeout(Some(ANSWER_MAX))?;
    socket.send(&question())?;
    let mut own = Vec::new();
    let mut part = vec![0; 32 * 1024];
    for _ in 0..PARTS_MAX {
        let length = socket.read(&mut part)?;
        if take_part(part.get(..length).unwrap_or_default(), &mut own) {
            break;
        }
    }
    Ok(own)
}

/// The request for all addresses of every family: a message header and an empty address header.
fn question() -> Vec<u8> {
    let length = (MESSAGE_HEADER + ADDRESS_HEADER) as u32;
    let mut bytes = Vec::with_capacity(length as usize);
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&GET_ADDRESS.to_ne_bytes());
    bytes.extend_from_slice(&REQUEST_DUMP.to_ne_bytes());
    bytes.resize(length as usize, 0);
    bytes
}

/// Reads one part of the answer; true if it was the last.
fn take_part(mut bytes: &[u8], own: &mut Vec<InterfaceAddress>) -> bool {
    while let Some((length, kind)) = lengths_of_message(bytes) {
        let Some((message, rest)) = cut(bytes, length, MESSAGE_HEADER) else {
            return true;
        };
        match kind {
            NEW_ADDRESS => own.extend(address(message)),
            // The end, or an error, which is the end too.
            0..=DONE => return true,
            _ => {}
        }
        bytes = rest;
    }
    false
}

fn address(message: &[u8]) -> Option<InterfaceAddress> {
    let ([family, _, _, _, i0, i1, i2, i3], mut attributes) =
        message.split_first_chunk::<ADDRESS_HEADER>()?;
    let interface = u32::from_ne_bytes([*i0, *i1, *i2, *i3]);
    let (mut peer, mut local, mut label) = (None, None, None);
    while let Some(([l0, l1, k0, k1], _)) = attributes.split_first_chunk::<ATTRIBUTE_HEADER>() {
        let length = usize::from(u16::from_ne_bytes([*l0, *l1]));
        let Some((value, rest)) = cut(attributes, length, ATTRIBUTE_HEADER) else {
            break;
        };
        match u16::from_ne_bytes([*k0, *k1]) {
            ADDRESS => peer = number(*family, value),
            LOCAL => local = number(*family, value),
            LABEL => label = Some(String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()),
            _ => {}
        }
        attributes = rest;
    }
    // On a point-to-point link ADDRESS is the other end; LOCAL, if present, is always ours.
    Some(InterfaceAddress { interface, label, address: local.or(peer)? })
}

fn number(family: u8, value: &[u8]) -> Option<IpAddr> {
    match family {
        AF_INET => Some(Ipv4Addr::from(*value.first_chunk::<4>()?).into()),
        AF_INET6 => Some(Ipv6Addr::from(*value.first_chunk::<16>()?).into()),
        _ => None,
    }
}

/// The length and the type of a message, from its header.
fn lengths_of_message(bytes: &[u8]) -> Option<(usize, u16)> {
    let [l0, l1, l2, l3, k0, k1] = *bytes.first_chunk::<6>()?;
    let length = usize::try_from(u32::from_ne_bytes([l0, l1, l2, l3])).ok()?;
    Some((length, u16::from_ne_bytes([k0, k1])))
}

/// Splits a piece of `length` bytes, header included, into its body and the rest after the next
/// multiple of four.
fn cut(bytes: &[u8], length: usize, header: usize) -> Option<(&[u8], &[u8])> {
    let body = bytes.get(header..length)?;
    let next = length.next_multiple_of(4);
    Some((body, bytes.get(next..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = (ATTRIBUTE_HEADER + value.len()) as u16;
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn message(kind: u16, family: u8, index: u32, attributes: &[Vec<u8>]) -> Vec<u8> {
        let mut body = vec![family, 24, 0, 0];
        body.extend_from_slice(&index.to_ne_bytes());
        body.extend(attributes.iter().flatten());
        let length = (MESSAGE_HEADER + body.len()) as u32;
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.resize(MESSAGE_HEADER, 0);
        bytes.extend(body);
        bytes
    }

    fn sample() -> Vec<u8> {
        let v4 = [attribute(ADDRESS, &[10, 0, 0, 1]), attribute(LOCAL, &[10, 0, 0, 7])];
        let named = [&v4[..], &[attribute(LABEL, b"eth0\0")]].concat();
        let v6 = [attribute(ADDRESS, &[0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9])];
        [
            message(NEW_ADDRESS, AF_INET, 2, &named),
            message(NEW_ADDRESS, AF_INET6, 2, &v6),
            message(DONE, 0, 0, &[]),
        ]
        .concat()
    }

    #[test]
    fn an_answer_is_read_to_its_end() {
        let mut own = Vec::new();
        assert!(take_part(&sample(), &mut own));
        let label = Some("eth0".to_owned());
        let v4 = InterfaceAddress { interface: 2, label, address: "10.0.0.7".parse().unwrap() };
        let v6 =
            InterfaceAddress { interface: 2, label: None, address: "fe80::9".parse().unwrap() };
        assert_eq!(own, [v4, v6]);
    }

    /// An answer that is cut anywhere or has any byte changed is still read to some end.
    #[test]
    fn a_broken_answer_does_not_panic() {
        let whole = sample();
        for end in 0..whole.len() {
            take_part(&whole[..end], &mut Vec::new());
            for value in [0, 1, 3, 255] {
                let mut changed = whole.clone();
                changed[end] = value;
                take_part(&changed, &mut Vec::new());
            }
        }
    }

    #[test]
    fn the_loopback_is_found_by_its_name() {
        let found = addresses("lo").unwrap();
        assert_eq!(found.first(), Some(&IpAddr::from([127, 0, 0, 1])), "{found:?}");
        assert_eq!(addresses("no-such-interface").unwrap(), Vec::<IpAddr>::new());
    }
}
