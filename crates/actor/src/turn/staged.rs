//! What the current turn has sent to actors of this process and not yet published, whatever its type.
//!
//! The messages for one actor lie in a buffer of its type (`reference::stage`). The one that was used
//! last lies apart, where a sender finds it at once; everything else that is done here takes it back
//! before.

use std::any::Any;
use std::cell::{Cell, RefCell};

thread_local! {
    pub(crate) static AT_HAND: Cell<Option<Box<dyn Publish>>> = const { Cell::new(None) };
    pub(crate) static STAGES: RefCell<Stages> =
        const { RefCell::new(Stages { recent: None, stages: Vec::new() }) };
}

/// What this thread's turn has for all mailboxes.
pub(crate) struct Stages {
    /// The actor that was sent to last, directly.
    pub(crate) recent: Option<u64>,
    pub(crate) stages: Vec<Box<dyn Publish>>,
}

/// A stage whose messages are of any type.
pub(crate) trait Publish: Any {
    fn publish(&mut self);

    /// Where the actor lives, which the stage keeps alive.
    fn address(&self) -> usize;
}

impl Stages {
    /// Takes back what is at hand.
    pub(crate) fn settle(&mut self) {
        self.stages.extend(AT_HAND.take());
    }

    /// Takes out the stage for the actor that lives at `address`, if there is one.
    #[inline]
    pub(crate) fn take(&mut self, address: usize) -> Option<Box<dyn Publish>> {
        let at = self.stages.iter().position(|one| one.address() == address)?;
        Some(self.stages.swap_remove(at))
    }
}

/// Publishes everything of this thread; the end of a turn.
pub(crate) fn publish_all() {
    STAGES.with(|stages| {
        let Ok(mut stages) = stages.try_borrow_mut() else {
            return;
        };
        stages.recent = None;
        stages.settle();
        if stages.stages.is_empty() {
            return;
        }
        let mut done = std::mem::take(&mut stages.stages);
        drop(stages);
        done.iter_mut().for_each(|stage| stage.publish());
    });
}
