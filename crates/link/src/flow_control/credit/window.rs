//! The sender's side of the credit of a channel.

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
