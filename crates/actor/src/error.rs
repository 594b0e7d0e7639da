//! The errors of a call: what failed, whose fault it is, and how to fix it.
//!
//! A refused message comes back: [`Refused`] holds it, and `reference.call(message)` makes a new
//! call of it.

mod disconnection;
mod kind;
mod refused;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use wigwag_wire::Fault;
use wigwag_wire::hint::{write_debug, write_error};

pub use disconnection::{Disconnection, NextAttempt};
pub use kind::CallErrorKind;
pub use refused::{AskError, Refused, Unsent};

/// The error of a call: what failed, and which actor was called.
///
/// `{}` prints the target and the failure in one line; `{:#}` prints the failure, the target and a
/// hint how to fix it on three.
///
/// ```
/// # use wigwag_actor::{Call, CallErrorKind, Interface};
/// # fn add<I: Interface>(call: Call<'_, I, ()>) {
/// match call.try_tell() {
///     Err(refused) if refused.error.kind == CallErrorKind::Full => { /* send less */ }
///     Err(refused) => eprintln!("{}", refused.error),
///     Ok(()) => {}
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct CallError {
    /// The kind of the failure.
    pub kind: CallErrorKind,
    /// The actor that was called: its type when it lives in this process, its address otherwise.
    pub target: Arc<str>,
    /// The other side's own words about the failure; for people, never parsed.
    pub detail: Option<Box<str>>,
    /// Why the actor's process could not be reached, if it could not: when a call had waited in
    /// vain ([`Timeout`](CallErrorKind::Timeout), [`Overloaded`](CallErrorKind::Overloaded)), so that
    /// the actor may be innocent, or when a call would not wait for a reference that comes back
    /// ([`NotDelivered`](CallErrorKind::NotDelivered)).
    pub disconnection: Option<Box<Disconnection>>,
}

impl CallError {
    /// Creates an error without detail.
    pub fn new(kind: CallErrorKind, target: &Arc<str>) -> CallError {
        CallError { kind, target: target.clone(), detail: None, disconnection: None }
    }

    /// Adds the other side's own words.
    pub fn with_detail(mut self, detail: &str) -> CallError {
        if !detail.is_empty() {
            self.detail = Some(detail.into());
        }
        self
    }

    /// Adds that the session with the actor's process has no connection.
    pub fn while_disconnected(mut self, disconnection: Disconnection) -> CallError {
        self.disconnection = Some(Box::new(disconnection));
        self
    }

    /// True if the call cannot be sent now and the same call could wait until it can.
    pub(crate) fn is_only_now(&self) -> bool {
        match self.kind {
            CallErrorKind::Full => true,
            CallErrorKind::NotDelivered => self.disconnection.is_some(),
            _ => false,
        }
    }

    /// The side at fault: the caller, the peer or the network.
    pub fn fault(&self) -> Fault {
        match &self.disconnection {
            Some(_) => Fault::Network,
            None => self.kind.fault(),
        }
    }

    /// A hint for the reader how to fix it; names in backticks are those of the API or a command.
    pub fn hint(&self) -> &'static str {
        self.disconnection.as_ref().map_or_else(|| self.kind.hint(), |gone| gone.hint())
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, target, hint) = (self.kind, &self.target, self.hint());
        match (&self.detail, &self.disconnection) {
            (None, None) => write_error(f, target, format_args!("{kind}"), hint),
            (Some(detail), None) => write_error(f, target, format_args!("{kind}: {detail}"), hint),
            (None, Some(gone)) => write_error(f, target, format_args!("{kind}: {gone}"), hint),
            (Some(detail), Some(gone)) => {
                write_error(f, target, format_args!("{kind}: {detail}; {gone}"), hint)
            }
        }
    }
}

impl fmt::Debug for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "CallError", Some(&self.kind), self, self.hint())
    }
}

impl Error for CallError {}
