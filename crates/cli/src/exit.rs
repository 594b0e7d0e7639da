//! Exit codes, and how an error is told.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use wigwag::{CallError, CallErrorKind, NetErrorKind, NodeError};

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
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failed {
    code: Code,
    error: Box<dyn Error + Send + Sync>,
}

impl Failed {
    pub(crate) fn new(code: Code, error: impl Into<Box<dyn Error + Send + Sync>>) -> Failed {
        Failed { code, error: error.into() }
    }

    /// Says it on standard error, and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        crate::print::error(&format!("error: {}", self.error));
        self.code.into()
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
            NodeError::Net(net) => match &net.kind {
                NetErrorKind::BadAddress { .. } | NetErrorKind::UnknownScheme => Code::Usage,
                NetErrorKind::TimedOut(_) => Code::NoAnswer,
                NetErrorKind::Header(_) | NetErrorKind::Framing(_) => Code::WrongPeer,
                _ => Code::CannotConnect,
            },
            NodeError::Link { .. } => Code::WrongPeer,
            NodeError::Call(call) => call_code(call.kind),
            NodeError::NoName { .. } | NodeError::BadName { .. } => Code::Usage,
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

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Failed {
        Failed::new(Code::Internal, error)
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
