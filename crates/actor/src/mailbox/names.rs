//! What is known of actors' types, each of them once: a million actors of one type share it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::schema::Schema;

/// What all actors of one type have in common.
pub(crate) struct Named {
    pub(crate) schema: &'static Schema,
    /// The type's name, for errors.
    pub(crate) target: Arc<str>,
}

/// By the place of the schema; as many as the program has types of actors.
static NAMED: Mutex<BTreeMap<usize, Arc<Named>>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The one that was asked for last.
    static RECENT: RefCell<Option<Arc<Named>>> = const { RefCell::new(None) };
}

/// What is known of the type with this schema. No lock for the one that this thread asked for last.
pub(crate) fn shared(schema: &'static Schema) -> Arc<Named> {
    let recent = RECENT.with(|recent| recent.borrow().clone());
    if let Some(named) = recent
        && std::ptr::eq(named.schema, schema)
    {
        return named;
    }
    let place = std::ptr::from_ref(schema).addr();
    // Whole between two statements, so a panic elsewhere has broken nothing.
    let mut known = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    let new = || Arc::new(Named { schema, target: schema.name.into() });
    let named = known.entry(place).or_insert_with(new).clone();
    RECENT.set(Some(named.clone()));
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    static ONE: Schema = Schema::new("one", &[]);
    static OTHER: Schema = Schema::new("other", &[]);

    #[test]
    fn what_is_known_of_a_type_is_shared_between_threads() {
        let here = shared(&ONE);
        assert_eq!(&*shared(&OTHER).target, "other");
        assert!(Arc::ptr_eq(&here, &shared(&ONE)));
        let there = std::thread::spawn(|| shared(&ONE)).join().unwrap();
        assert!(Arc::ptr_eq(&here, &there));
    }
}
