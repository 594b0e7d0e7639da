//! The exported actors of a node, by name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wigwag_actor::runtime::publish::{Publication, publish_through};
use wigwag_actor::{Exported, Publisher};
use wigwag_link::limits::TARGET_BYTES_MAX;

use crate::error::NodeError;

pub(crate) mod references;

use references::ReferenceTable;

/// A table of exported actors.
#[derive(Default)]
pub(crate) struct Exports {
    names: Mutex<HashMap<String, Export>>,
    /// The actors that references lead to, exported or not.
    pub(crate) references: Arc<ReferenceTable>,
}

/// An exported actor, and the place through which it publishes.
struct Export {
    actor: Arc<dyn Exported>,
    _publication: Option<Publication>,
}

impl Exports {
    /// Adds an actor, which publishes through `publisher`. The name of a stopped actor can be used
    /// again.
    pub(crate) fn add(
        &self,
        name: &str,
        actor: Arc<dyn Exported>,
        publisher: Option<Arc<dyn Publisher>>,
    ) -> Result<(), NodeError> {
        check(name)?;
        let mut actors = self.lock();
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
        let removed = self.lock().remove(name);
        removed.is_some()
    }

    /// The running actor with this name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<Arc<dyn Exported>> {
        let name = std::str::from_utf8(name).ok()?;
        let actors = self.lock();
        let export = actors.get(name).filter(|export| !export.actor.is_stopped());
        export.map(|export| export.actor.clone())
    }

    /// Removes all actors.
    pub(crate) fn clear(&self) {
        let actors = std::mem::take(&mut *self.lock());
        drop(actors);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Export>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
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
