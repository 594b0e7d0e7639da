//! Credit: who may send how much to whom (section 4).
//!
//! One unit is 64 bytes of a frame's body. Sums are absolute and only grow, so a lost or repeated
//! announcement does no harm. The sender holds a [`Window`] per channel, the receiver a [`Grant`].

use crate::budget::Budget;
use crate::code::Code;
use crate::error::LinkError;
use crate::limits::{FRAME_UNITS, SESSION_UNITS_MAX, WINDOW_UNITS_MAX, WINDOW_UNITS_MIN};

/// A lane that holds less than this part of its window has run dry.
const DRY_PART: u64 = 8;

/// How many times its window a far channel's next one is, near by and beyond.
const BASE_GROWTH: u64 = 8;
const SCALED_GROWTH: u64 = 4;

/// The part of a window that is announced anew at once, and of a far one: what is held back of a far
/// one would be a part of a round trip.
const FRESH_PART: u64 = 2;
const FRESH_PART_SCALED: u64 = 8;

/// The sender's side of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Units that may have been used since ATTACH.
    limit: u64,
    /// Units used since ATTACH. Invariant: `used <= limit`.
    used: u64,
    /// The limit for which NEED was sent last; it is not said twice for the same.
    requested: u64,
}

impl Window {
    /// A window with so many units.
    pub fn new(limit: u64) -> Window {
        Window { limit, used: 0, requested: 0 }
    }

    /// Units that are free.
    #[inline]
    pub fn free(&self) -> u64 {
        self.limit - self.used
    }

    /// Uses `units` if they are there.
    #[inline]
    pub fn take(&mut self, units: u64) -> bool {
        let enough = units <= self.free();
        if enough {
            self.used += units;
        }
        enough
    }

    /// Uses up to `most` units, for one sender's turn; it gives back what it does not need.
    pub fn lease(&mut self, most: u64) -> u64 {
        let lease = most.min(self.free());
        self.used += lease;
        lease
    }

    /// What a lease did not need.
    pub fn give_back(&mut self, units: u64) {
        self.used -= units.min(self.used);
    }

    /// The receiver has announced a limit; a smaller one is ignored. True when it has risen.
    pub fn raise(&mut self, limit: u64) -> bool {
        let rises = limit > self.limit;
        self.limit = self.limit.max(limit);
        rises
    }

    /// A sender of `units` is stuck: the limit that it wants, unless that was said already.
    pub fn need(&mut self, units: u64) -> Option<u64> {
        let wanted = self.used.saturating_add(units);
        if wanted <= self.limit || wanted <= self.requested {
            return None;
        }
        self.requested = wanted;
        Some(wanted)
    }

    /// The limit that was asked for and has not come; after a cut it must be asked for again.
    pub fn wanted_limit(&self) -> Option<u64> {
        (self.requested > self.limit).then_some(self.requested)
    }

    /// REVOKE: the limit falls to what is used or to `wanted`, and that is the answer.
    pub fn revoke(&mut self, wanted: u64) -> u64 {
        self.limit = self.limit.min(wanted.max(self.used));
        self.limit
    }
}

/// The receiver's side of a channel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grant {
    /// Units that the sender was told it may have used.
    announced: u64,
    /// Units taken out of the lane so far.
    freed: u64,
    /// Calls whose handlers have ended.
    handled: u64,
    /// Of these the sender was told.
    handled_announced: u64,
    /// Places that the lane has. Invariant: `announced - freed <= window`.
    window: u64,
    /// What of it came out of the budget for far peers.
    scaled: u64,
    /// The sender is stuck and wants this limit.
    wanted: u64,
    /// Near by the window could not double when the sender was stuck last.
    base_exhausted: bool,
    /// The wish for which the lane was last seen to run dry.
    dry_at: u64,
}

impl Grant {
    /// A grant of `window` units, taken from the budget; the initial window is always given.
    pub fn new(window: u64, budget: &mut Budget) -> Grant {
        budget.give(window);
        Grant { announced: window, window, ..Grant::default() }
    }

    /// The limit that the sender knows.
    pub fn announced(&self) -> u64 {
        self.announced
    }

    /// The sender has used `used` units in all: is that within what it was told?
    pub fn check(&self, used: u64) -> Result<(), LinkError> {
        if used <= self.announced {
            return Ok(());
        }
        Err(exceeded())
    }

    /// The actor took `units` out of the lane. True when the sender should hear of it now.
    pub fn free(&mut self, units: u64) -> bool {
        self.freed += units;
        self.is_due()
    }

    /// The actor has ended so many handlers.
    pub(crate) fn handled(&mut self, calls: u64) {
        self.handled += calls;
    }

