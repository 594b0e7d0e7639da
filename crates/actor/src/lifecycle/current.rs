//! The actor that a thread polls.

use std::cell::RefCell;
use std::sync::Arc;

use crate::lifecycle::handle::AnyActor;

/// The mailbox of the actor that this thread polls.
pub(crate) type CurrentActor = Arc<dyn AnyActor>;

thread_local! {
    static CURRENT: RefCell<Option<CurrentActor>> = const { RefCell::new(None) };
}

/// The actor that this thread polls.
pub(crate) fn current_actor() -> Option<CurrentActor> {
    CURRENT.with(|place| place.borrow().clone())
}

/// Restores the thread's previous actor when it is dropped.
pub(crate) struct EnterGuard<'a> {
    current_actor: &'a mut Option<CurrentActor>,
    before: Option<CurrentActor>,
}

/// Makes `current_actor` the actor that this thread polls.
pub(crate) fn enter(current_actor: &mut Option<CurrentActor>) -> EnterGuard<'_> {
    let before =
        CURRENT.with(|place| std::mem::replace(&mut *place.borrow_mut(), current_actor.take()));
    EnterGuard { current_actor, before }
}

impl Drop for EnterGuard<'_> {
    fn drop(&mut self) {
        let before = self.before.take();
        *self.current_actor =
            CURRENT.with(|place| std::mem::replace(&mut *place.borrow_mut(), before));
    }
}
