//! Data about actor types, each stored once: a million actors of one type share it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::schema::Schema;

/// The data that all actors of one type share.
pub(crate) struct ActorType {
    pub(crate) schema: &'static Schema,
    /// The name of the type, for errors.
    pub(crate) target: Arc<str>,
}

/// The known types, by the address of their schema; one for each actor type of the program.
static ACTOR_TYPES: Mutex<BTreeMap<usize, Arc<ActorType>>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The type that this thread asked for last.
    static RECENT: RefCell<Option<Arc<ActorType>>> = const { RefCell::new(None) };
}

/// Returns the data of the type with this schema. No lock is taken for the type that this thread
/// asked for last.
pub(crate) fn shared(schema: &'static Schema) -> Arc<ActorType> {
    let recent = RECENT.with(|recent| recent.borrow().clone());
    if let Some(actor_type) = recent
        && std::ptr::eq(actor_type.schema, schema)
    {
        return actor_type;
    }
    let place = std::ptr::from_ref(schema).addr();
    // The map is consistent between any two statements, so a panic elsewhere has broken nothing.
    let mut known = ACTOR_TYPES.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || Arc::new(ActorType { schema, target: schema.name.into() });
    let actor_type = known.entry(place).or_insert_with(new).clone();
    RECENT.set(Some(actor_type.clone()));
    actor_type
}

#[cfg(test)]
mod tests {
    use super::*;

    static ONE: Schema = Schema::new("one", &[]);
    static OTHER: Schema = Schema::new("other", &[]);

    #[test]
    fn the_data_of_a_type_is_shared_between_threads() {
        let here = shared(&ONE);
        assert_eq!(&*shared(&OTHER).target, "other");
        assert!(Arc::ptr_eq(&here, &shared(&ONE)));
        let there = std::thread::spawn(|| shared(&ONE)).join().unwrap();
        assert!(Arc::ptr_eq(&here, &there));
    }
}
