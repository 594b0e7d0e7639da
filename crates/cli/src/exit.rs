//! Exit codes, and the error of a command.

mod tls;

pub(crate) use tls::tls_failure;

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use wigwag::session::{Code as Link, LinkError};
use wigwag::sp::SocketErrorKind;
use wigwag::{
    CallError, CallErrorKind, NodeError,
    sp::SocketError,
    transport::{NetError, NetErrorKind},
};

use crate::ipv6;

/// The exit codes of every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Code {
    Ok = 0,
    Internal = 1,
    Usage = 2,
    CannotConnect = 3,
    NoAnswer = 4,
    WrongPeer = 5,
    VerificationFailed = 6,
    ConditionFailed = 7,
    Refused = 8,
    Unwritten = 9,
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// The error of a command, with its exit code.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) code: Code,
    error: Box<dyn Error + Send + Sync>,
}

impl Failed {
    pub(crate) fn new(code: Code, error: impl Into<Box<dyn Error + Send + Sync>>) -> Failed {
        Failed { code, error: error.into() }
    }

    /// An error of three lines: what happened, where, and how to fix it.
    pub(crate) fn with_hint(code: Code, what: &str, at: &str, hint: &str) -> Failed {
        Failed::new(code, format!("{what}\n   at: {at}\n hint: {hint}"))
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl From<NodeError> for Failed {
    fn from(error: NodeError) -> Failed {
        let code = match &error {
            NodeError::Net(net) => match explained(net) {
                Some(failed) => return failed,
                None => net_code(&net.kind),
            },
            NodeError::Session { peer, error } => match key_hint(error) {
                Some(hint) => {
                    let code = session_code(error);
                    return Failed::with_hint(code, &error.to_string(), peer, hint);
                }
                None => session_code(error),
            },
            NodeError::Call(call) => call_code(call.kind),
            NodeError::Disconnected { .. } => Code::CannotConnect,
            NodeError::NoName { .. }
            | NodeError::BadName { .. }
            | NodeError::Unprotected { .. } => Code::Usage,
            _ => Code::Internal,
        };
        Failed::new(code, error)
    }
}

impl From<NetError> for Failed {
    fn from(error: NetError) -> Failed {
        explained(&error).unwrap_or_else(|| Failed::new(net_code(&error.kind), error))
    }
}

impl From<SocketError> for Failed {
    fn from(error: SocketError) -> Failed {
        let code = match error.kind {
            SocketErrorKind::NoPeer { .. } => Code::CannotConnect,
            SocketErrorKind::Full
            | SocketErrorKind::TimedOut(_)
            | SocketErrorKind::RequestLost
            | SocketErrorKind::SurveyOver => Code::NoAnswer,
            SocketErrorKind::RequestRefused { .. } | SocketErrorKind::ReplyTooLong { .. } => {
                Code::Refused
            }
            _ => Code::Internal,
        };
        Failed::new(code, error)
    }
}

impl From<CallError> for Failed {
    fn from(error: CallError) -> Failed {
        Failed::new(call_code(error.kind), error)
    }
}

/// Of what a command needs for itself: its runtime, and the signals that it catches.
impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Failed {
        let hint = "allow it more descriptors (ulimit -n), threads or memory";
        Failed::with_hint(Code::Internal, &error.to_string(), "the start of this command", hint)
    }
}

/// The transports of the command: all of the library but `inproc://`, which ends with the process.
const SCHEMES: &str = "use tcp://, ipc://, abstract://, shm://, ws://, tls+tcp:// or wss://";

/// The failure for an address that cannot be read. The hint of the library has forms that the
/// command refuses.
fn of_address(error: &NetError, hint: &str) -> Failed {
    Failed::with_hint(Code::Usage, &error.kind.to_string(), &error.address, hint)
}

/// The failure that says more than the error itself.
fn explained(error: &NetError) -> Option<Failed> {
    match &error.kind {
        NetErrorKind::Tls(tls) => Some(tls_failure(tls, &error.address)),
        NetErrorKind::BadAddress { .. } => {
            let Some(meant) = ipv6::bracketed(&error.address) else {
                let hint = "write it like tcp://127.0.0.1:7001 or ipc:///run/app.sock";
                return Some(of_address(error, hint));
            };
            let hint = format!("an IPv6 address has brackets: {meant}");
            let what = "the address is malformed: its host has colons";
            Some(Failed::with_hint(Code::Usage, what, &error.address, &hint))
        }
        NetErrorKind::UnknownScheme => Some(of_address(error, SCHEMES)),
        _ => None,
    }
}

/// The options of the command for an error of keys. The hint of the library names those of a node.
fn key_hint(error: &LinkError) -> Option<&'static str> {
    match error {
        LinkError::ClosedByPeer { code: Link::AUTH_REQUIRED, .. } => Some(
            "prove a key with --shared-key FILE, or with TLS present a certificate (--tls-cert)",
        ),
        LinkError::ClosedByPeer { code: Link::AUTH_FAILED, .. }
        | LinkError::Misbehaved { code: Link::AUTH_FAILED, .. } => Some(
            "give a key that the node accepts with --shared-key, or none if it accepts no keys",
        ),
        _ => None,
    }
}

