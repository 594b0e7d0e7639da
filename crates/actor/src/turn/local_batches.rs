//! Messages of the current turn to actors of this process that are not published yet, whatever
//! their type.
//!
//! The messages for one actor lie in a buffer of its type (`reference::batch`). The one that was used
//! last lies apart, where a sender finds it at once; everything else that is done here takes it back
//! before.

use std::any::Any;
use std::cell::{Cell, RefCell};

thread_local! {
    pub(crate) static LAST_BATCH: Cell<Option<Box<dyn AnyBatch>>> = const { Cell::new(None) };
    pub(crate) static BATCHES: RefCell<LocalBatches> =
        const { RefCell::new(LocalBatches { recent: None, batches: Vec::new() }) };
}

/// The batches of this thread's turn for all mailboxes.
pub(crate) struct LocalBatches {
    /// The actor that was sent to last, directly.
    pub(crate) recent: Option<u64>,
    pub(crate) batches: Vec<Box<dyn AnyBatch>>,
}

/// A stage whose messages are of any type.
pub(crate) trait AnyBatch: Any {
    fn publish(&mut self);

    /// Where the actor lives, which the stage keeps alive.
    fn address(&self) -> usize;
}

impl LocalBatches {
    /// Takes back what is at hand.
    pub(crate) fn settle(&mut self) {
        self.batches.extend(LAST_BATCH.take());
    }

    /// Takes out the stage for the actor that lives at `address`, if there is one.
    #[inline]
    pub(crate) fn take(&mut self, address: usize) -> Option<Box<dyn AnyBatch>> {
        let at = self.batches.iter().position(|one| one.address() == address)?;
        Some(self.batches.swap_remove(at))
    }
}

/// Publishes everything of this thread; the end of a turn.
pub(crate) fn publish_all() {
    BATCHES.with(|batches| {
        let Ok(mut batches) = batches.try_borrow_mut() else {
            return;
        };
        batches.recent = None;
        batches.settle();
        if batches.batches.is_empty() {
            return;
        }
        let mut done = std::mem::take(&mut batches.batches);
        drop(batches);
        done.iter_mut().for_each(|batch| batch.publish());
    });
}
