//! The receiver's side of the credit of a channel.

use alloc::boxed::Box;

use super::bound::Share;
use super::{ActorBound, exceeded};
use crate::error::LinkError;
use crate::flow_control::budget::Budget;
use crate::limits::{FRAME_UNITS, SESSION_UNITS_MAX, WINDOW_UNITS_MAX, WINDOW_UNITS_MIN};

/// An inbound queue that holds less than this part of its window has run dry.
const DRY_PART: u64 = 8;

/// Growth factors of a window whose queue has run dry: within the base budget, and for a scaled
/// window.
const BASE_GROWTH: u64 = 8;
const SCALED_GROWTH: u64 = 4;

/// Part of a window that is announced as soon as it is free. For a scaled window the part is
/// smaller, because credit that is held back costs a share of a round trip.
const FRESH_PART: u64 = 2;
const FRESH_PART_SCALED: u64 = 8;

/// The receiver's side of a channel's flow control.
#[derive(Debug, Default)]
pub struct Grant {
    /// The limit that the sender was told.
    announced: u64,
    /// Units taken out of the inbound queue so far.
    freed: u64,
    /// Calls whose handlers have ended.
    handled: u64,
    /// The part of `handled` that the sender was told.
    handled_announced: u64,
    /// The tells among the calls of `handled`, and how many of them were rejected.
    tells: u64,
    rejected: u64,
    /// Rejected tells that `handled` does not count yet.
    rejected_pending: u64,
    /// Capacity of the inbound queue in units. Invariant: `announced - freed <= window + extra`.
    window: u64,
    /// The limit that the call needs which the sender is blocked with, if that call is longer than
    /// a frame may be; 0 before the first one.
    long_wanted: u64,
    /// The last limit that was granted for such a call.
    long_limit: u64,
    /// Units beyond the window that are held for such a call, until the actor has taken it.
    extra: u64,
    /// The part of `window` that came out of the budget for scaled windows.
    scaled: u64,
    /// The limit that a blocked sender wants.
    wanted: u64,
    /// The base budget did not allow the window to double when the sender was last blocked.
    base_exhausted: bool,
    /// The wanted limit at which the queue was last seen to run dry.
    dry_at: u64,
    /// Units that the sender may use whatever it was told: those of HELLO, which it may use before
    /// it has read the limit of ATTACHED.
    initial: u64,
    /// The channel's share of the bound of its actor, if the actor has one.
    share: Option<Box<Share>>,
}

impl Grant {
    /// Creates a grant of `window` units from the budget; the initial window is always granted.
    pub fn new(window: u64, budget: &mut Budget) -> Grant {
        budget.give(window);
        Grant { announced: window, window, initial: window, ..Grant::default() }
    }

    /// Creates a grant within the bound of an actor. The sender was promised `initial` units in
    /// HELLO; it is told the smaller window of the bound.
    pub fn bounded(initial: u64, bound: ActorBound, budget: &mut Budget) -> Grant {
        let window = bound.first_window().min(initial);
        let share = Some(Box::new(Share::new(bound)));
        Grant { initial, share, ..Grant::new(window, budget) }
    }

    /// Puts the grant under the bound of its actor, which was not known before. Its window stays, and
    /// grows within the bound from now on.
    pub fn bind(&mut self, bound: ActorBound) {
        self.share = Some(Box::new(Share::new(bound)));
    }

    /// True if the actor bounds the calls of its remote callers. Then the sender's use is to be
    /// recorded with each call.
    pub fn is_bounded(&self) -> bool {
        self.share.is_some()
    }

    /// The limit that the sender was told.
    pub fn announced(&self) -> u64 {
        self.announced
    }

    /// The units that the sender may use: what it was told, and what HELLO has promised.
    pub fn allowed(&self) -> u64 {
        self.announced.max(self.initial)
    }

