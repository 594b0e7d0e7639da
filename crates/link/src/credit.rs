//! Credit: who may send how much to whom (section 4).
//!
//! One unit is 64 bytes of a frame's body. Sums are absolute and only grow, so a lost or repeated
//! announcement does no harm. The sender holds a [`Window`] per channel, the receiver a [`Grant`].

use crate::code::Code;
use crate::error::LinkError;
use crate::limits::{
    FRAME_RESERVE_UNITS, FRAME_UNITS, SESSION_UNITS_MAX, WINDOW_UNITS_MAX, WINDOW_UNITS_MIN,
};

/// The sender's side of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Units that may have been used since ATTACH.
    limit: u64,
    /// Units used since ATTACH. Invariant: `used <= limit`.
    used: u64,
    /// The limit for which NEED was sent last; it is not said twice for the same.
    needed: u64,
}

impl Window {
    /// A window with so many units.
    pub fn new(limit: u64) -> Window {
        Window { limit, used: 0, needed: 0 }
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
        if wanted <= self.limit || wanted <= self.needed {
            return None;
        }
        self.needed = wanted;
        Some(wanted)
    }

    /// The limit that was asked for and has not come; after a cut it must be asked for again.
    pub fn wish(&self) -> Option<u64> {
        (self.needed > self.limit).then_some(self.needed)
    }

    /// REVOKE: the limit falls to what is used or to `wanted`, and that is the answer.
    pub fn revoke(&mut self, wanted: u64) -> u64 {
        self.limit = self.limit.min(wanted.max(self.used));
        self.limit
    }
}

/// What all channels of a session share.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// Units of all windows. First windows are always given, so this may go beyond what there is.
    held: u64,
}

impl Budget {
    /// Units that `wanted` more of may be had: half of what is left, so that the channel that comes
    /// last finds some too.
    fn grow(&mut self, wanted: u64) -> u64 {
        let half = SESSION_UNITS_MAX.saturating_sub(self.held) / 2;
        self.give(wanted.min(half))
    }

    /// Units for a frame that would wait for ever without them.
    fn grow_for_frame(&mut self, wanted: u64) -> u64 {
        let most = SESSION_UNITS_MAX + FRAME_RESERVE_UNITS;
        self.give(wanted.min(most.saturating_sub(self.held)))
    }

    fn give(&mut self, units: u64) -> u64 {
        self.held += units;
        units
    }
}

/// The receiver's side of a channel.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    /// Units that the sender was told it may have used.
    announced: u64,
    /// Units taken out of the lane so far.
    freed: u64,
    /// Calls whose handlers have ended.
    handled: u64,
    /// Places that the lane has. Invariant: `announced - freed <= window`.
    window: u64,
    /// The sender is stuck and wants this limit.
    wanted: u64,
}

impl Grant {
    /// A grant of `window` units, taken from the budget; the initial window is always given.
    pub fn new(window: u64, budget: &mut Budget) -> Grant {
        budget.give(window);
        Grant { announced: window, freed: 0, handled: 0, window, wanted: 0 }
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
        let rule = "a sender may not use more units than it was granted";
        Err(LinkError::Misbehaved { code: Code::CREDIT_EXCEEDED, rule })
    }

    /// The actor took `units` out of the lane. True when the sender should hear of it now.
    pub fn free(&mut self, units: u64) -> bool {
        self.freed += units;
        self.is_due()
    }

    /// The actor has ended so many handlers.
    pub fn handled(&mut self, calls: u64) {
        self.handled += calls;
    }

    /// The sender is stuck: the window doubles, or fits what it wants, as far as the budget goes.
    /// True when the sender should hear of it now.
    pub fn need(&mut self, wanted: u64, budget: &mut Budget) -> bool {
        self.wanted = self.wanted.max(wanted);
        let most = WINDOW_UNITS_MAX.min(SESSION_UNITS_MAX / 2);
        let fits = self.wanted.saturating_sub(self.freed);
        let target = (self.window * 2).max(fits).clamp(WINDOW_UNITS_MIN, most);
        self.window += budget.grow(target.saturating_sub(self.window));
        // Without this a frame larger than the window would wait for ever once others hold the
        // budget.
        let frame = fits.min(FRAME_UNITS);
        self.window += budget.grow_for_frame(frame.saturating_sub(self.window));
        self.is_due()
    }

    /// The sender wants more than the window could ever give it.
    pub fn is_short(&self) -> bool {
        self.wanted.saturating_sub(self.freed).min(FRAME_UNITS) > self.window
    }

    /// Places that the lane has.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Half a window can be announced anew, or the sender is stuck and there is anything at all.
    fn is_due(&self) -> bool {
        let fresh = self.freed + self.window - self.announced;
        fresh > 0 && (fresh * 2 >= self.window || self.wanted > self.announced)
    }

    /// What to announce: limit and handled calls.
    pub fn announce(&mut self) -> (u64, u64) {
        self.announced = self.announced.max(self.freed + self.window);
        (self.announced, self.handled)
    }

    /// The channel is gone; its places go back to the budget.
    pub fn close(self, budget: &mut Budget) {
        budget.held = budget.held.saturating_sub(self.window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(window.wish(), Some(4));
        window.raise(4);
        assert_eq!(window.wish(), None);
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
        assert_eq!(budget.held, 0);
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

    #[test]
    fn using_more_than_granted_is_a_broken_rule() {
        let grant = Grant::new(64, &mut Budget::default());
        assert!(grant.check(64).is_ok());
        assert!(grant.check(65).is_err());
    }
}
