//! Groups of actors, in the manner of Erlang's `pg`.
//!
//! A scope holds groups by name; its members all have one interface, so a member is a reference
//! that can be called. An actor may join a group several times, and leaves it as often; its end
//! removes it from all groups. A membership keeps its actor alive, as a reference does. A
//! subscriber receives the present members and then every change, in order: both are taken under
//! one lock.

mod changes;
mod error;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

pub use changes::{Change, ChangeKind, Changes, Snapshot};
pub use error::GroupError;

use crate::call::Call;
use crate::lifecycle::control::{Watcher, WatcherKind};
use crate::lifecycle::handle::{Handle, fresh_number};
use crate::limits::{CHANGES_MAX, MEMBERSHIPS_MAX, SUBSCRIPTIONS_MAX};
use crate::reference::alive::Alive;
use crate::reference::interface::Interface;

/// A scope: groups of actors with interface `I`, apart from those of all other scopes. Clones are the
/// same scope.
pub struct Groups<I: Interface>(Arc<Mutex<GroupsState<I>>>);

/// The outcome of a call to all members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TellAllReport {
    /// Calls on their way.
    pub sent: usize,
    /// Calls that found no room, or an actor that had just ended; they are lost.
    pub refused: usize,
}

struct GroupMember<I: Interface> {
    handle: Handle,
    reference: I::Ref,
}

impl<I: Interface> Clone for GroupMember<I> {
    fn clone(&self) -> GroupMember<I> {
        GroupMember { handle: self.handle.clone(), reference: self.reference.clone() }
    }
}

/// An actor that is in groups.
struct Membership {
    /// The scope's number among its watchers.
    watch: u64,
    /// Its groups, and how often it is in each.
    groups: BTreeMap<Arc<str>, usize>,
}

struct Subscription<I: Interface> {
    /// `None`: all groups.
    group: Option<Arc<str>>,
    to: mpsc::Sender<Change<I>>,
}

struct GroupsState<I: Interface> {
    /// No group is empty. Members in the order in which they joined.
    groups: BTreeMap<Arc<str>, Vec<GroupMember<I>>>,
    actors: HashMap<u64, Membership>,
    memberships: usize,
    subscriptions: Vec<Subscription<I>>,
}

impl<I: Interface> Groups<I> {
    /// A scope without groups.
    pub fn new() -> Groups<I> {
        let state = GroupsState {
            groups: BTreeMap::new(),
            actors: HashMap::new(),
            memberships: 0,
            subscriptions: Vec::new(),
        };
        Groups(Arc::new(Mutex::new(state)))
    }

    /// The actor joins the group, which need not have been there.
    ///
    /// # Errors
    /// [`GroupError`].
    pub fn join(&self, group: &str, actor: &I::Ref) -> Result<(), GroupError> {
        self.join_all(group, std::slice::from_ref(actor))
    }

    /// All of them join, as often as they are named, in one change; or, after an error, none.
    ///
    /// # Errors
    /// [`GroupError`].
    pub fn join_all(&self, group: &str, actors: &[I::Ref]) -> Result<(), GroupError> {
        if actors.is_empty() {
            return Ok(());
        }
        let members = members(actors)?;
        let group: Arc<str> = group.into();
        let mut state = self.lock();
        if state.memberships + members.len() > MEMBERSHIPS_MAX {
            return Err(GroupError::TooManyMembers);
        }
        let mut watched = Vec::new();
        for member in &members {
            if state.actors.contains_key(&member.handle.number()) {
                continue;
            }
            if let Err(error) = self.watch(&mut state, &member.handle) {
                // Nothing has begun: those who are new are let go of again.
                for handle in watched {
                    state.unwatch(&handle);
                }
                return Err(error);
            }
            watched.push(member.handle.clone());
        }
        for member in &members {
            if let Some(joined) = state.actors.get_mut(&member.handle.number()) {
                *joined.groups.entry(group.clone()).or_default() += 1;
            }
        }
        state.memberships += members.len();
        state.groups.entry(group.clone()).or_default().extend(members);
        state.tell(&group, ChangeKind::Joined, actors);
        Ok(())
    }

    /// The actor leaves the group, once. False: it was not in it.
    pub fn leave(&self, group: &str, actor: &I::Ref) -> bool {
        self.leave_all(group, std::slice::from_ref(actor)) == 1
    }

