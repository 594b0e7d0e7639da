//! Routers: one of several actors with the same interface, chosen by a rule for each call.
//!
//! A router picks a member for each call: `router.pick()?.add(1)` reads as a call of the member
//! itself. It holds references, so it keeps its members of this process alive; members that have
//! ended are removed automatically. A member of another process has ended when its reference leads
//! nowhere for good. While there is no connection to its process it remains a member, and is passed
//! over where the rule leaves a choice.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wigwag_wire::hint::{write_debug, write_hint};

use crate::limits::STICKY_KEYS_MAX;
use crate::reference::Ref;
use crate::reference::interface::Interface;

/// Picks one of its members for each call. Clones share the members and the position in turn.
///
/// ```
/// # use wigwag_actor::{Interface, Router, RouterError};
/// # fn serve<I: Interface>(workers: Vec<I::Ref>) -> Result<(), RouterError> {
/// let router = Router::<I>::of(workers);
/// let next_in_turn = router.pick()?;
/// let by_key = router.pick_for("user 17")?;
/// # Ok(())
/// # }
/// ```
pub struct Router<I: Interface>(Arc<Mutex<RouterState<I>>>);

/// Why a router has no member for a call.
///
/// The example of [`Router`] shows a call through it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RouterError {
    /// The router has no member, or all have ended.
    Empty,
    /// [`STICKY_KEYS_MAX`] keys have a member already.
    TooManyKeys,
}

impl RouterError {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            RouterError::Empty => "add a member with `Router::add`",
            RouterError::TooManyKeys => "call `Router::forget` for keys that are done",
        }
    }
}

impl fmt::Display for RouterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RouterError::Empty => f.write_str("the router has no living member"),
            RouterError::TooManyKeys => {
                write!(f, "{STICKY_KEYS_MAX} keys stick to a member already, which is the limit")
            }
        }?;
        write_hint(f, self.hint())
    }
}

impl fmt::Debug for RouterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "RouterError", None, self, self.hint())
    }
}

impl std::error::Error for RouterError {}

struct RouterMember<I: Interface> {
    /// A number that no other member of the router ever had.
    number: u64,
    /// The actor, for the choice by key: its number, or the hash of its address.
    weight: u64,
    reference: I::Ref,
}

impl<I: Interface> RouterMember<I> {
    fn to(&self) -> &Ref<I> {
        self.reference.as_ref()
    }
}

struct RouterState<I: Interface> {
    members: Vec<RouterMember<I>>,
    /// Members added so far.
    added: u64,
    /// The index of the next member in turn.
    next: usize,
    /// The member of each sticky key: the hash of the key, and the number of the member.
    sticky: HashMap<u64, u64>,
}

impl<I: Interface> Router<I> {
    /// Creates a router without members.
    pub fn new() -> Router<I> {
        let state = RouterState { members: Vec::new(), added: 0, next: 0, sticky: HashMap::new() };
        Router(Arc::new(Mutex::new(state)))
    }

    /// Creates a router over `members`.
    pub fn of(members: impl IntoIterator<Item = I::Ref>) -> Router<I> {
        let router = Router::new();
        members.into_iter().for_each(|member| router.add(&member));
        router
    }

    /// Adds a member; adding it again changes nothing.
    ///
    /// A member of another process stays until its actor has stopped or its session is over; one
    /// whose reference comes back stays until its node is closed.
    pub fn add(&self, member: &I::Ref) {
        let to: &Ref<I> = member.as_ref();
        let weight = to.actor_number().unwrap_or_else(|| hash(&**to.target()));
        let mut state = self.lock();
        if state.members.iter().all(|known| !known.to().is_same(to)) {
            state.added += 1;
            let number = state.added;
            state.members.push(RouterMember { number, weight, reference: member.clone() });
        }
    }

    /// Removes a member; keys that stuck to it find another. False when it was not a member.
    pub fn remove(&self, member: &I::Ref) -> bool {
        let mut state = self.lock();
        let at = state.members.iter().position(|known| known.to().is_same(member.as_ref()));
        let removed = at.map(|at| state.members.remove(at));
        drop(state);
        removed.is_some()
    }

    /// The living members, in the order in which they were added.
    pub fn members(&self) -> Vec<I::Ref> {
        let mut state = self.lock();
        state.bury();
        state.members.iter().map(|member| member.reference.clone()).collect()
    }

