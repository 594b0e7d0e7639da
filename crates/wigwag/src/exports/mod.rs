//! The exported actors of a node, by name.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wigwag_actor::Exported;
use wigwag_link::limits::TARGET_BYTES_MAX;

use crate::error::NodeError;

pub(crate) mod references;

use references::ReferenceTable;

/// A table of exported actors.
#[derive(Default)]
pub(crate) struct Exports {
    names: Mutex<HashMap<String, Arc<dyn Exported>>>,
    /// The actors that references lead to, exported or not.
    pub(crate) references: Arc<ReferenceTable>,
}

impl Exports {
    /// Adds an actor. The name of a stopped actor can be used again.
    pub(crate) fn add(&self, name: &str, actor: Arc<dyn Exported>) -> Result<(), NodeError> {
        let bad = |rule| NodeError::BadName { name: name.to_owned(), rule };
        if name.is_empty() || name.len() > TARGET_BYTES_MAX {
            return Err(bad("a name has 1 to 255 bytes"));
        }
        if name.contains('/') || name.chars().any(char::is_control) {
            return Err(bad("a name has no slash and no control characters"));
        }
        let mut actors = self.lock();
        if actors.get(name).is_some_and(|old| !old.is_stopped()) {
            return Err(bad("an actor is exported under this name"));
        }
        actors.insert(name.to_owned(), actor);
        Ok(())
    }

    /// Removes a name; attached channels stay open.
    pub(crate) fn remove(&self, name: &str) -> bool {
        self.lock().remove(name).is_some()
    }

    /// The running actor with this name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<Arc<dyn Exported>> {
        let name = std::str::from_utf8(name).ok()?;
        self.lock().get(name).filter(|actor| !actor.is_stopped()).cloned()
    }

    /// Removes all actors.
    pub(crate) fn clear(&self) {
        let actors = std::mem::take(&mut *self.lock());
        drop(actors);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<dyn Exported>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
