//! The exported actors of a node, by name.

pub(crate) mod directory;
pub(crate) mod references;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

use wigwag_actor::runtime::publish::{Publication, publish_through};
use wigwag_actor::{Actor, Exported, Publisher};
use wigwag_link::limits::TARGET_BYTES_MAX;

use crate::access::{GROUPS, NodeAccess};
use crate::error::NodeError;
use crate::lock::lock;
use crate::metrics::ActorMetrics;
use crate::metrics::observer::{MetricsSource, OBSERVER, Observer};
use directory::Directory;
use references::ReferenceTable;

/// A table of exported actors.
pub(crate) struct Exports {
    actors: Arc<Actors>,
    is_listed: bool,
    /// Changes with each export and each withdrawal.
    version: AtomicU64,
    pub(crate) access: Arc<NodeAccess>,
    /// The actor that lists the others, from the first time that a peer asks for it.
    directory: ReservedActor,
    /// The node, if other nodes may take snapshots of it, and the actor that hands them out.
    source: OnceLock<Weak<dyn MetricsSource>>,
    observer: ReservedActor,
    /// The actor that lets peers follow groups, and what spawns it.
    group_source: ReservedActor,
    spawn_group_source: OnceLock<SpawnActor>,
    /// The actors that references lead to, exported or not.
    pub(crate) references: Arc<ReferenceTable>,
}

/// An actor of the node itself, from the first time that a peer asks for it.
type ReservedActor = Mutex<Option<Arc<dyn Exported>>>;

/// The function that spawns such an actor.
pub(crate) type SpawnActor = Box<dyn Fn() -> Option<Arc<dyn Exported>> + Send + Sync>;

/// The actors by their names.
#[derive(Default)]
pub(crate) struct Actors(Mutex<HashMap<String, Export>>);

/// An exported actor, and the place through which it publishes.
struct Export {
    actor: Arc<dyn Exported>,
    _publication: Option<Publication>,
}

impl Exports {
    /// Creates an empty table, which peers may list or not.
    pub(crate) fn new(is_listed: bool, access: Arc<NodeAccess>) -> Exports {
        Exports {
            actors: Arc::default(),
            is_listed,
            version: AtomicU64::new(0),
            access,
            directory: Mutex::default(),
            source: OnceLock::new(),
            observer: Mutex::default(),
            group_source: Mutex::default(),
            spawn_group_source: OnceLock::new(),
            references: Arc::default(),
        }
    }

    /// Lets other nodes take snapshots of `source`.
    pub(crate) fn observe(&self, source: Weak<dyn MetricsSource>) {
        // A node does this once.
        let _ = self.source.set(source);
    }

    /// Lets other nodes follow groups, by the actor that `spawn` spawns.
    pub(crate) fn offer_groups(&self, spawn: SpawnActor) {
        // A node does this once.
        let _ = self.spawn_group_source.set(spawn);
    }

    /// The rows of all exported actors.
    pub(crate) fn metrics(&self) -> Vec<ActorMetrics> {
        let actors = self.actors.lock();
        let exported: Vec<_> =
            actors.iter().map(|(name, export)| (name.clone(), export.actor.clone())).collect();
        // The counters of each are behind the lock of its mailbox.
        drop(actors);
        let row = |(name, actor): (String, Arc<dyn Exported>)| {
            ActorMetrics::new(&name, actor.schema().name, actor.counters())
        };
        exported.into_iter().map(row).collect()
    }

    /// Adds an actor, which publishes through `publisher`. The name of a stopped actor can be used
    /// again.
    pub(crate) fn add(
        &self,
        name: &str,
        actor: Arc<dyn Exported>,
        publisher: Option<Arc<dyn Publisher>>,
    ) -> Result<(), NodeError> {
        check(name)?;
        let mut actors = self.actors.lock();
        if actors.get(name).is_some_and(|old| !old.actor.is_stopped()) {
            let rule = "an actor is exported under this name";
            return Err(NodeError::BadName { name: name.to_owned(), rule });
        }
        let publication = publisher.map(|publisher| publish_through(actor.number(), publisher));
        actors.insert(name.to_owned(), Export { actor, _publication: publication });
        self.version.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Removes a name; attached channels stay open.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let removed = self.actors.lock().remove(name);
        self.version.fetch_add(1, Ordering::Release);
        removed.is_some()
    }

    /// The version of the table.
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The running actors and their names, in the order of the names.
    pub(crate) fn all(&self) -> Vec<(String, Arc<dyn Exported>)> {
        let actors = self.actors.lock();
        let mut all: Vec<_> = actors
            .iter()
            .filter(|(_, export)| !export.actor.is_stopped())
            .map(|(name, export)| (name.clone(), export.actor.clone()))
            .collect();
        drop(actors);
        all.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        all
    }

    /// The running actor with this name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<Arc<dyn Exported>> {
        let name = std::str::from_utf8(name).ok()?;
        if name.is_empty() {
            return self.is_listed.then(|| self.directory())?;
        }
        if name == OBSERVER {
            return self.observer();
        }
        if name == GROUPS {
            return self.group_source();
        }
        let actors = self.actors.lock();
        let export = actors.get(name).filter(|export| !export.actor.is_stopped());
        export.map(|export| export.actor.clone())
    }

    /// Removes all actors.
    pub(crate) fn clear(&self) {
        let actors = std::mem::take(&mut *self.actors.lock());
        drop(actors);
        self.version.fetch_add(1, Ordering::Release);
        let reserved = [&self.directory, &self.observer, &self.group_source];
        let reserved = reserved.map(|actor| lock(actor).take());
        drop(reserved);
    }

    fn directory(&self) -> Option<Arc<dyn Exported>> {
        let spawn = || {
            let (actors, access) = (self.actors.clone(), self.access.clone());
            Directory { actors, access }.spawn().as_ref().exported()
        };
        running(&self.directory, spawn)
    }

    fn group_source(&self) -> Option<Arc<dyn Exported>> {
        running(&self.group_source, self.spawn_group_source.get()?)
    }

    fn observer(&self) -> Option<Arc<dyn Exported>> {
        let source = self.source.get()?;
        running(&self.observer, || Observer { source: source.clone() }.spawn().as_ref().exported())
    }
}

/// The actor, which is spawned if it does not run.
fn running(
    actor: &ReservedActor,
    spawn: impl FnOnce() -> Option<Arc<dyn Exported>>,
) -> Option<Arc<dyn Exported>> {
    let mut actor = lock(actor);
    if actor.as_ref().is_none_or(|actor| actor.is_stopped()) {
        *actor = spawn();
    }
    actor.clone()
}

impl Actors {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Export>> {
        lock(&self.0)
    }
}

/// Checks the name of an export.
pub(crate) fn check(name: &str) -> Result<(), NodeError> {
    let bad = |rule| Err(NodeError::BadName { name: name.to_owned(), rule });
    if name.is_empty() || name.len() > TARGET_BYTES_MAX {
        return bad("a name has 1 to 255 bytes");
    }
    if name.contains('/') || name.chars().any(char::is_control) {
        return bad("a name has no slash and no control characters");
    }
    Ok(())
}
