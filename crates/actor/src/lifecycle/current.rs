//! The actor that a thread polls, and the session that its current call came from.

use std::cell::RefCell;
use std::sync::Arc;

use crate::lifecycle::handle::AnyActor;
use crate::reply::owner::InboundQueueOwner;

/// The mailbox of the actor that this thread polls.
pub(crate) type CurrentActor = Arc<dyn AnyActor>;

/// The session, or the SP client, that a call came from.
pub(crate) type CallOwner = Arc<dyn InboundQueueOwner>;

struct Current {
    actor: Option<CurrentActor>,
    owner: Option<CallOwner>,
}

thread_local! {
    static CURRENT: RefCell<Current> = const { RefCell::new(Current { actor: None, owner: None }) };
}

/// The actor that this thread polls.
pub(crate) fn current_actor() -> Option<CurrentActor> {
    CURRENT.with(|place| place.borrow().actor.clone())
}

/// The session that the current call of this thread's actor came from; `None` for a call from this
/// process, and outside of handlers.
pub(crate) fn call_owner() -> Option<CallOwner> {
    CURRENT.with(|place| place.borrow().owner.clone())
}

/// The number of the actor that this thread polls.
pub(crate) fn current_number() -> Option<u64> {
    CURRENT.with(|place| place.borrow().actor.as_ref().map(|actor| actor.number()))
}

/// Restores the thread's previous actor when it is dropped.
pub(crate) struct EnterGuard<'a> {
    current_actor: &'a mut Option<CurrentActor>,
    before: Option<Current>,
}

/// Makes `current_actor` the actor that this thread polls.
pub(crate) fn enter(current_actor: &mut Option<CurrentActor>) -> EnterGuard<'_> {
    let current = Current { actor: current_actor.take(), owner: None };
    let before = CURRENT.with(|place| place.replace(current));
    EnterGuard { current_actor, before: Some(before) }
}

impl Drop for EnterGuard<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before.take() {
            *self.current_actor = CURRENT.with(|place| place.replace(before)).actor;
        }
    }
}

/// Restores the session of the previous call when it is dropped.
pub(crate) struct CallGuard(Option<CallOwner>);

/// Makes `owner` the session of the current call.
pub(crate) fn enter_call(owner: &CallOwner) -> CallGuard {
    let owner = Some(owner.clone());
    CallGuard(CURRENT.with(|place| std::mem::replace(&mut place.borrow_mut().owner, owner)))
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let before = self.0.take();
        let owner = CURRENT.with(|place| std::mem::replace(&mut place.borrow_mut().owner, before));
        // Dropped outside of the borrow: it may be the last reference to its session.
        drop(owner);
    }
}