    /// Handlers have ended of which the sender was not told.
    pub(crate) fn has_unannounced(&self) -> bool {
        self.handled_announced < self.handled
    }

    /// The sender is stuck: the window doubles, or fits what it wants, as far as the budget goes.
    /// True when the sender should hear of it now.
    pub fn need(&mut self, wanted: u64, budget: &mut Budget) -> bool {
        self.wanted = self.wanted.max(wanted);
        let most = WINDOW_UNITS_MAX.min(SESSION_UNITS_MAX / 2);
        let fits = self.wanted.saturating_sub(self.freed);
        let double = self.window * 2;
        let target = double.max(fits).clamp(WINDOW_UNITS_MIN, most);
        // What it has for its distance counts, so that a far one leaves the budget to others.
        self.window += budget.grow(target.saturating_sub(self.window));
        self.base_exhausted = self.window < double;
        // Without this a frame larger than the window would wait for ever once others hold the
        // budget.
        let frame = fits.min(FRAME_UNITS);
        self.window += budget.grow_for_frame(frame.saturating_sub(self.window));
        self.is_due()
    }

    /// True once for each time that the sender was stuck and the lane ran dry before more could come.
    /// With an actor that is slower than its sender that never happens: such a sender is stuck again
    /// before a window's worth is handled.
    pub fn ran_dry(&mut self) -> bool {
        let dry = self.wanted > self.dry_at && self.freed + self.window / DRY_PART >= self.wanted;
        if dry {
            self.dry_at = self.wanted;
        }
        dry
    }

    /// Near by there was no more to be had when the sender was stuck last.
    pub fn is_base_exhausted(&self) -> bool {
        self.base_exhausted
    }

