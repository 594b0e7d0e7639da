//! Credit: flow control of each channel (section 4).
//!
//! One unit of credit is 64 bytes of a frame's body. Sums are absolute and only grow, so a lost or
//! repeated announcement does no harm. The sender holds a [`Window`] per channel, the receiver a
//! [`Grant`].

mod bound;
mod items;

use alloc::boxed::Box;

pub use bound::ActorBound;
use bound::Share;
pub use items::{ItemWindow, StreamId};

use crate::budget::Budget;
use crate::code::Code;
use crate::error::LinkError;
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

/// The sender's flow-control window of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Units that may have been used since ATTACH.
    limit: u64,
    /// Units used since ATTACH. Invariant: `used <= limit`.
    used: u64,
    /// The limit asked for by the last NEED, which is not sent twice for the same limit.
    requested: u64,
    /// The cost of the call that the last NEED was for.
    requested_for: u64,
}

impl Window {
    /// Creates a window of `limit` units.
    pub fn new(limit: u64) -> Window {
        Window { limit, ..Window::default() }
    }

    /// The number of unused units.
    #[inline]
    pub fn free(&self) -> u64 {
        self.limit - self.used
    }

    /// Uses `units` if they are free; returns false and uses nothing otherwise.
    #[inline]
    pub fn take(&mut self, units: u64) -> bool {
        let enough = units <= self.free();
        if enough {
            self.used += units;
        }
        enough
    }

    /// Uses up to `most` units for one turn of a sender, which returns the rest with
    /// [`give_back`](Self::give_back).
    pub fn lease(&mut self, most: u64) -> u64 {
        let lease = most.min(self.free());
        self.used += lease;
        lease
    }

    /// Returns units of a lease that were not needed.
    pub fn give_back(&mut self, units: u64) {
        self.used -= units.min(self.used);
    }

    /// Raises the limit to the one that the receiver has announced; a smaller one is ignored.
    /// Returns true if the limit has risen.
    pub fn raise(&mut self, limit: u64) -> bool {
        let rises = limit > self.limit;
        self.limit = self.limit.max(limit);
        rises
    }

    /// Returns the limit that a blocked sender of `units` needs, or `None` if the window suffices
    /// or NEED was sent for it already.
    pub fn need(&mut self, units: u64) -> Option<u64> {
        let wanted = self.used.saturating_add(units);
        if wanted <= self.limit || wanted <= self.requested {
            return None;
        }
        (self.requested, self.requested_for) = (wanted, units);
        Some(wanted)
    }

    /// The limit that was asked for and not granted yet, and the cost of the call that needs it;
    /// after a cut, NEED must be sent again for it.
    pub fn wanted_limit(&self) -> Option<(u64, u64)> {
        (self.requested > self.limit).then_some((self.requested, self.requested_for))
    }

    /// Handles REVOKE: lowers the limit to `wanted`, but not below what is used, and returns the
    /// new limit, which is the answer.
    pub fn revoke(&mut self, wanted: u64) -> u64 {
        self.limit = self.limit.min(wanted.max(self.used));
        self.limit
    }
}

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

