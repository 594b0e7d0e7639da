//! The room that actors have for the calls of proxies: a bound for all of them together.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use wigwag_actor::Exported;

use crate::limits::PROXY_ACTOR_CALLS_MAX;
use crate::lock::lock;

/// The rooms of a node, by the numbers of the actors.
#[derive(Default)]
pub(crate) struct Rooms(Mutex<HashMap<u64, Weak<Room>>>);

/// Places for calls of proxies that wait for one actor.
pub(crate) struct Room(AtomicUsize);

impl Rooms {
    /// The room of an actor.
    pub(crate) fn of(&self, actor: &Arc<dyn Exported>) -> Arc<Room> {
        let mut rooms = lock(&self.0);
        if let Some(room) = rooms.get(&actor.number()).and_then(Weak::upgrade) {
            return room;
        }
        rooms.retain(|_, room| room.strong_count() > 0);
        let most = PROXY_ACTOR_CALLS_MAX;
        let bound = actor.remote_bound().map_or(most, |bound| bound.calls.max(1) as usize);
        let room = Arc::new(Room(AtomicUsize::new(bound)));
        rooms.insert(actor.number(), Arc::downgrade(&room));
        room
    }
}

impl Room {
    /// Takes a place; false if there is none.
    pub(crate) fn take(&self) -> bool {
        let less = |free: usize| free.checked_sub(1);
        // Relaxed: no other memory is published through this number.
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// Gives places back.
    pub(crate) fn free(&self, calls: usize) {
        self.0.fetch_add(calls, Ordering::Relaxed);
    }
}
