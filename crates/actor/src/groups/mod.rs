//! Groups of actors, modelled on Erlang's `pg`.
//!
//! A scope holds groups by name. All members of a scope have one interface, so a member is a
//! reference that can be called. An actor may join a group many times and leaves it as often; its
//! end removes it from all groups. A membership keeps its actor alive as a reference does. A
//! subscriber gets the current members and then every change, in order: both are taken under one
//! lock.
//!
//! A member may live in another process; the groups themselves are known in this process alone.

mod changes;
mod error;
mod member;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

pub use changes::{Change, ChangeKind, Changes, Snapshot};
pub use error::GroupError;

use member::{GroupMember, MemberId};

use crate::call::Call;
use crate::lifecycle::end_watchers::NotWatched;
use crate::limits::{CHANGES_MAX, MEMBERSHIPS_MAX, SUBSCRIPTIONS_MAX};
use crate::reference::interface::Interface;

/// A scope: groups of actors with interface `I`, separate from those of all other scopes. Clones
/// are the same scope.
///
/// A member is an actor of this process or of another one. A member of another process remains one
/// while there is no connection, until its actor has stopped or its session is over; one whose
/// reference comes back, until its node is closed. Clones of a reference are the same member, and
/// so are two references that were fetched in the same way from one actor of another process,
/// unless that is of an earlier release. A reference that comes back is a member of its own beside
/// one to the same actor that does not.
///
/// ```
/// # use wigwag_actor::{GroupError, Groups, Interface};
/// # async fn watch<I: Interface>(worker: &I::Ref) -> Result<(), GroupError> {
/// let groups = Groups::<I>::new();
/// groups.join("workers", worker)?;
/// let (members, mut changes) = groups.subscribe("workers")?;
/// while let Some(change) = changes.next().await {
///     println!("{:?}: {} members", change.kind, change.members.len());
/// }
/// # Ok(())
/// # }
/// ```
pub struct Groups<I: Interface>(Arc<Mutex<GroupsState<I>>>);

/// The outcome of [`Groups::tell_all`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TellAllReport {
    /// Calls that were sent.
    pub sent: usize,
    /// Calls that found no room, or an actor that had just ended or cannot be reached now; they are
    /// lost.
    pub refused: usize,
}

/// The memberships of an actor.
struct Membership {
    /// The number of the scope's watch on the actor.
    watch: u64,
    /// The groups of the actor, and how often it is in each.
    groups: BTreeMap<Arc<str>, usize>,
}

struct Subscription<I: Interface> {
    /// The group; `None` for all groups.
    group: Option<Arc<str>>,
    to: mpsc::Sender<Change<I>>,
}

struct GroupsState<I: Interface> {
    /// The members of each group, in the order in which they joined. No group is empty.
    groups: BTreeMap<Arc<str>, Vec<GroupMember<I>>>,
    actors: HashMap<MemberId, Membership>,
    memberships: usize,
    subscriptions: Vec<Subscription<I>>,
}

impl<I: Interface> Groups<I> {
    /// Creates a scope without groups.
    pub fn new() -> Groups<I> {
        let state = GroupsState {
            groups: BTreeMap::new(),
            actors: HashMap::new(),
            memberships: 0,
            subscriptions: Vec::new(),
        };
        Groups(Arc::new(Mutex::new(state)))
    }

    /// Adds the actor to the group, which is created if need be.
    ///
    /// # Errors
    /// [`GroupError`]; nothing has changed then.
    pub fn join(&self, group: &str, actor: &I::Ref) -> Result<(), GroupError> {
        self.join_all(group, std::slice::from_ref(actor))
    }

