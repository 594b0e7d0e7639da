//! The caller of a call from outside of the process, and its authenticated identity.

use std::fmt;
use std::sync::Arc;

/// The authenticated identity of a peer.
///
/// Its text names the kind and the name: `key:worker`, `cert:worker.example`, `uid:1000`, `process`
/// or `anonymous`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Principal {
    /// The peer has proven nothing.
    Anonymous,
    /// The peer is in the same process.
    Process,
    /// A user of this machine, as the kernel reports it for a Unix socket.
    User(u32),
    /// The peer has proven that it has the shared key with this name.
    Key(Arc<str>),
    /// The peer has a certificate, which TLS has checked, for this name: its first DNS name, or
    /// `sha256:` and the digest of the certificate in hexadecimal if it has none.
    Certificate(Arc<str>),
}

impl Principal {
    /// The holder of the shared key with this name.
    pub fn key(name: impl Into<Arc<str>>) -> Principal {
        Principal::Key(name.into())
    }

    /// The holder of a certificate for this name.
    pub fn certificate(name: impl Into<Arc<str>>) -> Principal {
        Principal::Certificate(name.into())
    }

    /// True unless the peer has proven nothing.
    pub fn is_authenticated(&self) -> bool {
        *self != Principal::Anonymous
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Principal::Anonymous => f.write_str("anonymous"),
            Principal::Process => f.write_str("process"),
            Principal::User(uid) => write!(f, "uid:{uid}"),
            Principal::Key(name) => write!(f, "key:{name}"),
            Principal::Certificate(name) => write!(f, "cert:{name}"),
        }
    }
}

/// The caller of a call that came from another node or from an SP client, from
/// [`This::caller`](crate::This::caller).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caller {
    /// The identity of the peer. Only this is proven.
    pub principal: Principal,
    /// The address of the peer.
    pub peer: Arc<str>,
    /// The name of the peer's node, if it has one. Any node can take any name.
    pub node: Option<Arc<str>>,
}

impl Caller {
    /// The caller at an address, for the code that knows its session.
    pub fn new(principal: Principal, peer: Arc<str>, node: Option<Arc<str>>) -> Caller {
        Caller { principal, peer, node }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_is_shown_with_its_kind_and_name() {
        let all = [
            Principal::Anonymous,
            Principal::Process,
            Principal::User(1000),
            Principal::key("worker"),
            Principal::certificate("worker.example"),
        ];
        let texts = all.iter().map(ToString::to_string).collect::<Vec<_>>();
        let expected = ["anonymous", "process", "uid:1000", "key:worker", "cert:worker.example"];
        assert_eq!(texts, expected);
        let authenticated = all.iter().map(Principal::is_authenticated).collect::<Vec<_>>();
        assert_eq!(authenticated, [false, true, true, true, true]);
    }
}
