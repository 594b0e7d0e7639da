//! The errors of groups.

use std::fmt;

use wigwag_wire::hint::{write_debug, write_hint};

use crate::lifecycle::monitor::TooManyWatchers;
use crate::limits::{MEMBERSHIPS_MAX, SUBSCRIPTIONS_MAX};

/// Why no actor joined a group, or there is no subscription.
///
/// [`Groups`](super::Groups) returns it; its example shows a group.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupError {
    /// One of the actors has ended, or the session with its process is over; none of them has
    /// joined.
    Ended,
    /// The scope would have more than [`MEMBERSHIPS_MAX`] memberships.
    TooManyMembers,
    /// The scope already has [`SUBSCRIPTIONS_MAX`] subscriptions.
    TooManySubscriptions,
    /// One of the actors has as many watchers as it may, and the scope must watch it too.
    TooManyWatchers,
}

impl GroupError {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            GroupError::Ended => "let the actor's successor join, or fetch its reference anew",
            GroupError::TooManyMembers => "let some members leave, or make another scope",
            GroupError::TooManySubscriptions => "let one subscriber stand for many",
            GroupError::TooManyWatchers => TooManyWatchers.hint(),
        }
    }
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupError::Ended => f.write_str("an actor has ended, or its session is over"),
            GroupError::TooManyMembers => {
                write!(f, "the scope would have more than {MEMBERSHIPS_MAX} memberships")
            }
            GroupError::TooManySubscriptions => {
                write!(f, "{SUBSCRIPTIONS_MAX} subscribe to the scope already, which is the limit")
            }
            GroupError::TooManyWatchers => write!(f, "{TooManyWatchers}"),
        }?;
        write_hint(f, self.hint())
    }
}

impl fmt::Debug for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "GroupError", None, self, self.hint())
    }
}

impl std::error::Error for GroupError {}
