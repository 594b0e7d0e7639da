//! Links between actors of one node and of different nodes.
//!
//! Each end of a link is told once of the end of the other one, with its reason, and then ends too,
//! unless that end was wanted or it survives such ends. After a link is removed neither is told.

use std::time::Duration;

use tokio::time::sleep;
use wigwag::lifecycle::Exit;
use wigwag::{Reason, This};

use super::desk::{Desk, DeskRef};
use super::driver::{Driver, Entry, LONG, asked};
use super::world::{ActorRecord, State, World};

/// Removes a link.
type Undo = Box<dyn FnOnce() + Send>;

/// A link that `owner` has made to `target`; made again before its end, it is the same.
pub(crate) struct LinkRecord {
    owner: u64,
    target: u64,
    /// The target, as the reference names it.
    name: String,
    /// Both are actors of one node.
    is_local: bool,
    /// What removes it, for each time that it was made: each reference may have a route of its own.
    undo: Vec<Undo>,
    times: usize,
    is_undone: bool,
    /// A call behind it was answered, so the target's node has taken the link or has refused it.
    is_confirmed: bool,
    /// The ends of the target of which the owner was told.
    owner_told: Vec<Reason>,
    /// The ends of the owner of which the target was told, if both are actors of one node.
    target_told: Vec<Reason>,
}

/// All links.
#[derive(Default)]
pub(crate) struct Links {
    made: Vec<LinkRecord>,
    /// The ends of actors of other nodes that have linked themselves to the actor with this number.
    /// Nothing says which of them it was.
    told_by_others: Vec<(u64, Reason)>,
}

/// The reason of an actor that ends with a linked one: along a chain of links, that of the first.
pub(super) fn linked(reason: &Reason) -> Reason {
    match reason {
        Reason::Linked(_) => reason.clone(),
        own => Reason::Linked(own.clone().into()),
    }
}

/// A reason as another node is told it.
pub(super) fn sent(reason: &Reason) -> Reason {
    Reason::from_wire(&reason.to_wire())
}

impl LinkRecord {
    fn is_between(&self, one: u64, other: u64) -> bool {
        [self.owner, self.target] == [one, other] || [self.target, self.owner] == [one, other]
    }

    /// The link was refused, or its session is over.
    fn was_refused(&self) -> bool {
        let is_refusal =
            |told: &Reason| matches!(told, Reason::LinkRefused(_) | Reason::Unreachable(_));
        self.owner_told.iter().any(is_refusal)
    }
}

impl World {
    /// An actor has linked itself to another one, and `undo` removes the link. Returns its number.
    fn linked(&self, pair: (u64, u64), name: &str, is_local: bool, undo: Undo) -> usize {
        let (owner, target) = pair;
        let mut state = self.state();
        let mut known = state.links.made.iter_mut().enumerate();
        let known = known.find(|(_, link)| {
            let is_same = match is_local {
                true => link.is_between(owner, target),
                false => link.owner == owner && link.name == name,
            };
            let told = [&link.owner_told, &link.target_told];
            is_same && !link.is_undone && told.iter().all(|told| told.is_empty())
        });
        if let Some((number, link)) = known {
            link.undo.push(undo);
            link.times += 1;
            return number;
        }
        state.links.made.push(LinkRecord {
            owner,
            target,
            name: name.to_owned(),
            is_local,
            undo: vec![undo],
            times: 1,
            is_undone: false,
            is_confirmed: false,
            owner_told: Vec::new(),
            target_told: Vec::new(),
        });
        state.links.made.len() - 1
    }

    /// An actor is told of the end of one that it is linked to. True if it ends with that.
    pub(crate) fn exited(&self, own: u64, exit: &Exit) -> bool {
        let mut state = self.state();
        let ends = !state.actors[own as usize].survives && !exit.reason.is_wanted();
        if ends {
            state.actors[own as usize].linked_end = Some(exit.reason.clone());
        }
        let reason = exit.reason.clone();
        let other = exit.actor.as_ref().map(|actor| actor.number());
        let other = state.actors.iter().position(|one| other.is_some() && one.number == other);
        if other.is_none() && exit.target.ends_with("/Desk") {
            state.links.told_by_others.push((own, reason));
            return ends;
        }
        let mut links = state.links.made.iter_mut().rev();
        let link = links.find(|link| match other {
            Some(other) => link.is_local && link.is_between(own, other as u64),
            None => !link.is_local && link.owner == own && link.name == *exit.target,
        });
        let error = match link {
            None => Some("is not linked"),
            Some(link) if link.is_undone => Some("has removed the link"),
            Some(link) => {
                let told = match own == link.owner {
                    true => &mut link.owner_told,
                    false => &mut link.target_told,
                };
                told.push(reason);
                (told.len() > link.times).then_some("was told before")
            }
        };
        drop(state);
        if let Some(error) = error {
            self.wrong(format!("{own} is told of the end of {}, but {error}", exit.target));
        }
        ends
    }

