//! Replacing the state of an actor while its mail waits.

use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use wigwag_wire::hint::write_hint;

use crate::error::CallError;
use crate::reason::Reason;

/// Why [`Alive::replace`](crate::Alive::replace) failed. The actor keeps its state.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReplaceError<E> {
    /// The actor was not reached: `Remote` or `ActorStopped`.
    Unreached(CallError),
    /// The conversion returned this error.
    Refused(E),
    /// The conversion panicked, with this text.
    Panicked(String),
}

impl<E> ReplaceError<E> {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            ReplaceError::Unreached(error) => error.hint(),
            ReplaceError::Refused(_) => "change what the conversion refuses, then replace again",
            ReplaceError::Panicked(_) => "have the conversion return an error instead",
        }
    }
}

impl<E: fmt::Display> fmt::Display for ReplaceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplaceError::Unreached(error) => return error.fmt(f),
            ReplaceError::Refused(why) => {
                write!(f, "the conversion refused the old state, which goes on: {why}")
            }
            ReplaceError::Panicked(text) => {
                write!(f, "the conversion panicked and the old state goes on: {text}")
            }
        }?;
        write_hint(f, self.hint())
    }
}

impl<E: fmt::Debug + fmt::Display> Error for ReplaceError<E> {}

/// Replaces `state` by its conversion and returns the old state, which stays in place on failure.
pub(crate) fn replace<I, E>(
    state: &mut I,
    convert: impl FnOnce(&I) -> Result<I, E>,
) -> Result<I, ReplaceError<E>> {
    // The conversion can change the old state only through what it shares with others anyway.
    match catch_unwind(AssertUnwindSafe(|| convert(state))) {
        Ok(Ok(new)) => Ok(std::mem::replace(state, new)),
        Ok(Err(why)) => Err(ReplaceError::Refused(why)),
        Err(payload) => Err(ReplaceError::Panicked(match Reason::panicked(payload) {
            Reason::Panicked(text) => text.to_string(),
            other => other.to_string(),
        })),
    }
}
