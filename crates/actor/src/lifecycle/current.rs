//! The actor that a thread polls.

use std::cell::RefCell;
use std::sync::Arc;

use crate::lifecycle::handle::Living;

/// The mailbox of the actor that this thread polls.
pub(crate) type Own = Arc<dyn Living>;

thread_local! {
    static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
}

/// The actor that this thread polls.
pub(crate) fn own() -> Option<Own> {
    OWN.with(|place| place.borrow().clone())
}

/// While it is there, this thread polls the actor that `own` belongs to.
pub(crate) struct Entered<'a> {
    own: &'a mut Option<Own>,
    before: Option<Own>,
}

/// The actor takes its thread.
pub(crate) fn enter(own: &mut Option<Own>) -> Entered<'_> {
    let before = OWN.with(|place| std::mem::replace(&mut *place.borrow_mut(), own.take()));
    Entered { own, before }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let before = self.before.take();
        *self.own = OWN.with(|place| std::mem::replace(&mut *place.borrow_mut(), before));
    }
}
