//! A turn: one poll of an actor.
//!
//! An actor's sends within one turn are published once, at the end of the turn: the lock, the wake
//! and the write are paid per turn and not per message. The guard publishes before the poll
//! returns, whether the poll is ready, pending or unwinding; so no message waits in a thread that
//! the actor has left, and the order of an actor's messages is the order of its turns.

pub mod buffers;
mod entries;

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
    static SIDE_BY_SIDE: Cell<bool> = const { Cell::new(false) };
    static IS_FOLLOWED: Cell<bool> = const { Cell::new(false) };
}

/// True while the calling thread is inside a turn.
#[inline]
pub fn is_open() -> bool {
    DEPTH.get() > 0
}

/// True while the calling thread runs an actor behind which it is likely to run others: output of
/// several turns may be written together.
pub fn is_followed() -> bool {
    IS_FOLLOWED.get()
}

/// Notes whether the run queue holds more actors for the calling thread.
pub(crate) fn set_followed(is_followed: bool) {
    IS_FOLLOWED.set(is_followed);
}

/// True while the calling thread polls an actor: waiting here may hold up the actor's mailbox.
pub fn is_handler() -> bool {
    IN_HANDLER.get()
}

/// True while the calling thread polls an actor's handler that holds up the actor's other calls, as
/// opposed to one that runs side by side with them.
pub(crate) fn holds_up_calls() -> bool {
    IN_HANDLER.get() && !SIDE_BY_SIDE.get()
}

/// While this guard exists, the thread polls handlers that do not hold up their actor's other
/// calls.
pub(crate) struct SideBySideGuard(bool);

/// Marks the thread as polling handlers that run side by side with the actor's calls.
pub(crate) fn side_by_side() -> SideBySideGuard {
    SideBySideGuard(SIDE_BY_SIDE.replace(true))
}

impl Drop for SideBySideGuard {
    fn drop(&mut self) {
        SIDE_BY_SIDE.set(self.0);
    }
}

/// An open turn; dropping it ends the turn.
#[derive(Debug)]
pub struct Turn {
    handler_before: bool,
}

/// Opens a turn on this thread. `handler` says whether an actor runs in it.
pub fn open(handler: bool) -> Turn {
    DEPTH.set(DEPTH.get() + 1);
    Turn { handler_before: IN_HANDLER.replace(handler) }
}

/// While this guard exists, the next turn opened on this thread counts as outermost: messages that
/// an actor sends inside another task's turn are published at the end of the actor's own turn,
/// because its next turn may be on another thread.
pub(crate) struct Outermost {
    depth: u32,
}

pub(crate) fn outermost() -> Outermost {
    Outermost { depth: DEPTH.replace(0) }
}

impl Drop for Outermost {
    fn drop(&mut self) {
        DEPTH.set(self.depth);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        IN_HANDLER.set(self.handler_before);
        let depth = DEPTH.get() - 1;
        if depth == 0 {
            // The depth still counts this turn, so that sends made by publishing are published too.
            buffers::publish_all();
        }
        DEPTH.set(depth);
    }
}

/// Runs a future in turns: each poll is one turn.
pub async fn in_turns<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(move |context| {
        let _turn = open(false);
        future.as_mut().poll(context)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_inside_another_restores_what_the_outer_one_was() {
        {
            let _outer = open(true);
            {
                let _inner = open(false);
                assert!(!is_handler());
            }
            assert!(is_handler());
        }
        assert!(!is_open());
    }

    #[test]
    fn a_panicking_turn_ends() {
        let caught = std::panic::catch_unwind(|| {
            let _turn = open(true);
            panic!("on purpose");
        });
        assert!(caught.is_err());
        assert!(!is_open() && !is_handler());
    }
}
