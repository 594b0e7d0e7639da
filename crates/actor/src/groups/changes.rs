//! The changes that subscribers to groups receive.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::Groups;
use crate::reference::interface::Interface;

/// Somebody joined or left.
#[derive(Debug)]
#[non_exhaustive]
pub struct Change<I: Interface> {
    /// The group.
    pub group: Arc<str>,
    /// Whether they joined or left.
    pub kind: ChangeKind,
    /// The members concerned, once for each membership, in the order of the call.
    pub members: Vec<I::Ref>,
}

/// Joined or left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// They are members now, or once more.
    Joined,
    /// They are members once less: they left, or have ended.
    Left,
}

/// All groups and their members.
pub type Snapshot<I> = BTreeMap<Arc<str>, Vec<<I as Interface>::Ref>>;

/// The changes of a group, or of all groups of a scope, in order. Dropped, it is no subscription any
/// more. A change that waits in it holds references to its members.
pub struct Changes<I: Interface> {
    pub(super) from: mpsc::Receiver<Change<I>>,
    /// The scope is there as long as somebody subscribes.
    pub(super) _scope: Groups<I>,
}

impl<I: Interface> Changes<I> {
    /// The next change. `None`: there were [`CHANGES_MAX`](crate::limits::CHANGES_MAX) changes more than this subscriber took; all
    /// before that were given, nothing comes any more: subscribe anew, for a new state to begin with.
    ///
    /// # Cancellation
    /// Dropped while it waits, nothing is lost.
    pub async fn next(&mut self) -> Option<Change<I>> {
        self.from.recv().await
    }

    /// The next change, if there is one now.
    pub fn try_next(&mut self) -> Option<Change<I>> {
        self.from.try_recv().ok()
    }
}

impl<I: Interface> fmt::Debug for Changes<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Changes({} wait)", self.from.len())
    }
}
