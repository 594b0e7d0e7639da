//! The watchers of an actor of another process: each is told once that no later call can reach it.
//!
//! A route keeps them beside the state that decides whether the actor has ended, under the lock of
//! that state, so that a watcher is either told of the end or refused because of it.

use std::collections::BTreeMap;
use std::fmt;

use crate::lifecycle::handle::fresh_number;
use crate::limits::WATCHERS_MAX;

/// What runs at the end of an actor of another process, without a lock of its route. A route may
/// drop it under one, so dropping it takes no lock.
pub type EndWatcher = Box<dyn FnOnce() + Send + Sync>;

/// Why an actor of another process is not watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotWatched {
    /// No later call can reach the actor any more.
    Ended,
    /// The reference has [`WATCHERS_MAX`] watchers.
    TooMany,
}

/// The watchers of one route, each with a number that no other watcher of the process has.
#[derive(Default)]
pub struct EndWatchers(BTreeMap<u64, EndWatcher>);

impl EndWatchers {
    /// Adds a watcher and returns its number.
    ///
    /// # Errors
    /// `TooMany`.
    pub fn add(&mut self, watcher: EndWatcher) -> Result<u64, NotWatched> {
        if self.0.len() >= WATCHERS_MAX {
            return Err(NotWatched::TooMany);
        }
        let number = fresh_number();
        self.0.insert(number, watcher);
        Ok(number)
    }

    /// Removes a watcher; nothing happens if it has been told.
    pub fn remove(&mut self, number: u64) {
        self.0.remove(&number);
    }

    /// Tells all watchers, in the order in which they were added.
    pub fn tell(self) {
        self.0.into_values().for_each(|watcher| watcher());
    }

    /// Adds the watchers of another route.
    pub fn append(&mut self, other: &mut EndWatchers) {
        self.0.append(&mut other.0);
    }
}

impl fmt::Debug for EndWatchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndWatchers({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn each_watcher_that_stays_is_told_once_in_the_order_of_their_numbers() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let watcher = |name: &'static str| -> EndWatcher {
            let told = told.clone();
            Box::new(move || told.lock().unwrap().push(name))
        };
        let (mut one, mut two) = (EndWatchers::default(), EndWatchers::default());
        one.add(watcher("first")).unwrap();
        let leaves = two.add(watcher("leaves")).unwrap();
        two.add(watcher("second")).unwrap();
        two.remove(leaves);
        one.add(watcher("third")).unwrap();
        one.append(&mut two);
        two.tell();
        assert!(told.lock().unwrap().is_empty());
        one.tell();
        assert_eq!(*told.lock().unwrap(), ["first", "second", "third"]);
    }

    #[test]
    fn watchers_are_bounded_and_one_that_leaves_makes_room() {
        let mut watchers = EndWatchers::default();
        let first = watchers.add(Box::new(|| {})).unwrap();
        for _ in 1..WATCHERS_MAX {
            watchers.add(Box::new(|| {})).unwrap();
        }
        assert_eq!(watchers.add(Box::new(|| {})), Err(NotWatched::TooMany));
        watchers.remove(first);
        watchers.remove(first);
        assert!(watchers.add(Box::new(|| {})).is_ok());
        assert_eq!(watchers.add(Box::new(|| {})), Err(NotWatched::TooMany));
    }
}
