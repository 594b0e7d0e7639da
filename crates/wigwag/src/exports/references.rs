//! The actors of a node that references lead to, by their numbers.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use wigwag_actor::{Exported, Interface, Ref};

use crate::limits::NODE_REFERENCES_MAX;
use crate::lock::lock;
use crate::random;
use crate::sync::{AtomicU64, Ordering};

/// The actors of a node that may be attached to by a reference. An actor is in it as long as a
/// session was lent a reference to it, or has a channel to it.
#[derive(Default)]
pub(crate) struct ReferenceTable {
    tables: Mutex<Tables>,
    /// References that peers were sent, and have not released.
    pub(crate) lent: ReferenceCount,
    /// References that peers have sent, and that are held here.
    pub(crate) taken: ReferenceCount,
}

/// References of all sessions together.
#[derive(Default)]
pub(crate) struct ReferenceCount(AtomicU64);

impl ReferenceCount {
    /// Counts one more; false if there are as many as a node may have.
    pub(crate) fn take_one(&self) -> bool {
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        if before >= NODE_REFERENCES_MAX {
            self.give_back(1);
        }
        before < NODE_REFERENCES_MAX
    }

    pub(crate) fn give_back(&self, count: u64) {
        self.0.fetch_sub(count, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Tables {
    /// By the number of the reference, which nobody can guess.
    references: HashMap<u128, Weak<ReferredActor>>,
    /// By the number of the actor.
    actors: HashMap<u64, Weak<ReferredActor>>,
}

/// An actor that references lead to; it keeps the actor alive.
pub(crate) struct ReferredActor {
    /// The number that references to it have.
    pub(crate) reference: u128,
    pub(crate) exported: Arc<dyn Exported>,
    /// References of other interfaces than the actor's own, through which it was sent.
    through: Mutex<Vec<Box<dyn Any + Send + Sync>>>,
    table: Weak<ReferenceTable>,
}

impl ReferenceTable {
    /// The entry of an actor.
    pub(crate) fn refer(self: &Arc<Self>, exported: Arc<dyn Exported>) -> Arc<ReferredActor> {
        let number = exported.number();
        let mut tables = lock(&self.tables);
        if let Some(entry) = tables.actors.get(&number).and_then(Weak::upgrade) {
            drop(tables);
            return entry;
        }
        let reference = random::id();
        let table = Arc::downgrade(self);
        let entry = ReferredActor { reference, exported, through: Mutex::default(), table };
        let entry = Arc::new(entry);
        tables.references.insert(reference, Arc::downgrade(&entry));
        tables.actors.insert(number, Arc::downgrade(&entry));
        entry
    }

    /// The actor that a reference with this number leads to. It may have ended: a peer that
    /// attaches to it is then told why.
    pub(crate) fn find(&self, reference: u128) -> Option<Arc<ReferredActor>> {
        lock(&self.tables).references.get(&reference).and_then(Weak::upgrade)
    }
}

impl ReferredActor {
    /// Notes that the actor was sent as `reference`.
    pub(crate) fn note<I: Interface>(&self, reference: &Ref<I>) {
        if self.exported.reference().is::<Ref<I>>() {
            return;
        }
        let mut through = lock(&self.through);
        if !through.iter().any(|known| known.is::<Ref<I>>()) {
            through.push(Box::new(reference.clone()));
        }
    }

    /// The reference to the actor with the interface `I`, if that is the actor's own, or one that it
    /// was sent through.
    pub(crate) fn reference_as<I: Interface>(&self) -> Option<Ref<I>> {
        if let Ok(reference) = self.exported.reference().downcast::<Ref<I>>() {
            return Some(*reference);
        }
        lock(&self.through).iter().find_map(|known| known.downcast_ref::<Ref<I>>()).cloned()
    }
}

impl Drop for ReferredActor {
    fn drop(&mut self) {
        let Some(table) = self.table.upgrade() else { return };
        let mut tables = lock(&table.tables);
        tables.references.remove(&self.reference);
        let number = self.exported.number();
        // Another entry may have taken the place of this one while it was dropped.
        if tables.actors.get(&number).is_some_and(|entry| entry.strong_count() == 0) {
            tables.actors.remove(&number);
        }
    }
}
