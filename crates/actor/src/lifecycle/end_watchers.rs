//! The watchers of an actor of another process: each is told once that no later call can reach it.
//!
//! A route keeps them beside the state that decides whether the actor has ended, under the lock of
//! that state, so that a watcher is either told of the end or refused because of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::limits::WATCHERS_MAX;
use crate::reason::Reason;

/// A callback that runs at the end of an actor of another process, with the reason, without a lock
/// of its route. A route may drop it under one, so dropping it takes no lock.
pub type EndWatcher = Box<dyn FnOnce(&Reason) + Send + Sync>;

/// Why an actor of another process is not watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotWatched {
    /// No later call can reach the actor any more.
    Ended,
    /// The reference has [`WATCHERS_MAX`] watchers.
    TooMany,
}

/// Why an actor is not linked to one of another process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLinked {
    /// No later call can reach the other actor any more.
    Ended,
    /// The reference has [`WATCHERS_MAX`] watchers, or the session as many links as it may.
    TooMany,
    /// The other actor's process does not accept it, for this reason.
    Refused(Arc<str>),
}

impl From<NotWatched> for NotLinked {
    fn from(not: NotWatched) -> NotLinked {
        match not {
            NotWatched::Ended => NotLinked::Ended,
            NotWatched::TooMany => NotLinked::TooMany,
        }
    }
}

/// The watchers of one route, each with a number that no other watcher of the route has.
#[derive(Default)]
pub struct EndWatchers(BTreeMap<u64, EndWatcher>);

impl EndWatchers {
    /// Adds a watcher with a [fresh number](crate::lifecycle::handle::fresh_number).
    ///
    /// # Errors
    /// `TooMany`.
    pub fn add(&mut self, number: u64, watcher: EndWatcher) -> Result<(), NotWatched> {
        if self.0.len() >= WATCHERS_MAX && !self.0.contains_key(&number) {
            return Err(NotWatched::TooMany);
        }
        self.0.insert(number, watcher);
        Ok(())
    }

    /// Removes a watcher, which is told nothing by that; `None` if it has been told.
    pub fn remove(&mut self, number: u64) -> Option<EndWatcher> {
        self.0.remove(&number)
    }

    /// Tells all watchers, in the order in which they were added.
    pub fn tell(self, reason: &Reason) {
        self.0.into_values().for_each(|watcher| watcher(reason));
    }

    /// Tells the watchers of several routes, in the order of their numbers. Links of one actor have the
    /// same number on each route.
    pub fn tell_all(of_routes: impl IntoIterator<Item = EndWatchers>, reason: &Reason) {
        let mut watchers: Vec<_> = of_routes.into_iter().flat_map(|route| route.0).collect();
        watchers.sort_by_key(|(number, _)| *number);
        watchers.into_iter().for_each(|(_, watcher)| watcher(reason));
    }
}

impl fmt::Debug for EndWatchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndWatchers({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn each_watcher_that_stays_is_told_once_in_the_order_of_their_numbers() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let watcher = |name: &'static str| -> EndWatcher {
            let told = told.clone();
            Box::new(move |_| told.lock().unwrap().push(name))
        };
        let (mut one, mut two) = (EndWatchers::default(), EndWatchers::default());
        one.add(1, watcher("first")).unwrap();
        two.add(2, watcher("leaves")).unwrap();
        two.add(3, watcher("second")).unwrap();
        two.remove(2);
        one.add(4, watcher("third")).unwrap();
        // On each route there is a link of one actor.
        one.add(5, watcher("a link")).unwrap();
        two.add(5, watcher("another link")).unwrap();
        EndWatchers::tell_all([one, two], &Reason::Normal);
        let expected = ["first", "second", "third", "a link", "another link"];
        assert_eq!(*told.lock().unwrap(), expected);
    }

    #[test]
    fn watchers_are_bounded_and_one_that_leaves_makes_room() {
        let mut watchers = EndWatchers::default();
        let most = WATCHERS_MAX as u64;
        for number in 0..most {
            watchers.add(number, Box::new(|_| {})).unwrap();
        }
        assert_eq!(watchers.add(most, Box::new(|_| {})), Err(NotWatched::TooMany));
        assert_eq!(watchers.add(0, Box::new(|_| {})), Ok(()), "in its own place");
        watchers.remove(0);
        watchers.remove(0);
        assert!(watchers.add(most, Box::new(|_| {})).is_ok());
        assert_eq!(watchers.add(most + 1, Box::new(|_| {})), Err(NotWatched::TooMany));
    }
}