    /// Picks the next member in turn, and passes over those whose process cannot be reached now, if
    /// there are others.
    ///
    /// # Errors
    /// `Empty` when no member lives.
    pub fn pick(&self) -> Result<I::Ref, RouterError> {
        let mut state = self.lock();
        state.bury();
        if state.members.is_empty() {
            return Err(RouterError::Empty);
        }
        let (count, next) = (state.members.len(), state.next);
        let mut in_turn = (next..next + count).map(|at| at % count);
        let reachable = in_turn.find(|at| state.members[*at].to().is_reachable());
        let at = reachable.unwrap_or(next % count);
        state.next = at + 1;
        Ok(state.members[at].reference.clone())
    }

    /// Picks the member with the fewest waiting calls; among equals, the one added first. Calls
    /// that a turn has not published yet do not count. Of a member of another process, those count
    /// that this process has sent and that are not reported as handled, which takes some
    /// milliseconds; those that cannot be reached now come last.
    ///
    /// # Errors
    /// `Empty` when no member lives.
    pub fn pick_idlest(&self) -> Result<I::Ref, RouterError> {
        let mut state = self.lock();
        state.bury();
        let load = |member: &&RouterMember<I>| (!member.to().is_reachable(), member.to().waiting());
        let idlest = state.members.iter().min_by_key(load);
        idlest.map(|member| member.reference.clone()).ok_or(RouterError::Empty)
    }

    /// Picks the member that the key belongs to, which is always the same while the members are the
    /// same.
    ///
    /// A member that joins `n` others takes one key in `n + 1` from them, and a member that leaves
    /// gives its keys to all others (highest random weight). The time is proportional to the number
    /// of members. A member that cannot be reached now keeps its keys. For members of other
    /// processes the choice depends on their addresses alone, so it is the same in every process
    /// with the same build.
    ///
    /// # Errors
    /// `Empty` when no member lives.
    pub fn pick_for<K: Hash + ?Sized>(&self, key: &K) -> Result<I::Ref, RouterError> {
        let mut state = self.lock();
        state.bury();
        state.heaviest(hash(key)).map(|member| member.reference.clone()).ok_or(RouterError::Empty)
    }

    /// Picks the member that the key sticks to: the one of its first call, for as long as it lives
    /// and is a member, regardless of members added later. Keys are distinguished by 64 bits of
    /// their hash.
    ///
    /// # Errors
    /// `Empty` when no member lives; `TooManyKeys` for a new key.
    pub fn pick_sticky<K: Hash + ?Sized>(&self, key: &K) -> Result<I::Ref, RouterError> {
        let key = hash(key);
        let mut state = self.lock();
        state.bury();
        if let Some(member) = state.stuck(key) {
            return Ok(member);
        }
        let member = state.heaviest(key).ok_or(RouterError::Empty)?;
        let (number, reference) = (member.number, member.reference.clone());
        if state.sticky.len() >= STICKY_KEYS_MAX && !state.sticky.contains_key(&key) {
            // Forget the keys of members that are gone.
            let RouterState { members, sticky, .. } = &mut *state;
            sticky.retain(|_, to| members.iter().any(|one| one.number == *to));
            if sticky.len() >= STICKY_KEYS_MAX {
                return Err(RouterError::TooManyKeys);
            }
        }
        state.sticky.insert(key, number);
        Ok(reference)
    }

    /// Forgets the member of a sticky key; false when the key had none.
    pub fn forget<K: Hash + ?Sized>(&self, key: &K) -> bool {
        self.lock().sticky.remove(&hash(key)).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, RouterState<I>> {
        // The state is consistent between any two statements, so a panic elsewhere has broken
        // nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<I: Interface> RouterState<I> {
    /// Removes the members that have ended, without changing the turn of the others.
    fn bury(&mut self) {
        let mut at = 0;
        while at < self.members.len() {
            if self.members[at].to().has_ended() {
                self.members.remove(at);
                self.next -= usize::from(at < self.next);
            } else {
                at += 1;
            }
        }
    }

    fn stuck(&self, key: u64) -> Option<I::Ref> {
        let number = *self.sticky.get(&key)?;
        let member = self.members.iter().find(|member| member.number == number)?;
        Some(member.reference.clone())
    }

    fn heaviest(&self, key: u64) -> Option<&RouterMember<I>> {
        self.members.iter().max_by_key(|member| hash(&(key, member.weight)))
    }
}

/// The hash of a key: the same for the same key in one build of the program, and without a secret.
/// A stranger who chooses keys can direct all of them to one member.
fn hash<K: Hash + ?Sized>(key: &K) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

impl<I: Interface> Clone for Router<I> {
    fn clone(&self) -> Router<I> {
        Router(self.0.clone())
    }
}

impl<I: Interface> Default for Router<I> {
    fn default() -> Router<I> {
        Router::new()
    }
}

impl<I: Interface> fmt::Debug for Router<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Router({} members)", self.members().len())
    }
}
