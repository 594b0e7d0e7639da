//! Errors of connections and listeners: the reason, the party at fault, and how to fix it.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use wigwag_wire::hint::{write_debug, write_error};
use wigwag_wire::{Fault, FramingError, HeaderError};

#[cfg(feature = "tls")]
use crate::transports::tls::TlsError;

/// An error of one connection or listener, with its address.
///
/// `{}` prints the address and the reason in one line; `{:#}` prints the reason, the address and a
/// hint how to fix it on three.
pub struct NetError {
    /// The address as the caller wrote it, or that of the peer.
    pub address: String,
    /// The reason.
    pub kind: NetErrorKind,
}

/// The reason of a [`NetError`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetErrorKind {
    /// The address is malformed.
    #[error("the address is malformed: {rule}")]
    BadAddress {
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// No transport serves the scheme.
    #[error("no transport serves this scheme")]
    UnknownScheme,
    /// The host's name has no address.
    #[error("the host's name has no address")]
    UnknownHost,
    /// The lookup of the host's name has failed: there is no such name, or no answer.
    #[error("the host's name cannot be resolved: {0}")]
    Unresolved(io::Error),
    /// The connection was refused, or the path or name does not exist.
    #[error("nobody listens there")]
    NobodyListens,
    /// Another listener has the address.
    #[error("the address is in use")]
    InUse,
    /// The directory of a listener's socket file does not exist.
    #[error("the socket file cannot be made: its directory does not exist")]
    NoDirectory,
    /// A file that is no socket, a directory or a symbolic link has the path to listen at.
    #[error("the path is that of a file, directory or link, and not of a socket")]
    NotASocket,
    /// No interface of this machine has the address to listen at.
    #[error("no interface of this machine has that address")]
    NotLocal,
    /// The operating system forbids it.
    #[error("permission denied")]
    Denied,
    /// No answer arrived in time.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The connection was evicted before its handshake was complete, to make room for a newer one.
    #[error("the connection was closed for a newer one before its handshake was complete")]
    Evicted,
    /// The other end of a shm address does not share memory.
    #[error("the peer does not share memory")]
    NotShared,
    /// The peer's first eight bytes are wrong.
    #[error("{0}")]
    Header(HeaderError),
    /// The peer's bytes cannot be split into messages.
    #[error("{0}")]
    Framing(FramingError),
    /// TLS refused or lost the connection, or its configuration is wrong.
    #[cfg(feature = "tls")]
    #[error("{0}")]
    Tls(TlsError),
    /// The peer closed the connection.
    #[error("the peer closed the connection {when}")]
    Closed {
        /// When it closed the connection.
        when: &'static str,
    },
    /// The socket's owner, or its protocol, refused this peer.
    #[error("the peer was turned away: {rule}")]
    TurnedAway {
        /// The rule of the owner or the protocol.
        rule: String,
    },
    /// The socket, dialer or listener was closed.
    #[error("it was closed here")]
    ClosedHere,
    /// A limit is reached.
    #[error("there are {most} {what} already, which is the limit")]
    TooMany {
        /// The name of the limited items, in the plural.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// The WebSocket of a ws address failed.
    #[cfg(feature = "ws")]
    #[error("{0}")]
    WebSocket(crate::transports::ws::WsError),
    /// Any other error of the operating system.
    #[error("{0}")]
    Io(io::Error),
}

impl NetError {
    /// Creates an error at `address`.
    pub fn new(address: impl ToString, kind: impl Into<NetErrorKind>) -> NetError {
        NetError { address: address.to_string(), kind: kind.into() }
    }

    /// The party at fault.
    pub fn fault(&self) -> Fault {
        match &self.kind {
            NetErrorKind::BadAddress { .. }
            | NetErrorKind::UnknownScheme
            | NetErrorKind::NotShared
            | NetErrorKind::TurnedAway { .. }
            | NetErrorKind::ClosedHere
            | NetErrorKind::TooMany { .. } => Fault::Caller,
            NetErrorKind::UnknownHost
            | NetErrorKind::Unresolved(_)
            | NetErrorKind::NobodyListens => Fault::Network,
            NetErrorKind::InUse
            | NetErrorKind::NoDirectory
            | NetErrorKind::NotASocket
            | NetErrorKind::NotLocal
            | NetErrorKind::Denied => Fault::Machine,
            NetErrorKind::TimedOut(_) | NetErrorKind::Evicted | NetErrorKind::Closed { .. } => {
                Fault::Peer
            }
            NetErrorKind::Header(HeaderError::WrongProtocol { .. }) => Fault::Caller,
            NetErrorKind::Header(_) | NetErrorKind::Framing(_) => Fault::Peer,
            #[cfg(feature = "ws")]
            NetErrorKind::WebSocket(error) if error.is_by_caller() => Fault::Caller,
            #[cfg(feature = "ws")]
            NetErrorKind::WebSocket(_) => Fault::Peer,
            #[cfg(feature = "tls")]
            NetErrorKind::Tls(error) => error.fault(),
            NetErrorKind::Io(error) => match error.kind() {
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof => Fault::Peer,
                io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
                    Fault::Network
                }
                _ => Fault::Machine,
            },
        }
    }

    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        self.kind.hint()
    }
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_error(f, &self.address, format_args!("{}", self.kind), self.hint())
    }
}

