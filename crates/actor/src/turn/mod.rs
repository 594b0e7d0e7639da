//! A turn: one poll of an actor.
//!
//! Messages that an actor sends within one turn are published once, at its end: the lock, the wake
//! and the write are paid for once a turn and not once a message. The guard publishes before the
//! poll returns, whether the poll is ready, pending or unwinding. So no message waits in a thread
//! that the actor has left, and the order of an actor's messages is the order of its turns.

pub(crate) mod local_batches;

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;

/// The work at the end of this thread's outermost turn.
pub type AtEnd = fn();

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
    static SIDE_BY_SIDE: Cell<bool> = const { Cell::new(false) };
    static AT_END: Cell<Option<AtEnd>> = const { Cell::new(None) };
}

/// True while the calling thread is inside a turn.
#[inline]
pub fn is_open() -> bool {
    DEPTH.get() > 0
}

/// True while the calling thread polls an actor: a wait here may hold up the actor's mailbox.
pub fn is_handler() -> bool {
    IN_HANDLER.get()
}

/// Runs a turn of a future that runs side by side with the actor's other calls.
pub(crate) fn holds_up_calls() -> bool {
    IN_HANDLER.get() && !SIDE_BY_SIDE.get()
}

/// While it is there, the thread polls what holds up no call of its actor.
pub(crate) struct SideBySideGuard(bool);

/// An actor polls what runs side by side with its calls.
pub(crate) fn side_by_side() -> SideBySideGuard {
    SideBySideGuard(SIDE_BY_SIDE.replace(true))
}

impl Drop for SideBySideGuard {
    fn drop(&mut self) {
        SIDE_BY_SIDE.set(self.0);
    }
}

/// Calls `publish` when this thread's turn ends; once, however often it is requested.
#[inline]
pub fn at_end(publish: AtEnd) {
    AT_END.set(Some(publish));
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

/// While it is there, a turn that is opened is an outermost one: what an actor sends within another
/// task's turn leaves with its own, because its next turn may be on another thread.
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
            local_batches::publish_all();
            // Still inside while publishing: what publishing itself sends is published as well.
            while let Some(publish) = AT_END.take() {
                publish();
                local_batches::publish_all();
            }
        }
        DEPTH.set(depth);
    }
}

/// Runs a future in turns: each poll is one.
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

    thread_local! {
        static PUBLISHED: Cell<u32> = const { Cell::new(0) };
    }

    fn publish() {
        PUBLISHED.set(PUBLISHED.get() + 1);
    }

    #[test]
    fn the_outermost_turn_publishes_once() {
        {
            let _outer = open(true);
            at_end(publish);
            {
                let _inner = open(false);
                at_end(publish);
                assert!(!is_handler());
            }
            assert!(is_handler());
            assert_eq!(PUBLISHED.get(), 0);
        }
        assert!(!is_open());
        assert_eq!(PUBLISHED.get(), 1);
    }

    #[test]
    fn a_panicking_turn_publishes_too() {
        let caught = std::panic::catch_unwind(|| {
            let _turn = open(true);
            at_end(publish);
            panic!("on purpose");
        });
        assert!(caught.is_err());
        assert_eq!(PUBLISHED.get(), 1);
        assert!(!is_open());
    }
}