fn session_code(error: &LinkError) -> Code {
    match error {
        LinkError::ClosedByPeer { code: Link::AUTH_REQUIRED | Link::AUTH_FAILED, .. }
        | LinkError::Misbehaved { code: Link::AUTH_FAILED, .. } => Code::Refused,
        _ => Code::WrongPeer,
    }
}

fn net_code(kind: &NetErrorKind) -> Code {
    match kind {
        NetErrorKind::BadAddress { .. } | NetErrorKind::UnknownScheme => Code::Usage,
        NetErrorKind::TimedOut(_) => Code::NoAnswer,
        NetErrorKind::Header(_) | NetErrorKind::Framing(_) | NetErrorKind::WebSocket(_) => {
            Code::WrongPeer
        }
        _ => Code::CannotConnect,
    }
}

fn call_code(kind: CallErrorKind) -> Code {
    match kind {
        CallErrorKind::Timeout(_) | CallErrorKind::Unknown => Code::NoAnswer,
        CallErrorKind::NotDelivered => Code::CannotConnect,
        CallErrorKind::NoSuchMethod | CallErrorKind::BadArguments => Code::Usage,
        _ => Code::Refused,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wigwag::sp::HeaderError;

    use super::*;

    const SOME_TIME: Duration = Duration::from_millis(200);

    /// Some of these errors cannot be provoked in a test of the whole command.
    #[test]
    fn a_failed_call_has_the_exit_code_of_its_reason() {
        use CallErrorKind as K;
        for (code, kinds) in [
            (2, &[K::NoSuchMethod, K::BadArguments][..]),
            (3, &[K::NotDelivered]),
            (4, &[K::Timeout(SOME_TIME), K::Unknown]),
            (8, &[K::NoSuchActor, K::ActorStopped, K::Panicked, K::ReplyDropped, K::Overloaded]),
            (8, &[K::Draining, K::TooLarge, K::CallCycle, K::Application(0x8000)]),
        ] {
            for kind in kinds {
                let failed = Failed::from(CallError::new(*kind, &"tcp://127.0.0.1:1/sum".into()));
                assert_eq!(failed.code as u8, code, "{failed}");
            }
        }
    }

    #[test]
    fn a_failed_socket_has_the_exit_code_of_its_reason() {
        use SocketErrorKind as K;
        for (code, kind) in [
            (1, K::WrongDirection),
            (3, K::NoPeer { last: None }),
            (4, K::Full),
            (4, K::TimedOut(SOME_TIME)),
            (4, K::RequestLost),
            (4, K::SurveyOver),
            (8, K::RequestRefused { bytes: 1 }),
        ] {
            let failed = Failed::from(SocketError { at: "REQ".to_owned(), kind });
            assert_eq!(failed.code as u8, code, "{failed}");
        }
    }

    #[test]
    fn a_failed_connection_has_the_exit_code_of_its_reason() {
        for (code, kind) in [
            (2, NetErrorKind::UnknownScheme),
            (2, NetErrorKind::BadAddress { rule: "it has none" }),
            (3, NetErrorKind::NobodyListens),
            (3, NetErrorKind::InUse),
            (3, NetErrorKind::NoDirectory),
            (3, NetErrorKind::NotASocket),
            (3, NetErrorKind::NotLocal),
            (3, NetErrorKind::UnknownHost),
            (4, NetErrorKind::TimedOut(SOME_TIME)),
            (5, NetErrorKind::Header(HeaderError::SpeaksHttp)),
            (5, NetErrorKind::WebSocket(wigwag::transport::WsError::SpeaksSp)),
        ] {
            let failed = Failed::from(NetError::new("tcp://127.0.0.1:1", kind));
            assert_eq!(failed.code as u8, code, "{failed}");
        }
    }
}
