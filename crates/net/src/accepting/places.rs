//! Places for connections that may have to give way: those in their handshake, and clients without a
//! session.
//!
//! The number of places is fixed. A new connection always gets one: if all are taken, the source
//! that has most of them loses its oldest. So slow peers yield to quick ones, and no source keeps
//! the others out.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::accepting::acceptor::ConnectionEvictor;
use crate::accepting::source::Source;
use crate::transport::Boxed;

/// The connections that have a place.
#[derive(Debug)]
pub struct Places {
    most: usize,
    table: Mutex<Table>,
    /// Notified when a connection has left.
    removed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    arrivals: u64,
    /// In the order of arrival, so the first is the oldest.
    entries: BTreeMap<u64, Entry>,
    counts: HashMap<Source, usize>,
}

#[derive(Debug)]
struct Entry {
    source: Source,
    evicted: Arc<Notify>,
    /// It was evicted and has not left yet.
    is_going: bool,
}

/// The place of one connection; dropping it frees the place.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    arrival: u64,
    evicted: Arc<Notify>,
}

impl Places {
    /// Creates a table with this many places.
    pub fn new(places: usize) -> Arc<Places> {
        Arc::new(Places { most: places, table: Mutex::default(), removed: Notify::new() })
    }

    /// Adds a connection from `source`. If all places are taken, the oldest connection of the
    /// source that has most is evicted.
    pub fn enter(self: &Arc<Places>, source: Source) -> Place {
        let evicted = Arc::new(Notify::new());
        let mut table = self.table();
        if table.entries.len() >= self.most {
            table.evict();
        }
        let arrival = table.arrivals;
        table.arrivals += 1;
        *table.counts.entry(source.clone()).or_default() += 1;
        table.entries.insert(arrival, Entry { source, evicted: evicted.clone(), is_going: false });
        drop(table);
        Place { places: self.clone(), arrival, evicted }
    }

    /// The number of connections, with those that were evicted and have not left yet.
    pub fn count(&self) -> usize {
        self.table().entries.len()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Consistent between two statements, so a panic elsewhere has broken nothing.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionEvictor for Places {
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

impl Place {
    /// Waits until this connection is evicted.
    pub async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut table = self.places.table();
        if let Some(Entry { source, is_going, .. }) = table.entries.remove(&self.arrival)
            && !is_going
        {
            table.uncount(&source);
        }
        drop(table);
        self.places.removed.notify_waiters();
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

    fn is_evicted(place: &Place) -> bool {
        let evicted = pin!(place.evicted());
        evicted.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_new_connection_evicts_the_oldest_of_the_source_that_has_most() {
        let places = Places::new(4);
        let quiet = places.enter(host(1));
        let crowd = [(); 3].map(|()| places.enter(host(2)));
        let newcomer = places.enter(host(3));
        assert!(is_evicted(&crowd[0]));
        assert!([&quiet, &crowd[1], &crowd[2], &newcomer].iter().all(|it| !is_evicted(it)));
    }

    /// Host 1 has three of five places, and loses one. When the evicted connection has left, host 1
    /// and host 2 have two each.
    #[test]
    fn an_evicted_connection_that_leaves_is_not_counted_out_twice() {
        let places = Places::new(5);
        let [gone, oldest, _newer] = [(); 3].map(|()| places.enter(host(1)));
        let others = [(); 2].map(|()| places.enter(host(2)));
        let _third = places.enter(host(3));
        assert!(is_evicted(&gone));
        drop(gone);
        let _fourth = places.enter(host(4));
        assert!(is_evicted(&oldest) && !others.iter().any(is_evicted));
    }

    #[test]
    fn connections_that_have_left_count_for_their_source_no_more() {
        let places = Places::new(2);
        for _ in 0..3 {
            drop(places.enter(host(1)));
        }
        let crowd = [(); 2].map(|()| places.enter(host(2)));
        let _newcomer = places.enter(host(3));
        assert_eq!(crowd.each_ref().map(is_evicted), [true, false]);
    }

    #[test]
    fn connections_of_one_source_are_evicted_oldest_first_and_once() {
        let places = Places::new(2);
        let crowd = [(); 4].map(|()| places.enter(host(1)));
        assert_eq!(crowd.each_ref().map(is_evicted), [true, true, false, false]);
        assert_eq!(places.count(), 4, "a place is free when its connection has gone");
        drop(crowd);
        assert_eq!(places.count(), 0);
        assert!(!places.evict_one(), "nobody is left");
    }
}
