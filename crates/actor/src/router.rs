//! Routers: one of several actors with the same interface, chosen by a rule for each call.
//!
//! A router picks a member for each call: `router.pick()?.add(1)` reads as a call of the member
//! itself. It holds references, so it keeps its members alive; members that have ended are removed
//! automatically. Members live in this process, because this process is not told when actors of
//! others end.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wigwag_wire::hint::{write_debug, write_hint};

use crate::lifecycle::handle::Handle;
use crate::limits::STICKY_KEYS_MAX;
use crate::reference::alive::Alive;
use crate::reference::interface::Interface;

/// Picks one of its members for each call. Clones share the members and the position in turn.
///
/// ```
/// # use wigwag_actor::{Interface, Router, RouterError};
/// # fn serve<I: Interface>(workers: Vec<I::Ref>) -> Result<(), RouterError> {
/// let router = Router::<I>::of(workers)?;
/// let next_in_turn = router.pick()?;
/// let by_key = router.pick_for("user 17")?;
/// # Ok(())
/// # }
/// ```
pub struct Router<I: Interface>(Arc<Mutex<RouterState<I>>>);

/// Why a router has no member for a call, or did not add an actor.
///
/// The example of [`Router`] shows a call through it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RouterError {
    /// The router has no member, or all have ended.
    Empty,
    /// [`STICKY_KEYS_MAX`] keys have a member already.
    TooManyKeys,
    /// The actor lives in another process.
    Remote,
}

impl RouterError {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            RouterError::Empty => "add a member with `Router::add`",
            RouterError::TooManyKeys => "call `Router::forget` for keys that are done",
            RouterError::Remote => "use a router in the process of the actor",
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
            RouterError::Remote => f.write_str("the actor lives in another process"),
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
    handle: Handle,
    reference: I::Ref,
}

struct RouterState<I: Interface> {
    members: Vec<RouterMember<I>>,
    /// The index of the next member in turn.
    next: usize,
    /// The member of each sticky key: the hash of the key, and the number of the actor.
    sticky: HashMap<u64, u64>,
}

impl<I: Interface> Router<I> {
    /// Creates a router without members.
    pub fn new() -> Router<I> {
        let state = RouterState { members: Vec::new(), next: 0, sticky: HashMap::new() };
        Router(Arc::new(Mutex::new(state)))
    }

    /// Creates a router over `members`.
    ///
    /// # Errors
    /// `Remote` when a member lives in another process.
    pub fn of(members: impl IntoIterator<Item = I::Ref>) -> Result<Router<I>, RouterError> {
        let router = Router::new();
        members.into_iter().try_for_each(|member| router.add(&member))?;
        Ok(router)
    }

    /// Adds a member; adding it again changes nothing.
    ///
    /// # Errors
    /// `Remote` when it lives in another process.
    pub fn add(&self, member: &I::Ref) -> Result<(), RouterError> {
        let handle = Alive::<I>::handle(member).map_err(|_| RouterError::Remote)?;
        let mut state = self.lock();
        if state.members.iter().all(|known| known.handle != handle) {
            state.members.push(RouterMember { handle, reference: member.clone() });
        }
        Ok(())
    }

    /// Removes a member; keys that stuck to it find another. False when it was not a member.
    pub fn remove(&self, member: &I::Ref) -> bool {
        let Ok(handle) = Alive::<I>::handle(member) else { return false };
        let mut state = self.lock();
        let at = state.members.iter().position(|known| known.handle == handle);
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

    /// Picks the next member in turn.
    ///
    /// # Errors
    /// `Empty` when no member lives.
    pub fn pick(&self) -> Result<I::Ref, RouterError> {
        let mut state = self.lock();
        state.bury();
        if state.members.is_empty() {
            return Err(RouterError::Empty);
        }
        let at = state.next % state.members.len();
        state.next = at + 1;
        Ok(state.members[at].reference.clone())
    }

    /// Picks the member with the fewest waiting calls; among equals, the one added first. Calls
    /// that a turn has not published yet do not count.
    ///
    /// # Errors
    /// `Empty` when no member lives.
    pub fn pick_idlest(&self) -> Result<I::Ref, RouterError> {
        let mut state = self.lock();
        state.bury();
        let idlest = state.members.iter().min_by_key(|member| member.handle.waiting());
        idlest.map(|member| member.reference.clone()).ok_or(RouterError::Empty)
    }

    /// Picks the member that the key belongs to, which is always the same while the members are the
    /// same.
    ///
    /// A member that joins `n` others takes one key in `n + 1` from them, and a member that leaves
    /// gives its keys to all others (highest random weight). The time is proportional to the number
    /// of members.
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
        let (number, reference) = (member.handle.number(), member.reference.clone());
        if state.sticky.len() >= STICKY_KEYS_MAX && !state.sticky.contains_key(&key) {
            // Forget the keys of members that are gone.
            let RouterState { members, sticky, .. } = &mut *state;
            sticky.retain(|_, to| members.iter().any(|one| one.handle.number() == *to));
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
            if self.members[at].handle.is_ended() {
                self.members.remove(at);
                self.next -= usize::from(at < self.next);
            } else {
                at += 1;
            }
        }
    }

    fn stuck(&self, key: u64) -> Option<I::Ref> {
        let number = *self.sticky.get(&key)?;
        let member = self.members.iter().find(|member| member.handle.number() == number)?;
        Some(member.reference.clone())
    }

    fn heaviest(&self, key: u64) -> Option<&RouterMember<I>> {
        self.members.iter().max_by_key(|member| hash(&(key, member.handle.number())))
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