/// The error for a peer that has used more units than it was granted.
pub fn exceeded() -> LinkError {
    let rule = "a sender may not use more units than it was granted";
    LinkError::Misbehaved { code: Code::CREDIT_EXCEEDED, rule }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::limits::{FRAME_RESERVE_UNITS, SCALED_SESSION_UNITS_MAX, SCALED_WINDOW_UNITS_MAX};

    #[test]
    fn a_window_never_exceeds_its_limit() {
        let mut window = Window::new(10);
        assert!(window.take(4));
        assert!(!window.take(7));
        assert_eq!(window.lease(100), 6);
        assert_eq!(window.free(), 0);
        window.give_back(5);
        assert_eq!(window.free(), 5);
        assert!(window.raise(12));
        assert!(!window.raise(11), "an older announcement takes nothing back");
        assert_eq!(window.free(), 7);
    }

    #[test]
    fn a_blocked_sender_sends_need_once() {
        let mut window = Window::new(2);
        assert_eq!(window.need(2), None);
        assert!(window.take(2));
        assert_eq!(window.need(1), Some(3));
        assert_eq!(window.need(1), None);
        assert_eq!(window.need(2), Some(4));
        assert_eq!(window.wanted_limit(), Some((4, 2)));
        window.raise(4);
        assert_eq!(window.wanted_limit(), None);
    }

    #[test]
    fn revoke_leaves_the_used_units() {
        let mut window = Window::new(100);
        window.take(40);
        assert_eq!(window.revoke(10), 40);
        assert_eq!(window.free(), 0);
    }

    #[test]
    fn credit_is_sent_at_half_a_window() {
        let mut budget = Budget::default();
        let mut grant = Grant::new(64, &mut budget);
        assert!(!grant.free(31));
        assert!(grant.free(1));
        assert_eq!(grant.announce(), (96, 0));
        assert!(!grant.free(1));
    }

    #[test]
    fn a_blocked_sender_doubles_the_window_up_to_its_limit() {
        let mut budget = Budget::default();
        let mut grant = Grant::new(64, &mut budget);
        let mut window = 64;
        for round in 0..20 {
            assert_eq!(
                grant.need(grant.announced() + 1, 0, &mut budget),
                window < WINDOW_UNITS_MAX
            );
            window = (window * 2).min(WINDOW_UNITS_MAX);
            assert_eq!(grant.announce().0, window, "round {round}");
        }
        assert!(!grant.free(0));
        assert!(grant.need(grant.announced() + 1, 0, &mut budget) || !grant.is_due());
        assert!(grant.free(1), "blocked: the first free unit is announced");
    }

    #[test]
    fn windows_share_a_budget_and_return_it() {
        let mut budget = Budget::default();
        let mut greedy: [Grant; 3] = core::array::from_fn(|_| Grant::new(64, &mut budget));
        for grant in &mut greedy {
            for _ in 0..20 {
                grant.need(u64::MAX / 2, 0, &mut budget);
            }
        }
        let sum: u64 = greedy.iter().map(|grant| grant.window).sum();
        assert!(sum <= SESSION_UNITS_MAX + FRAME_RESERVE_UNITS, "{sum}");
        let [first, second, third] = greedy;
        for grant in [first, second, third] {
            grant.close(&mut budget);
        }
        assert_eq!(budget.held(), (0, 0));
    }

    /// Initial windows are granted beyond the budget; the overdraft must not be returned to it.
    #[test]
    fn an_overdrawn_budget_gets_back_no_more_than_it_had() {
        let mut budget = Budget::default();
        let first = SESSION_UNITS_MAX / 64;
        let grants: Vec<Grant> = (0..first * 2).map(|_| Grant::new(64, &mut budget)).collect();
        let mut kept = grants;
        kept.drain(..first as usize).for_each(|grant| grant.close(&mut budget));
        let grant = &mut kept[0];
        grant.need(u64::MAX / 2, 0, &mut budget);
        assert_eq!(grant.window(), FRAME_UNITS, "the other grants hold the rest");
    }

    /// Two busy channels must not shut out a third that sends one large frame.
    #[test]
    fn a_large_frame_gets_credit_whatever_other_channels_hold() {
        let mut budget = Budget::default();
        let mut busy: [Grant; 40] = core::array::from_fn(|_| Grant::new(64, &mut budget));
        for grant in &mut busy {
            for _ in 0..20 {
                grant.need(u64::MAX / 2, 0, &mut budget);
            }
        }
        let mut late = Grant::new(64, &mut budget);
        assert!(late.need(FRAME_UNITS, 0, &mut budget));
        assert_eq!(late.announce().0, FRAME_UNITS);
    }

    /// At a long RTT, the sender uses up its window and is blocked, and the queue is dry long
    /// before more arrives. A sender that waits for a slow actor finds the queue full each time it
    /// is blocked.
    #[test]
    fn a_queue_runs_dry_at_a_long_rtt_but_not_with_a_slow_actor() {
        for slow in [false, true] {
            let mut budget = Budget::default();
            let mut grant = Grant::new(64, &mut budget);
            let (mut window, mut dry) = (Window::new(64), 0);
            for _ in 0..200 {
                let used = window.lease(u64::MAX);
                let wanted = window.need(1).unwrap();
                // At a short RTT, NEED arrives while all used units are still queued; at a long
                // one, afterwards.
                let before = if slow { 0 } else { used };
                grant.free(before);
                grant.need(wanted, 0, &mut budget);
                let more = if slow { grant.window() / 4 } else { 0 };
                grant.free(more.min(used - before));
                dry += u32::from(grant.ran_dry());
                assert!(!grant.ran_dry(), "it is reported once");
                window.raise(grant.announce().0);
            }
            assert_eq!(dry > 100, !slow, "{dry}");
            assert!(!slow || dry == 0, "{dry}");
        }
    }

    #[test]
    fn a_scaled_window_grows_and_is_returned_to_its_budget() {
        let mut budget = Budget::default();
        let mut grant = Grant::new(64, &mut budget);
        assert!(!grant.scale(0, &mut budget), "the RTT is short");
        assert!(grant.scale(SCALED_WINDOW_UNITS_MAX, &mut budget));
        assert_eq!(grant.window(), 64 * BASE_GROWTH, "out of the base budget");
        for _ in 0..20 {
            grant.need(grant.announced() + 1, 0, &mut budget);
            grant.scale(SCALED_WINDOW_UNITS_MAX, &mut budget);
            grant.announce();
        }
        assert_eq!(grant.window(), SCALED_WINDOW_UNITS_MAX);
        let (base, scaled) = budget.held();
        assert!(
            base <= WINDOW_UNITS_MAX && scaled <= SCALED_SESSION_UNITS_MAX,
            "{base} and {scaled}"
        );
        assert!(!grant.need(1, 0, &mut budget), "the base window suffices");
        grant.close(&mut budget);
        assert_eq!(budget.held(), (0, 0));
    }

    #[test]
    fn using_more_than_granted_is_an_error() {
        let mut grant = Grant::new(64, &mut Budget::default());
        assert!(grant.check(64).is_ok());
        assert!(grant.check(65).is_err());
    }

    fn bounded(most: u64, budget: &mut Budget) -> Grant {
        let free = alloc::sync::Arc::new(core::sync::atomic::AtomicU64::new(most));
        Grant::bounded(64, ActorBound::new(most, free), budget)
    }

    #[test]
    fn a_bounded_window_does_not_grow_beyond_the_bound() {
        for (most, first) in [(1, 1), (4, 4), (100, 16)] {
            let mut budget = Budget::default();
            let mut grant = bounded(most, &mut budget);
            assert_eq!(grant.announced(), first);
            for _ in 0..20 {
                let used = grant.announce().0;
                assert!(grant.check(used).is_ok());
                grant.need(used + 1, 0, &mut budget);
                assert!(!grant.fit_call(&mut budget), "calls wait to be taken");
            }
            assert_eq!(grant.window(), most);
            assert!(!grant.scale(SCALED_WINDOW_UNITS_MAX, &mut budget));
            assert!(grant.free(most), "the sender is blocked");
            grant.close(&mut budget);
            assert_eq!(budget.held(), (0, 0));
        }
    }

    #[test]
    fn a_call_beyond_a_bounded_window_gets_room_when_the_queue_is_empty() {
        let mut budget = Budget::default();
        let mut grant = bounded(4, &mut budget);
        assert!(grant.check(3).is_ok());
        grant.need(3 + 9, 0, &mut budget);
        assert!(!grant.fit_call(&mut budget), "three units wait");
        grant.free(3);
        assert!(grant.fit_call(&mut budget));
        assert_eq!(grant.announce().0, 12);
        assert_eq!(grant.window(), 9, "as large as the call");
    }

    #[test]
    fn a_sender_may_use_the_units_of_hello_before_it_knows_of_a_smaller_limit() {
        let mut grant = bounded(4, &mut Budget::default());
        assert!(grant.check(64).is_ok());
        assert!(grant.check(65).is_err());
    }

    /// The room for a long call is on top of the window, and serves one channel after the other.
    #[test]
    fn a_long_call_gets_its_units_beyond_the_window_until_it_is_taken() {
        let long = 4 * WINDOW_UNITS_MAX;
        let mut budget = Budget::default().with_long_calls(long * 64);
        let mut grants: Vec<Grant> = (0..6).map(|_| Grant::new(64, &mut budget)).collect();
        for (at, grant) in grants.iter_mut().enumerate() {
            assert!(grant.need(long, long, &mut budget) || at >= 4);
            let told = grant.announce().0;
            assert_eq!(told == long, at < 4, "channel {at} was told {told}");
            assert_eq!(grant.is_short(), at >= 4);
            assert!(grant.capacity() >= told);
        }
        // A fifth has room when the first actor has taken its call, and not before.
        assert!(!grants[4].fit_long_call(&mut budget));
        let window = grants[0].window();
        grants[0].free(long);
        assert!(grants[0].settle(&mut budget));
        assert_eq!((grants[0].capacity(), grants[0].announce().0), (window, long + window));
        assert!(grants[4].fit_long_call(&mut budget));
        assert_eq!(grants[4].announce().0, long);
        // A channel that ends gives its units back too.
        assert!(!grants[5].fit_long_call(&mut budget));
        grants.remove(1).close(&mut budget);
        assert!(grants[4].fit_long_call(&mut budget));
    }

    #[test]
    fn a_channel_has_room_for_one_long_call_however_slow_its_actor_is() {
        let long = 4 * WINDOW_UNITS_MAX;
        let mut budget = Budget::default().with_long_calls(long * 64);
        let mut grant = Grant::new(64, &mut budget);
        assert!(grant.need(long, long, &mut budget));
        grant.announce();
        grant.need(2 * long, long, &mut budget);
        assert_eq!(grant.announce().0, long, "the first one waits for the actor");
        grant.free(long);
        grant.settle(&mut budget);
        grant.fit_long_call(&mut budget);
        assert_eq!(grant.announce().0, 2 * long);
        let longer = long + 2 * WINDOW_UNITS_MAX;
        grant.free(long);
        grant.settle(&mut budget);
        grant.need(2 * long + longer, longer, &mut budget);
        assert!(grant.announce().0 < 2 * long + longer, "none is longer than the longest");
    }

    #[test]
    fn short_calls_to_a_slow_actor_get_nothing_beyond_the_window() {
        let mut budget = Budget::default().with_long_calls(1 << 24);
        let mut grant = Grant::new(64, &mut budget);
        let mut wanted = 0;
        for _ in 0..100 {
            wanted = grant.announced() + 1;
            grant.need(wanted, 0, &mut budget);
            grant.announce();
        }
        assert_eq!(grant.capacity(), WINDOW_UNITS_MAX);
        assert!(grant.announced() < wanted);
    }

    #[test]
    fn a_bounded_actor_lets_a_long_call_through_when_its_queue_is_empty() {
        let long = 4 * WINDOW_UNITS_MAX;
        let mut budget = Budget::default().with_long_calls(long * 64);
        let free = alloc::sync::Arc::new(core::sync::atomic::AtomicU64::new(4));
        let mut grant = Grant::bounded(64, ActorBound::new(4, free), &mut budget);
        grant.check(3).unwrap();
        grant.need(3 + long, long, &mut budget);
        assert!(!grant.fit_call(&mut budget), "three calls wait");
        assert!(grant.announce().0 < long);
        grant.free(3);
        assert!(grant.fit_call(&mut budget));
        assert_eq!((grant.announce().0, grant.window()), (3 + long, 4), "the window is as before");
    }
}
