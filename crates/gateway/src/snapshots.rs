//! The snapshots of the node that live pages are sent.
//!
//! All pages share them: a snapshot takes every lock of the node once, and what a node pays must not
//! grow with the pages that are open.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use wigwag::Node;

use crate::limits::{SNAPSHOT_AGE_MAX, WATCHERS_MAX};

/// The latest snapshot, and the places of those that are sent one a second.
pub(crate) struct Snapshots {
    latest: Mutex<Option<(Instant, Arc<str>)>>,
    places: Arc<Semaphore>,
}

impl Default for Snapshots {
    fn default() -> Snapshots {
        Snapshots { latest: Mutex::default(), places: Arc::new(Semaphore::new(WATCHERS_MAX)) }
    }
}

impl Snapshots {
    /// A place among those that watch, until it is dropped; `None` if all are taken.
    pub(crate) fn enter(&self) -> Option<OwnedSemaphorePermit> {
        self.places.clone().try_acquire_owned().ok()
    }

    /// A snapshot in JSON that is at most [`SNAPSHOT_AGE_MAX`] old.
    pub(crate) fn take(&self, node: &Node) -> Arc<str> {
        // Whole between two statements, so a panic elsewhere has broken nothing. It is held while a
        // snapshot is taken, so that two pages do not take one each.
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((taken, snapshot)) = latest.as_ref()
            && taken.elapsed() <= SNAPSHOT_AGE_MAX
        {
            return snapshot.clone();
        }
        // Plain numbers and texts, which always have a form in JSON.
        let snapshot: Arc<str> = serde_json::to_string(&node.metrics()).unwrap_or_default().into();
        *latest = Some((Instant::now(), snapshot.clone()));
        snapshot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two snapshots of one moment are the same one; a later one is another.
    #[tokio::test(start_paused = true)]
    async fn pages_that_watch_together_share_snapshots() {
        let (snapshots, node) = (Snapshots::default(), Node::new());
        let first = snapshots.take(&node);
        tokio::time::advance(SNAPSHOT_AGE_MAX).await;
        assert!(Arc::ptr_eq(&first, &snapshots.take(&node)));
        tokio::time::advance(std::time::Duration::from_millis(1)).await;
        assert!(!Arc::ptr_eq(&first, &snapshots.take(&node)));
    }

    #[test]
    fn places_are_limited_and_come_back() {
        let snapshots = Snapshots::default();
        let mut all: Vec<_> = (0..WATCHERS_MAX).map_while(|_| snapshots.enter()).collect();
        assert_eq!(all.len(), WATCHERS_MAX);
        assert!(snapshots.enter().is_none());
        all.pop();
        assert!(snapshots.enter().is_some());
    }
}
