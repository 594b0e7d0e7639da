//! The names of actors in this process.
//!
//! A name belongs to one living actor. It acts as a reference to the actor, as an export does: the
//! actor does not end for lack of other references. When the actor ends for another reason, its
//! names are free in the same moment, before any monitor is told of the end.
//!
//! ```
//! # use wigwag_actor::{Handle, Interface, registry};
//! # fn publish<I: Interface>(counter: &I::Ref) -> Result<(), registry::NameError> {
//! registry::register::<I, _>("total", counter)?;
//! let handle: Option<Handle> = registry::find_any("total");
//! # Ok(())
//! # }
//! ```

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use wigwag_wire::hint::{write_debug, write_hint};

use crate::lifecycle::handle::{Handle, fresh_number};
use crate::lifecycle::monitor::TooManyWatchers;
use crate::lifecycle::watchers::{Watcher, WatcherKind};
use crate::limits::{NAME_BYTES_MAX, NAMES_MAX};
use crate::reference::interface::Interface;
use crate::runtime::alive::Alive;

/// Why a name was not given, or does not lead to an actor.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// Another living actor has the name.
    Taken {
        /// The name.
        name: String,
        /// The actor that has it.
        by: Handle,
    },
    /// No actor has the name.
    Unknown(String),
    /// The actor of that name has another interface than the one requested.
    WrongType {
        /// The name.
        name: String,
        /// The interface that was requested.
        asked: &'static str,
        /// The interface of the actor.
        found: &'static str,
    },
    /// The name is longer than [`NAME_BYTES_MAX`]; its length in bytes.
    TooLong(usize),
    /// There are [`NAMES_MAX`] names already.
    TooMany,
    /// The actor has ended.
    Ended,
    /// The actor lives in another process.
    Remote,
    /// The actor has as many watchers as it may, and the registry must watch it too.
    TooManyWatchers,
}

impl NameError {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            NameError::Taken { .. } => "choose another name, or call `registry::unregister` first",
            NameError::Unknown(_) => {
                "check the spelling, or wait for the actor with `registry::wait_for`"
            }
            NameError::WrongType { .. } => "look the actor up as what it is",
            NameError::TooLong(_) => "choose a shorter name",
            NameError::TooMany => {
                "call `registry::unregister` for some names, or keep references instead"
            }
            NameError::Ended => "register the actor's successor",
            NameError::Remote => "export the actor from its node, or register it in its process",
            NameError::TooManyWatchers => TooManyWatchers.hint(),
        }
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Taken { name, by } => write!(f, "the name `{name}` is taken by {by:?}"),
            NameError::Unknown(name) => write!(f, "no actor has the name `{name}`"),
            NameError::WrongType { name, asked, found } => {
                write!(f, "the actor `{name}` is a `{found}` and not a `{asked}`")
            }
            NameError::TooLong(bytes) => {
                write!(f, "the name has {bytes} bytes, {NAME_BYTES_MAX} are allowed")
            }
            NameError::TooMany => {
                write!(f, "there are {NAMES_MAX} names already, which is the limit")
            }
            NameError::Ended => f.write_str("the actor has ended"),
            NameError::Remote => f.write_str("the actor lives in another process"),
            NameError::TooManyWatchers => write!(f, "{TooManyWatchers}"),
        }?;
        write_hint(f, self.hint())
    }
}

impl fmt::Debug for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "NameError", None, self, self.hint())
    }
}

impl std::error::Error for NameError {}

struct Entry {
    handle: Handle,
    /// The number of the registry's watch on the actor.
    watch: u64,
    interface: &'static str,
    /// The actor's own type of reference.
    reference: Box<dyn Any + Send>,
}

static NAMES: Mutex<BTreeMap<Box<str>, Entry>> = Mutex::new(BTreeMap::new());

/// Notified when a name is given.
static GIVEN: Notify = Notify::const_new();

