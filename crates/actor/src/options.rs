//! The options of an actor: mailbox size, overflow rule, concurrency and placement.

use tokio::runtime::Handle;

use crate::limits::{MAILBOX_CALLS, SIDE_BY_SIDE, SIDE_BY_SIDE_MAX};

/// The options with which [`spawn_with`](crate::Actor::spawn_with) and
/// [`start_with`](crate::Actor::start_with) start an actor.
///
/// By default 1,024 calls may wait, their senders wait when the mailbox is full, 256 calls may run
/// side by side, calls have no spans, and the actor runs on the runtime that starts it.
///
/// ```
/// # use wigwag_actor::{ActorOptions, WhenFull};
/// let options = ActorOptions::default().mailbox_calls(64).when_full(WhenFull::DropOldest);
/// # assert_eq!(options.get_mailbox_calls(), 64);
/// ```
#[derive(Clone, Debug)]
pub struct ActorOptions {
    /// `None`: the default for local senders, and no bound for those of other nodes.
    mailbox_calls: Option<usize>,
    when_full: WhenFull,
    side_by_side: usize,
    spans: bool,
    placement: Placement,
}

/// The rule for a call of a local sender that finds the mailbox full.
///
/// It does not concern calls from other nodes: these have places of their own, whose number
/// [`mailbox_calls`](ActorOptions::mailbox_calls) describes; without a place the sender there waits.
///
/// The example of [`ActorOptions`] sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenFull {
    /// The sender waits for room; a sender that does not wait gets the message back, as `Full`.
    #[default]
    Wait,
    /// Every sender gets the message back at once, as `Full`.
    Refuse,
    /// The call that has waited longest is dropped and counted; its asker gets `Overloaded`.
    DropOldest,
    /// The new call is dropped and counted; its asker gets `Overloaded`.
    DropNewest,
}

/// The runtime or thread on which an actor runs.
#[derive(Clone, Debug, Default)]
pub(crate) enum Placement {
    /// The runtime that starts it.
    #[default]
    Current,
    On(Handle),
    OwnThread,
}

/// The options that concern the running of an actor.
#[derive(Clone, Copy)]
pub(crate) struct RunConfig {
    pub(crate) side_by_side: usize,
    pub(crate) spans: bool,
}

impl ActorOptions {
    /// Sets how many calls may wait for the actor: of all local senders together, and of all senders
    /// of other nodes together; at least 1.
    ///
    /// By default 1,024 calls of local senders may wait, and each channel of another node has a
    /// window of its own, which grows with its sender's demand to 65,536 units of 64 bytes, and for
    /// a distant node beyond that.
    ///
    /// A number set here bounds both. A call of up to 64 bytes from another node counts as one, a
    /// larger one as one for each 64 bytes. At most `calls + channels × min(calls, 16)` of these
    /// units wait, where a channel is what each [`Node::actor`] opens: the second part makes sure
    /// that every sender gets on. A single call that is larger than the room of its channel comes
    /// through when none of its channel waits, so each channel may have one such call more. A
    /// small number costs rate: a sender without room waits for a round trip.
    ///
    /// Calls that the actor has taken out of its mailbox, at most 256 at a time, do not wait any
    /// more.
    ///
    /// [`Node::actor`]: https://docs.rs/wigwag/latest/wigwag/struct.Node.html#method.actor
    #[must_use]
    pub fn mailbox_calls(mut self, calls: usize) -> ActorOptions {
        self.mailbox_calls = Some(calls.max(1));
        self
    }

    /// Returns how many calls of local senders may wait.
    pub fn get_mailbox_calls(&self) -> usize {
        self.mailbox_calls.unwrap_or(MAILBOX_CALLS)
    }

    /// True if the number of calls was set, and so bounds the calls of other nodes too.
    pub(crate) fn bounds_remote_calls(&self) -> bool {
        self.mailbox_calls.is_some()
    }

    /// Sets the rule for a call that finds the mailbox full: by default the sender waits.
    #[must_use]
    pub fn when_full(mut self, rule: WhenFull) -> ActorOptions {
        self.when_full = rule;
        self
    }

    /// Sets how many calls may run side by side or wait for their key: 256 by default, from 1, which
    /// handles them one after the other, to [`SIDE_BY_SIDE_MAX`]. At this number the actor takes no
    /// further calls; it still handles control mail.
    #[must_use]
    pub fn side_by_side(mut self, calls: usize) -> ActorOptions {
        self.side_by_side = calls.clamp(1, SIDE_BY_SIDE_MAX);
        self
    }

    /// Sets whether each call is handled in a span of `tracing`; off by default.
    ///
    /// The name of a span is fixed at compile time, so all are named `call`, at level info, with
    /// the target `wigwag_actor::spans` and the fields `actor` (the type), `method` and `number`
    /// (the actor's). The span also covers what an `async` or a side-by-side handler does after a
    /// wait. With spans, calls that arrive from another process in a row are handled one by one;
    /// without them a run of calls pays one comparison.
    #[must_use]
    pub fn spans(mut self, spans: bool) -> ActorOptions {
        self.spans = spans;
        self
    }

    /// Runs the actor on `runtime`: one with a single thread serves as a dedicated worker. By
    /// default an actor runs on the runtime that starts it.
    #[must_use]
    pub fn on(mut self, runtime: &Handle) -> ActorOptions {
        self.placement = Placement::On(runtime.clone());
        self
    }

    /// Runs the actor on a thread of its own, which its handlers may block.
    ///
    /// While an actor with quick handlers (some microseconds) is idle, a task of its runtime that
    /// asks it may run it inline. A handler that blocks its thread until another task makes progress
    /// therefore belongs on a thread of its own.
    #[must_use]
    pub fn own_thread(mut self) -> ActorOptions {
        self.placement = Placement::OwnThread;
        self
    }

    pub(crate) fn get_when_full(&self) -> WhenFull {
        self.when_full
    }

    pub(crate) fn get_placement(&self) -> &Placement {
        &self.placement
    }

    pub(crate) fn run_config(&self) -> RunConfig {
        RunConfig { side_by_side: self.side_by_side, spans: self.spans }
    }
}

impl Default for ActorOptions {
    fn default() -> ActorOptions {
        ActorOptions {
            mailbox_calls: None,
            when_full: WhenFull::default(),
            side_by_side: SIDE_BY_SIDE,
            spans: false,
            placement: Placement::default(),
        }
    }
}