    /// Records that the sender has used `used` units since ATTACH.
    ///
    /// # Errors
    ///
    /// Fails with [`exceeded`] if these are not [allowed](Self::allowed).
    pub fn check(&mut self, used: u64) -> Result<(), LinkError> {
        if used > self.allowed() {
            return Err(exceeded());
        }
        if let Some(share) = &mut self.share {
            share.used = used;
        }
        Ok(())
    }

    /// The actor took `units` out of the inbound queue. Returns true if the sender should be told
    /// now.
    pub fn free(&mut self, units: u64) -> bool {
        self.freed += units;
        self.is_due()
    }

    /// The actor has ended the handlers of `tells` tells and `asks` asks, the calls that it has
    /// rejected included.
    pub(crate) fn handled(&mut self, tells: u64, asks: u64) {
        self.handled += tells + asks;
        self.tells += tells;
        let rejected = self.rejected_pending.min(tells);
        self.rejected_pending -= rejected;
        self.rejected += rejected;
    }

    /// The actor has not understood a tell, which [`handled`](Self::handled) counts later.
    pub(crate) fn rejected(&mut self) {
        self.rejected_pending += 1;
    }

    /// The tells that were taken in their turn, and how many of them were rejected.
    pub(crate) fn outcomes(&self) -> (u64, u64) {
        (self.tells, self.rejected)
    }

    /// Returns true if the sender was not told of all handled calls.
    pub(crate) fn has_unannounced(&self) -> bool {
        self.handled_announced < self.handled
    }

    /// Handles NEED of a blocked sender: doubles the window or fits it to the wanted limit, as far
    /// as the budget allows. `units` is the cost of its next call if that is longer than a frame may
    /// be. Returns true if the sender should be told now.
    pub fn need(&mut self, wanted: u64, units: u64, budget: &mut Budget) -> bool {
        self.wanted = self.wanted.max(wanted);
        if units > FRAME_UNITS {
            self.long_wanted = self.long_wanted.max(wanted);
        }
        if let Some(share) = self.share.as_mut() {
            if self.wanted > self.announced {
                let wanted = share.double(self.window);
                let more = budget.grow(wanted);
                share.give_back(wanted - more);
                self.window += more;
            }
            return self.is_due();
        }
        let most = WINDOW_UNITS_MAX.min(SESSION_UNITS_MAX / 2);
        let fits = self.wanted.saturating_sub(self.freed);
        let double = self.window * 2;
        let target = double.max(fits).clamp(WINDOW_UNITS_MIN, most);
        // The scaled part counts here, so that a channel which has one leaves the base budget to
        // others.
        self.window += budget.grow(target.saturating_sub(self.window));
        self.base_exhausted = self.window < double;
        // Without this, a frame larger than the window would wait for ever once other channels hold
        // the budget.
        let frame = fits.min(FRAME_UNITS);
        self.window += budget.grow_for_frame(frame.saturating_sub(self.window));
        self.fit_long_call(budget);
        self.is_due()
    }

    /// True if the sender is blocked with a call that is longer than a frame may be.
    pub fn wants_long_call(&self) -> bool {
        self.long_wanted > self.limit()
    }

    /// Lets a call through that is longer than a frame may be and does not fit into the window: its
    /// units are held beyond the window until the actor has taken them, so they serve one channel
    /// after the other. Returns true if the sender should be told now.
    pub fn fit_long_call(&mut self, budget: &mut Budget) -> bool {
        let needed = self.long_wanted.saturating_sub(self.freed + self.window);
        if !self.wants_long_call() || !budget.take_for_long_call(self.extra, needed) {
            return false;
        }
        (self.extra, self.long_limit) = (needed, self.long_wanted);
        self.is_due()
    }

    /// Returns the units of long calls that the actor has taken. True if there were any.
    pub fn settle(&mut self, budget: &mut Budget) -> bool {
        let needed = self.long_limit.saturating_sub(self.freed + self.window);
        let unneeded = self.extra.saturating_sub(needed);
        self.extra -= unneeded;
        budget.give_long_call_back(unneeded);
        unneeded > 0
    }