fn names() -> MutexGuard<'static, BTreeMap<Box<str>, Entry>> {
    // The map is consistent between any two statements, so a panic elsewhere has broken nothing.
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives `name` to an actor of this process, which may have several names.
///
/// The name keeps the actor alive as a reference does, until it is [removed](unregister) or the
/// actor ends. Registering an actor again under its name changes nothing: a supervised actor may do
/// so in each of its lives.
///
/// # Errors
/// [`NameError`]; `Taken` when another living actor has the name.
pub fn register<I, R>(name: &str, actor: &R) -> Result<(), NameError>
where
    I: Interface,
    R: Alive<I> + AsRef<crate::Ref<I>>,
{
    let handle = actor.handle().map_err(|_| NameError::Remote)?;
    if name.len() > NAME_BYTES_MAX {
        return Err(NameError::TooLong(name.len()));
    }
    let watch = fresh_number();
    let reference = Box::new(I::Ref::from(actor.as_ref().clone()));
    let entry = Entry { handle: handle.clone(), watch, interface: I::SCHEMA.name, reference };
    let mut names = names();
    match names.get(name) {
        Some(holder) if !holder.handle.is_ended() => {
            // A supervised actor keeps its address, so its next life has the name already.
            if holder.handle == handle {
                return Ok(());
            }
            return Err(NameError::Taken { name: name.into(), by: holder.handle.clone() });
        }
        None if names.len() >= NAMES_MAX => return Err(NameError::TooMany),
        _ => {}
    }
    // Watched under the lock: either the end finds the name, or the registration finds the end.
    let freed = name.to_owned();
    let watcher = Watcher {
        number: watch,
        kind: WatcherKind::Cleanup(Box::new(move || free(&freed, watch))),
    };
    match handle.actor_cell().control().watch(watcher) {
        Ok(None) => {}
        Ok(Some(_)) => return Err(NameError::Ended),
        Err(_) => return Err(NameError::TooManyWatchers),
    }
    let before = names.insert(name.into(), entry);
    drop(names);
    drop(before);
    GIVEN.notify_waiters();
    Ok(())
}

/// Removes the name of an actor that has ended, unless another actor has it by now.
fn free(name: &str, watch: u64) {
    let mut names = names();
    let entry = match names.get(name) {
        Some(entry) if entry.watch == watch => names.remove(name),
        _ => None,
    };
    drop(names);
    drop(entry);
}

/// Removes a name and returns the actor that had it; `None` when no actor had it.
pub fn unregister(name: &str) -> Option<Handle> {
    let entry = names().remove(name)?;
    entry.handle.actor_cell().control().unwatch(entry.watch);
    Some(entry.handle).filter(|handle| !handle.is_ended())
}

/// Finds the actor with that name, as a reference: `find::<Counter>("total")`.
///
/// # Errors
/// `Unknown` when no actor has the name; `WrongType` when the actor has another interface.
pub fn find<I: Interface>(name: &str) -> Result<I::Ref, NameError> {
    let names = names();
    let entry = names.get(name).filter(|entry| !entry.handle.is_ended());
    let entry = entry.ok_or_else(|| NameError::Unknown(name.into()))?;
    let reference = entry.reference.downcast_ref::<I::Ref>();
    reference.cloned().ok_or_else(|| NameError::WrongType {
        name: name.into(),
        asked: I::SCHEMA.name,
        found: entry.interface,
    })
}

/// Finds the actor with that name, whatever its interface.
pub fn find_any(name: &str) -> Option<Handle> {
    let handle = names().get(name)?.handle.clone();
    Some(handle).filter(|handle| !handle.is_ended())
}

/// Finds the actor with that name as [`find`] does, and waits until an actor has it. There is no
/// time limit: set one of your own.
///
/// # Errors
/// `WrongType` when the actor has another interface.
///
/// # Cancellation
/// The future may be dropped at any time without effect.
pub async fn wait_for<I: Interface>(name: &str) -> Result<I::Ref, NameError> {
    loop {
        let given = GIVEN.notified();
        // From here on no registration goes unnoticed.
        let mut given = std::pin::pin!(given);
        given.as_mut().enable();
        match find::<I>(name) {
            Err(NameError::Unknown(_)) => given.await,
            outcome => return outcome,
        }
    }
}

/// The names of all living actors, sorted.
pub fn registered() -> Vec<String> {
    let names = names();
    let actor_cell = names.iter().filter(|(_, entry)| !entry.handle.is_ended());
    actor_cell.map(|(name, _)| name.to_string()).collect()
}