    /// Removes memberships, one for each time that an actor is named, as one change. Returns the
    /// number of memberships that ended; an actor that is not in the group, or not as often, is
    /// skipped.
    pub fn leave_all(&self, group: &str, actors: &[I::Ref]) -> usize {
        let mut state = self.lock();
        let group: Arc<str> = group.into();
        let mut left = Vec::new();
        for actor in actors {
            let Ok(handle) = Alive::<I>::handle(actor) else { continue };
            left.extend(state.take(&group, &handle));
        }
        let references: Vec<_> = left.iter().map(|member| member.reference.clone()).collect();
        if !left.is_empty() {
            state.tell(&group, ChangeKind::Left, &references);
        }
        drop(state);
        left.len()
    }

    /// The members of a group, once for each time that they have joined, in that order.
    pub fn members(&self, group: &str) -> Vec<I::Ref> {
        self.lock().living(group)
    }

    /// The groups that have members, sorted.
    pub fn groups(&self) -> Vec<Arc<str>> {
        let state = self.lock();
        let groups = state.groups.iter();
        let groups = groups.filter(|(_, all)| all.iter().any(|one| !one.handle.is_ended()));
        groups.map(|(group, _)| group.clone()).collect()
    }

    /// Tells each member, as often as it has joined, and waits for nobody:
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

    /// The members of a group now, and every change from now on.
    ///
    /// # Errors
    /// `TooManySubscriptions`.
    pub fn subscribe(&self, group: &str) -> Result<(Vec<I::Ref>, Changes<I>), GroupError> {
        let mut state = self.lock();
        let changes = self.changes(&mut state, Some(group.into()))?;
        Ok((state.all(group), changes))
    }

    /// The members of all groups now, and every change of any from now on.
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

    /// Registers the actor's removal at its end.
    fn watch(&self, state: &mut GroupsState<I>, handle: &Handle) -> Result<(), GroupError> {
        let (watch, number) = (fresh_number(), handle.number());
        let scope = Arc::downgrade(&self.0);
        let free = move || {
            if let Some(scope) = scope.upgrade() {
                Groups(scope).ended(number);
            }
        };
        let watcher = Watcher { number: watch, kind: WatcherKind::Cleanup(Box::new(free)) };
        match handle.actor_cell().control().watch(watcher) {
            Ok(None) => {}
            Ok(Some(_)) => return Err(GroupError::Ended),
            Err(_) => return Err(GroupError::TooManyWatchers),
        }
        state.actors.insert(number, Membership { watch, groups: BTreeMap::new() });
        Ok(())
    }

    /// The actor has ended: it leaves each of its groups, with all its memberships at once.
    fn ended(&self, number: u64) {
        let mut state = self.lock();
        let Some(joined) = state.actors.remove(&number) else { return };
        let mut gone = Vec::new();
        for (group, times) in joined.groups {
            let Some(members) = state.groups.get_mut(&group) else { continue };
            let is_it = |member: &mut GroupMember<I>| member.handle.number() == number;
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
        // Whole between two statements, so a panic elsewhere has broken nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn members<I: Interface>(actors: &[I::Ref]) -> Result<Vec<GroupMember<I>>, GroupError> {
    let member = |actor: &I::Ref| {
        let handle = Alive::<I>::handle(actor).map_err(|_| GroupError::Remote)?;
        if handle.is_ended() {
            return Err(GroupError::Ended);
        }
        Ok(GroupMember { handle, reference: actor.clone() })
    };
    actors.iter().map(member).collect()
}

impl<I: Interface> GroupsState<I> {
    /// All that have not left, also those whose end is under way: it will be told.
    fn all(&self, group: &str) -> Vec<I::Ref> {
        let members = self.groups.get(group).into_iter().flatten();
        members.map(|member| member.reference.clone()).collect()
    }

    fn living(&self, group: &str) -> Vec<I::Ref> {
        let members = self.groups.get(group).into_iter().flatten();
        let living = members.filter(|member| !member.handle.is_ended());
        living.map(|member| member.reference.clone()).collect()
    }

    /// Takes one membership out, the latest.
    fn take(&mut self, group: &Arc<str>, handle: &Handle) -> Option<GroupMember<I>> {
        let members = self.groups.get_mut(group)?;
        let at = members.iter().rposition(|member| member.handle == *handle)?;
        let left = members.remove(at);
        if members.is_empty() {
            self.groups.remove(group);
        }
        self.memberships -= 1;
        if let Some(joined) = self.actors.get_mut(&handle.number()) {
            if let Some(times) = joined.groups.get_mut(group) {
                *times -= 1;
                if *times == 0 {
                    joined.groups.remove(group);
                }
            }
            if joined.groups.is_empty() {
                self.unwatch(handle);
            }
        }
        Some(left)
    }

    fn unwatch(&mut self, handle: &Handle) {
        if let Some(joined) = self.actors.remove(&handle.number()) {
            handle.actor_cell().control().unwatch(joined.watch);
        }
    }

    /// Sends a change to all subscribers; a subscriber without room receives nothing any more.
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