    /// Adds all the actors to the group, as often as each is listed, in one change.
    ///
    /// # Errors
    /// [`GroupError`]; none of them has joined then.
    pub fn join_all(&self, group: &str, actors: &[I::Ref]) -> Result<(), GroupError> {
        if actors.is_empty() {
            return Ok(());
        }
        let members: Vec<GroupMember<I>> = actors.iter().map(GroupMember::of).collect();
        if members.iter().any(GroupMember::has_ended) {
            return Err(GroupError::Ended);
        }
        let group: Arc<str> = group.into();
        let mut state = self.lock();
        if state.memberships + members.len() > MEMBERSHIPS_MAX {
            return Err(GroupError::TooManyMembers);
        }
        let mut watched = Vec::new();
        for member in &members {
            if state.actors.contains_key(&member.id) {
                continue;
            }
            if let Err(error) = self.watch(&mut state, member) {
                // No actor has joined yet: undo the watches on the new ones.
                for member in watched {
                    state.unwatch(member);
                }
                return Err(error);
            }
            watched.push(member);
        }
        for member in &members {
            if let Some(joined) = state.actors.get_mut(&member.id) {
                *joined.groups.entry(group.clone()).or_default() += 1;
            }
        }
        state.memberships += members.len();
        state.groups.entry(group.clone()).or_default().extend(members);
        state.tell(&group, ChangeKind::Joined, actors);
        Ok(())
    }

    /// Removes one membership of the actor in the group. False: it was not a member.
    pub fn leave(&self, group: &str, actor: &I::Ref) -> bool {
        self.leave_all(group, std::slice::from_ref(actor)) == 1
    }

    /// Removes one membership for each time that an actor is listed, in one change. Returns how
    /// many memberships ended: an actor that is not in the group, or not so often, is skipped.
    pub fn leave_all(&self, group: &str, actors: &[I::Ref]) -> usize {
        let mut state = self.lock();
        let group: Arc<str> = group.into();
        let mut left = Vec::new();
        for actor in actors {
            left.extend(state.take(&group, MemberId::of::<I>(actor.as_ref())));
        }
        let references: Vec<_> = left.iter().map(|member| member.reference.clone()).collect();
        if !left.is_empty() {
            state.tell(&group, ChangeKind::Left, &references);
        }
        drop(state);
        left.len()
    }

    /// The members of a group, once for each membership, in the order in which they joined.
    pub fn members(&self, group: &str) -> Vec<I::Ref> {
        self.lock().living(group)
    }

    /// The groups that have members, sorted.
    pub fn groups(&self) -> Vec<Arc<str>> {
        let state = self.lock();
        let groups = state.groups.iter();
        let groups = groups.filter(|(_, all)| all.iter().any(|one| !one.has_ended()));
        groups.map(|(group, _)| group.clone()).collect()
    }

    /// Tells each member, as often as it has joined, without waiting for room:
    /// `groups.tell_all("all", |member| member.add(1))`.
    pub fn tell_all<R>(
        &self,
        group: &str,
        call: impl Fn(&I::Ref) -> Call<'_, I, R>,
    ) -> TellAllReport {
        let mut report = TellAllReport::default();
        for member in self.members(group) {
            match call(&member).try_tell() {
                Ok(()) => report.sent += 1,
                Err(_) => report.refused += 1,
            }
        }
        report
    }

    /// Returns the current members of a group, and a subscription to its changes from now on.
    ///
    /// # Errors
    /// `TooManySubscriptions`.
    pub fn subscribe(&self, group: &str) -> Result<(Vec<I::Ref>, Changes<I>), GroupError> {
        let mut state = self.lock();
        let changes = self.changes(&mut state, Some(group.into()))?;
        Ok((state.all(group), changes))
    }

    /// Returns the current members of all groups, and a subscription to their changes from now on.
    ///
    /// # Errors
    /// `TooManySubscriptions`.
    pub fn subscribe_to_all(&self) -> Result<(Snapshot<I>, Changes<I>), GroupError> {
        let mut state = self.lock();
        let changes = self.changes(&mut state, None)?;
        let groups = state.groups.keys().map(|group| (group.clone(), state.all(group)));
        Ok((groups.collect(), changes))
    }

    fn changes(
        &self,
        state: &mut GroupsState<I>,
        group: Option<Arc<str>>,
    ) -> Result<Changes<I>, GroupError> {
        state.subscriptions.retain(|one| !one.to.is_closed());
        if state.subscriptions.len() >= SUBSCRIPTIONS_MAX {
            return Err(GroupError::TooManySubscriptions);
        }
        let (to, from) = mpsc::channel(CHANGES_MAX);
        state.subscriptions.push(Subscription { group, to });
        Ok(Changes { from, _scope: self.clone() })
    }

