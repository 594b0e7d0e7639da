//! Members of a group: actors of this process or of others.

use crate::lifecycle::end_watchers::{EndWatcher, NotWatched};
use crate::lifecycle::handle::fresh_number;
use crate::lifecycle::watchers::{Watcher, WatcherKind};
use crate::reason::Reason;
use crate::reference::Ref;
use crate::reference::interface::Interface;
use crate::reference::run_writer::RunOwner;

/// The identity of a member, which tells it from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MemberId {
    /// The number of an actor of this process.
    Local(u64),
    /// The route of an actor of another process. Clones of a reference share it, and so do
    /// references to one actor that were fetched alike.
    Remote(RunOwner),
}

impl MemberId {
    pub(super) fn of<I: Interface>(reference: &Ref<I>) -> MemberId {
        match reference.handle_or_route() {
            Ok(handle) => MemberId::Local(handle.number()),
            Err(Some(route)) => MemberId::Remote(route.run_owner()),
            // It is no member, since it cannot be watched.
            Err(None) => MemberId::Remote(RunOwner::new(false)),
        }
    }
}

/// One membership.
pub(super) struct GroupMember<I: Interface> {
    pub(super) id: MemberId,
    pub(super) reference: I::Ref,
}

impl<I: Interface> GroupMember<I> {
    pub(super) fn of(reference: &I::Ref) -> GroupMember<I> {
        GroupMember { id: MemberId::of(reference.as_ref()), reference: reference.clone() }
    }

    /// True when no later call can reach the actor.
    pub(super) fn has_ended(&self) -> bool {
        self.reference.as_ref().has_ended()
    }

    /// Watches the actor: `watcher` is told of its end. Returns the number of the watch.
    pub(super) fn watch(&self, watcher: EndWatcher) -> Result<u64, NotWatched> {
        let number = fresh_number();
        match self.reference.as_ref().handle_or_route() {
            Ok(handle) => {
                // A group does not need to know why its member has ended.
                let cleanup = Box::new(move || watcher(&Reason::Unknown));
                let watcher = Watcher { number, kind: WatcherKind::Cleanup(cleanup) };
                match handle.actor_cell().control().watch(watcher) {
                    Ok(None) => Ok(number),
                    Ok(Some(_)) => Err(NotWatched::Ended),
                    Err(_) => Err(NotWatched::TooMany),
                }
            }
            Err(Some(route)) => route.watch_end(number, watcher).map(|()| number),
            Err(None) => Err(NotWatched::Ended),
        }
    }

    /// Ends a watch.
    pub(super) fn unwatch(&self, number: u64) {
        match self.reference.as_ref().handle_or_route() {
            Ok(handle) => drop(handle.actor_cell().control().unwatch(number)),
            Err(route) => route.into_iter().for_each(|route| route.unwatch_end(number)),
        }
    }
}

impl<I: Interface> Clone for GroupMember<I> {
    fn clone(&self) -> GroupMember<I> {
        GroupMember { id: self.id, reference: self.reference.clone() }
    }
}
