//! The watchers of an actor of this process, and the tasks that wait for its end.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::task::Waker;

use crate::lifecycle::control::ControlMessage;
use crate::lifecycle::end_watchers::EndWatcher;
use crate::lifecycle::handle::AnyActor;
use crate::lifecycle::monitor::{Down, Exit};
use crate::limits::WATCHERS_MAX;
use crate::reason::Reason;

/// A watcher: it is told of the end of an actor.
pub(crate) struct Watcher {
    pub(crate) number: u64,
    pub(crate) kind: WatcherKind,
}

/// The kind of a watcher, which decides how it is told.
pub(crate) enum WatcherKind {
    /// An actor, told by control mail.
    Monitor(Weak<dyn AnyActor>),
    /// An actor that is linked to this one.
    Link(Weak<dyn AnyActor>),
    /// An actor of another process that is linked to this one: its process is told the reason.
    Remote(EndWatcher),
    /// A table that contains the actor: it is removed from there before any other watcher is told.
    Cleanup(Box<dyn FnOnce() + Send>),
}

impl Watcher {
    /// True for a link, which may be made again under its number; all others have a new one each time.
    fn is_replaceable(&self) -> bool {
        matches!(self.kind, WatcherKind::Link(_) | WatcherKind::Remote(_))
    }
}

/// The watchers of one actor, and the tasks that wait for its end.
#[derive(Default)]
pub(crate) struct Watchers {
    watchers: Vec<Watcher>,
    /// By their numbers. They have no limit: each is a future of the program, which has more memory
    /// than its place here.
    tasks: BTreeMap<u64, Waker>,
}

impl Watchers {
    /// Adds a watcher, and returns the one that it replaces. Hands it back when there are too many.
    pub(super) fn add(&mut self, watcher: Watcher) -> Result<Option<Watcher>, Watcher> {
        let is_it = |known: &Watcher| known.number == watcher.number;
        let known =
            if watcher.is_replaceable() { self.watchers.iter().position(is_it) } else { None };
        match known {
            Some(at) => Ok(Some(std::mem::replace(&mut self.watchers[at], watcher))),
            None if self.watchers.len() >= WATCHERS_MAX => Err(watcher),
            None => {
                self.watchers.push(watcher);
                Ok(None)
            }
        }
    }

    pub(super) fn remove(&mut self, number: u64) -> Option<Watcher> {
        let at = self.watchers.iter().position(|watcher| watcher.number == number)?;
        Some(self.watchers.swap_remove(at))
    }

    /// Adds a task, or replaces its waker, which is returned.
    pub(super) fn add_task(&mut self, number: u64, waker: &Waker) -> Option<Waker> {
        if self.tasks.get(&number).is_some_and(|known| known.will_wake(waker)) {
            return None;
        }
        self.tasks.insert(number, waker.clone())
    }

    pub(super) fn remove_task(&mut self, number: u64) -> Option<Waker> {
        self.tasks.remove(&number)
    }

    /// The wakers of all tasks, which go on waiting.
    pub(super) fn wakers(&self) -> Vec<Waker> {
        self.tasks.values().cloned().collect()
    }

    /// Tells each watcher and each task, once, the reason for the actor's end.
    pub(crate) fn announce(self, actor: &Arc<dyn AnyActor>, reason: &Reason) {
        let is_cleanup = |watcher: &Watcher| matches!(watcher.kind, WatcherKind::Cleanup(_));
        let (tables, watchers): (Vec<_>, Vec<_>) = self.watchers.into_iter().partition(is_cleanup);
        for watcher in tables.into_iter().chain(watchers) {
            watcher.tell(actor, reason);
        }
        self.tasks.into_values().for_each(Waker::wake);
    }
}

impl Watcher {
    fn tell(self, actor: &Arc<dyn AnyActor>, reason: &Reason) {
        match self.kind {
            WatcherKind::Cleanup(cleanup) => cleanup(),
            WatcherKind::Remote(tell) => tell(reason),
            WatcherKind::Monitor(watcher_actor) => {
                if let Some(watcher_actor) = watcher_actor.upgrade() {
                    let down = Down::new(self.number, actor, reason);
                    watcher_actor.order(ControlMessage::Down(down));
                }
            }
            WatcherKind::Link(watcher_actor) => {
                if let Some(watcher_actor) = watcher_actor.upgrade() {
                    watcher_actor.order(ControlMessage::Exit(Exit::new(actor, reason)));
                }
            }
        }
    }
}

#[cfg(all(test, not(wigwag_loom), not(wigwag_shuttle)))]
mod tests {
    use super::*;

    fn cleanup(number: u64) -> Watcher {
        Watcher { number, kind: WatcherKind::Cleanup(Box::new(|| {})) }
    }

    fn remote(number: u64) -> Watcher {
        Watcher { number, kind: WatcherKind::Remote(Box::new(|_| {})) }
    }

    /// A link may be made twice; refused, it would be undone.
    #[test]
    fn a_link_registers_its_number_again_when_there_is_no_room_for_another() {
        let mut watchers = Watchers::default();
        assert!(matches!(watchers.add(remote(0)), Ok(None)));
        for number in 1..WATCHERS_MAX as u64 {
            assert!(matches!(watchers.add(cleanup(number)), Ok(None)));
        }
        assert!(matches!(watchers.add(remote(0)), Ok(Some(_))));
        let other = WATCHERS_MAX as u64;
        assert!(watchers.add(remote(other)).is_err() && watchers.add(cleanup(other)).is_err());
        drop(watchers.remove(0));
        assert!(matches!(watchers.add(remote(other)), Ok(None)));
    }

    #[test]
    fn a_task_has_one_place_however_often_it_is_polled_and_leaves_it() {
        let mut watchers = Watchers::default();
        for number in [7, 7, 8, 7] {
            assert!(watchers.add_task(number, Waker::noop()).is_none());
        }
        assert_eq!(watchers.wakers().len(), 2);
        assert!(watchers.remove_task(7).is_some() && watchers.remove_task(7).is_none());
        assert_eq!(watchers.wakers().len(), 1);
    }
}
