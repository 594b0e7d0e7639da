//! Urgent calls: calls that overtake those that wait.
//!
//! Urgent calls have a queue of their own, which the mailbox creates at the first urgent call; an
//! actor that never gets one pays nothing for it. Control mail notifies the actor of urgent calls,
//! so it ends its current run early; `precedence` says when it does not.

use std::fmt;
use std::time::Duration;

use crate::call::answer::Answer;
use crate::call::ask::Ask;
use crate::call::ask_target::AskTarget;
use crate::call::tell::Tell;
use crate::call::time_limit::TimeLimit;
use crate::call::{Answerable, Call, try_ask, try_tell_alone};
use crate::error::{AskError, Refused};
use crate::reference::Priority;
use crate::reference::interface::Interface;
use crate::reference::local_ref::AskMode;

impl<'a, I: Interface, R> Call<'a, I, R> {
    /// Makes the call urgent: it overtakes all calls that wait, whether from local senders, other
    /// nodes or timers. It stays behind earlier urgent calls and control mail. The call that the
    /// actor is handling is finished first; the urgent one is next.
    ///
    /// ```
    /// # use wigwag_actor as wigwag;
    /// # fn cancel<I: wigwag::Interface>(call: wigwag::Call<'_, I, ()>) {
    /// let _ = call.urgent().try_tell();
    /// # }
    /// ```
    ///
    /// # Limits
    /// [`URGENT_CALLS_MAX`](crate::limits::URGENT_CALLS_MAX) urgent calls may wait for an actor, in
    /// addition to the room of its mailbox; the next one meets the mailbox's own
    /// [rule](crate::WhenFull) for a call without room. After
    /// [`URGENT_RUNS_MAX`](crate::limits::URGENT_RUNS_MAX) runs of urgent calls, the actor handles
    /// one run of ordinary calls.
    ///
    /// # Errors
    /// Those of any call, and `Remote`, with the message, for an actor of another process, where no
    /// call overtakes another. The message may then be sent as an ordinary call.
    ///
    /// # Performance
    /// Two locks more than an ordinary call from outside a turn, and urgent calls are never
    /// batched: use them rarely. The order between a sender's ordinary and urgent calls is given
    /// up.
    pub fn urgent(self) -> Urgent<'a, I, R> {
        Urgent(self)
    }
}

/// An urgent call that has not been made yet; see [`Call::urgent`].
#[must_use = "a call does nothing until it is told or asked"]
pub struct Urgent<'a, I: Interface, R>(Call<'a, I, R>);

impl<'a, I: Interface, R> Urgent<'a, I, R> {
    /// Bounds the whole wait, as [`Call::timeout`] does.
    pub fn timeout(self, limit: Duration) -> Urgent<'a, I, R> {
        Urgent(self.0.timeout(limit))
    }

    /// Removes the time limit, as [`Call::without_limit`] does.
    pub fn without_limit(self) -> Urgent<'a, I, R> {
        Urgent(self.0.without_limit())
    }

    /// Sends the message if there is room now, and hands it back otherwise. An urgent call is never
    /// batched: it is in the mailbox when this returns.
    pub fn try_tell(self) -> Result<(), Refused<I::Message>> {
        try_tell_alone(self.0.target, Priority::Urgent, self.0.message)
    }

    /// Sends the message, waiting for room, as [`Call::tell`] does.
    pub fn tell(self) -> Tell<'a, I> {
        Tell::new(self.0, Priority::Urgent)
    }

    /// Sends the message, blocking the calling thread, as [`Call::blocking_tell`] does.
    #[track_caller]
    pub fn blocking_tell(self) -> Result<(), Refused<I::Message>> {
        self.tell().block()
    }
}

impl<'a, I: Interface, R: Answerable<I>> Urgent<'a, I, R> {
    /// Sends the message and waits for the reply, as [`Call::ask`] does.
    pub fn ask(self) -> Ask<'a, I, R> {
        let limit = TimeLimit::of_ask(self.0.timeout);
        Ask::new(AskTarget::Borrowed(self.0.target), self.0.message, limit, Priority::Urgent)
    }

    /// Sends the message if there is room now, as [`Call::try_ask`] does; the reply is awaited
    /// later.
    pub fn try_ask(self) -> Result<Answer<'a, I, R>, Refused<I::Message>> {
        try_ask(self.0, AskMode::Urgent)
    }

    /// Sends the message and blocks the calling thread until the reply arrives, as
    /// [`Call::blocking_ask`] does.
    #[track_caller]
    pub fn blocking_ask(self) -> Result<R, AskError<I::Message>> {
        self.ask().block()
    }
}

impl<I: Interface, R> fmt::Debug for Urgent<'_, I, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Urgent({})", self.0.target.target())
    }
}
