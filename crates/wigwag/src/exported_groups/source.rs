//! The actor that lets other nodes follow the exported groups.
//!
//! A peer that follows a group gets a stream: the members that live in this process, and then each
//! change. Members of other processes are left out, so two nodes may follow each other. The actor has
//! a reserved name, as the one that hands out metrics has; it runs from the first time that a peer
//! asks for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use wigwag_actor::{This, Yield};
use wigwag_macros::actor;

use crate::access::{NodeAccess, Permitted, Principal};
use crate::exported_groups::member::GroupChange;
use crate::exported_groups::{ExportedMembers, GroupTable};
use crate::limits::{FOLLOWS_MAX, MEMBERS_PER_ITEM_MAX, PEER_FOLLOWS_MAX};
use crate::lock::lock;

/// The error of a stream behind which the group may be followed again at once.
pub(crate) const AGAIN: u16 = 0x8001;

/// Lets peers follow the groups that this node exports.
pub(crate) struct GroupSource {
    table: Weak<GroupTable>,
    access: Arc<NodeAccess>,
    /// The streams of each peer.
    followers: Followers,
}

/// The streams of each peer, by its address. Counted at the peers, so that one cannot take all.
type Followers = Arc<Mutex<HashMap<Arc<str>, usize>>>;

/// The place of one stream, given back on drop.
struct FollowerPlace(Followers, Arc<str>);

impl FollowerPlace {
    fn take(followers: &Followers, peer: &Arc<str>) -> Option<FollowerPlace> {
        let mut counts = lock(followers);
        let all: usize = counts.values().sum();
        let of_peer = counts.get(peer).copied().unwrap_or_default();
        if all >= FOLLOWS_MAX || of_peer >= PEER_FOLLOWS_MAX {
            return None;
        }
        *counts.entry(peer.clone()).or_default() += 1;
        Some(FollowerPlace(followers.clone(), peer.clone()))
    }
}

impl Drop for FollowerPlace {
    fn drop(&mut self) {
        let mut counts = lock(&self.0);
        if let Some(count) = counts.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.1);
            }
        }
    }
}

impl GroupSource {
    pub(crate) fn new(table: &Arc<GroupTable>, access: &Arc<NodeAccess>) -> GroupSource {
        let followers = Followers::default();
        GroupSource { table: Arc::downgrade(table), access: access.clone(), followers }
    }
}

/// Lets other nodes follow the groups that this node exports.
#[actor]
impl GroupSource {
    /// The members of the group that is exported under a name, and then their changes. Without such a
    /// group, or if the caller may not call it, nothing comes until there is one.
    pub fn follow(&self, this: &This<Self>, group: String, changes: Yield<GroupChange>) {
        let caller = this.caller();
        let peer = caller.as_ref().map_or("".into(), |caller| caller.peer.clone());
        let Some(place) = FollowerPlace::take(&self.followers, &peer) else {
            return changes.fail(AGAIN + 1, "this node lets no more groups be followed");
        };
        let principal = caller.map(|caller| caller.principal);
        let follower = Follower {
            table: self.table.clone(),
            access: self.access.clone(),
            principal,
            group,
            _place: place,
        };
        tokio::spawn(follower.serve(changes));
    }
}

/// One stream to a peer that follows a group.
struct Follower {
    table: Weak<GroupTable>,
    access: Arc<NodeAccess>,
    principal: Option<Principal>,
    group: String,
    _place: FollowerPlace,
}

impl Follower {
    async fn serve(self, mut items: Yield<GroupChange>) {
        let Some(mut changed) = self.table.upgrade().map(|table| table.changed.subscribe()) else {
            return;
        };
        let group = loop {
            changed.mark_unchanged();
            if let Some(group) = self.find() {
                break group;
            }
            tokio::select! {
                // The node is gone.
                changed = changed.changed() => if changed.is_err() { return },
                () = items.closed() => return,
            }
        };
        let Ok((members, mut changes)) = group.follow() else {
            return items.fail(AGAIN + 1, "the group has as many followers as it may");
        };
        let first = GroupChange { joined: true, members };
        let mut next = Some(first);
        loop {
            let Some(change) = next.take() else {
                return items.fail(AGAIN, "the group has changed faster than it was followed");
            };
            if !send(&mut items, change).await {
                return;
            }
            loop {
                tokio::select! {
                    biased;
                    () = items.closed() => return,
                    change = changes.next() => {
                        next = change;
                        break;
                    }
                    changed = changed.changed() => {
                        let same = self.find().is_some_and(|other| Arc::ptr_eq(&other, &group));
                        if changed.is_err() || !same {
                            return items.fail(AGAIN, "the group was withdrawn");
                        }
                    }
                }
            }
        }
    }

    /// The group, if the peer may call it.
    fn find(&self) -> Option<Arc<dyn ExportedMembers>> {
        let group = self.table.upgrade()?.find(&self.group)?;
        let permitted = self
            .principal
            .as_ref()
            .map(|principal| self.access.permitted(principal, &self.group, group.schema()));
        // A reference permits all methods, so members are for peers that may call all.
        (permitted.is_none_or(|permitted| permitted == Permitted::All)).then_some(group)
    }
}

/// Sends a change in parts of which each fits into a frame. False if the peer has gone.
async fn send(items: &mut Yield<GroupChange>, change: GroupChange) -> bool {
    let GroupChange { joined, members } = change;
    let mut members = members.into_iter();
    loop {
        let members: Vec<_> = members.by_ref().take(MEMBERS_PER_ITEM_MAX).collect();
        if members.is_empty() {
            return true;
        }
        if items.send(GroupChange { joined, members }).await.is_err() {
            return false;
        }
    }
}