    /// Watches the member, to remove it at its end.
    fn watch(&self, state: &mut GroupsState<I>, member: &GroupMember<I>) -> Result<(), GroupError> {
        let (scope, id) = (Arc::downgrade(&self.0), member.id);
        let watched = member.watch(Box::new(move |_| {
            if let Some(scope) = scope.upgrade() {
                Groups(scope).ended(id);
            }
        }));
        let watch = watched.map_err(|refused| match refused {
            NotWatched::Ended => GroupError::Ended,
            NotWatched::TooMany => GroupError::TooManyWatchers,
        })?;
        state.actors.insert(id, Membership { watch, groups: BTreeMap::new() });
        Ok(())
    }

    /// Removes an actor that has ended from each of its groups, with all its memberships at once.
    fn ended(&self, id: MemberId) {
        let mut state = self.lock();
        let Some(joined) = state.actors.remove(&id) else { return };
        let mut gone = Vec::new();
        for (group, times) in joined.groups {
            let Some(members) = state.groups.get_mut(&group) else { continue };
            let is_it = |member: &mut GroupMember<I>| member.id == id;
            let left: Vec<_> = members.extract_if(.., is_it).collect();
            if members.is_empty() {
                state.groups.remove(&group);
            }
            state.memberships -= times;
            let references: Vec<_> = left.iter().map(|one| one.reference.clone()).collect();
            state.tell(&group, ChangeKind::Left, &references);
            gone.push(left);
        }
        drop(state);
    }

    fn lock(&self) -> MutexGuard<'_, GroupsState<I>> {
        // The state is consistent between any two statements, so a panic elsewhere has broken
        // nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<I: Interface> GroupsState<I> {
    /// All that have not left, including actors whose end is under way: it will be reported later.
    fn all(&self, group: &str) -> Vec<I::Ref> {
        let members = self.groups.get(group).into_iter().flatten();
        members.map(|member| member.reference.clone()).collect()
    }

    fn living(&self, group: &str) -> Vec<I::Ref> {
        let members = self.groups.get(group).into_iter().flatten();
        let living = members.filter(|member| !member.has_ended());
        living.map(|member| member.reference.clone()).collect()
    }

    /// Removes one membership, the latest.
    fn take(&mut self, group: &Arc<str>, id: MemberId) -> Option<GroupMember<I>> {
        let members = self.groups.get_mut(group)?;
        let at = members.iter().rposition(|member| member.id == id)?;
        let left = members.remove(at);
        if members.is_empty() {
            self.groups.remove(group);
        }
        self.memberships -= 1;
        if let Some(joined) = self.actors.get_mut(&id) {
            if let Some(times) = joined.groups.get_mut(group) {
                *times -= 1;
                if *times == 0 {
                    joined.groups.remove(group);
                }
            }
            if joined.groups.is_empty() {
                self.unwatch(&left);
            }
        }
        Some(left)
    }

    fn unwatch(&mut self, member: &GroupMember<I>) {
        if let Some(joined) = self.actors.remove(&member.id) {
            member.unwatch(joined.watch);
        }
    }

    /// Sends a change to all subscribers; a subscriber without room for it is removed.
    fn tell(&mut self, group: &Arc<str>, kind: ChangeKind, members: &[I::Ref]) {
        self.subscriptions.retain(|one| {
            if one.group.as_ref().is_some_and(|wanted| wanted != group) {
                return true;
            }
            let change = Change { group: group.clone(), kind, members: members.to_vec() };
            one.to.try_send(change).is_ok()
        });
    }
}

impl<I: Interface> Drop for GroupsState<I> {
    fn drop(&mut self) {
        for member in std::mem::take(&mut self.groups).into_values().flatten() {
            self.unwatch(&member);
        }
    }
}

impl<I: Interface> Clone for Groups<I> {
    fn clone(&self) -> Groups<I> {
        Groups(self.0.clone())
    }
}

impl<I: Interface> Default for Groups<I> {
    fn default() -> Groups<I> {
        Groups::new()
    }
}

impl<I: Interface> fmt::Debug for Groups<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Groups").field(&self.groups()).finish()
    }
}
