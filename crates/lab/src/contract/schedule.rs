//! The schedule of asks at a fixed rate: when each is due, and its latency from then.
//!
//! A client that waits for a stalled server before it asks again does not measure the asks that it
//! should have made meanwhile. So each ask has a time at which it is due, independent of earlier
//! ones, and its latency begins then.

use std::num::NonZeroU64;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::set_current_timer_slack;
use serde_json::{Value, json};

use crate::contract::Orders;
use crate::figures::times::Times;

/// A sleep between two asks takes this long at least: twenty thousand wakes a second are a tenth of
/// a processor, and no ask waits longer for it.
const NAP: Duration = Duration::from_micros(50);
/// An ask that is sent later than this is late.
pub(crate) const LATE: Duration = Duration::from_millis(1);

/// The schedule of the asks of a run.
#[derive(Clone, Copy)]
pub(crate) struct SendSchedule {
    start: Instant,
    rate: u64,
    messages: u64,
}

impl SendSchedule {
    /// The first ask is due now.
    pub(crate) fn begin(orders: &Orders) -> SendSchedule {
        SendSchedule { start: Instant::now(), rate: orders.rate.max(1), messages: orders.messages }
    }

    /// The time at which an ask is due.
    pub(crate) fn due(&self, number: u64) -> Instant {
        self.start + Duration::from_nanos(number.saturating_mul(1_000_000_000) / self.rate)
    }

    /// The number of asks that are due by now.
    pub(crate) fn due_by(&self, now: Instant) -> u64 {
        let passed = now.saturating_duration_since(self.start).as_nanos();
        let due = passed * u128::from(self.rate) / 1_000_000_000 + 1;
        u64::try_from(due).unwrap_or(u64::MAX).min(self.messages)
    }

    /// The number of the asks `from..to`, all sent now, that are sent late.
    pub(crate) fn late(&self, from: u64, to: u64, now: Instant) -> u64 {
        match now.checked_sub(LATE).filter(|then| *then >= self.start) {
            Some(then) => self.due_by(then).min(to).saturating_sub(from),
            None => 0,
        }
    }

    /// Lets the thread sleep until an ask is due.
    pub(crate) fn sleep(&self, number: u64) {
        thread::sleep(self.due(number).saturating_duration_since(Instant::now()).max(NAP));
    }

    /// The latency of an ask whose reply was received now.
    pub(crate) fn took(&self, number: u64, now: Instant) -> Duration {
        now.saturating_duration_since(self.due(number))
    }
}

/// Makes the thread's sleeps precise; by default the system wakes it up to 50 µs late.
pub(crate) fn sleep_exactly() {
    // If this fails, the asks are sent a little later, which their latency includes.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
}

/// The account of a paced client.
pub(crate) fn account(messages: u64, wrong: u64, sum: u64, late: u64, times: &Times) -> Value {
    json!({
        "replies": messages,
        "wrong": wrong,
        "sum": sum.to_string(),
        "late": late,
        "latency_us": times.to_bins(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_are_due_one_after_the_other_and_late_after_a_millisecond() {
        let start = Instant::now();
        let pace = SendSchedule { start, rate: 10_000, messages: 1_000 };
        assert_eq!(pace.due(25), start + Duration::from_micros(2_500));
        assert_eq!(pace.due_by(start), 1);
        assert_eq!(pace.due_by(start + Duration::from_micros(2_550)), 26);
        assert_eq!(pace.due_by(start + Duration::from_secs(60)), 1_000);
        assert_eq!(pace.late(0, 26, start + Duration::from_micros(2_550)), 16);
        assert_eq!(pace.late(20, 26, start + Duration::from_micros(2_550)), 0);
        assert_eq!(pace.late(0, 5, start), 0);
        assert_eq!(pace.took(3, start), Duration::ZERO);
    }
}
