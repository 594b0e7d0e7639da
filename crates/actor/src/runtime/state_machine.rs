//! The state of an actor that is a state machine, with a time limit per state.
//!
//! States are an `enum` and an actor's behaviour in each is a `match`. This module adds the rest:
//! leaving a state cancels its time limit, even one that is already due, and retries the calls that
//! the state could not serve and put aside.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::call::Call;
use crate::mailbox::timers::{Timer, TimerError};
use crate::reference::interface::Interface;
use crate::runtime::this::This;

/// The current state of an actor, with an optional time limit. It dereferences to the state: `match
/// *door`.
///
/// ```
/// # mod wigwag {
/// #     pub use wigwag_actor::*;
/// #     pub mod state_machine { pub use wigwag_actor::StateMachine; }
/// #     pub mod timer { pub use wigwag_actor::TimerError; }
/// # }
/// use std::time::Duration;
/// use wigwag::{Call, Interface, This};
/// use wigwag::state_machine::StateMachine;
/// use wigwag::timer::TimerError;
///
/// enum Lock {
///     Closed { tried: u32 },
///     Open,
/// }
///
/// /// Opens for ten seconds.
/// fn open<I: Interface>(
///     lock: &mut StateMachine<Lock>,
///     this: &This<I>,
///     close: impl FnOnce(&I::Ref) -> Call<'_, I, ()>,
/// ) -> Result<(), TimerError> {
///     if let Lock::Closed { tried } = &mut **lock {
///         *tried += 1;
///         lock.go(this, Lock::Open);
///         lock.limit(this, Duration::from_secs(10), close)?;
///     }
///     Ok(())
/// }
/// ```
pub struct StateMachine<S> {
    state: S,
    limit: Option<Timer>,
}

impl<S> StateMachine<S> {
    /// Creates a machine in `state`, without a limit.
    pub fn new(state: S) -> StateMachine<S> {
        StateMachine { state, limit: None }
    }

    /// Changes to `state`, which may equal the current one, and returns the previous state. The
    /// time limit of the previous state is cancelled: its call no longer arrives, even if it was
    /// due. The calls that the actor has [put aside](This::stash) are handled again, in order,
    /// after the current call and before newer mail.
    pub fn go<I: Interface>(&mut self, this: &This<I>, state: S) -> S {
        if let Some(limit) = self.limit.take() {
            limit.cancel();
        }
        this.unstash_all();
        std::mem::replace(&mut self.state, state)
    }

    /// Sends the actor a call if it stays in this state for `limit`, counted from now. A state has
    /// one limit: the last that was set.
    ///
    /// # Errors
    /// [`TimerError`]; the previous limit is cancelled all the same.
    pub fn limit<I: Interface, R>(
        &mut self,
        this: &This<I>,
        limit: Duration,
        call: impl FnOnce(&I::Ref) -> Call<'_, I, R>,
    ) -> Result<(), TimerError> {
        self.lift_limit();
        self.limit = Some(this.after(limit, call)?);
        Ok(())
    }

    /// Cancels the limit of this state; false when there is none, or its call has begun.
    pub fn lift_limit(&mut self) -> bool {
        self.limit.take().is_some_and(|limit| limit.cancel())
    }
}

impl<S> Deref for StateMachine<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.state
    }
}

impl<S> DerefMut for StateMachine<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.state
    }
}

impl<S: Default> Default for StateMachine<S> {
    fn default() -> StateMachine<S> {
        StateMachine::new(S::default())
    }
}

impl<S: fmt::Debug> fmt::Debug for StateMachine<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateMachine")
            .field("state", &self.state)
            .field("limited", &self.limit.is_some())
            .finish()
    }
}
