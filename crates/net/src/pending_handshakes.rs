//! Connections whose handshake is not complete, and which of them is evicted.
//!
//! The number of places is fixed. A new connection always gets one: if all are taken, the source
//! that has most of them loses its oldest. So slow peers yield to quick ones, and no source keeps
//! the others out.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::acceptor::ConnectionEvictor;
use crate::source::Source;
use crate::transport::Boxed;

/// The connections that are in their handshake.
#[derive(Debug)]
pub struct PendingHandshakes {
    places: usize,
    table: Mutex<Table>,
    /// Notified when a connection has left.
    removed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    arrivals: u64,
    /// In the order of arrival, so the first is the oldest.
    entries: BTreeMap<u64, PendingEntry>,
    counts: HashMap<Source, usize>,
}

#[derive(Debug)]
struct PendingEntry {
    source: Source,
    evicted: Arc<Notify>,
    /// It was evicted and has not left yet.
    is_going: bool,
}

/// One connection in its handshake; dropping it frees its place.
#[derive(Debug)]
pub struct PendingHandshake {
    pending: Arc<PendingHandshakes>,
    arrival: u64,
    evicted: Arc<Notify>,
}

impl PendingHandshakes {
    /// Creates a table with this many places.
    pub fn new(places: usize) -> Arc<PendingHandshakes> {
        Arc::new(PendingHandshakes { places, table: Mutex::default(), removed: Notify::new() })
    }

    /// Adds a connection from `source`. If all places are taken, the oldest connection of the
    /// source that has most is evicted.
    pub fn enter(self: &Arc<PendingHandshakes>, source: Source) -> PendingHandshake {
        let evicted = Arc::new(Notify::new());
        let mut table = self.table();
        if table.entries.len() >= self.places {
            table.evict();
        }
        let arrival = table.arrivals;
        table.arrivals += 1;
        *table.counts.entry(source.clone()).or_default() += 1;
        table
            .entries
            .insert(arrival, PendingEntry { source, evicted: evicted.clone(), is_going: false });
        drop(table);
        PendingHandshake { pending: self.clone(), arrival, evicted }
    }

    /// The number of pending handshakes.
    pub fn count(&self) -> usize {
        self.table().entries.len()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Consistent between two statements, so a panic elsewhere has broken nothing.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionEvictor for PendingHandshakes {
    fn evict_one(&self) -> bool {
        self.table().evict()
    }

    fn freed(&self) -> Boxed<'_, ()> {
        Box::pin(self.removed.notified())
    }
}

impl Table {
    fn evict(&mut self) -> bool {
        let most = self.counts.values().max().copied();
        let mut entries = self.entries.values_mut().filter(|it| !it.is_going);
        let Some(oldest) = entries.find(|it| self.counts.get(&it.source).copied() == most) else {
            return false;
        };
        oldest.is_going = true;
        oldest.evicted.notify_one();
        let source = oldest.source.clone();
        self.uncount(&source);
        true
    }

    fn uncount(&mut self, source: &Source) {
        if let Some(count) = self.counts.get_mut(source) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(source);
            }
        }
    }
}

impl PendingHandshake {
    /// Waits until this connection is evicted.
    pub async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for PendingHandshake {
    fn drop(&mut self) {
        let mut table = self.pending.table();
        if let Some(PendingEntry { source, is_going, .. }) = table.entries.remove(&self.arrival)
            && !is_going
        {
            table.uncount(&source);
        }
        drop(table);
        self.pending.removed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    fn host(number: u8) -> Source {
        Source::Host([192, 0, 2, number].into())
    }

    fn is_evicted(handshake: &PendingHandshake) -> bool {
        let evicted = pin!(handshake.evicted());
        evicted.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_new_connection_evicts_the_oldest_of_the_source_that_has_most() {
        let pending = PendingHandshakes::new(4);
        let quiet = pending.enter(host(1));
        let crowd = [(); 3].map(|()| pending.enter(host(2)));
        let newcomer = pending.enter(host(3));
        assert!(is_evicted(&crowd[0]));
        assert!([&quiet, &crowd[1], &crowd[2], &newcomer].iter().all(|it| !is_evicted(it)));
    }

    #[test]
    fn connections_of_one_source_are_evicted_oldest_first_and_once() {
        let pending = PendingHandshakes::new(2);
        let crowd = [(); 4].map(|()| pending.enter(host(1)));
        assert_eq!(crowd.each_ref().map(is_evicted), [true, true, false, false]);
        assert_eq!(pending.count(), 4, "a place is free when its connection has gone");
        drop(crowd);
        assert_eq!(pending.count(), 0);
        assert!(!pending.evict_one(), "nobody is left");
    }
}
