//! Asks in a circle: everybody in it would wait for ever.
//!
//! While a handler waits for the answer of an actor of its own process, its actor records that. An
//! ask follows these records from the asked actor on; if they lead back to the asking actor, the
//! ask is refused. Each actor records before it looks, so of two that ask each other at the same
//! time at least one notices. Futures that run side by side record nothing: their actor continues,
//! so it can answer.

use std::sync::Arc;

use crate::lifecycle::current;
use crate::lifecycle::handle::AnyActor;
use crate::limits::CYCLE_ACTORS_MAX;
use crate::turn;

/// While it is there, an actor waits for another.
pub(crate) struct WaitGuard(Arc<dyn AnyActor>);

/// The asks would stand in a circle.
pub(crate) struct CallCycle;

/// The actor of this turn, if it is in one of its handlers, begins to wait for `target`.
pub(crate) fn begin_wait(target: &Arc<dyn AnyActor>) -> Result<Option<WaitGuard>, CallCycle> {
    let Some(own) = turn::holds_up_calls().then(current::current_actor).flatten() else {
        return Ok(None);
    };
    own.control().wait_for(Some(Arc::downgrade(target)));
    let guard = WaitGuard(own);
    let mut next = Some(target.clone());
    for _ in 0..CYCLE_ACTORS_MAX {
        let Some(at) = next else { break };
        if at.number() == guard.0.number() {
            return Err(CallCycle);
        }
        next = at.control().waited_for();
    }
    Ok(Some(guard))
}

impl Drop for WaitGuard {
    fn drop(&mut self) {
        self.0.control().wait_for(None);
    }
}
