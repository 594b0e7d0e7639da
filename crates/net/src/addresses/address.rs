//! Addresses of peers, as people write them: `scheme://rest`.

use std::fmt;
use std::str::FromStr;

use crate::error::{NetError, NetErrorKind};

/// An address whose scheme belongs to a known transport.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    scheme: &'static str,
    rest: String,
}

impl Address {
    /// Creates an address from its parts; transports use it to report where they listen.
    pub fn new(scheme: &'static str, rest: impl Into<String>) -> Address {
        Address { scheme, rest: rest.into() }
    }

    /// The transport's name: `tcp`, `ipc`, `abstract`, `inproc`, `socket`, or that of a registered
    /// transport.
    pub fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// The part after `://`.
    pub fn rest(&self) -> &str {
        &self.rest
    }

    /// Splits off the last path segment: `tcp://host:1/counter` is the peer `tcp://host:1` and the
    /// name `counter`. `None` if there is no such segment.
    pub fn split_name(&self) -> Option<(Address, &str)> {
        let (rest, name) = self.rest.rsplit_once('/')?;
        if rest.is_empty() || name.is_empty() {
            return None;
        }
        Some((Address::new(self.scheme, rest), name))
    }
}

impl FromStr for Address {
    type Err = NetError;

    fn from_str(text: &str) -> Result<Address, NetError> {
        let bad = |rule: &'static str| NetError::new(text, NetErrorKind::BadAddress { rule });
        let (scheme, rest) =
            text.split_once("://").ok_or_else(|| bad("an address begins with a scheme and ://"))?;
        if rest.is_empty() {
            return Err(bad("an address needs something after ://"));
        }
        match crate::transport::by_scheme(scheme) {
            Some(transport) => Ok(Address::new(transport.scheme(), rest)),
            None => Err(NetError::new(text, NetErrorKind::UnknownScheme)),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_parsed_and_printed_unchanged() {
        for text in [
            "tcp://127.0.0.1:7001",
            "tcp://eth0;[::1]:7001",
            "ipc:///tmp/a.sock",
            "ipc://@hub",
            "abstract://hub",
            "inproc://hub",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_name_is_the_last_segment() {
        let address: Address = "ipc:///tmp/a.sock/counter".parse().unwrap();
        let (peer, name) = address.split_name().unwrap();
        assert_eq!((peer.to_string().as_str(), name), ("ipc:///tmp/a.sock", "counter"));
        assert_eq!("tcp://127.0.0.1:1".parse::<Address>().unwrap().split_name(), None);
        assert_eq!("ipc:///a".parse::<Address>().unwrap().split_name(), None);
    }

    #[test]
    fn a_bad_address_says_what_is_wrong() {
        for text in ["localhost:80", "tcp://", "gopher://x"] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}
