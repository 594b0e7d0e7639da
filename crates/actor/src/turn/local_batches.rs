//! Messages that the current turn has sent to actors of this process and not yet published.
//!
//! The messages for one actor are collected in a batch of its message type (`reference::batch`).
//! The batch used last is kept in a slot of its own, where a sender finds it fastest; every other
//! operation here first moves it back to the rest.

use std::any::Any;
use std::cell::{Cell, RefCell};

thread_local! {
    pub(crate) static LAST_BATCH: Cell<Option<Box<dyn AnyBatch>>> = const { Cell::new(None) };
    pub(crate) static BATCHES: RefCell<LocalBatches> =
        const { RefCell::new(LocalBatches { recent: None, batches: Vec::new() }) };
}

/// This thread's unpublished batches for all mailboxes.
pub(crate) struct LocalBatches {
    /// The actor that was last sent to directly.
    pub(crate) recent: Option<u64>,
    pub(crate) batches: Vec<Box<dyn AnyBatch>>,
}

/// A batch with its message type erased.
pub(crate) trait AnyBatch: Any {
    fn publish(&mut self);

    /// The address of the actor's mailbox, which the batch keeps alive.
    fn address(&self) -> usize;
}

impl LocalBatches {
    /// Moves the batch used last back to the others.
    pub(crate) fn settle(&mut self) {
        self.batches.extend(LAST_BATCH.take());
    }

    /// Takes out the batch for the actor at `address`, if there is one.
    #[inline]
    pub(crate) fn take(&mut self, address: usize) -> Option<Box<dyn AnyBatch>> {
        let at = self.batches.iter().position(|one| one.address() == address)?;
        Some(self.batches.swap_remove(at))
    }
}

/// Publishes all batches of this thread, at the end of a turn.
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
