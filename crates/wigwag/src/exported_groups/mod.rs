//! The exported groups of a node, by name.
//!
//! Surveys of SP clients ask the members of a group, and other nodes follow it (`source.rs`).

pub(crate) mod member;
pub(crate) mod source;

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use wigwag_actor::{Change, ChangeKind, Changes, Exported, GroupError, Groups, Interface, Schema};

use crate::error::NodeError;
use crate::exported_groups::member::{GroupChange, MemberReference};
use crate::exports::check;
use crate::lock::lock;

/// A group, without the interface of its members.
pub(crate) trait ExportedMembers: Send + Sync {
    /// The interface of the members.
    fn schema(&self) -> &'static Schema;

    /// The members that live in this process.
    fn members(&self) -> Vec<Arc<dyn Exported>>;

    /// The members that live in this process, and their changes from now on.
    fn follow(&self) -> Result<(Vec<MemberReference>, Box<dyn MemberChanges>), GroupError>;
}

/// The changes of the members of a group that live in this process.
pub(crate) trait MemberChanges: Send {
    /// The next change; `None` when too many were not taken.
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<GroupChange>> + Send + '_>>;
}

/// An exported group of a scope.
pub(crate) struct ExportedGroup<I: Interface> {
    pub(crate) scope: Groups<I>,
    pub(crate) group: String,
}

/// The given members that live in this process.
fn own<I: Interface>(members: &[I::Ref]) -> Vec<MemberReference> {
    let own = members.iter().filter(|member| member.as_ref().exported().is_some());
    own.map(MemberReference::own::<I>).collect()
}

impl<I: Interface> ExportedMembers for ExportedGroup<I> {
    fn schema(&self) -> &'static Schema {
        I::SCHEMA
    }

    fn members(&self) -> Vec<Arc<dyn Exported>> {
        let members = self.scope.members(&self.group);
        members.iter().filter_map(|member| member.as_ref().exported()).collect()
    }

    fn follow(&self) -> Result<(Vec<MemberReference>, Box<dyn MemberChanges>), GroupError> {
        let (members, changes) = self.scope.subscribe(&self.group)?;
        Ok((own::<I>(&members), Box::new(changes)))
    }
}

impl<I: Interface> MemberChanges for Changes<I> {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<GroupChange>> + Send + '_>> {
        Box::pin(async move {
            let Change { kind, members, .. } = Changes::next(self).await?;
            Some(GroupChange { joined: kind == ChangeKind::Joined, members: own::<I>(&members) })
        })
    }
}

/// The exported groups of a node.
pub(crate) struct GroupTable {
    groups: Mutex<HashMap<String, Arc<dyn ExportedMembers>>>,
    /// Counts the changes of the table.
    changed: watch::Sender<u64>,
}

impl GroupTable {
    pub(crate) fn new() -> GroupTable {
        GroupTable { groups: Mutex::default(), changed: watch::Sender::new(0) }
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<dyn ExportedMembers>> {
        lock(&self.groups).get(name).cloned()
    }

    /// Exports a group under a name that no other one has.
    pub(crate) fn add(&self, name: &str, group: Arc<dyn ExportedMembers>) -> Result<(), NodeError> {
        check(name)?;
        let mut groups = lock(&self.groups);
        if groups.contains_key(name) {
            let rule = "a group is exported under this name";
            return Err(NodeError::BadName { name: name.to_owned(), rule });
        }
        groups.insert(name.to_owned(), group);
        drop(groups);
        self.changed.send_modify(|changes| *changes += 1);
        Ok(())
    }

    /// Withdraws a group; false if there is none.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let removed = lock(&self.groups).remove(name);
        self.changed.send_modify(|changes| *changes += 1);
        removed.is_some()
    }

    /// Withdraws all groups.
    pub(crate) fn clear(&self) {
        let groups = std::mem::take(&mut *lock(&self.groups));
        drop(groups);
        self.changed.send_modify(|changes| *changes += 1);
    }
}
