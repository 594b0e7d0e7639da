//! How to start an actor.

use tokio::runtime::Handle;

use crate::limits::{MAILBOX_CALLS, SIDE_BY_SIDE, SIDE_BY_SIDE_MAX};

/// How to start an actor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ActorOptions {
    /// Calls that may wait for the actor, over all local senders; at least 1.
    pub mailbox_calls: usize,
    /// The rule for a call that finds no place.
    pub when_full: WhenFull,
    /// Calls that run side by side, with those that wait for their key, at most: from 1 to
    /// [`SIDE_BY_SIDE_MAX`]. While there are so many the actor takes no call at all; control mail is
    /// obeyed.
    pub side_by_side: usize,
    /// True: each call is handled in a span of `tracing`. The name of a span is fixed at compile
    /// time, so all are named `call`, with level info and target `wigwag_actor::spans`, and have
    /// the fields `actor` (the type), `method` and `number` (the actor's). The span also covers the
    /// part of an `async` or side-by-side handler after a wait. Calls are distinguished, so
    /// consecutive calls of another process are handled one by one; without spans a run of calls
    /// pays for one comparison.
    pub spans: bool,
    /// Where the actor runs.
    pub placement: Placement,
}

/// The rule for a call of a local sender that finds the mailbox full. Calls from other nodes are
/// not affected: each session has places of its own, for which it was given credit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenFull {
    /// The sender waits for room, or has the message back at once if it does not wait.
    #[default]
    Wait,
    /// The sender has the message back at once, whether it would wait or not: `Full`.
    Refuse,
    /// The call that waits longest is dropped and counted; its asker hears `Overloaded`.
    DropOldest,
    /// The new call is dropped and counted; its asker hears `Overloaded`.
    DropNewest,
}

/// Where an actor runs.
///
/// An actor whose handlers are quick (some microseconds) may, while it is idle, be run by a task of its
/// runtime that asks it, before that task goes on; so a handler that blocks its thread until somebody
/// else does something belongs on a thread of its own.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Placement {
    /// On the runtime of whoever starts it.
    #[default]
    Current,
    /// On that runtime: one that has a single thread is a worker of its own.
    On(Handle),
    /// On a thread of its own, which it may block.
    OwnThread,
}

/// How an actor runs, of what its options say.
#[derive(Clone, Copy)]
pub(crate) struct RunConfig {
    pub(crate) side_by_side: usize,
    pub(crate) spans: bool,
}

impl ActorOptions {
    /// Sets room for `calls` calls.
    #[must_use]
    pub fn mailbox_calls(mut self, calls: usize) -> ActorOptions {
        self.mailbox_calls = calls.max(1);
        self
    }

    /// Sets the rule for a full mailbox.
    #[must_use]
    pub fn when_full(mut self, rule: WhenFull) -> ActorOptions {
        self.when_full = rule;
        self
    }

    /// Sets the number of calls that run side by side; 1 runs them one after the other.
    #[must_use]
    pub fn side_by_side(mut self, calls: usize) -> ActorOptions {
        self.side_by_side = calls.clamp(1, SIDE_BY_SIDE_MAX);
        self
    }

    /// Turns spans around calls on or off.
    #[must_use]
    pub fn spans(mut self, spans: bool) -> ActorOptions {
        self.spans = spans;
        self
    }

    pub(crate) fn run_config(&self) -> RunConfig {
        RunConfig { side_by_side: self.side_by_side, spans: self.spans }
    }

    /// Runs the actor on `runtime`.
    #[must_use]
    pub fn on(mut self, runtime: &Handle) -> ActorOptions {
        self.placement = Placement::On(runtime.clone());
        self
    }

    /// Runs the actor on a thread of its own, which its handlers may block.
    #[must_use]
    pub fn own_thread(mut self) -> ActorOptions {
        self.placement = Placement::OwnThread;
        self
    }
}

impl Default for ActorOptions {
    fn default() -> ActorOptions {
        ActorOptions {
            mailbox_calls: MAILBOX_CALLS,
            when_full: WhenFull::default(),
            side_by_side: SIDE_BY_SIDE,
            spans: false,
            placement: Placement::default(),
        }
    }
}
