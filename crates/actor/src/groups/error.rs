//! The errors of groups.

use std::fmt;

use crate::limits::{MEMBERSHIPS_MAX, SUBSCRIPTIONS_MAX};

/// Why no actor joined a group, or there is no subscription.
///
/// [`Groups`](super::Groups) returns it; its example shows a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupError {
    /// One of the actors has ended; none of them has joined.
    Ended,
    /// One of the actors lives in another process; none of them has joined.
    Remote,
    /// The scope would have more than [`MEMBERSHIPS_MAX`] memberships.
    TooManyMembers,
    /// The scope already has [`SUBSCRIPTIONS_MAX`] subscriptions.
    TooManySubscriptions,
    /// One of the actors has as many watchers as it may, and the scope must watch it too.
    TooManyWatchers,
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupError::Ended => f.write_str("an actor has ended: let its successor join"),
            GroupError::Remote => {
                f.write_str("an actor lives in another process: let it join there")
            }
            GroupError::TooManyMembers => write!(
                f,
                "the scope has {MEMBERSHIPS_MAX} memberships at most: let some leave, or make a scope"
            ),
            GroupError::TooManySubscriptions => write!(
                f,
                "{SUBSCRIPTIONS_MAX} subscribe to the scope already: let one subscribe for many"
            ),
            GroupError::TooManyWatchers => crate::lifecycle::monitor::TooManyWatchers.fmt(f),
        }
    }
}

impl std::error::Error for GroupError {}
