//! Connections whose handshake is not over, and which of them gives way.
//!
//! The number of places is fixed. A newcomer always gets one: when all are taken, the source that has
//! most of them loses its oldest. So slow strangers yield to quick ones, and no source keeps the others
//! out.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::acceptor::Spare;
use crate::source::Source;
use crate::transport::Boxed;

/// The connections that are in their handshake.
#[derive(Debug)]
pub struct Strangers {
    places: usize,
    table: Mutex<Table>,
    /// One of them has gone.
    left: Notify,
}

#[derive(Debug, Default)]
struct Table {
    arrivals: u64,
    /// By arrival, so the first is the oldest.
    waiting: BTreeMap<u64, Waiting>,
    counts: HashMap<Source, usize>,
}

#[derive(Debug)]
struct Waiting {
    source: Source,
    evicted: Arc<Notify>,
    /// It was told to go and has not gone yet.
    is_going: bool,
}

/// One connection in its handshake; dropping it frees its place.
#[derive(Debug)]
pub struct Stranger {
    strangers: Arc<Strangers>,
    arrival: u64,
    evicted: Arc<Notify>,
}

impl Strangers {
    /// A table with so many places.
    pub fn new(places: usize) -> Arc<Strangers> {
        Arc::new(Strangers { places, table: Mutex::default(), left: Notify::new() })
    }

    /// Gives a newcomer from `source` its place. When all are taken, the oldest connection of the
    /// source that has most is told to go.
    pub fn enter(self: &Arc<Strangers>, source: Source) -> Stranger {
        let evicted = Arc::new(Notify::new());
        let mut table = self.table();
        if table.waiting.len() >= self.places {
            table.evict();
        }
        let arrival = table.arrivals;
        table.arrivals += 1;
        *table.counts.entry(source.clone()).or_default() += 1;
        table
            .waiting
            .insert(arrival, Waiting { source, evicted: evicted.clone(), is_going: false });
        drop(table);
        Stranger { strangers: self.clone(), arrival, evicted }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.table().waiting.len()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Whole between two statements, so a panic elsewhere has broken nothing.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spare for Strangers {
    fn spare(&self) -> bool {
        self.table().evict()
    }

    fn freed(&self) -> Boxed<'_, ()> {
        Box::pin(self.left.notified())
    }
}

impl Table {
    fn evict(&mut self) -> bool {
        let most = self.counts.values().max().copied();
        let mut waiting = self.waiting.values_mut().filter(|it| !it.is_going);
        let Some(oldest) = waiting.find(|it| self.counts.get(&it.source).copied() == most) else {
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

impl Stranger {
    /// Waits until this connection has to give its place to another.
    pub async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let mut table = self.strangers.table();
        if let Some(Waiting { source, is_going, .. }) = table.waiting.remove(&self.arrival)
            && !is_going
        {
            table.uncount(&source);
        }
        drop(table);
        self.strangers.left.notify_waiters();
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

    fn is_evicted(stranger: &Stranger) -> bool {
        let evicted = pin!(stranger.evicted());
        evicted.poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_newcomer_takes_the_place_of_the_oldest_of_the_source_that_has_most() {
        let strangers = Strangers::new(4);
        let quiet = strangers.enter(host(1));
        let crowd = [(); 3].map(|()| strangers.enter(host(2)));
        let newcomer = strangers.enter(host(3));
        assert!(is_evicted(&crowd[0]));
        assert!([&quiet, &crowd[1], &crowd[2], &newcomer].iter().all(|it| !is_evicted(it)));
    }

    #[test]
    fn of_one_source_alone_the_oldest_goes_and_each_is_told_once() {
        let strangers = Strangers::new(2);
        let crowd = [(); 4].map(|()| strangers.enter(host(1)));
        assert_eq!(crowd.each_ref().map(is_evicted), [true, true, false, false]);
        assert_eq!(strangers.count(), 4, "a place is free when its connection has gone");
        drop(crowd);
        assert_eq!(strangers.count(), 0);
        assert!(!strangers.spare(), "nobody is left");
    }
}
