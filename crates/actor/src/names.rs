//! The names of actors' types, each of them once: a million actors of one type share theirs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The name that was asked for last, as it is in the program and as it is shared.
type Recent = Option<(&'static str, Arc<str>)>;

/// As many as the program has types of actors.
static NAMES: Mutex<BTreeMap<&'static str, Arc<str>>> = Mutex::new(BTreeMap::new());

thread_local! {
    static RECENT: RefCell<Recent> = const { RefCell::new(None) };
}

/// The shared name. No lock for the type that this thread asked for last.
pub(crate) fn shared(name: &'static str) -> Arc<str> {
    RECENT.with(|recent| {
        let mut recent = recent.borrow_mut();
        if let Some((known, shared)) = &*recent
            && std::ptr::eq(*known, name)
        {
            return shared.clone();
        }
        // Whole between two statements, so a panic elsewhere has broken nothing.
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = names.entry(name).or_insert_with(|| name.into()).clone();
        *recent = Some((name, shared.clone()));
        shared
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shared_between_types_and_threads() {
        let here = shared("one of us");
        assert!(!Arc::ptr_eq(&here, &shared("another")));
        assert!(Arc::ptr_eq(&here, &shared("one of us")));
        let there = std::thread::spawn(|| shared("one of us")).join().unwrap();
        assert!(Arc::ptr_eq(&here, &there));
    }
}