    /// What removes the links that actors have made and that are left, if `is_it` holds for the actor.
    pub(crate) fn undo_links(&self, is_it: impl Fn(u64, &ActorRecord) -> bool) {
        let mut state = self.state();
        let State { links, actors, .. } = &mut *state;
        let mut undone = Vec::new();
        for link in &mut links.made {
            if is_it(link.owner, &actors[link.owner as usize]) {
                link.is_undone |= !link.undo.is_empty();
                undone.append(&mut link.undo);
            }
        }
        drop(state);
        undone.into_iter().for_each(|undo| undo());
    }
}

/// The steps of an actor.
impl Desk {
    pub(super) fn link_to(&self, desk: DeskRef, target: u64, this: &This<Desk>) -> bool {
        if target == self.id || this.link_ref(&desk).is_err() {
            return false;
        }
        let (this, linked) = (this.clone(), desk.clone());
        let undo = Box::new(move || this.unlink_ref(&linked));
        let (name, is_local) = (desk.as_ref().target(), desk.as_ref().is_local());
        let number = self.world.linked((self.id, target), name, is_local, undo);
        let (own, world) = (self.id, self.world.clone());
        tokio::spawn(async move {
            if desk.id().timeout(LONG).ask().await.is_ok() {
                // An actor that has ended is told of no refusal.
                sleep(Duration::from_millis(1)).await;
                let mut state = world.state();
                state.links.made[number].is_confirmed |= !state.actors[own as usize].is_gone;
            }
        });
        true
    }

    pub(super) fn unlink_all(&self) {
        self.world.undo_links(|owner, _| owner == self.id);
    }
}

impl Driver {
    pub(super) async fn link(&mut self, entry: &Entry, other: &Entry) {
        let limit = self.limit();
        if self.one_in(5) {
            let outcome = asked(entry.desk.unlink().timeout(limit).ask().await);
            self.outcome("unlink", limit, entry, outcome);
        }
        let Some(target) = other.id.filter(|_| !other.is_piped) else { return };
        let call = entry.desk.link(other.desk.clone(), target);
        let outcome = asked(call.timeout(limit).ask().await);
        self.outcome("link", limit, entry, outcome);
    }
}

/// What is wrong with links when nothing is on its way any more.
pub(super) fn wrong_links(state: &State, loses_sessions: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (id, actor) in (0..).zip(&state.actors) {
        let Some(end) = &actor.linked_end else { continue };
        let linked = linked(end);
        // It may be killed meanwhile.
        let is_right = actor.reason.as_ref().is_none_or(|reason| *reason == linked);
        if !is_right || !actor.is_gone {
            wrong.push(format!("{id} has not ended for {linked:?}, but {:?}", actor.reason));
        }
    }
    let links = state.links.made.iter().filter(|link| !link.is_undone);
    for link in links.clone() {
        let [owner, target] = [link.owner, link.target].map(|id| &state.actors[id as usize]);
        let ways = match link.is_local {
            true => vec![(owner, target, &link.owner_told), (target, owner, &link.target_told)],
            false => vec![(owner, target, &link.owner_told)],
        };
        for (own, other, told) in ways {
            let reason = other.end_reason();
            let expected = if link.is_local { reason.clone() } else { sent(reason) };
            let is_right = told.iter().all(|told| *told == expected && other.is_gone)
                && (!told.is_empty() || own.is_gone || !other.is_gone);
            let is_refused = !link.is_local && link.was_refused();
            let may_differ = !link.is_local && loses_sessions && (!told.is_empty() || own.is_gone);
            if !is_right && !is_refused && !may_differ {
                let (owner, target, local) = (link.owner, link.target, link.is_local);
                wrong.push(format!(
                    "of the link of {owner} to {target} ({}, {local}) {told:?} is told and not {expected:?}",
                    link.name
                ));
            }
        }
    }
    if !loses_sessions {
        wrong.extend(
            (0..).zip(&state.actors).filter_map(|(id, actor)| wrong_target(state, id, actor)),
        );
    }
    wrong
}

/// An actor that was told too often or too rarely of the ends of actors of other nodes which have
/// linked themselves to it.
fn wrong_target(state: &State, id: u64, actor: &ActorRecord) -> Option<String> {
    let told = state.links.told_by_others.iter().filter(|(own, _)| *own == id);
    let told: Vec<_> = told.map(|(_, reason)| reason).collect();
    let ended = state.links.made.iter().filter(|link| {
        let has_ended = state.actors[link.owner as usize].is_gone;
        link.target == id && !link.is_local && !link.is_undone && has_ended && !link.was_refused()
    });
    let most: usize = ended.clone().map(|link| link.times).sum();
    let least = ended.clone().filter(|link| link.is_confirmed && !actor.is_gone).count();
    let reasons: Vec<_> = ended
        .map(|link| (sent(state.actors[link.owner as usize].end_reason()), link.owner, &link.name))
        .collect();
    let is_known = told.iter().all(|told| reasons.iter().any(|(reason, ..)| reason == *told));
    (told.len() < least || told.len() > most || !is_known).then(|| {
        format!("{id} is told by others of {told:?}, and not {least} to {most} of {reasons:?}")
    })
}