impl fmt::Debug for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "NetError", Some(&self.kind), self, self.hint())
    }
}

impl Error for NetError {}

impl NetErrorKind {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            NetErrorKind::BadAddress { .. } => {
                "write it like tcp://127.0.0.1:7001, ipc:///run/app.sock or inproc://name"
            }
            NetErrorKind::UnknownScheme => {
                "use tcp://, ipc://, abstract:// or inproc://; tls+tcp://, ws:// and shm:// need the \
                 features `tls`, `ws` and `shm`, and wss:// the first two"
            }
            NetErrorKind::UnknownHost | NetErrorKind::Unresolved(_) => {
                "check the spelling, or give the address in numbers"
            }
            NetErrorKind::NobodyListens => "start the peer there, or dial again once it is up",
            NetErrorKind::InUse => {
                "close the other listener, or listen at another address; tcp:// with port 0 takes a \
                 free one"
            }
            NetErrorKind::NoDirectory => "make the directory first, or check the path's spelling",
            NetErrorKind::NotASocket => "listen at another path, or remove what is there",
            NetErrorKind::NotLocal => {
                "listen on one of this machine's addresses, or on all of them with tcp://:PORT"
            }
            NetErrorKind::Denied => "check the rights on the path, or take a port above 1023",
            NetErrorKind::TimedOut(_) => "check that the peer is alive and is an SP program",
            NetErrorKind::Evicted => "have the peer send its first bytes at once",
            NetErrorKind::NotShared | NetErrorKind::Header(HeaderError::OffersMemory) => {
                "use shm:// at both ends, or ipc:// at both"
            }
            NetErrorKind::Header(HeaderError::WrongProtocol { .. }) => {
                "use the partner's socket type at one of the two ends"
            }
            NetErrorKind::Header(HeaderError::SpeaksHttp) => {
                "this port belongs to a web server: dial the SP port instead, or ws:// if SP is there"
            }
            NetErrorKind::Header(HeaderError::SpeaksTls) => {
                "this port speaks TLS: dial tls+tcp://, or have the peer use tcp://"
            }
            NetErrorKind::Header(_) => "check the port: the program there is not an SP peer",
            NetErrorKind::Framing(FramingError::TooLong { .. }) => {
                "raise the receive limit here, or send smaller messages there"
            }
            NetErrorKind::Framing(_) => "the peer is broken or hostile: look at its version",
            #[cfg(feature = "tls")]
            NetErrorKind::Tls(error) => error.hint(),
            NetErrorKind::Closed { .. } => "look at the peer's log for its reason",
            NetErrorKind::TurnedAway { .. } => "see to the rule, or dial with another socket",
            NetErrorKind::ClosedHere => "make a new one",
            NetErrorKind::TooMany { .. } => "let go of those that are not used",
            #[cfg(feature = "ws")]
            NetErrorKind::WebSocket(error) => error.hint(),
            NetErrorKind::Io(_) => "the operating system's message tells more",
        }
    }
}

impl NetErrorKind {
    /// Maps an error of the calls that create a listener. Some errors mean something else than for
    /// a dialer, because no peer is involved.
    pub(crate) fn of_listen(error: io::Error) -> NetErrorKind {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => NetErrorKind::NoDirectory,
            io::ErrorKind::AddrNotAvailable => NetErrorKind::NotLocal,
            _ => error.into(),
        }
    }
}

impl NetErrorKind {
    /// The error that a layer of the connection has put into that of a read or write.
    pub(crate) fn of_layer(error: &io::Error) -> Option<&NetErrorKind> {
        error.get_ref()?.downcast_ref()
    }

    /// True if the peer broke the rules of the connection.
    pub(crate) fn is_punished(&self) -> bool {
        match self {
            NetErrorKind::Framing(_) => true,
            #[cfg(feature = "ws")]
            NetErrorKind::WebSocket(error) => {
                matches!(error, crate::transports::ws::WsError::BadFrame { .. })
            }
            _ => false,
        }
    }
}

/// Maps an error of a dial, or of a connection. A transport that knows the reason, as a
/// [layer](crate::layered) does, returns it within the error of a read or write.
impl From<io::Error> for NetErrorKind {
    fn from(error: io::Error) -> NetErrorKind {
        let error = match error.downcast::<NetErrorKind>() {
            Ok(known) => return known,
            Err(error) => error,
        };
        match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
                NetErrorKind::NobodyListens
            }
            io::ErrorKind::AddrInUse => NetErrorKind::InUse,
            io::ErrorKind::PermissionDenied => NetErrorKind::Denied,
            _ => NetErrorKind::Io(error),
        }
    }
}

impl From<HeaderError> for NetErrorKind {
    fn from(error: HeaderError) -> NetErrorKind {
        NetErrorKind::Header(error)
    }
}

#[cfg(feature = "tls")]
impl From<TlsError> for NetErrorKind {
    fn from(error: TlsError) -> NetErrorKind {
        NetErrorKind::Tls(error)
    }
}

impl From<FramingError> for NetErrorKind {
    fn from(error: FramingError) -> NetErrorKind {
        NetErrorKind::Framing(error)
    }
}
