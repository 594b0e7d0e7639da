//! An exported group of each node, which the others follow. Actors join it, leave it and end.
//!
//! When nothing is on its way any more, each node knows the members of its own process and those of
//! each node that it has a session with, each as often as it has joined.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::sleep;
use wigwag::groups::Groups;
use wigwag::{FollowedGroup, Node, NodeError};

use super::desk::Desk;
use super::driver::{Driver, Entry, LONG};
use super::site::NAMES;
use super::world::{State, World};

/// The group, in its scope and among nodes.
const TEAM: &str = "team";
/// How often a node looks whether it knows the right members, and the pause in between.
const LOOKS: u32 = 300;
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// The group of one node.
pub(super) struct Team {
    pub(super) scope: Groups<Desk>,
    node: Node,
    _followed: FollowedGroup,
}

impl Team {
    pub(super) fn new(node: &Node) -> Result<Team, NodeError> {
        let (scope, node) = (Groups::new(), node.clone());
        node.export_group(TEAM, &scope, TEAM)?;
        let _followed = node.follow_group(TEAM, &scope, TEAM)?;
        Ok(Team { scope, node, _followed })
    }

    /// Notes whether the members that the node knows are the right ones.
    pub(super) async fn check(&self, world: &World, index: usize) {
        let (mut expected, mut known) = (Vec::new(), Vec::new());
        for _ in 0..LOOKS {
            expected = self.expected(world, index);
            known = self.known().await;
            if known == expected {
                return;
            }
            sleep(LOOK_PAUSE).await;
        }
        let name = NAMES[index];
        world.wrong(format!("{name} knows the members {known:?} instead of {expected:?}"));
    }

    /// The living members of this node, and of those that it has a session with.
    fn expected(&self, world: &World, index: usize) -> Vec<u64> {
        let sessions = self.node.metrics().sessions;
        let names: Vec<_> = sessions.iter().filter_map(|session| session.name.clone()).collect();
        let is_connected =
            |node: usize| node == index || names.iter().any(|name| **name == *NAMES[node]);
        let state = world.state();
        let living = state.memberships.iter().filter(|(id, _)| {
            let actor = &state.actors[**id as usize];
            !actor.is_gone && is_connected(actor.node)
        });
        living.flat_map(|(id, times)| std::iter::repeat_n(*id, *times)).collect()
    }

    /// The members that the node knows, by their own account.
    async fn known(&self) -> Vec<u64> {
        let mut known = Vec::new();
        for member in self.scope.members(TEAM) {
            // The others are answered with an error if they have just ended.
            known.extend(member.id().timeout(LONG).ask().await);
        }
        known.sort_unstable();
        known
    }

    /// Has all members leave, and follows no other node any more.
    pub(super) fn end(self, world: &World, index: usize) {
        let Team { scope, node, _followed } = self;
        node.withdraw_group(TEAM);
        drop(_followed);
        scope.leave_all(TEAM, &scope.members(TEAM));
        let mut state = world.state();
        let State { memberships, actors, .. } = &mut *state;
        memberships.retain(|id, _| actors[*id as usize].node != index);
    }
}

/// How often each actor is a member, by its number.
pub(super) type Memberships = BTreeMap<u64, usize>;

impl Driver {
    /// Has an actor of this node join or leave, or takes a reference of a member.
    pub(super) fn team(&mut self, entry: &Entry) {
        let members = self.team.members(TEAM);
        if self.one_in(3) {
            let last = (members.len() as u64).saturating_sub(1);
            if let Some(member) = members.get(self.draws.between(0, last) as usize) {
                self.add(member.clone(), "member", None);
            }
            return;
        }
        let Some(id) = entry.id.filter(|_| entry.desk.as_ref().is_local()) else { return };
        if self.one_in(3) {
            if self.team.leave(TEAM, &entry.desk) {
                let mut state = self.world.state();
                let times = state.memberships.entry(id).or_default();
                *times = times.saturating_sub(1);
            }
        } else if self.team.join(TEAM, &entry.desk).is_ok() {
            *self.world.state().memberships.entry(id).or_default() += 1;
        }
    }
}