    /// The lane has run dry and the peer is so far away that windows up to `most` pay. Each step takes
    /// a round trip, so it is a long one, as far as the budget goes. True when the sender should hear
    /// of it now.
    pub fn scale(&mut self, most: u64, budget: &mut Budget) -> bool {
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

    /// The sender wants more than the window could ever give it.
    pub fn is_short(&self) -> bool {
        self.wanted.saturating_sub(self.freed).min(FRAME_UNITS) > self.window
    }

    /// Places that the lane has.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Half a window can be announced anew, an eighth of a far one, or the sender is stuck and there is
    /// anything at all.
    fn is_due(&self) -> bool {
        let fresh = self.freed + self.window - self.announced;
        let part = if self.scaled > 0 { FRESH_PART_SCALED } else { FRESH_PART };
        fresh > 0 && (fresh * part >= self.window || self.wanted > self.announced)
    }

    /// What to announce: limit and handled calls.
    pub fn announce(&mut self) -> (u64, u64) {
        self.announced = self.announced.max(self.freed + self.window);
        self.handled_announced = self.handled;
        (self.announced, self.handled)
    }

    /// The channel is gone; its places go back to the budget.
    pub fn close(self, budget: &mut Budget) {
        budget.give_back(self.window - self.scaled, self.scaled);
    }
}

/// The error of a peer that has used more than it was granted.
pub fn exceeded() -> LinkError {
    let rule = "a sender may not use more units than it was granted";
    LinkError::Misbehaved { code: Code::CREDIT_EXCEEDED, rule }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{FRAME_RESERVE_UNITS, SCALED_SESSION_UNITS_MAX, SCALED_WINDOW_UNITS_MAX};

    #[test]
    fn a_window_never_gives_more_than_its_limit() {
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
    fn a_stuck_sender_says_so_once() {
        let mut window = Window::new(2);
        assert_eq!(window.need(2), None);
        assert!(window.take(2));
        assert_eq!(window.need(1), Some(3));
        assert_eq!(window.need(1), None);
        assert_eq!(window.need(2), Some(4));
        assert_eq!(window.wanted_limit(), Some(4));
        window.raise(4);
        assert_eq!(window.wanted_limit(), None);
    }

    #[test]
    fn revoke_leaves_what_is_used() {
        let mut window = Window::new(100);
        window.take(40);
        assert_eq!(window.revoke(10), 40);
        assert_eq!(window.free(), 0);
    }

    #[test]
    fn credit_goes_out_at_half_a_window() {
        let mut budget = Budget::default();
        let mut grant = Grant::new(64, &mut budget);
        assert!(!grant.free(31));
        assert!(grant.free(1));
        assert_eq!(grant.announce(), (96, 0));
        assert!(!grant.free(1));
    }

    #[test]
    fn a_stuck_sender_doubles_the_window_up_to_its_limit() {
        let mut budget = Budget::default();
        let mut grant = Grant::new(64, &mut budget);
        let mut window = 64;
        for round in 0..20 {
            assert_eq!(grant.need(grant.announced() + 1, &mut budget), window < WINDOW_UNITS_MAX);
            window = (window * 2).min(WINDOW_UNITS_MAX);
            assert_eq!(grant.announce().0, window, "round {round}");
        }
        assert!(!grant.free(0));
        assert!(grant.need(grant.announced() + 1, &mut budget) || !grant.is_due());
        assert!(grant.free(1), "stuck: the first free unit is announced");
    }

    #[test]
    fn windows_share_a_budget_and_give_it_back() {
        let mut budget = Budget::default();
        let mut greedy: [Grant; 3] = core::array::from_fn(|_| Grant::new(64, &mut budget));
        for grant in &mut greedy {
            for _ in 0..20 {
                grant.need(u64::MAX / 2, &mut budget);
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

    /// First windows are given beyond the budget; what they took beyond it must not come back.
    #[test]
    fn a_budget_that_was_overdrawn_gives_back_no_more_than_it_had() {
        let mut budget = Budget::default();
        let first = SESSION_UNITS_MAX / 64;
        let grants: alloc::vec::Vec<Grant> =
            (0..first * 2).map(|_| Grant::new(64, &mut budget)).collect();
        let (gone, kept) = grants.split_at(first as usize);
        gone.iter().for_each(|grant| grant.close(&mut budget));
        let mut grant = kept[0];
        grant.need(u64::MAX / 2, &mut budget);
        assert_eq!(grant.window(), FRAME_UNITS, "the others hold all the rest");
    }

    /// Two busy channels must not shut out a third that sends one large frame.
    #[test]
    fn a_large_frame_finds_room_whatever_others_hold() {
        let mut budget = Budget::default();
        let mut busy: [Grant; 40] = core::array::from_fn(|_| Grant::new(64, &mut budget));
        for grant in &mut busy {
            for _ in 0..20 {
                grant.need(u64::MAX / 2, &mut budget);
            }
        }
        let mut late = Grant::new(64, &mut budget);
        assert!(late.need(FRAME_UNITS, &mut budget));
        assert_eq!(late.announce().0, FRAME_UNITS);
    }

    /// A far sender uses its window up, is stuck, and the lane has long run dry when more comes. One
    /// that only waits for a slow actor finds its lane full each time that it is stuck.
    #[test]
    fn a_lane_runs_dry_when_the_way_is_long_and_not_when_the_actor_is_slow() {
        for slow in [false, true] {
            let mut budget = Budget::default();
            let mut grant = Grant::new(64, &mut budget);
            let (mut window, mut dry) = (Window::new(64), 0);
            for _ in 0..200 {
                let used = window.lease(u64::MAX);
                let wanted = window.need(1).unwrap();
                // Near by the wish comes while all it has used lies in the lane; far away, after.
                let before = if slow { 0 } else { used };
                grant.free(before);
                grant.need(wanted, &mut budget);
                let more = if slow { grant.window() / 4 } else { 0 };
                grant.free(more.min(used - before));
                dry += u32::from(grant.ran_dry());
                assert!(!grant.ran_dry(), "it is said once");
                window.raise(grant.announce().0);
            }
            assert_eq!(dry > 100, !slow, "{dry}");
            assert!(!slow || dry == 0, "{dry}");
        }
    }

    #[test]
    fn a_far_channel_reaches_further_and_gives_it_back() {
        let mut budget = Budget::default();
        let mut grant = Grant::new(64, &mut budget);
        assert!(!grant.scale(0, &mut budget), "it is near");
        assert!(grant.scale(SCALED_WINDOW_UNITS_MAX, &mut budget));
        assert_eq!(grant.window(), 64 * BASE_GROWTH, "out of the budget of near by");
        for _ in 0..20 {
            grant.need(grant.announced() + 1, &mut budget);
            grant.scale(SCALED_WINDOW_UNITS_MAX, &mut budget);
            grant.announce();
        }
        assert_eq!(grant.window(), SCALED_WINDOW_UNITS_MAX);
        let (near, far) = budget.held();
        assert!(near <= WINDOW_UNITS_MAX && far <= SCALED_SESSION_UNITS_MAX, "{near} and {far}");
        assert!(!grant.need(1, &mut budget), "near by it has enough");
        grant.close(&mut budget);
        assert_eq!(budget.held(), (0, 0));
    }

    #[test]
    fn using_more_than_granted_is_a_broken_rule() {
        let grant = Grant::new(64, &mut Budget::default());
        assert!(grant.check(64).is_ok());
        assert!(grant.check(65).is_err());
    }
}
