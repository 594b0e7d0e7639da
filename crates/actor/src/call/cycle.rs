//! Call cycles: asks in a circle, each of which would wait for ever.
//!
//! While a handler waits for the answer of an actor of its own process, its actor is marked as
//! waiting for that actor. An ask follows these marks, beginning at its target; if they lead back
//! to the asker, the ask is refused. An asker sets its mark before it looks, so of two actors that
//! ask each other at once at least one sees the cycle. Handlers that run side by side set no mark:
//! their actor goes on, so it can answer.

use std::sync::Arc;

use crate::lifecycle::current;
use crate::lifecycle::handle::AnyActor;
use crate::limits::CYCLE_ACTORS_MAX;
use crate::turn;

/// Marks an actor as waiting for another until it is dropped.
pub(crate) struct WaitGuard(Arc<dyn AnyActor>);

/// The error of an ask that would close a circle.
pub(crate) struct CallCycle;

/// Marks the actor of this turn, if it is in one of its handlers, as waiting for `target`.
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
