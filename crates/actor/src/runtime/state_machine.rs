//! An actor that is a state machine: in which state it is, and what ends with that state.
//!
//! States are an `enum`, and the actor's behaviour in each is a `match`. This type adds the rest: a
//! change of state ends the state's time limit, even one that is due already, and the waiting of
//! the calls that it could not serve.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use crate::call::Call;
use crate::mailbox::timers::{Timer, TimerError};
use crate::reference::interface::Interface;
use crate::runtime::this::This;

/// The state that an actor is in. It is read, and changed in itself, as what it is: `match *door`.
///
/// ```
/// # use wigwag_actor as wigwag;
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
    /// A machine that begins in this state.
    pub fn new(state: S) -> StateMachine<S> {
        StateMachine { state, limit: None }
    }

    /// Changes to another state, or enters the same one anew, and returns the one before. The old
    /// state's time limit is cancelled: nothing of it arrives any more, even if it was due. Calls
    /// that the actor has [stashed](This::stash) are handled again, in order, after the current
    /// call and before newer ones.
    pub fn go<I: Interface>(&mut self, this: &This<I>, state: S) -> S {
        if let Some(limit) = self.limit.take() {
            limit.cancel();
        }
        this.unstash_all();
        std::mem::replace(&mut self.state, state)
    }

    /// Sends the actor a call when it has been in this state for that long, counted from now. A
    /// state has one limit: the last one that was set.
    ///
    /// # Errors
    /// [`TimerError`]; the limit before is taken back all the same.
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

    /// Takes the limit of this state back; false when there is none, or its call has begun.
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
