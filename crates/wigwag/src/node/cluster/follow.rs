//! Follows groups that connected nodes export: their members join a group of this node.
//!
//! One task waits for sessions, and one for each session reads the stream of changes of its peer
//! (`groups/source.rs`). A member leaves when its peer says so, when its stream ends, and with its
//! session, which ends its reference.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};
use wigwag_actor::{CallErrorKind, GroupError, Groups, Interface, Ref};

use crate::access::GROUPS;
use crate::error::NodeError;
use crate::exported_groups::member::{GroupChange, MemberReference};
use crate::exported_groups::source::{AGAIN, GroupSource, GroupSourceRef};
use crate::exports;
use crate::limits::FOLLOWED_MEMBERS_MAX;
use crate::lock::lock;
use crate::node::Node;
use crate::node::inner::{Inner, WeakNode};
use crate::send::remote::Remote;
use crate::session::Session;
use crate::session::attach::AttachTo;

/// A group that is followed on all connected nodes; [`Node::follow_group`] returns it. Dropping it ends
/// that, and removes the members of other nodes from the group.
#[must_use = "dropping it ends the following"]
pub struct FollowedGroup(AbortHandle);

impl Drop for FollowedGroup {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl fmt::Debug for FollowedGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FollowedGroup").finish_non_exhaustive()
    }
}

impl Node {
    /// Follows the groups that other nodes export as `name`
    /// ([`export_group`](Node::export_group)): each member that lives on a node with which this one
    /// has a session, now or later, is a member of `group` in `scope`, as often as it has joined there.
    /// Where each node exports its group and follows those of the others, all have the same members.
    ///
    /// A member leaves the group when it has left that of its node, when its actor has ended, and when
    /// the session with its node is over, not while that is cut. A node exports the members of its own
    /// process alone, so a member that two nodes know is one.
    ///
    /// ```
    /// use wigwag::groups::Groups;
    /// use wigwag::{Actor, Node};
    ///
    /// struct Worker;
    ///
    /// #[wigwag::actor]
    /// impl Worker {
    ///     pub fn half(&self, number: u64) -> u64 {
    ///         number / 2
    ///     }
    /// }
    ///
    /// # #[wigwag::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (service, client) = (Node::new(), Node::new());
    /// let theirs = Groups::<Worker>::new();
    /// service.export_group("workers", &theirs, "workers")?;
    /// let bound = service.listen("tcp://127.0.0.1:0").await?;
    ///
    /// let ours = Groups::<Worker>::new();
    /// let (_, mut changes) = ours.subscribe("workers")?;
    /// let _followed = client.follow_group("workers", &ours, "workers")?;
    /// client.connect(&bound.to_string()).await?;
    ///
    /// theirs.join("workers", &Worker.spawn())?;
    /// let joined = changes.next().await.ok_or("the group is gone")?;
    /// assert_eq!(joined.members[0].half(42).ask().await?, 21);
    /// # Ok(()) }
    /// ```
    ///
    /// # Order
    /// The changes of one node come in their order, each once, and some time after they were made;
    /// nothing orders those of two nodes. When a node has changed its group faster than this one has
    /// followed, its members leave and join anew.
    ///
    /// # Access
    /// A node with [rules](crate::access::Access) shows a group to peers that may call all methods of
    /// what is exported as `name`.
    ///
    /// # Limits
    /// A peer adds at most [`FOLLOWED_MEMBERS_MAX`](crate::limits::FOLLOWED_MEMBERS_MAX) memberships;
    /// further ones are left out, and logged. A node lets one peer follow
    /// [`PEER_FOLLOWS_MAX`](crate::limits::PEER_FOLLOWS_MAX) groups at a time. Nodes of an earlier
    /// release have no groups to follow.
    ///
    /// # Errors
    /// [`BadName`](NodeError::BadName) if no group can have this name, and
    /// [`Closed`](NodeError::Closed) if this node is closed.
    pub fn follow_group<I: Interface>(
        &self,
        name: &str,
        scope: &Groups<I>,
        group: &str,
    ) -> Result<FollowedGroup, NodeError> {
        self.inner.check_open()?;
        exports::check(name)?;
        let followed =
            Followed { name: name.to_owned(), scope: scope.clone(), group: group.into() };
        let task = follow(Arc::downgrade(&self.inner), Arc::new(followed));
        Ok(FollowedGroup(self.inner.runtime.spawn(task).abort_handle()))
    }
}

/// A group that is followed, and the place where its members go.
struct Followed<I: Interface> {
    name: String,
    scope: Groups<I>,
    group: Arc<str>,
}

