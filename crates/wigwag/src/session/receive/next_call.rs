//! Spinning for the next call of a peer that makes one call at a time.

use std::time::Duration;

use wigwag_spin::{Spin, SpinPolicy};

use crate::sync::{AtomicU64, Ordering};

/// Whether the driver of a session spins after a read.
pub(crate) struct NextCall {
    spin: SpinPolicy,
    /// Calls of the last read.
    calls: AtomicU64,
}

impl NextCall {
    /// Spins for at most `limit`.
    pub(crate) fn new(limit: Duration) -> NextCall {
        NextCall { spin: SpinPolicy::new(limit), calls: AtomicU64::new(0) }
    }

    /// Notes how many calls a read has brought.
    pub(crate) fn note(&self, calls: u64) {
        self.calls.store(calls, Ordering::Relaxed);
    }

    /// Begins to spin for the next call, if the last read has brought one and it is likely to pay.
    /// Where calls come many at a time, a read that waits for less brings fewer of them.
    pub(crate) fn spin(&self) -> Option<Spin<'_>> {
        match self.calls.load(Ordering::Relaxed) {
            0 => None,
            1 => self.spin.begin(),
            many => {
                self.spin.count(u32::try_from(many).unwrap_or(u32::MAX));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_of_one_call_spins_and_others_do_not() {
        let spin = SpinPolicy::spinning(Duration::from_secs(3600));
        let next_call = NextCall { spin, calls: AtomicU64::new(0) };
        for (calls, spins) in [(0, false), (1, true), (2, false), (64, false), (1, true)] {
            next_call.note(calls);
            let spin = next_call.spin();
            assert_eq!(spin.is_some(), spins, "{calls}");
            if let Some(spin) = spin {
                spin.found();
            }
        }
    }
}
