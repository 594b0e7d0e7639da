//! Timers that an actor sets in its handlers and hooks.

use std::sync::Arc;
use std::time::Duration;

use crate::call::Call;
use crate::limits::{TIMER_DELAY_MAX, TIMER_PERIOD_MIN};
use crate::mailbox::timers::{Timer, TimerCall, TimerError};
use crate::reference::interface::Interface;
use crate::runtime::this::This;

impl<I: Interface> This<I> {
    /// Sends the actor a call after `delay`: `this.after(second, |me| me.tick())`. The call is
    /// queued like any other, and its reply is discarded. Delays of more than ten years count as
    /// ten years. A timer does not keep its actor alive and ends with it, and at each restart of a
    /// supervised one, also if its call is due; a draining actor drops timers that are not due.
    ///
    /// If the actor is exported, other nodes can send that call too. [`later`](Self::later) with a
    /// sleep runs a closure instead.
    ///
    /// # Errors
    /// [`TimerError`].
    pub fn after<R>(
        &self,
        delay: Duration,
        call: impl FnOnce(&I::Ref) -> Call<'_, I, R>,
    ) -> Result<Timer, TimerError> {
        let reference = self.reference();
        let message = call(&reference).into_message();
        self.mailbox.timers()?.add(delay, TimerCall::Once(message))
    }

    /// Sends the actor a call every `period`, at least a millisecond; the first after one period.
    /// At most one call of a timer waits: periods in which the last call has not begun are skipped.
    /// `call` runs in another task each time; when it panics, the actor is stopped for that reason.
    ///
    /// # Errors
    /// [`TimerError`].
    pub fn every<R>(
        &self,
        period: Duration,
        mut call: impl FnMut(&I::Ref) -> Call<'_, I, R> + Send + 'static,
    ) -> Result<Timer, TimerError> {
        let weak = Arc::downgrade(&self.mailbox);
        let this = move || weak.upgrade().map(This::<I>::new);
        let make = move || this().map(|this| call(&this.reference()).into_message());
        let period = period.clamp(TIMER_PERIOD_MIN, TIMER_DELAY_MAX);
        let timer_call = TimerCall::Every { period, make: Some(Box::new(make)) };
        self.mailbox.timers()?.add(period, timer_call)
    }
}