    /// The limit that the sender may have.
    fn limit(&self) -> u64 {
        (self.freed + self.window).max(self.long_limit)
    }

    /// Fits the window of a channel to a bounded actor to the call that its sender is blocked with,
    /// if that call is larger than the window. Every call that came was taken, so nothing else will
    /// unblock the sender. Returns true if the sender should be told now.
    pub fn fit_call(&mut self, budget: &mut Budget) -> bool {
        let call = self.wanted.saturating_sub(self.freed);
        let is_empty = self.share.as_ref().is_some_and(|share| share.used <= self.freed);
        if !is_empty || call <= self.window {
            return false;
        }
        if self.wants_long_call() {
            return self.fit_long_call(budget);
        }
        let more = call.min(FRAME_UNITS).saturating_sub(self.window);
        self.window += budget.grow_for_frame(more);
        self.is_due()
    }

    /// Returns true once for each time that the sender was blocked and the queue ran dry before
    /// more calls could arrive. An actor slower than its sender never causes this: its sender is
    /// blocked again before a window's worth is handled.
    pub fn ran_dry(&mut self) -> bool {
        let dry = self.wanted > self.dry_at && self.freed + self.window / DRY_PART >= self.wanted;
        if dry {
            self.dry_at = self.wanted;
        }
        dry
    }

    /// Returns true if the base budget was exhausted when the sender was last blocked.
    pub fn is_base_exhausted(&self) -> bool {
        self.base_exhausted
    }

    /// Scales the window up after the queue has run dry, to at most `most` units, the size that the
    /// RTT justifies. Each step takes a round trip, so the steps are large; the budget bounds them.
    /// Returns true if the sender should be told now.
    pub fn scale(&mut self, most: u64, budget: &mut Budget) -> bool {
        if self.is_bounded() {
            return false;
        }
        let before = self.window;
        let base = (self.window * BASE_GROWTH).min(most).min(WINDOW_UNITS_MAX);
        self.window += budget.grow(base.saturating_sub(self.window));
        if self.base_exhausted {
            let target = (before * SCALED_GROWTH).min(most);
            let more = budget.grow_scaled(target.saturating_sub(self.window));
            self.scaled += more;
            self.window += more;
        }
        self.window > before
    }

    /// Returns true if the sender wants more than the window could ever give it.
    pub fn is_short(&self) -> bool {
        if self.share.as_ref().is_some_and(|share| share.used > self.freed) {
            return false;
        }
        self.wants_long_call()
            || self.wanted.saturating_sub(self.freed).min(FRAME_UNITS) > self.window
    }

    /// Capacity of the inbound queue in units, without that of a long call.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Units that may wait in the inbound queue: the window, and what a long call has beyond it.
    pub fn capacity(&self) -> u64 {
        self.window + self.extra
    }

    /// Credit is due if half a window (an eighth of a scaled one) can be announced, or if the
    /// sender is blocked and any unit is free.
    fn is_due(&self) -> bool {
        let fresh = self.limit().saturating_sub(self.announced);
        let part = if self.scaled > 0 { FRESH_PART_SCALED } else { FRESH_PART };
        fresh > 0 && (fresh * part >= self.window || self.wanted > self.announced)
    }

    /// Marks everything as announced and returns the values for CREDIT: the limit and the number of
    /// handled calls.
    pub fn announce(&mut self) -> (u64, u64) {
        self.announced = self.announced.max(self.limit());
        self.handled_announced = self.handled;
        (self.announced, self.handled)
    }

    /// Returns the window of a closed channel to the budget.
    pub fn close(self, budget: &mut Budget) {
        budget.give_back(self.window - self.scaled, self.scaled);
        budget.give_long_call_back(self.extra);
    }
}

#[cfg(test)]
mod tests;
