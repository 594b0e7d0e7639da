//! The exported actors of a node, by name.

pub(crate) mod directory;
pub(crate) mod references;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use wigwag_actor::runtime::publish::{Publication, publish_through};
use wigwag_actor::{Actor, Exported, Publisher};
use wigwag_link::limits::TARGET_BYTES_MAX;

use crate::access::NodeAccess;
use crate::error::NodeError;
use crate::lock::lock;
use directory::Directory;
use references::ReferenceTable;

/// A table of exported actors.
pub(crate) struct Exports {
    actors: Arc<Actors>,
    is_listed: bool,
    pub(crate) access: Arc<NodeAccess>,
    /// The actor that lists the others, from the first time that a peer asks for it.
    directory: Mutex<Option<Arc<dyn Exported>>>,
    /// The actors that references lead to, exported or not.
    pub(crate) references: Arc<ReferenceTable>,
}

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
        let (directory, references) = (Mutex::default(), Arc::default());
        Exports { actors: Arc::default(), is_listed, access, directory, references }
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
        Ok(())
    }

    /// Removes a name; attached channels stay open.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let removed = self.actors.lock().remove(name);
        removed.is_some()
    }

    /// The running actor with this name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<Arc<dyn Exported>> {
        let name = std::str::from_utf8(name).ok()?;
        if name.is_empty() {
            return self.is_listed.then(|| self.directory())?;
        }
        let actors = self.actors.lock();
        let export = actors.get(name).filter(|export| !export.actor.is_stopped());
        export.map(|export| export.actor.clone())
    }

    /// Removes all actors.
    pub(crate) fn clear(&self) {
        let actors = std::mem::take(&mut *self.actors.lock());
        drop(actors);
        let directory = lock(&self.directory).take();
        drop(directory);
    }

    fn directory(&self) -> Option<Arc<dyn Exported>> {
        let mut directory = lock(&self.directory);
        if directory.as_ref().is_none_or(|actor| actor.is_stopped()) {
            let (actors, access) = (self.actors.clone(), self.access.clone());
            *directory = Directory { actors, access }.spawn().as_ref().exported();
        }
        directory.clone()
    }
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
