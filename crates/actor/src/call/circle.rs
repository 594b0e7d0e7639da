//! Asks in a circle: everybody in it would wait for ever.
//!
//! While a handler waits for the answer of an actor of its own process, its actor says so. Who asks
//! next follows what they say, from the actor that is asked on; if that leads back to the asker, the
//! ask is refused. Each says it before it looks, so of two that ask each other at once one sees it.
//! What runs side by side says nothing: its actor goes on, so it can answer.

use std::sync::Arc;

use crate::lifecycle::current;
use crate::lifecycle::handle::Living;
use crate::limits::CIRCLE_MAX;
use crate::turn;

/// While it is there, an actor waits for another.
pub(crate) struct Waits(Arc<dyn Living>);

/// The asks would stand in a circle.
pub(crate) struct Circle;

/// The actor of this turn, if it is in one of its handlers, begins to wait for `target`.
pub(crate) fn begin(target: &Arc<dyn Living>) -> Result<Option<Waits>, Circle> {
    let Some(own) = turn::holds_up_calls().then(current::own).flatten() else { return Ok(None) };
    own.control().wait_for(Some(Arc::downgrade(target)));
    let waits = Waits(own);
    let mut next = Some(target.clone());
    for _ in 0..CIRCLE_MAX {
        let Some(at) = next else { break };
        if at.number() == waits.0.number() {
            return Err(Circle);
        }
        next = at.control().waited_for();
    }
    Ok(Some(waits))
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.control().wait_for(None);
    }
}