/// Follows the group at each peer, until the node is gone.
async fn follow<I: Interface>(node: WeakNode, followed: Arc<Followed<I>>) {
    let mut peers = JoinSet::new();
    let mut known = HashSet::new();
    loop {
        let Some(node) = node.upgrade().filter(|node| node.check_open().is_ok()) else { return };
        let session_added = node.session_added.clone();
        // Enabled before the sessions are looked at, so that none is missed.
        let mut added = std::pin::pin!(session_added.notified());
        added.as_mut().enable();
        let sessions = living(&node);
        let watch = *lock(&node.answer_spin);
        drop(node);
        let numbers: HashSet<u64> = sessions.iter().map(|session| session.number()).collect();
        known.retain(|number| numbers.contains(number));
        for session in sessions {
            if known.insert(session.number()) {
                peers.spawn(follow_peer(session, followed.clone(), watch));
            }
        }
        while peers.try_join_next().is_some() {}
        added.await;
    }
}

/// The sessions with other nodes.
fn living(node: &Arc<Inner>) -> Vec<Arc<Session>> {
    let sessions: Vec<_> = node.sessions().iter().cloned().collect();
    let others = sessions.into_iter().filter(|one| one.identity.incarnation != node.incarnation);
    others.filter(|session| !session.has_ended()).collect()
}

/// Follows the group of one peer until its session ends.
async fn follow_peer<I: Interface>(
    session: Arc<Session>,
    followed: Arc<Followed<I>>,
    watch: Duration,
) {
    let target: Arc<str> = format!("{}{GROUPS}", session.peer).into();
    loop {
        let to = AttachTo::Name(GROUPS);
        let attached = Remote::<GroupSource>::attach(session.clone(), to, &target, watch).await;
        let source = match attached {
            Ok(remote) => GroupSourceRef::from(Ref::remote(remote.shared(watch))),
            Err(error) => {
                // It runs an earlier release, or its session has ended.
                tracing::debug!(%target, %error, "the groups of a peer are not followed");
                return;
            }
        };
        let mut members = PeerMembers { followed: &followed, joined: HashMap::new(), count: 0 };
        let mut changes = source.follow(followed.name.clone());
        let error = loop {
            match changes.next().await {
                Some(Ok(change)) => members.apply(change, &target),
                Some(Err(error)) => break error,
                None => return,
            }
        };
        if error.kind != CallErrorKind::Application(AGAIN) {
            tracing::debug!(%target, %error, "a group of a peer is not followed any more");
            return;
        }
    }
}

/// The members that one peer has added. Dropping it removes them.
struct PeerMembers<'a, I: Interface> {
    followed: &'a Followed<I>,
    /// By the numbers of their references, with the count of their memberships.
    joined: HashMap<u128, (I::Ref, usize)>,
    /// All memberships.
    count: usize,
}

impl<I: Interface> PeerMembers<'_, I> {
    fn apply(&mut self, change: GroupChange, peer: &Arc<str>) {
        for member in change.members {
            let Some(number) = member.number() else { continue };
            if change.joined {
                self.join(number, member, peer);
            } else {
                self.leave(number);
            }
        }
    }

    fn join(&mut self, number: u128, member: MemberReference, peer: &Arc<str>) {
        let Followed { scope, group, .. } = self.followed;
        let is_full = self.count >= FOLLOWED_MEMBERS_MAX;
        let Some(reference) = member.typed::<I>().filter(|_| !is_full) else {
            let most = FOLLOWED_MEMBERS_MAX;
            return tracing::warn!(%peer, %group, most, "a member of a peer's group is left out");
        };
        match scope.join(group, &reference) {
            Ok(()) => {
                self.joined.entry(number).or_insert((reference, 0)).1 += 1;
                self.count += 1;
            }
            // Its end is told by its reference, and may be told before its membership.
            Err(GroupError::Ended) => {}
            Err(error) => {
                tracing::warn!(%peer, %group, %error, "a member of a peer's group is left out");
            }
        }
    }

    fn leave(&mut self, number: u128) {
        let Some((reference, times)) = self.joined.get_mut(&number) else { return };
        self.followed.scope.leave(&self.followed.group, reference);
        self.count -= 1;
        *times -= 1;
        if *times == 0 {
            self.joined.remove(&number);
        }
    }
}

impl<I: Interface> Drop for PeerMembers<'_, I> {
    fn drop(&mut self) {
        for (reference, times) in self.joined.values() {
            for _ in 0..*times {
                self.followed.scope.leave(&self.followed.group, reference);
            }
        }
    }
}
