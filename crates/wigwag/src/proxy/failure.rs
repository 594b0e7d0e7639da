//! Why a call that comes through a proxy or from an SP client has no answer.

use std::sync::Arc;

use wigwag_actor::{CallError, CallErrorKind};

/// Why a request is not answered with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The bytes are no request.
    Malformed(String),
    /// The call failed.
    Call(CallErrorKind, String),
}

impl Failure {
    pub(crate) fn call(kind: CallErrorKind, text: impl Into<String>) -> Failure {
        Failure::Call(kind, text.into())
    }

    /// The name of its code in the link protocol, section 8; the number of an application's own.
    pub(crate) fn name(&self) -> String {
        match self {
            Failure::Malformed(_) => "Protocol".to_owned(),
            Failure::Call(kind, _) => match CallErrorKind::from_code(kind.code()) {
                CallErrorKind::Application(code) => format!("0x{code:04X}"),
                known => format!("{known:?}"),
            },
        }
    }

    /// The text for people.
    pub(crate) fn text(&self) -> String {
        match self {
            Failure::Malformed(text) => text.clone(),
            Failure::Call(kind, text) if text.is_empty() => kind.to_string(),
            Failure::Call(_, text) => text.clone(),
        }
    }

    /// The failure of a call to `target` as an error.
    pub(crate) fn into_error(self, target: &Arc<str>) -> CallError {
        match self {
            Failure::Malformed(text) => {
                CallError::new(CallErrorKind::BadArguments, target).with_detail(&text)
            }
            Failure::Call(kind, text) => match text.is_empty() {
                true => CallError::new(kind, target),
                false => CallError::new(kind, target).with_detail(&text),
            },
        }
    }
}
