//! The changes that subscribers to groups receive.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::Groups;
use crate::reference::interface::Interface;

/// A change of the members of a group; [`Changes`] delivers it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Change<I: Interface> {
    /// The group.
    pub group: Arc<str>,
    /// Whether the members joined or left.
    pub kind: ChangeKind,
    /// The members concerned, once for each membership, in the order of the call.
    pub members: Vec<I::Ref>,
}

/// The kind of a [`Change`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The members gained a membership each.
    Joined,
    /// The members lost a membership each: they left, have ended, or can never be reached again.
    Left,
}

/// All groups with their members.
///
/// [`Groups`](super::Groups) returns it; its example shows a group.
pub type Snapshot<I> = BTreeMap<Arc<str>, Vec<<I as Interface>::Ref>>;

/// A subscription: the changes of a group, or of all groups of a scope, in order. Dropping it ends
/// the subscription. A queued change holds references to its members.
///
/// [`Groups::subscribe`] creates it; [`Groups`] has an example.
pub struct Changes<I: Interface> {
    pub(super) from: mpsc::Receiver<Change<I>>,
    /// Keeps the scope while there is a subscriber.
    pub(super) _scope: Groups<I>,
}

impl<I: Interface> Changes<I> {
    /// Waits for the next change. `None`: this subscriber fell more than
    /// [`CHANGES_MAX`](crate::limits::CHANGES_MAX) changes behind; it has received all changes
    /// before that and receives no more. Subscribe anew to begin with the current state.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, no change is lost.
    pub async fn next(&mut self) -> Option<Change<I>> {
        self.from.recv().await
    }

    /// Takes the next change, if there is one now.
    pub fn try_next(&mut self) -> Option<Change<I>> {
        self.from.try_recv().ok()
    }
}

impl<I: Interface> fmt::Debug for Changes<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Changes({} wait)", self.from.len())
    }
}
